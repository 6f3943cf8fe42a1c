"""What an author wants to see of the journeys: times, fares, seats, and why not to take them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .database import lines_of
from .limits import local_times, waits
from .places import CABINS, KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Json = Mapping[str, Any]

FLOWS = {
    "1": "voluntary change",
    "2": "disruption",
    "3": "missed flight",
    "4": "same day, standby",
    "5": "cancellation",
    "6": "hotel, other airport, transfer",
    "7": "edge case",
}
"""What a call is about, by the first number of its id."""

_LETTERS = {kind: letter for letter, kind in KINDS.items()}


def describe(database: Json, source: Json) -> Iterator[str]:
    """Yield a line for each journey with its local times, and one for its cabins."""
    for line, journey in zip(lines_of(source), database["journeys"].values(), strict=True):
        leaves, lands = local_times(journey)
        parts = (
            f"{'+'.join(line.flights):<12}",
            f"{journey['origin']} {leaves:%a %d %b %H:%M}",
            f"{journey['destination']} {lands:%a %H:%M}",
            journey["status"] + ("" if journey["bookable"] else ", closed"),
            *(f"{wait:.0f} minutes between" for wait in waits(journey)),
            ", ".join(line.verdict),
        )
        yield "  ".join(parts).rstrip()
        yield "    " + "  ".join(_cabins(journey))


def _cabins(journey: Json) -> Iterator[str]:
    for name, cabin in CABINS.items():
        if journey["fares"][cabin] is not None:
            segments = journey["segments"]
            seats = min(segment["available_seats"][cabin] for segment in segments)
            kinds = [
                "".join(_LETTERS[kind] for kind in segment["available_seat_types"][cabin])
                for segment in segments
            ]
            yield f"{name} ${journey['fares'][cabin]:.0f} {seats} left {'+'.join(kinds)}".rstrip()


def table_columns(record: Json) -> dict[str, str]:
    """Say what a call is about: its flow, and the beginning of its premise."""
    premise = record["scenario_context"]["premise"]
    sentence = re.match(r".+?(?<!\bSt)[.!?](?=\s+[A-Z]|$)", premise)
    situation = sentence[0] if sentence else premise
    return {"flow": FLOWS.get(record["id"][0], ""), "situation": situation}
