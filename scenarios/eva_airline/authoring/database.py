"""The initial database: one passenger's reservation, the journeys around it, disruptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .journeys import journey_id, make_journeys, read_line
from .places import CABINS, full_date, moment, pick, require_keys, tables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .journeys import Line

FREE_FROM = 120
"""Minutes of delay from which changes are free (D2)."""
REFUND_FROM = 240
"""Minutes of delay from which the fare may be paid back (D3)."""
WINDOW_DAYS = 7

_PASSENGER = "name gender phone seats", "elite meal contact email ticket"
_BOOKING = "code booked", "fare status seat_fee bags_fee notes"

Json = dict[str, Any]


def make_database(source: Mapping[str, Any]) -> Json:
    """Make the database that a call begins with.

    Raises:
        ValueError: a line of the source cannot be read.
    """
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
    code = booking["code"]
    reservation = {
        "confirmation_number": code,
        "status": booking.get("status", "confirmed"),
        "passengers": [_passenger(source, code)],
        "bookings": [_booking(text, today) for text in source["bookings"]],
        "booking_date": moment(booking["booked"]).isoformat(),
        "fare_type": booking.get("fare", "non_refundable"),
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
    ticket = passenger.get("ticket") or f"977418{pick(code, 9_000_000) + 1_000_000}"
    return {
        "passenger_id": "PAX001",
        "first_name": first,
        "last_name": last,
        "ticket_number": str(ticket),
        "email": email_of(source),
        "phone": passenger["phone"],
        "elite_status": passenger.get("elite"),
        "meal_preference": passenger.get("meal", "none"),
        "seat_preference": passenger["seats"].split()[0],
    }


def _note(text: str) -> Json:
    """Read `2026-08-30 11:15 BNA: what was said`."""
    when, _, note = text.partition(": ")
    return {"date_time": moment(when).isoformat(), "note": note}


def _booking(text: str, today: str) -> Json:
    """Read `LQ862+LQ875 06-06 main 90+82 seat=14A+16A bags=1 meal=vegan`."""
    flights, day, cabin, fares, *rest = text.split()
    options = dict(word.split("=", 1) for word in rest)
    if unknown := options.keys() - {"seat", "bags", "meal", "status"}:
        raise ValueError(f"booking {text!r}: what is {min(unknown)!r}?")
    names, paid = flights.split("+"), [float(fare) for fare in fares.split("+")]
    seats = options["seat"].split("+") if "seat" in options else [None] * len(names)
    if not len(names) == len(paid) == len(seats):
        raise ValueError(f"booking {text!r}: needs a fare and a seat for each flight")
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


def _disruption(text: str, today: str) -> tuple[str, Json]:
    """Read `LQ274 03-06 cancelled mechanical meal hotel` or `LQ914 09-24 delayed=255 crew meal`.

    `moved=150` is a schedule change by so many minutes. Rebooking and refund follow from the
    policy; meal and hotel are granted only where the line says so.
    """
    flight, day, what, cause, *grants = text.split()
    kind, _, minutes = what.partition("=")
    kinds = {"cancelled": "cancellation", "delayed": "delay", "moved": "schedule_change"}
    if kind not in kinds or cause not in tables()["causes"] or set(grants) - {"meal", "hotel"}:
        raise ValueError(f"disruption {text!r} is not FLIGHT DATE WHAT CAUSE [meal] [hotel]")
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
