"""What an agent delivered: recorded actions, else what it handed in."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_voiceeval.scoring.delivery import delivered, read_result, without_empty

ACTION = {"action_type": "x"}


@pytest.mark.parametrize(
    ("actions", "handed_in", "expected"),
    [
        ([ACTION], [], [{"actions": [ACTION]}]),
        ([ACTION], ['{"a": 1}'], [{"actions": [ACTION]}]),
        ([], ['{"a": 1}', {"b": 2}], [{"a": 1}, {"b": 2}]),
        (None, ['{"a": 1}'], [{"a": 1}]),
        ([], [], [{"actions": []}]),
        (None, [], []),
    ],
    ids=["actions", "both", "results", "actions not known", "nothing", "nothing known"],
)
def test_delivered(actions: Any, handed_in: Any, expected: Any) -> None:
    assert delivered(actions, handed_in) == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": "é"}', {"a": "é"}),
        ("[1]", [1]),
        ("free words", {"message": "free words"}),
        ('{"a": ', {"message": '{"a": '}),
        ("[" * 100_000, {"message": "[" * 100_000}),
        ({"a": 1}, {"a": 1}),
    ],
    ids=["object", "list", "words", "cut off", "too deep", "a value"],
)
def test_read_result(text: Any, value: Any) -> None:
    assert read_result(text) == value


def test_an_empty_list_of_actions_is_nothing() -> None:
    assert without_empty([{"actions": []}, {"a": 1}, {"actions": [ACTION]}]) == [
        {"a": 1},
        {"actions": [ACTION]},
    ]
