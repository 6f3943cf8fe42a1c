"""`assert call.db == expected`, explained like a failed call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_voiceeval.report.characters import clean
from pytest_voiceeval.report.database_text import grouped, in_telling_order, place_lines
from pytest_voiceeval.report.layout import count
from pytest_voiceeval.scoring.db_diff import list_changes
from pytest_voiceeval.scoring.db_hash import StateError

PLACES_SHOWN = 20


def explain_db(left: Any, right: Any, *, limit: int | None = PLACES_SHOWN) -> list[str] | None:
    """Lines for `pytest_assertrepr_compare`, for databases compared with `==`.

    Args:
        left: What stands left of `==`: by custom what there is, the database of a call.
        right: What stands right of it: what was expected.
        limit: Most places shown, None for all of them.

    Returns:
        A summary line and one entry a place, `table / record / field: expected → actual`; None
        where this is not the way to explain it: one of them is no object, or not JSON.
    """
    if not isinstance(left, Mapping) or not isinstance(right, Mapping):
        return None
    try:
        changes = in_telling_order(list_changes(right, left))
    except StateError:
        return None
    if not changes:
        return [
            "the databases are the same by db_state_match, but not to Python's ==",
            "  (as numbers or text for null, an order that does not count, or a `session`)",
            "  compare get_dict_hash(...) of both instead",
        ]
    places = count(len(changes), "place")
    lines = [f"database differs in {places} (right side: expected → left side: actual)"]
    shown = grouped(changes)
    for place in shown[:limit]:
        lines += place_lines(place)
    if limit is not None and len(shown) > limit:
        lines.append(f"  … {count(sum(map(len, shown[limit:])), 'more place')}")
    return [clean(line) for line in lines]
