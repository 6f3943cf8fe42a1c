"""What tools answer: error envelopes and empty results."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_voiceeval.tools.answers import (
    ToolError,
    crash_answer,
    is_error,
    normalize_answer,
    require_json,
)

NO_RECORDS = "No matching records found."
NO_DATA = "Completed with no data returned."


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ([], {"status": "success", "results": [], "count": 0, "message": NO_RECORDS}),
        ({}, {"status": "success", "results": {}, "message": NO_RECORDS}),
        (None, {"status": "success", "result": None, "message": NO_DATA}),
        ("", {"status": "success", "result": "", "message": NO_DATA}),
        (0, {"status": "success", "result": 0, "message": NO_DATA}),
        (False, {"status": "success", "result": False, "message": NO_DATA}),
        ({"a": []}, {"a": []}),
        ([0], [0]),
        ("text", "text"),
    ],
    ids=repr,
)
def test_an_empty_answer_gets_words(answer: Any, expected: Any) -> None:
    assert normalize_answer(answer) == expected


def test_false_is_not_told_as_zero() -> None:
    assert normalize_answer(False)["result"] is False
    assert normalize_answer(0)["result"] is not False


class _UnprintableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("bad row"), "ValueError: bad row"),
        (TimeoutError(), "TimeoutError"),
        (KeyError("db"), "KeyError: 'db'"),
        (_UnprintableError(), "_UnprintableError: (its text cannot be printed)"),
    ],
    ids=["text", "no text", "key error", "broken text"],
)
def test_a_crash_names_its_type(error: Any, message: str) -> None:
    expected = {"status": "error", "error_type": "execution_error", "message": message}
    assert crash_answer(error) == expected


def test_a_tool_error_is_an_answer_and_an_exception_with_its_text() -> None:
    error = ToolError("not_found", "Reservation ABC123 not found")
    assert str(error) == "Reservation ABC123 not found"
    assert error.answer() == {
        "status": "error",
        "error_type": "not_found",
        "message": "Reservation ABC123 not found",
    }


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"status": "error"}, True),
        ({"status": "success"}, False),
        ({"error": "bare"}, False),
        (["status"], False),
        (None, False),
    ],
    ids=repr,
)
def test_only_the_status_makes_an_error(answer: Any, expected: Any) -> None:
    assert is_error(answer) is expected


_CIRCULAR: list[object] = []
_CIRCULAR.append(_CIRCULAR)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"when": object()}, "object is not JSON serializable"),
        ({1, 2}, "set is not JSON serializable"),
        ({"amount": float("nan")}, "Out of range float"),
        ({(1, 2): "x"}, "keys must be str"),
        (_CIRCULAR, "Circular reference"),
    ],
    ids=["object", "set", "nan", "key", "circular"],
)
def test_what_is_not_json_is_told(answer: Any, why: Any) -> None:
    with pytest.raises(TypeError, match=f"the answer of the tool is not JSON: .*{why}"):
        require_json(answer)
