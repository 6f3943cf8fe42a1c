"""The initial database: one passenger's reservation, the journeys around it, disruptions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .journeys import journey_id, make_journeys, read_line
from .places import CABINS, full_date, moment, number, one_of, pick, require_keys, tables
from .shapes import check_shapes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .journeys import Line

FREE_FROM = 120
"""Minutes of delay from which changes are free (D2)."""
REFUND_FROM = 240
"""Minutes of delay from which the fare may be paid back (D3)."""
WINDOW_DAYS = 7

ELITES = ("silver", "gold", "platinum")
_MEALS = """
vegetarian vegan kosher halal gluten_free diabetic low_sodium child hindu none standard
"""
MEALS = tuple(_MEALS.split())
STATUSES = ("confirmed", "changed", "cancelled")
FARES = ("non_refundable", "refundable")
MOST_BAGS = 5

_CODE = re.compile(r"[A-Z0-9]{6}")
_DISRUPTION = re.compile(
    r"(?P<flight>\S+) (?P<day>\S+) "
    r"(?P<kind>cancelled(?!=)|(?:delayed|moved)(?==))(?:=(?P<minutes>[0-9]+))? "
    r"(?P<cause>\S+)(?P<grants>( meal)?( hotel)?)"
)
_SEAT = re.compile(r"[1-9][0-9]?[A-F]")
_PASSENGER = "name gender phone seats", "elite meal contact email ticket"
_BOOKING = "code booked", "fare status seat_fee bags_fee notes"

Json = dict[str, Any]


def make_database(source: Mapping[str, Any]) -> Json:
    """Make the database that a call begins with.

    Raises:
        ValueError: a line of the source cannot be read.
    """
    check_shapes(source)
    require_keys("passenger", source["passenger"], *_PASSENGER)
    require_keys("booking", source["booking"], *_BOOKING)
    today = today_of(source)
    reservation = _reservation(source, today)
    return {
        "_current_date": today,
        "reservations": {reservation["confirmation_number"]: reservation},
        "journeys": make_journeys(lines_of(source)),
        "disruptions": dict(_disruption(text, today) for text in source.get("disruptions", ())),
        "travel_credits": {},
        "meal_vouchers": {},
        "refunds": {},
    }


def today_of(source: Mapping[str, Any]) -> str:
    """Return the day of the call, YYYY-MM-DD."""
    return moment(source["now"]).date().isoformat()


def lines_of(source: Mapping[str, Any]) -> list[Line]:
    """Read the lines of the journeys."""
    today = today_of(source)
    return [read_line(text, today) for text in source["journeys"]]


def name_of(source: Mapping[str, Any]) -> tuple[str, str]:
    """Return the passenger's first and last name."""
    first, _, last = source["passenger"]["name"].partition(" ")
    return first, last


def email_of(source: Mapping[str, Any]) -> str:
    """Return the passenger's address, made of the name if none is given."""
    plain = "".join(c for c in ".".join(name_of(source)).lower() if c.isalnum() or c == ".")
    return str(source["passenger"].get("email") or f"{plain}@example.com")


def _reservation(source: Mapping[str, Any], today: str) -> Json:
    booking = source["booking"]
    code = str(booking["code"])
    if not _CODE.fullmatch(code):
        raise ValueError(f"booking: the code {code!r} is not six capital letters or digits")
    if moment(booking["booked"]) >= moment(source["now"]):
        raise ValueError(f"booking: booked {booking['booked']} is after the call, {source['now']}")
    reservation = {
        "confirmation_number": code,
        "status": one_of("booking: status", booking.get("status", "confirmed"), STATUSES),
        "passengers": [_passenger(source, code)],
        "bookings": [_booking(text, today) for text in source["bookings"]],
        "booking_date": moment(booking["booked"]).isoformat(),
        "fare_type": one_of("booking: fare", booking.get("fare", "non_refundable"), FARES),
        "ancillaries": {
            "seat_selection_fee": booking.get("seat_fee", 0),
            "bags_fee": booking.get("bags_fee", 0),
        },
    }
    notes = [_note(text) for text in booking.get("notes", ())]
    return {**reservation, "agent_notes": notes} if notes else reservation


def _passenger(source: Mapping[str, Any], code: str) -> Json:
    passenger = source["passenger"]
    first, last = name_of(source)
    if not (first and last):
        raise ValueError(f"passenger: the name {passenger['name']!r} needs a first and a last name")
    elite, meal = passenger.get("elite"), passenger.get("meal", "none")
    ticket = passenger.get("ticket") or f"977418{pick(code, 9_000_000) + 1_000_000}"
    return {
        "passenger_id": "PAX001",
        "first_name": first,
        "last_name": last,
        "ticket_number": str(ticket),
        "email": email_of(source),
        "phone": passenger["phone"],
        "elite_status": one_of("passenger: elite", elite, ELITES) if elite else None,
        "meal_preference": one_of("passenger: meal", meal, MEALS),
        "seat_preference": passenger["seats"].split()[0],
    }


def _note(text: str) -> Json:
    """Read `2026-08-30 11:15 BNA: what was said`."""
    when, _, note = text.partition(": ")
    return {"date_time": moment(when).isoformat(), "note": note}


def _booking(text: str, today: str) -> Json:
    """Read `LQ862+LQ875 06-06 main 90+82 seat=14A+16A bags=1 meal=vegan`."""
    flights, day, cabin, fares, options = _words_of_booking(text)
    names = flights.split("+")
    paid = [number(f"booking {text!r}: fare", fare) for fare in fares.split("+")]
    seats = options["seat"].split("+") if "seat" in options else [None] * len(names)
    if not len(names) == len(paid) == len(seats):
        raise ValueError(f"booking {text!r}: needs a fare and a seat for each flight")
    _check_booking(text, cabin, options, seats)
    date = full_date(day, today)
    return {
        "journey_id": journey_id(names, date),
        "fare_class": CABINS[cabin],
        "fare_paid": sum(paid),
        "status": options.get("status", "confirmed"),
        "segments": [
            {
                "flight_number": name,
                "date": date,
                "fare_paid": fare,
                "seat": seat,
                "bags_checked": int(options.get("bags", 0)),
                "meal_request": options.get("meal"),
            }
            for name, fare, seat in zip(names, paid, seats, strict=True)
        ],
    }


def _words_of_booking(text: str) -> tuple[str, str, str, str, dict[str, str]]:
    words = text.split()
    if len(words) < 4 or not all("=" in word for word in words[4:]):
        raise ValueError(f"booking {text!r} is not FLIGHT DATE CABIN FARE [seat= bags= meal=]")
    flights, day, cabin, fares, *rest = words
    options = dict(word.split("=", 1) for word in rest)
    if unknown := options.keys() - {"seat", "bags", "meal", "status"}:
        raise ValueError(f"booking {text!r}: what is {min(unknown)!r}?")
    return flights, day, cabin, fares, options


def _check_booking(
    text: str, cabin: str, options: Mapping[str, str], seats: Sequence[str | None]
) -> None:
    where = f"booking {text!r}"
    one_of(f"{where}: cabin", cabin, CABINS)
    one_of(f"{where}: status", options.get("status", "confirmed"), STATUSES)
    one_of(f"{where}: meal", options.get("meal", "none"), MEALS)
    if number(f"{where}: bags", options.get("bags", "0")) not in range(MOST_BAGS + 1):
        raise ValueError(f"{where}: bags are 0 to {MOST_BAGS}, got {options['bags']}")
    for seat in seats:
        if seat is not None and not _SEAT.fullmatch(seat):
            raise ValueError(f"{where}: {seat!r} is no seat: a row and a letter from A to F")


def _disruption(text: str, today: str) -> tuple[str, Json]:
    """Read `LQ274 03-06 cancelled mechanical meal hotel` or `LQ914 09-24 delayed=255 crew meal`.

    `moved=150` is a schedule change by so many minutes. Rebooking and refund follow from the
    policy; meal and hotel are granted only where the line says so.
    """
    match = _DISRUPTION.fullmatch(text)
    if match is None or match["cause"] not in tables()["causes"]:
        raise ValueError(
            f"disruption {text!r} is not FLIGHT DATE WHAT CAUSE [meal] [hotel]; WHAT is cancelled, "
            f"delayed=MINUTES or moved=MINUTES, causes are {', '.join(tables()['causes'])}"
        )
    flight, day, kind, minutes, cause = match.group("flight", "day", "kind", "minutes", "cause")
    grants = match["grants"].split()
    kinds = {"cancelled": "cancellation", "delayed": "delay", "moved": "schedule_change"}
    date, late = full_date(day, today), int(minutes) if minutes else None
    free = kind == "cancelled" or (late or 0) >= FREE_FROM
    return f"{flight}_{date}", {
        "flight_number": flight,
        "date": date,
        "disruption_type": kinds[kind],
        "cause": cause,
        "cause_category": tables()["causes"][cause],
        "is_irrops": free,
        "delay_minutes": late,
        "passenger_entitled_to": {
            "fee_waiver": free,
            "refund_option": kind == "cancelled" or (late or 0) >= REFUND_FROM,
            "meal_voucher": "meal" in grants,
            "hotel_accommodation": "hotel" in grants,
            "rebooking_window_days": WINDOW_DAYS if free else 0,
        },
    }
