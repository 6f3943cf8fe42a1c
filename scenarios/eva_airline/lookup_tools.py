"""The four tools that only read: they change nothing and record nothing."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.tools import ToolError, register_schema_tool_for_eval

from .records import CABINS, Row, find_reservation, first_departure, last_arrival, seats_of
from .tool_base import AirlineTool

if TYPE_CHECKING:
    from .params import GetDisruptionInfo, GetFlightStatus, GetReservation, SearchRebookingOptions

OPERATING = ("scheduled", "on_time", "delayed")


@register_schema_tool_for_eval("eva_airline")
class GetReservationTool(AirlineTool):
    """Identifies the caller and shows their reservation."""

    description = (
        "Look up a reservation by confirmation number and check the caller's last name. Use it "
        "first: it shows the passengers, the booked journeys and the ids other tools need."
    )
    parameters = "GetReservation"

    def _run(self, db: Row, call: GetReservation) -> Row:
        reservation = copy.deepcopy(find_reservation(db, call.confirmation_number))
        # An empty last name is not checked, as in the reference.
        if call.last_name and not _has_passenger(reservation, call.last_name):
            raise ToolError(
                "authentication_failed",
                f"Last name does not match reservation {call.confirmation_number}",
            )
        reservation["bookings"] = sorted(reservation.get("bookings", []), key=_first_day)
        return {"status": "success", "reservation": reservation}


@register_schema_tool_for_eval("eva_airline")
class GetFlightStatusTool(AirlineTool):
    """Shows the journey a flight belongs to, with the state of each leg."""

    description = (
        "Look up one flight on one day: whether it is on time, delayed or cancelled, its times, "
        "gate and free seats."
    )
    parameters = "GetFlightStatus"

    def _run(self, db: Row, call: GetFlightStatus) -> Row:
        journey = _journey_of_flight(db, call.flight_number.upper(), call.flight_date)
        if journey is None:
            raise ToolError(
                "not_found", f"Flight {call.flight_number} not found for date {call.flight_date}"
            )
        return {"status": "success", "journey": copy.deepcopy(journey)}


@register_schema_tool_for_eval("eva_airline")
class GetDisruptionInfoTool(AirlineTool):
    """Shows what disrupted a flight and what its passengers are entitled to."""

    description = (
        "Look up why a flight was delayed, cancelled or moved, whether the airline is at fault, "
        "and what its passengers may get: free change, refund, meals, hotel."
    )
    parameters = "GetDisruptionInfo"

    def _run(self, db: Row, call: GetDisruptionInfo) -> Row:
        flight = call.flight_number.upper()
        disruption = db.get("disruptions", {}).get(f"{flight}_{call.date}")
        if disruption is None:
            raise ToolError("not_found", f"No disruption info found for flight {flight}")
        return {"status": "success", "disruption": copy.deepcopy(disruption)}


@register_schema_tool_for_eval("eva_airline")
class SearchRebookingOptionsTool(AirlineTool):
    """Lists the journeys of a day that can be booked."""

    description = (
        "Search journeys between two airports on one day that have enough free seats, with times, "
        "stops, seats and fare, earliest first. Use it before rebooking or standby."
    )
    parameters = "SearchRebookingOptions"

    def _run(self, db: Row, call: SearchRebookingOptions) -> Row:
        found = [
            _option(journey, call)
            for journey in db.get("journeys", {}).values()
            if _is_offered(journey, call) and _cabins_with_room(journey, call)
        ]
        found.sort(key=lambda option: option["departure_time"] or "")
        message = f"{len(found)} flight(s) found"
        return {"status": "success", "options": found, "count": len(found), "message": message}


def _has_passenger(reservation: Row, last_name: str) -> bool:
    names = [passenger.get("last_name", "") for passenger in reservation.get("passengers", [])]
    return last_name.lower() in [name.lower() for name in names]


def _first_day(booking: Row) -> tuple[str, str]:
    segments = booking.get("segments") or [{}]
    return segments[0].get("date", ""), booking.get("journey_id", "")


def _journey_of_flight(db: Row, flight: str, day: str) -> Row | None:
    journeys: dict[str, Row] = db.get("journeys", {})
    direct = journeys.get(f"FL_{flight}_{day.replace('-', '')}")
    if direct is not None:
        return direct
    that_day = (journey for journey in journeys.values() if journey.get("date") == day)
    return next((journey for journey in that_day if _flies(journey, flight)), None)


def _flies(journey: Row, flight: str) -> bool:
    return any(segment.get("flight_number") == flight for segment in journey.get("segments", []))


def _is_offered(journey: Row, call: SearchRebookingOptions) -> bool:
    wanted = (call.origin, call.destination, call.date)
    return (
        (journey.get("origin"), journey.get("destination"), journey.get("date")) == wanted
        and journey.get("status") in OPERATING
        and bool(journey.get("bookable", False))
    )


def _cabins_with_room(journey: Row, call: SearchRebookingOptions) -> list[str]:
    seats = seats_of(journey)
    cabins = list(seats) if call.fare_class == "any" else [call.fare_class]
    return [cabin for cabin in cabins if seats.get(cabin, 0) >= call.passenger_count]


def _fare(journey: Row, call: SearchRebookingOptions) -> Any:
    fares = journey.get("fares", {})
    if call.fare_class != "any":
        return fares.get(call.fare_class)
    prices = [fares.get(cabin) for cabin in _cabins_with_room(journey, call)]
    return min((price for price in prices if price is not None), default=None)


def _option(journey: Row, call: SearchRebookingOptions) -> Row:
    seats = seats_of(journey)
    shown = ("journey_id", "origin", "destination", "num_stops", "total_duration_minutes")
    return {
        **{key: journey.get(key) for key in shown},
        # The database's own objects, as in the reference: they show later seat changes.
        "segments": journey.get("segments", []),
        "departure_time": first_departure(journey),
        "arrival_time": last_arrival(journey),
        "available_seats": {cabin: seats.get(cabin, 0) for cabin in CABINS},
        "fare": _fare(journey, call),
    }
