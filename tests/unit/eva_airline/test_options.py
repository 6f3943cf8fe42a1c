"""Of all flights in a database, what the caller asks for leaves exactly the gold one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from pytest_voiceeval.data.artifacts import load_db_artifact

FOLDER = Path(__file__).resolve().parents[3] / "fixtures" / "eva_airline"

Json = dict[str, Any]


@dataclass(frozen=True)
class Wish:
    """A caller's must-haves, in local time; `fee` is what the policy charges for the change."""

    earliest: str
    latest: str
    most: float
    fee: float | None
    seat: str
    nonstop: bool = False
    by_day: bool = False


WISHES = {
    "1.1.2": Wish("2026-11-04T00:00", "2026-11-04T15:00", most=140, fee=75, seat="window"),
    "2.1.1": Wish(
        "2026-03-06T15:20",
        "2026-03-08T12:00",
        most=0,
        fee=None,
        seat="aisle",
        nonstop=True,
        by_day=True,
    ),
    "3.1.3": Wish("2026-07-15T15:00", "2026-07-15T22:00", most=100, fee=75, seat="aisle"),
}

# Why every flight on the route is out of the question; the gold one has no reason.
REASONS = {
    "1.1.2": {
        "FL_LQ518_20261104": {"too dear"},
        "FL_LQ544_LQ611_20261104": {"no such seat"},
        "FL_LQ526_20261104": {"sold out", "no such seat"},
        "FL_LQ534_20261104": {"not bookable"},
        "FL_LQ522_20261104": set(),
        "FL_LQ530_20261104": {"too late"},
        "FL_LQ540_20261104": {"too late"},
    },
    "2.1.1": {
        "FL_LQ280_20260306": {"overnight", "sold out", "no such seat"},
        "FL_LQ270_20260307": {"sold out", "no such seat"},
        "FL_LQ286_20260307": {"not bookable"},
        "FL_LQ232_LQ455_20260307": {"not nonstop"},
        "FL_LQ278_20260307": {"sold out", "no such seat"},
        "FL_LQ274_20260307": set(),
        "FL_LQ270_20260308": {"too late"},
    },
    "3.1.3": {
        "FL_LQ735_20260715": {"too early"},
        "FL_LQ760_LQ318_20260715": {"too dear"},
        "FL_LQ739_20260715": {"sold out", "no such seat"},
        "FL_LQ751_20260715": {"not bookable"},
        "FL_LQ743_20260715": set(),
        "FL_LQ747_20260715": {"too late"},
        "FL_LQ727_20260716": {"too late"},
        "FL_LQ735_20260716": {"too late"},
    },
}


@pytest.mark.parametrize("name", WISHES)
def test_only_the_gold_flight_meets_every_must_have(name: str) -> None:
    db = load_db_artifact(FOLDER / f"{name}.json")
    (reservation,) = db["reservations"].values()
    (booking,) = reservation["bookings"]
    booked = db["journeys"][booking["journey_id"]]
    rivals = {
        key: set(reasons_against(journey, booking, WISHES[name]))
        for key, journey in db["journeys"].items()
        if journey is not booked
        and all(journey[end] == booked[end] for end in ("origin", "destination"))
    }
    assert rivals == REASONS[name]


def reasons_against(journey: Json, booking: Json, wish: Wish) -> Iterator[str]:
    cabin, segments = booking["fare_class"], journey["segments"]
    leaves, lands = local_times(journey)
    if not journey["bookable"]:
        yield "not bookable"
    if min(segment["available_seats"][cabin] for segment in segments) == 0:
        yield "sold out"
    if not all(wish.seat in segment["available_seat_types"][cabin] for segment in segments):
        yield "no such seat"
    if leaves < datetime.fromisoformat(wish.earliest):
        yield "too early"
    if lands > datetime.fromisoformat(wish.latest):
        yield "too late"
    if wish.by_day and lands.date() != leaves.date():
        yield "overnight"
    if wish.nonstop and journey["num_stops"]:
        yield "not nonstop"
    if cost(journey["fares"][cabin], booking["fare_paid"], wish) > wish.most:
        yield "too dear"


def local_times(journey: Json) -> tuple[datetime, datetime]:
    first, last = journey["segments"][0], journey["segments"][-1]
    leaves = datetime.fromisoformat(f"{journey['date']}T{first['scheduled_departure']}")
    shift = timedelta(hours=last["destination_utc_offset"] - first["origin_utc_offset"])
    return leaves, leaves + timedelta(minutes=journey["total_duration_minutes"]) + shift


def cost(fare: float | None, paid: float, wish: Wish) -> float:
    """Fee and fare difference; nothing after a disruption (`fee` None)."""
    return 0 if wish.fee is None or fare is None else wish.fee + max(0, fare - paid)
