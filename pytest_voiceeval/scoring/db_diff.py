"""Differences of two database states: the reference's shape for machines, changes for people.

The shape of `compute_db_diff`, "added" meaning only in the actual state::

    {"tables_added": [...], "tables_removed": [...],
     "tables_modified": {table: {"records_added": [...], "records_removed": [...],
                                 "records_modified": {record: difference}}}}

A difference is one of

* ``{"fields_added": [...], "fields_removed": [...], "fields_modified": {field: difference}}``
* ``{"type": "value_mismatch", "expected", "actual"}``
* ``{"type": "type_mismatch", "expected", "actual", "expected_type", "actual_type"}``
* ``{"type": "list_length_mismatch", "expected", "actual", "expected_length",
  "actual_length"}``
* ``{"type": "list_differences", "differences": [{"index", "diff": difference}]}``

and a table that is not an object on both sides is ``{"type": "non_dict_table", "expected",
"actual"}``. Lists are compared by index; `list_changes` aligns them.
"""

from __future__ import annotations

from typing import Any, Final

from pytest_voiceeval.scoring.changes import Change, ChangeKind, list_changes
from pytest_voiceeval.scoring.db_hash import without_excluded_keys
from pytest_voiceeval.scoring.normalize import canonical_copy

__all__ = ["Change", "ChangeKind", "compute_db_diff", "is_empty_diff", "list_changes"]

STATE: Final = "<state>"
"""Stands for the whole state in `tables_modified` when one side is not an object of tables."""


def compute_db_diff(expected_db: Any, actual_db: Any) -> dict[str, Any]:
    """Compare two states table by table, record by record, field by field.

    The shape is described at the top of this module.

    The diff is empty (`is_empty_diff`) if and only if both states have the same hash. Therefore it
    differs from the reference harness in these points:

    * true against 1 (and 1.0) is a type_mismatch; the reference sees no difference.
    * `session` at the top is left out.
    * Everything is normalised first: also tables that are not objects, and an order-independent
      list that is itself a record or a table. Values shown are the normalised ones.
    * States that are not objects are compared too, as the table ``<state>``.

    Raises:
        StateError: One of them holds something that is not JSON.
    """
    left, right = (
        canonical_copy(without_excluded_keys(state)) for state in (expected_db, actual_db)
    )
    if not isinstance(left, dict) or not isinstance(right, dict):
        whole = _diff_tables({STATE: left}, {STATE: right})
        return {"tables_added": [], "tables_removed": [], "tables_modified": whole}
    return {
        "tables_added": sorted(right.keys() - left.keys()),
        "tables_removed": sorted(left.keys() - right.keys()),
        "tables_modified": _diff_tables(left, right),
    }


def is_empty_diff(diff: dict[str, Any]) -> bool:
    """Say whether a diff by `compute_db_diff` found nothing."""
    return not any(diff.values())


def _diff_tables(expected: dict[str, Any], actual: dict[str, Any]) -> dict[str, Any]:
    tables = {name: _diff_table(expected[name], actual[name]) for name in _common(expected, actual)}
    return {name: diff for name, diff in tables.items() if diff is not None}


def _diff_table(expected: Any, actual: Any) -> dict[str, Any] | None:
    difference = _diff(expected, actual)
    if difference is None:
        return None
    if isinstance(expected, dict) and isinstance(actual, dict):
        return {
            "records_added": difference["fields_added"],
            "records_removed": difference["fields_removed"],
            "records_modified": difference["fields_modified"],
        }
    return {"type": "non_dict_table", "expected": expected, "actual": actual}


def _diff(expected: Any, actual: Any) -> dict[str, Any] | None:
    """The difference of two normalised values; None if there is none."""
    if type(expected) is not type(actual):
        return {
            "type": "type_mismatch",
            "expected": expected,
            "actual": actual,
            "expected_type": type(expected).__name__,
            "actual_type": type(actual).__name__,
        }
    if isinstance(expected, dict):
        return _diff_objects(expected, actual)
    if isinstance(expected, list):
        return _diff_lists(expected, actual)
    if expected == actual:
        return None
    return {"type": "value_mismatch", "expected": expected, "actual": actual}


def _diff_objects(expected: dict[str, Any], actual: dict[str, Any]) -> dict[str, Any] | None:
    modified = {}
    for key in _common(expected, actual):
        if (difference := _diff(expected[key], actual[key])) is not None:
            modified[key] = difference
    if not modified and expected.keys() == actual.keys():
        return None
    return {
        "fields_added": sorted(actual.keys() - expected.keys()),
        "fields_removed": sorted(expected.keys() - actual.keys()),
        "fields_modified": modified,
    }


def _diff_lists(expected: list[Any], actual: list[Any]) -> dict[str, Any] | None:
    if len(expected) != len(actual):
        return {
            "type": "list_length_mismatch",
            "expected": expected,
            "actual": actual,
            "expected_length": len(expected),
            "actual_length": len(actual),
        }
    differences = []
    for index, (left, right) in enumerate(zip(expected, actual, strict=True)):
        if (difference := _diff(left, right)) is not None:
            differences.append({"index": index, "diff": difference})
    return {"type": "list_differences", "differences": differences} if differences else None


def _common(expected: dict[str, Any], actual: dict[str, Any]) -> list[str]:
    return sorted(expected.keys() & actual.keys())
