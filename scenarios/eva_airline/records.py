"""Finding and changing reservations, bookings, segments and seats in the airline's database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_voiceeval.tools import ToolError

if TYPE_CHECKING:
    from collections.abc import Iterable

CABINS = ("basic_economy", "main_cabin", "premium_economy", "business", "first")
DEFAULT_CABIN = "main_cabin"

Row = dict[str, Any]


def find_reservation(db: Row, code: str) -> Row:
    """The reservation of a confirmation number in upper case, or `not_found`."""
    found: Row | None = db.get("reservations", {}).get(code)
    if found is None:
        raise ToolError("not_found", f"Reservation {code} not found")
    return found


def find_booking(reservation: Row, journey_id: str) -> Row:
    """The first booking of a journey that is not cancelled, else the first, else an error."""
    bookings = bookings_of(reservation, journey_id)
    if not bookings:
        raise ToolError("journey_not_found", f"Journey {journey_id} not found in reservation")
    return next((b for b in bookings if b.get("status") != "cancelled"), bookings[0])


def bookings_of(reservation: Row, journey_id: str) -> list[Row]:
    """Every booking of a journey, in the order of the reservation."""
    return [b for b in reservation.get("bookings", []) if b.get("journey_id") == journey_id]


def find_segments(booking: Row, flight_number: str | None) -> list[Row]:
    """All segments of a booking, or those of one flight number (its case counts)."""
    segments: list[Row] = booking.get("segments", [])
    if flight_number is None:
        return segments
    chosen = [s for s in segments if s.get("flight_number") == flight_number]
    if not chosen:
        journey = booking.get("journey_id")
        raise ToolError(
            "flight_not_found", f"Flight {flight_number} not found in journey {journey}"
        )
    return chosen


def find_one_segment(booking: Row, flight_number: str | None) -> Row:
    """The segment of that flight number, or the only one, or `flight_number_required`."""
    segments = find_segments(booking, flight_number)
    if flight_number is None and len(segments) != 1:
        raise ToolError(
            "flight_number_required",
            f"Journey {booking.get('journey_id')} has {len(segments)} flights: "
            "say which one by flight_number",
        )
    return segments[0]


def fare_of(booking: Row) -> Any:
    """What was paid for a booking: its own `fare_paid`, else the sum of its segments'."""
    if "fare_paid" in booking:
        return booking["fare_paid"]
    return total_fare(booking.get("segments", []))


def total_fare(segments: Iterable[Row]) -> Any:
    """The sum of what was paid for segments."""
    return sum(segment.get("fare_paid", 0) for segment in segments)


def cabin_of(booking: Row) -> str:
    """The fare class of a booking."""
    return str(booking.get("fare_class", DEFAULT_CABIN))


def seats_of(journey: Row) -> dict[str, Any]:
    """Free seats for the whole journey by cabin: the fewest over its segments."""
    segments = journey.get("segments", [])
    if not segments:
        return {}
    cabins = segments[0].get("available_seats", {})
    return {c: min(s.get("available_seats", {}).get(c, 0) for s in segments) for c in cabins}


def add_seats(journey: Row | None, cabin: str, count: int) -> None:
    """Add `count` free seats (or take them, if negative) on every segment of a journey."""
    for segment in (journey or {}).get("segments", []):
        seats = segment.setdefault("available_seats", {})
        seats[cabin] = seats.get(cabin, 0) + count


def first_departure(journey: Row) -> Any:
    """The scheduled departure of a journey's first segment, as HH:MM."""
    segments = journey.get("segments", [])
    return segments[0].get("scheduled_departure") if segments else None


def last_arrival(journey: Row) -> Any:
    """The scheduled arrival of a journey's last segment, as HH:MM."""
    segments = journey.get("segments", [])
    return segments[-1].get("scheduled_arrival") if segments else None


def today(db: Row) -> str:
    """The day of the call in this scenario, as YYYY-MM-DD."""
    return str(db["_current_date"])
