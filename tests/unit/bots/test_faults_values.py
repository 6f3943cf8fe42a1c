from __future__ import annotations

from typing import Any

import pytest

from pytest_voiceeval.bots.fault_values import SIMILAR, plausible_arguments, wrong_values

DATABASE = {
    "journeys": {
        "FL_SK621_20260320": {"gate": "A1"},
        "FL_SK703_20260325": {},
        "FL_X1_20260325": {},
    },
    "people": [{"id": "PAX001"}, {"id": "PAX002"}, {"id": "PAX002"}],
}
CHOICES = {"type": "string", "enum": ["window", "aisle", "middle"]}


@pytest.mark.parametrize(
    ("value", "schema", "wrong"),
    [
        ("window", CHOICES, ["aisle", "middle"]),
        ("window", {"anyOf": [CHOICES, {"type": "null"}]}, ["aisle", "middle"]),
        (True, {"type": "boolean"}, [False]),
        (2, {"type": "integer"}, [3, 1, 4]),
        (1, {"type": "integer"}, [2, 0]),
        (10.5, {"type": "number"}, [11.5, 9.5, 21.0]),
        (0, {}, [1, -1]),
        (
            "FL_SK621_20260320",
            {"type": "string"},
            ["FL_SK703_20260325", "FL_X1_20260325"],
        ),
        ("free words", {"type": "string"}, []),
        (["PAX001"], {"items": {"type": "string"}}, [["PAX002"]]),
        (["PAX001", "x"], {}, [["PAX002", "x"], ["PAX001"]]),
        (None, {"type": "string"}, []),
        ({"a": 1}, {"type": "object"}, [{"a": 2}, {"a": 0}]),
        (
            {"seat": "window"},
            {"properties": {"seat": CHOICES}},
            [{"seat": "aisle"}, {"seat": "middle"}],
        ),
        ("14.50", {"type": "string"}, ["15.50"]),
        ("$9", {"type": "string"}, ["$10"]),
        ("007", {"type": "string"}, []),
    ],
    ids=[
        "choices",
        "optional choices",
        "yes or no",
        "a number",
        "no wrong value twice",
        "an amount",
        "zero",
        "names of the same form, then of the same table",
        "nothing of that form",
        "an item of a list",
        "or one item less",
        "nothing to change in null",
        "a field of an object",
        "a choice in an object",
        "an amount as text",
        "or with its sign",
        "digits that are a code",
    ],
)
def test_wrong_values(value: Any, schema: dict[str, Any], wrong: list[Any]) -> None:
    assert list(wrong_values(value, schema, DATABASE)) == wrong


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        ("Soup", ["Sandwich", "Pie"]),
        ("Ann Lee", ["Bo"]),
        ("5550142", ["5550199", "5550143"]),
        ("nobody knows", []),
    ],
    ids=["keys of a table", "the same field", "same form first", "nowhere"],
)
def test_values_in_the_same_place_of_other_records(value: str, wrong: list[str]) -> None:
    database = {
        "menu": {"Soup": {"price": "4.00"}, "Sandwich": {}, "Pie": {}},
        "line": [{"name": "Ann Lee", "phone": "5550142"}, {"name": "Bo", "phone": "5550199"}],
        "notes": {"day": "5550143"},
    }
    assert list(wrong_values(value, {"type": "string"}, database)) == wrong


def test_a_big_database_gives_a_bounded_number_of_names() -> None:
    database = [f"R{number:05}" for number in range(10_000)]
    assert len(list(wrong_values("R00000", {}, database))) == SIMILAR


def test_arguments_for_a_call_nobody_asked_for() -> None:
    properties = {
        "confirmation": {"type": "string"},
        "id": {"type": "string"},
        "seat": CHOICES,
        "waive": {"type": "boolean"},
        "bags": {"type": "integer"},
        "amount": {"type": "number"},
        "optional": {"type": "string"},
    }
    required = list(properties)[:-1]
    known = {"confirmation": "ABC123", "unused": 1}
    assert plausible_arguments(properties, required, known, DATABASE) == {
        "confirmation": "ABC123",
        "id": "PAX001",
        "seat": "window",
        "waive": False,
        "bags": 1,
        "amount": 50.0,
    }
    assert plausible_arguments(properties, ["optional"], known, DATABASE) is None
    assert plausible_arguments({}, [], {}, None) == {}
