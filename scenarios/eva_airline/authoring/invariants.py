"""What must hold of the databases of every edition, the public benchmark's own included."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .places import CABINS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Json = Mapping[str, Any]

TABLES = ("reservations", "journeys", "disruptions", "travel_credits", "meal_vouchers", "refunds")
LATER_TABLES = ("hotel_vouchers", "session")
"""Tables that are not there until a tool makes them."""


def check_record(record: Json, database: Json) -> Iterator[str]:
    """Yield what is wrong with the databases of a record."""
    expected = record["ground_truth"]["expected_scenario_db"]
    today = record["current_date_time"][:10]
    for state, db in (("initial", database), ("expected", expected)):
        if db.get("_current_date") != today:
            yield f"{state} database: _current_date is not {today}"
        for check in (_tables, _reservations, _journeys, _disruptions):
            yield from (f"{state} database: {text}" for text in check(db))


def _tables(db: Json) -> Iterator[str]:
    yield from (f"no table {table}" for table in TABLES if table not in db)
    known = {"_current_date", *TABLES, *LATER_TABLES}
    yield from (f"unknown table {table}" for table in db.keys() - known)


def _reservations(db: Json) -> Iterator[str]:
    for key, reservation in db["reservations"].items():
        if not (key == reservation["confirmation_number"] == key.upper()):
            yield f"reservation key {key}"
        ids = [passenger["passenger_id"] for passenger in reservation["passengers"]]
        if len(set(ids)) < len(ids) or not all(re.fullmatch(r"PAX\d{3}", i) for i in ids):
            yield f"passenger ids {ids}"
        for booking in reservation["bookings"]:
            journey = db["journeys"].get(booking["journey_id"])
            flights = {s["flight_number"] for s in journey["segments"]} if journey else set()
            if not {s["flight_number"] for s in booking["segments"]} <= flights:
                yield f"booking {booking['journey_id']} has no such journey"


def _journeys(db: Json) -> Iterator[str]:
    for key, journey in db["journeys"].items():
        segments, day = journey["segments"], journey["date"].replace("-", "")
        flights = [segment["flight_number"] for segment in segments]
        if not (key == journey["journey_id"] == "_".join(["FL", *flights, day])):
            yield f"journey key {key}"
        if len(segments) > 1:
            legs = (f"FL_{flight}_{day}" for flight in flights)
            yield from (f"{key}: no journey {leg}" for leg in legs if leg not in db["journeys"])
        if journey["num_stops"] != len(segments) - 1:
            yield f"{key}: num_stops is not {len(segments) - 1}"
        if [s["segment_number"] for s in segments] != list(range(1, len(segments) + 1)):
            yield f"{key}: segment numbers"
        route = [journey["origin"], *(s["destination"] for s in segments)]
        if route[:-1] != [s["origin"] for s in segments] or route[-1] != journey["destination"]:
            yield f"{key}: legs do not chain"
        yield from (f"{key}: {text}" for text in _seats_without_kind(segments))


def _seats_without_kind(segments: Sequence[Json]) -> Iterator[str]:
    for segment in segments:
        for cabin in CABINS.values():
            kinds = segment["available_seat_types"][cabin]
            if segment["available_seats"][cabin] == 0 and kinds:
                flight = segment["flight_number"]
                yield f"kinds of seat on {flight} in {cabin} though it is sold out"


def _disruptions(db: Json) -> Iterator[str]:
    for key, disruption in db["disruptions"].items():
        if key != f"{disruption['flight_number']}_{disruption['date']}":
            yield f"disruption key {key}"
