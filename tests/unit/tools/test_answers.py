"""What tools answer: error envelopes and empty results."""

from __future__ import annotations

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
def test_an_empty_answer_gets_words(answer, expected):
    assert normalize_answer(answer) == expected
    assert type(normalize_answer(answer).get("result", answer) if not answer else answer) is type(
        answer
    )


class _Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("bad row"), "ValueError: bad row"),
        (TimeoutError(), "TimeoutError"),
        (KeyError("db"), "KeyError: 'db'"),
        (_Unprintable(), "_Unprintable: (its text cannot be printed)"),
    ],
    ids=["text", "no text", "key error", "broken text"],
)
def test_a_crash_names_its_type(error, message):
    expected = {"status": "error", "error_type": "execution_error", "message": message}
    assert crash_answer(error) == expected


def test_a_tool_error_is_an_answer_and_an_exception_with_its_text():
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
def test_only_the_status_makes_an_error(answer, expected):
    assert is_error(answer) is expected


_CIRCULAR: list[object] = []
_CIRCULAR.append(_CIRCULAR)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"when": object()}, "object is not JSON serializable"),
        ({1, 2}, "set is not JSON serializable"),
        ({"amount": float("nan")}, "nan"),
        ({(1, 2): "x"}, "keys must be str"),
        (_CIRCULAR, "Circular reference"),
    ],
    ids=["object", "set", "nan", "key", "circular"],
)
def test_what_is_not_json_is_told(answer, why):
    with pytest.raises(TypeError, match=f"the answer of the tool is not JSON: .*{why}"):
        require_json(answer)
