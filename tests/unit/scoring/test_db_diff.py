"""The diff in the reference's shape."""

from __future__ import annotations

import pytest

from pytest_voiceeval.scoring.db_diff import compute_db_diff, is_empty_diff

EMPTY = {"tables_added": [], "tables_removed": [], "tables_modified": {}}


def modified(expected, actual):
    diff = compute_db_diff(expected, actual)
    assert diff["tables_added"] == diff["tables_removed"] == []
    return diff["tables_modified"]


def record(expected, actual):
    """The difference of two records, or None."""
    tables = modified({"t": {"r": expected}}, {"t": {"r": actual}})
    if not tables:
        return None
    assert tables["t"]["records_added"] == tables["t"]["records_removed"] == []
    return tables["t"]["records_modified"]["r"]


def test_identical():
    diff = compute_db_diff({"t": {"r": {"a": 1}}}, {"t": {"r": {"a": 1}}})
    assert diff == EMPTY
    assert is_empty_diff(diff)


def test_tables_added_and_removed():
    diff = compute_db_diff(
        {"reservations": {}, "journeys": {}}, {"reservations": {}, "refunds": {}}
    )
    assert diff == {
        "tables_added": ["refunds"],
        "tables_removed": ["journeys"],
        "tables_modified": {},
    }
    assert not is_empty_diff(diff)


def test_a_changed_field():
    assert modified(
        {"reservations": {"R1": {"status": "confirmed"}}},
        {"reservations": {"R1": {"status": "cancelled"}}},
    ) == {
        "reservations": {
            "records_added": [],
            "records_removed": [],
            "records_modified": {
                "R1": {
                    "fields_added": [],
                    "fields_removed": [],
                    "fields_modified": {
                        "status": {
                            "type": "value_mismatch",
                            "expected": "confirmed",
                            "actual": "cancelled",
                        }
                    },
                }
            },
        }
    }


def test_records_added_and_removed():
    tables = modified({"t": {"R1": {}, "R3": {}}}, {"t": {"R1": {}, "R2": {}}})
    assert tables == {
        "t": {"records_added": ["R2"], "records_removed": ["R3"], "records_modified": {}}
    }


def test_fields_and_types():
    assert record({"a": 1, "b": [1, 2], "z": 0}, {"a": "1", "b": [1, 2, 3], "c": 0}) == {
        "fields_added": ["c"],
        "fields_removed": ["z"],
        "fields_modified": {
            "a": {
                "type": "type_mismatch",
                "expected": 1,
                "actual": "1",
                "expected_type": "int",
                "actual_type": "str",
            },
            "b": {
                "type": "list_length_mismatch",
                "expected": [1, 2],
                "actual": [1, 2, 3],
                "expected_length": 2,
                "actual_length": 3,
            },
        },
    }


def test_unordered_list_is_compared_by_index_once_sorted():
    expected = {"bookings": [{"id": "Y"}, {"id": "X"}]}
    actual = {"bookings": [{"id": "Z"}, {"id": "Y"}]}

    def change(left, right):
        return {
            "fields_added": [],
            "fields_removed": [],
            "fields_modified": {
                "id": {"type": "value_mismatch", "expected": left, "actual": right}
            },
        }

    assert record(expected, actual)["fields_modified"] == {
        "bookings": {
            "type": "list_differences",
            "differences": [
                {"index": 0, "diff": change("X", "Y")},
                {"index": 1, "diff": change("Y", "Z")},
            ],
        }
    }


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ({"_d": "2026"}, {"_d": "2027"}),
        ({"_d": {}}, {"_d": []}),
        ({"_d": True}, {"_d": 1}),
        ({"_d": [1, 2]}, {"_d": [2, 1]}),
    ],
)
def test_tables_that_are_no_objects(expected, actual):
    assert modified(expected, actual) == {
        "_d": {"type": "non_dict_table", "expected": expected["_d"], "actual": actual["_d"]}
    }


@pytest.mark.parametrize(
    ("expected", "actual"), [(None, "None"), (1.0, 1), ({"a": " null "}, {"a": None}), ((1,), [1])]
)
def test_records_without_difference(expected, actual):
    assert record(expected, actual) is None


# Where the reference contradicts the hash, the hash decides.


def test_true_is_not_one():
    assert record(True, 1)["type"] == "type_mismatch"
    assert record({"a": [1]}, {"a": [True]})["fields_modified"]["a"]["type"] == "list_differences"


def test_the_session_does_not_count_at_the_top_only():
    assert compute_db_diff({"session": {"id": 1}}, {}) == EMPTY
    assert modified({"t": {"session": 1}}, {"t": {"session": 2}}) != {}


def test_unordered_lists_as_record_or_table():
    assert modified({"t": {"bookings": [2, 1]}}, {"t": {"bookings": [1, 2]}}) == {}
    assert modified({"bookings": [2, 1]}, {"bookings": [1, 2]}) == {}


def test_tables_of_none_and_missing_keys():
    assert modified({"t": ["none"]}, {"t": [None]}) == {}
    assert record({"a": None}, {}) == {
        "fields_added": [],
        "fields_removed": ["a"],
        "fields_modified": {},
    }


@pytest.mark.parametrize(
    ("expected", "actual"), [([1], [2]), ({}, []), ({"t": {}}, None), (1, True)]
)
def test_states_that_are_no_objects(expected, actual):
    diff = compute_db_diff(expected, actual)
    assert diff["tables_modified"] == {
        "<state>": {"type": "non_dict_table", "expected": expected, "actual": actual}
    }
    assert compute_db_diff(expected, expected) == EMPTY
