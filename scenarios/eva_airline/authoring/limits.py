"""Of all flights in a database, what the caller asks for leaves exactly the gold one.

An authoring file states the caller's must-haves under `limits`, and behind each journey why it is
out of the question. Both are compared here.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from .database import lines_of, today_of
from .journeys import journey_id
from .places import CABINS, KINDS, full_date, one_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Json = Mapping[str, Any]

_KEYS = """
booking routes leave leave_by arrive_from arrive total fee same_day_fee seat cabin nonstop by_day
avoid layover gold
"""
KEYS = frozenset(_KEYS.split())
FLYING = ("scheduled", "on_time", "delayed")


def check_limits(source: Json, database: Json, calls: Sequence[Json]) -> Iterator[str]:
    """Yield where the must-haves, the reasons behind the journeys and the gold calls disagree.

    Args:
        source: the authoring file.
        database: the initial database.
        calls: the gold calls, each with its answer under `answer`.
    """
    stated = source.get("limits", [])
    limits = [stated] if isinstance(stated, dict) else stated
    verdicts = {line.journey_id: line.verdict for line in lines_of(source) if line.verdict}
    for each in limits:
        yield from _check(each, source, database, calls, verdicts)
    yield from (f"{journey}: is no alternative to anything" for journey in verdicts)
    rebooked = [c for c in calls if c["name"] == "rebook_flight"]
    if len(rebooked) > len(limits):
        yield "a gold call rebooks a flight for which 'limits' states no must-haves"


def _check(
    limits: Json,
    source: Json,
    database: Json,
    calls: Sequence[Json],
    verdicts: dict[str, tuple[str, ...]],
) -> Iterator[str]:
    if unknown := limits.keys() - KEYS:
        yield f"limits: unknown key {min(unknown)!r}; known are {', '.join(sorted(KEYS))}"
    _check_values(limits, today_of(source))
    booking = _booking(limits, source, database)
    gold = []
    for journey in _rivals(limits, booking, database):
        found = set(reasons_against(journey, booking, limits, today_of(source)))
        stated = verdicts.pop(journey["journey_id"], ())
        gold += [journey["journey_id"]] if not found else []
        if (found or {"gold"}) != set(stated):
            shown = ", ".join(sorted(found)) or "gold"
            instead = f"not '{', '.join(stated)}'" if stated else "behind its line"
            yield f"{journey['journey_id']}: write '-- {shown}', {instead}"
    wanted = 0 if limits.get("gold") == "none" else 1
    if len(gold) != wanted:
        which = f": {', '.join(gold)}" if gold else "; is it 'gold: none'?"
        yield f"the must-haves leave {len(gold)} flights, not {wanted}{which}"
    for each in gold:
        fee = _fee(database["journeys"][each], limits, today_of(source)) or 0
        yield from _taken(each, fee, booking, calls)
        yield from _in_cabin(each, _cabin(limits, booking), calls)
        yield from _seated(each, limits.get("seat"), calls)


def _in_cabin(gold: str, cabin: str, calls: Sequence[Json]) -> Iterator[str]:
    for call in calls:
        if call["name"] == "rebook_flight" and call["arguments"]["new_journey_id"] == gold:
            taken = call["answer"].get("cost_summary", {}).get("new_fare_class", cabin)
            if taken != cabin:
                yield f"rebook_flight: takes {taken}, the caller wants {cabin}"


def _seated(gold: str, kind: str | None, calls: Sequence[Json]) -> Iterator[str]:
    """Yield each seat on the gold flight that is not of the kind the caller insists on."""
    for call in calls:
        asked = call["arguments"]
        if call["name"] != "assign_seat" or asked["journey_id"] != gold:
            continue
        if kind in KINDS.values() and asked["seat_preference"] != kind:
            yield f"assign_seat: the caller insists on {kind}, not {asked['seat_preference']}"


def _taken(gold: str, fee: float, booking: Json, calls: Sequence[Json]) -> Iterator[str]:
    """Yield what is wrong with how the gold flight is booked."""
    moves = [call for call in calls if call["name"] == "rebook_flight"]
    mine = [call for call in moves if call["arguments"]["new_journey_id"] == gold]
    if not mine:
        yield f"no gold call rebooks to {gold}, the one flight that meets the must-haves"
    for call in mine:
        given_up = call["arguments"]["journey_id"]
        if given_up != booking["journey_id"]:
            yield f"rebook_flight: gives up {given_up}, not {booking['journey_id']}"
        charged = call["answer"].get("cost_summary", {}).get("change_fee")
        if charged != fee:
            yield f"limits: the fee for {gold} is {charged}, not {fee}"


def _check_values(limits: Json, today: str) -> None:
    """Refuse a limit that cannot be one.

    Raises:
        ValueError: there is one; the text names it.
    """
    for key in ("total", "fee", "same_day_fee", "layover"):
        if not isinstance(limits.get(key, 0), int | float):
            problem = f"limits: {key} is a number, got {limits[key]!r}"
            raise ValueError(problem)  # noqa: TRY004 - what an author wrote
    for key in ("nonstop", "by_day"):
        if not isinstance(limits.get(key, True), bool):
            problem = f"limits: {key} is true or false, got {limits[key]!r}"
            raise ValueError(problem)  # noqa: TRY004 - what an author wrote
    one_of("limits: cabin", limits.get("cabin", "main"), CABINS)
    one_of("limits: seat", limits.get("seat", "aisle"), (*KINDS.values(), "no_preference"))
    one_of("limits: gold", limits.get("gold", "none"), ("none",))
    for key in filter(limits.__contains__, _BOUNDS):
        if not re.fullmatch(r"\S+ ([01][0-9]|2[0-3]):[0-5][0-9]", str(limits[key])):
            raise ValueError(f"limits: {key} is a date and a time, as 11-04 13:00")
        _time(limits[key], today)


def _booking(limits: Json, source: Json, database: Json) -> Json:
    (reservation,) = database["reservations"].values()
    bookings: list[Json] = reservation["bookings"]
    if "booking" not in limits:
        if len(bookings) > 1:
            raise ValueError("limits: there are several bookings; say which by 'booking'")
        return bookings[0]
    flights, _, day = limits["booking"].partition("/")
    today = today_of(source)
    wanted = journey_id(flights.split("+"), full_date(day, today)) if day else None
    for booking in bookings:
        names = "+".join(segment["flight_number"] for segment in booking["segments"])
        if names == flights and wanted in (None, booking["journey_id"]):
            return booking
    raise ValueError(f"limits: no booking {limits['booking']!r}")


def _rivals(limits: Json, booking: Json, database: Json) -> Iterator[Json]:
    """Give all other journeys on the booking's route, or on those the caller would take."""
    booked = database["journeys"][booking["journey_id"]]
    own = f"{booked['origin']}-{booked['destination']}"
    routes = str(limits.get("routes", own)).split()
    for journey in database["journeys"].values():
        if f"{journey['origin']}-{journey['destination']}" in routes and journey is not booked:
            yield journey


def reasons_against(journey: Json, booking: Json, limits: Json, today: str) -> Iterator[str]:
    """Yield why a caller with these must-haves does not take a flight."""
    if journey["status"] not in FLYING:
        yield "gone"
        return
    yield from _no_room(journey, booking, limits)
    yield from _wrong_times(journey, limits, today)
    yield from _wrong_way(journey, limits)
    fare = journey["fares"][_cabin(limits, booking)]
    if fare is not None and limits.get("total") is not None:
        fee = _fee(journey, limits, today)
        cost = 0 if fee is None else fee + max(0, fare - booking["fare_paid"])
        if cost > limits["total"]:
            yield "too dear"


def _cabin(limits: Json, booking: Json) -> str:
    return CABINS[limits["cabin"]] if "cabin" in limits else str(booking["fare_class"])


def _no_room(journey: Json, booking: Json, limits: Json) -> Iterator[str]:
    cabin, segments = _cabin(limits, booking), journey["segments"]
    wanted = limits.get("seat", "no_preference")
    if not journey["bookable"]:
        yield "not bookable"
    if min(segment["available_seats"][cabin] for segment in segments) == 0:
        yield "sold out"
    elif wanted != "no_preference" and not all(
        wanted in segment["available_seat_types"][cabin] for segment in segments
    ):
        yield "no such seat"


def _wrong_times(journey: Json, limits: Json, today: str) -> Iterator[str]:
    leaves, lands = local_times(journey)
    at = {key: _time(limits[key], today) for key in _BOUNDS if key in limits}
    if leaves < at.get("leave", leaves) or lands < at.get("arrive_from", lands):
        yield "too early"
    if leaves > at.get("leave_by", leaves) or lands > at.get("arrive", lands):
        yield "too late"
    if limits.get("by_day") and lands.date() != leaves.date():
        yield "overnight"


_BOUNDS = ("leave", "leave_by", "arrive_from", "arrive")


def _time(text: str, today: str) -> datetime:
    day, time = text.split()
    return datetime.fromisoformat(f"{full_date(day, today)}T{time}")


def _wrong_way(journey: Json, limits: Json) -> Iterator[str]:
    segments = journey["segments"]
    if limits.get("nonstop") and journey["num_stops"]:
        yield "not nonstop"
    if any(segment["destination"] in str(limits.get("avoid")) for segment in segments[:-1]):
        yield "wrong stop"
    if any(wait < limits.get("layover", 0) for wait in waits(journey)):
        yield "tight"


def waits(journey: Json) -> list[float]:
    """Return the minutes between the flights of a connection."""
    times = [_flown(journey["date"], segment) for segment in journey["segments"]]
    return [(after - before).total_seconds() / 60 for (_, before), (after, _) in pairwise(times)]


def _flown(day: str, segment: Json) -> tuple[datetime, datetime]:
    """Departure and arrival, both in UTC."""
    local = datetime.fromisoformat(f"{day}T{segment['scheduled_departure']}")
    leaves = local - timedelta(hours=segment["origin_utc_offset"])
    return leaves, leaves + timedelta(minutes=segment["duration_minutes"])


def local_times(journey: Json) -> tuple[datetime, datetime]:
    """Return departure and arrival of a journey, each in local time."""
    first, last = journey["segments"][0], journey["segments"][-1]
    leaves = datetime.fromisoformat(f"{journey['date']}T{first['scheduled_departure']}")
    shift = timedelta(hours=last["destination_utc_offset"] - first["origin_utc_offset"])
    return leaves, leaves + timedelta(minutes=journey["total_duration_minutes"]) + shift


def _fee(journey: Json, limits: Json, today: str) -> float | None:
    """The change fee; None after a disruption, when there is neither a fee nor a difference."""
    same_day = "same_day_fee" in limits and journey["date"] == today
    fee: float | None = limits.get("same_day_fee" if same_day else "fee")
    return fee
