"""Journeys in one line each.

    LQ522 11-04 MSP 11:20 PHX 205m 737-800 gate=F6 main=268/5/wm -- gold
    LQ544+LQ611 11-04 -- no such seat

A flight has a date, origin, departure, destination; a connection names the flights it is made of,
each of which has a line of its own. After the dashes stands why a caller does not take it. What is
left out follows from the shared tables.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, timedelta
from typing import TYPE_CHECKING, Any

from .places import (
    CABINS,
    KINDS,
    aircraft_for,
    flight_minutes,
    full_date,
    local,
    number,
    pick,
    tables,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

GONE = ("departed", "cancelled")
LIKELY = 0.7, 1.4
"""How far a block time may be from the estimate, as a share of it."""
GATES = "ABCDEF"

Json = dict[str, Any]


@dataclass(frozen=True)
class Line:
    """A journey as it is written.

    Attributes:
        flights: its flight numbers.
        date: YYYY-MM-DD.
        route: origin, departure and destination; empty for a connection.
        words: what stands alone, such as `closed`.
        options: what stands with a `=`.
        verdict: what stands after the dashes.
    """

    flights: tuple[str, ...]
    date: str
    route: tuple[str, ...]
    words: tuple[str, ...]
    options: Mapping[str, str]
    verdict: tuple[str, ...]

    @property
    def journey_id(self) -> str:
        """The id that follows from flights and date."""
        return journey_id(self.flights, self.date)


def journey_id(flights: Iterable[str], date: str) -> str:
    """Return the id of a journey."""
    return "_".join(["FL", *flights, date.replace("-", "")])


def read_line(text: str, today: str) -> Line:
    """Read one journey.

    Raises:
        ValueError: it cannot be read.
    """
    content, _, verdict = text.partition(" -- ")
    flights, date, *rest = [*content.split(), "", ""][: max(2, len(content.split()))]
    names = tuple(flights.split("+"))
    size = 3 if len(names) == 1 else 0
    options = dict(word.split("=", 1) for word in rest[size:] if "=" in word)
    words = tuple(word for word in rest[size:] if "=" not in word)
    reasons = tuple(filter(None, (reason.strip() for reason in verdict.split(","))))
    line = Line(names, full_date(date, today), tuple(rest[:size]), words, options, reasons)
    _check(line, text)
    return line


_FLIGHT = re.compile(r"[A-Z]{2,3}[0-9]{1,4}")
_WORDS = ("closed", "departed", "on_time")
_OPTIONS = ("gate", "cancelled", "delayed", "standby", *CABINS)


def _check(line: Line, text: str) -> None:
    aircraft = tables()["aircraft"]
    for flight in line.flights:
        if not _FLIGHT.fullmatch(flight):
            raise ValueError(f"journey {text!r}: {flight!r} is no flight number, as LQ522")
    for word in line.words:
        if word not in _WORDS and word not in aircraft and not word.removesuffix("m").isdigit():
            known = ", ".join([*_WORDS, *aircraft])
            raise ValueError(f"journey {text!r}: what is {word!r}? known: {known}, minutes as 205m")
    for name in line.options:
        if name not in _OPTIONS:
            raise ValueError(f"journey {text!r}: what is {name!r}? known: {', '.join(_OPTIONS)}")


def make_journeys(lines: Iterable[Line]) -> dict[str, Json]:
    """Make the table of journeys, in the order of the lines.

    Raises:
        ValueError: two lines are of one journey, or a connection's flight has no line.
    """
    written = list(lines)
    singles = (line for line in written if len(line.flights) == 1)
    flights = {line.journey_id: _told(line, _flight) for line in singles}
    table = {line.journey_id: _told(line, _journey, flights) for line in written}
    if len(table) < len(written):
        raise ValueError("two lines of 'journeys' are of the same journey")
    return table


def _told(line: Line, make: Callable[..., Json], *arguments: Any) -> Json:
    """Let a line be made, and name it if that fails."""
    try:
        return make(line, *arguments)
    except ValueError as error:
        raise ValueError(f"journey {'+'.join(line.flights)} on {line.date}: {error}") from None


def _journey(line: Line, flights: Mapping[str, Json]) -> Json:
    if len(line.flights) == 1:
        return flights[line.journey_id] | _standby(line)
    ids = [journey_id([flight], line.date) for flight in line.flights]
    missing = [leg for leg in ids if leg not in flights]
    if missing:
        raise ValueError(f"its leg {missing[0]} needs a line of its own")
    legs = [flights[leg] for leg in ids]
    segments = [
        {**leg["segments"][0], "segment_number": number} for number, leg in enumerate(legs, 1)
    ]
    bookable = "closed" not in line.words and all(leg["bookable"] for leg in legs)
    return _assemble(line, segments, _status_of(legs), bookable) | _standby(line)


def _status_of(legs: list[Json]) -> str:
    found = [leg["status"] for leg in legs]
    order = ("cancelled", "delayed", "departed")
    return next((status for status in order if status in found), "scheduled")


def _flight(line: Line) -> Json:
    if len(line.route) != 3:
        raise ValueError("a flight needs origin, time and destination")
    status = _status(line)
    bookable = "closed" not in line.words and status not in GONE
    return _assemble(line, [_segment(line, status)], status, bookable)


def _status(line: Line) -> str:
    if "cancelled" in line.options:
        return "cancelled"
    if "departed" in line.words:
        return "departed"
    if "delayed" in line.options:
        return "delayed"
    return "on_time" if "on_time" in line.words else "scheduled"


def _assemble(line: Line, segments: list[Json], status: str, bookable: bool) -> Json:
    first, last = segments[0], segments[-1]
    begin, end = (_instant(line.date, first), _instant(line.date, last))
    total = end + timedelta(minutes=last["duration_minutes"]) - begin
    return {
        "journey_id": line.journey_id,
        "date": line.date,
        "origin": first["origin"],
        "destination": last["destination"],
        "num_stops": len(segments) - 1,
        "total_duration_minutes": int(total.total_seconds()) // 60,
        "segments": segments,
        "status": status,
        "bookable": bookable,
        "fares": {cabin: _sum([s["fares"][cabin] for s in segments]) for cabin in CABINS.values()},
    }


def _instant(date: str, segment: Json) -> Any:
    leaves = local(date, segment["scheduled_departure"], segment["origin"])
    return leaves.astimezone(UTC)


def _sum(fares: list[float | None]) -> float | None:
    known = [fare for fare in fares if fare is not None]
    return sum(known) if len(known) == len(fares) else None


def _segment(line: Line, status: str) -> Json:
    origin, time, destination = line.route
    minutes = _minutes(line, origin, destination)
    aircraft = _aircraft(line, minutes)
    leaves = local(line.date, time, origin)
    lands = (leaves.astimezone(UTC) + timedelta(minutes=minutes)).astimezone(
        local(line.date, "12:00", destination).tzinfo
    )
    delay, _, why = line.options.get("delayed", "0/").partition("/")
    late = int(number("delayed", delay))
    offers = _offers(line, aircraft, sold=status not in GONE)
    return {
        "segment_number": 1,
        "flight_number": line.flights[0],
        "origin": origin,
        "destination": destination,
        "scheduled_departure": f"{leaves:%H:%M}",
        "origin_utc_offset": _hours(leaves),
        "scheduled_arrival": f"{lands:%H:%M}",
        "destination_utc_offset": _hours(lands),
        "duration_minutes": minutes,
        "aircraft_type": aircraft,
        "status": status,
        "delay_minutes": late or None,
        "delay_reason": why.replace("_", " ") or None,
        "cancellation_reason": line.options.get("cancelled"),
        "gate": line.options.get("gate") or _gate(line),
        "available_seats": {CABINS[cabin]: offer.seats for cabin, offer in offers.items()},
        "fares": {CABINS[cabin]: offer.fare for cabin, offer in offers.items()},
        "available_seat_types": {
            CABINS[cabin]: [KINDS[kind] for kind in offer.kinds] for cabin, offer in offers.items()
        },
    }


def _minutes(line: Line, origin: str, destination: str) -> int:
    given = next((word for word in line.words if word.removesuffix("m").isdigit()), None)
    likely = flight_minutes(origin, destination)
    minutes = int(given.removesuffix("m")) if given else likely
    least, most = (share * likely for share in LIKELY)
    if not least <= minutes <= most:
        raise ValueError(f"{given} is no time from {origin} to {destination}: about {likely}m")
    return minutes


def _aircraft(line: Line, minutes: int) -> str:
    given = [word for word in line.words if word in tables()["aircraft"]]
    return given[0] if given else aircraft_for(minutes, line.journey_id)


def _gate(line: Line) -> str:
    letter = GATES[pick(f"{line.flights[0]} letter", len(GATES))]
    return f"{letter}{1 + pick(line.journey_id, 38)}"


def _hours(moment: Any) -> int:
    return int(moment.utcoffset().total_seconds() // 3600)


@dataclass(frozen=True)
class Offer:
    """What is left in one cabin: fare (None if it is not sold), seats, kinds of seat."""

    fare: float | None
    seats: int
    kinds: str


_NOTHING = Offer(None, 0, "")


def _offers(line: Line, aircraft: str, *, sold: bool) -> dict[str, Offer]:
    if not sold:
        return dict.fromkeys(CABINS, _NOTHING)
    return {cabin: _offer(line, aircraft, cabin) for cabin in CABINS}


def _offer(line: Line, aircraft: str, cabin: str) -> Offer:
    """Read `main=268/5/wm`, or what there is of it, and make up the rest."""
    derived = _derived(line, aircraft, cabin)
    if cabin not in line.options:
        return derived
    fare, *rest = line.options[cabin].split("/")
    if fare == "-":
        return _NOTHING
    has = _kinds_of(aircraft, cabin)
    if not has:
        raise ValueError(f"{cabin}: a plane of the type {aircraft} has no such cabin; name another")
    offer = replace(derived, fare=number(f"{cabin}: fare", fare), kinds=derived.kinds or has)
    seats = int(number(f"{cabin}: seats", rest[0])) if rest else max(1, offer.seats)
    offer = replace(offer, seats=seats)
    if len(rest) > 1:
        offer = replace(offer, kinds=rest[1])
    if bad := set(offer.kinds) - set(KINDS):
        raise ValueError(f"{cabin} has the kinds of seat {min(bad)!r}; use w, a, m")
    if bad := set(offer.kinds) - set(has):
        lacks = KINDS[min(bad)]
        raise ValueError(f"{cabin}: {aircraft} has no {lacks} seats there; name another aircraft")
    return replace(offer, kinds=offer.kinds if offer.seats else "")


def _derived(line: Line, aircraft: str, cabin: str) -> Offer:
    kinds, base = _kinds_of(aircraft, cabin), _main_fare(line)
    if not kinds or base is None:
        return _NOTHING
    key = f"{line.journey_id} {cabin}"
    percent = tables()["ladder"][cabin] + pick(key, 7) - 3
    seats = 2 + pick(f"{key} seats", 8 if cabin in ("basic", "main") else 4)
    return Offer(float(round(base * percent / 100)), seats, kinds)


def _kinds_of(aircraft: str, cabin: str) -> str:
    return str(tables()["aircraft"][aircraft]["seats"].get(cabin, ""))


def _main_fare(line: Line) -> float | None:
    """What the main cabin costs, worked out of the first fare that is given."""
    for cabin in CABINS:
        fare = line.options.get(cabin, "-").split("/")[0]
        if fare != "-":
            return number(f"{cabin}: fare", fare) * 100 / float(tables()["ladder"][cabin])
    return None


def _standby(line: Line) -> Json:
    codes = line.options.get("standby")
    if codes is None:
        return {}
    if not re.fullmatch(r"[A-Z0-9]{6}(,[A-Z0-9]{6})*", codes):
        raise ValueError(f"standby: {codes!r} is no list of confirmation codes, as J4RPX8,M2CVY7")
    waiting = [
        {"confirmation_number": code, "passenger_id": "PAX001", "position": position}
        for position, code in enumerate(codes.split(","), 1)
    ]
    return {"standby_list": waiting}
