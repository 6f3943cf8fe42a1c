"""How this domain's scenarios are written; see docs/authoring.md for the format.

The builder finds its hooks here by their names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .caller import make_record
from .database import lines_of, make_database, today_of
from .invariants import check_record
from .listing import describe, table_columns
from .places import CABINS, full_date
from .promises import check_scenario, rule_lines, spoken_facts
from .whole import check_edition

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = [
    "CALLER_TURNS",
    "KEYS",
    "call_defaults",
    "check_edition",
    "check_record",
    "check_scenario",
    "describe",
    "find_data",
    "make_database",
    "make_record",
    "may_leave_no_trace",
    "read_argument",
    "rule_lines",
    "spoken_facts",
    "table_columns",
]

_KEYS = """
now passenger booking bookings journeys disruptions limits caller premise pressure flow priorities
declines
"""
KEYS = frozenset(_KEYS.split())
CALLER_TURNS = 6


NO_TRACE = frozenset(
    {
        ("rebook_flight", "waive_change_fee"),
        ("cancel_reservation", "cancellation_reason"),
        ("transfer_to_agent", "transfer_reason"),
        ("transfer_to_agent", "issue_summary"),
    }
)
"""Arguments that the tools do not store: they show in action records only."""


def call_defaults(source: Mapping[str, Any]) -> dict[str, Any]:
    """What most calls of this domain have in common."""
    return {
        "confirmation_number": source["booking"]["code"],
        "last_name": source["passenger"]["name"].partition(" ")[2],
        "passenger_id": "PAX001",
        "passenger_ids": ["PAX001"],
        "passenger_count": 1,
        "waive_change_fee": False,
    }


def read_argument(parameter: str, text: str, source: Mapping[str, Any]) -> str:
    """Complete journeys (`LQ522`, `LQ522/11-04`), dates (`11-04`) and cabins (`main`).

    Raises:
        ValueError: no journey, or several, are meant.
    """
    if parameter in ("journey_id", "new_journey_id"):
        return text if text.startswith("FL_") else _journey(text, source)
    if parameter in ("date", "flight_date"):
        return full_date(text, today_of(source))
    return CABINS.get(text, text) if parameter in ("fare_class", "new_fare_class") else text


def _journey(text: str, source: Mapping[str, Any]) -> str:
    flights, _, day = text.partition("/")
    date = full_date(day, today_of(source))
    found = [
        line.journey_id
        for line in lines_of(source)
        if "+".join(line.flights) == flights and date in ("", line.date)
    ]
    if not found:
        raise ValueError(f"{text!r} means none of the journeys; those of a call are in 'journeys'")
    if len(found) > 1:
        raise ValueError(f"{text!r} means {len(found)} journeys; write it as FLIGHT/MM-DD")
    return found[0]


def may_leave_no_trace(tool: str, argument: str, right: Any, wrong: Any) -> bool:
    """Tell what a wrong argument cannot show in the database; see docs/authoring.md."""
    if argument == "rebooking_type":  # of its choices only irrops decides about the fare
        return ("irrops" in right) == ("irrops" in wrong)
    if argument == "seat_preference":  # both are the same letter
        return {right, wrong} == {"aisle", "no_preference"}
    return (tool, argument) in NO_TRACE


def find_data(root: Path) -> tuple[Path, Path] | None:
    """Find the data in a checkout of the public benchmark itself."""
    dataset = root / "data" / "airline_dataset.jsonl"
    return (dataset, root / "data" / "airline_scenarios") if dataset.is_file() else None
