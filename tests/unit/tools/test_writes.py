"""Telling which records changed."""

from __future__ import annotations

import enum
from typing import Any

import pytest

from pytest_voiceeval.tools.writes import changed_records, fingerprint_records


class Colour(enum.StrEnum):
    RED = "red"
    BLUE = "blue"


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ({"t": {"a": 1}}, {"t": {"a": 1}}, []),
        ({"t": {"a": 1}}, {"t": {"a": 2}}, [["t", "a"]]),
        ({"t": {"a": 1}}, {"t": {}}, [["t", "a"]]),
        ({"t": {"a": 1}}, {}, [["t", "a"]]),
        ({}, {"t": {}}, [["t", None]]),
        ({"t": {}}, {}, [["t", None]]),
        ({"t": {}}, {"t": {"a": 1}}, [["t", "a"]]),
        ({"t": [1]}, {"t": [2]}, [["t", None]]),
        ({"day": "x"}, {"day": "y"}, [["day", None]]),
        ({"t": {1: "x"}}, {"t": {1: "y"}}, [["t", "1"]]),
        ({"t": {"a": Colour.RED}}, {"t": {"a": Colour.BLUE}}, [["t", "a"]]),
        ({"t": {"a": Colour.RED}}, {"t": {"a": Colour.RED}}, []),
        (None, {"t": {"a": 1}}, [["t", "a"]]),
    ],
)
def test_changes(before: Any, after: Any, changed: Any) -> None:
    assert changed_records(fingerprint_records(before), fingerprint_records(after)) == changed


def test_shared_objects_do_not_look_like_changes() -> None:
    shared = {"x": ["long enough to be remembered"]}
    before = fingerprint_records({"t": {"a": [shared, shared]}})
    after = fingerprint_records({"t": {"a": [dict(shared), dict(shared)]}})
    assert changed_records(before, after) == []
