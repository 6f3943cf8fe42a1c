"""The tools for what goes with a flight: seat, bags, meal and the standby list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_voiceeval.tools import ToolError, register_schema_tool_for_eval

from .records import Row, cabin_of, find_booking, find_one_segment, find_reservation, find_segments
from .tool_base import WriteAirlineTool

if TYPE_CHECKING:
    from .params import AddBaggageAllowance, AddMealRequest, AddToStandby, AssignSeat

FIRST_ROWS = {
    "basic_economy": 25,
    "main_cabin": 20,
    "premium_economy": 10,
    "business": 5,
    "first": 1,
}
OTHER_FIRST_ROW = 20
SEAT_LETTERS = {"window": "A", "aisle": "C", "middle": "B", "no_preference": "C"}
SEAT_TYPES = ("window", "aisle", "middle")


@register_schema_tool_for_eval("eva_airline")
class AssignSeatTool(WriteAirlineTool):
    """Gives a passenger a seat on one flight."""

    description = (
        "Assign a seat on a booked flight by kind of seat. Ask the caller for the kind first. For "
        "a connection use it once for each leg, with its flight number."
    )
    parameters = "AssignSeat"

    def _run(self, db: Row, call: AssignSeat) -> Row:
        booking = find_booking(find_reservation(db, call.confirmation_number), call.journey_id)
        segment = find_one_segment(booking, call.flight_number)
        flight, cabin = segment.get("flight_number"), cabin_of(booking)
        _check_seat_is_free(db, call, flight, cabin)
        seat = _seat(cabin, call.passenger_id, call.seat_preference)
        segment["seat"] = seat
        about = {
            "confirmation_number": call.confirmation_number,
            "passenger_id": call.passenger_id,
            "journey_id": call.journey_id,
            "flight_number": flight,
        }
        self._record_action(
            {
                "action_type": "assign_seat",
                **about,
                "seat_preference": call.seat_preference,
                "seat_assigned": seat,
            }
        )
        return {
            "status": "success",
            **about,
            "seat_assigned": seat,
            "fare_class": cabin,
            "preference": call.seat_preference,
            "message": f"Seat {seat} ({call.seat_preference}) successfully assigned",
        }


@register_schema_tool_for_eval("eva_airline")
class AddBaggageAllowanceTool(WriteAirlineTool):
    """Sets how many bags are checked in."""

    description = (
        "Set the number of checked bags on a booked journey, or on one leg of it. It replaces the "
        "number there was."
    )
    parameters = "AddBaggageAllowance"

    def _run(self, db: Row, call: AddBaggageAllowance) -> Row:
        booking = find_booking(find_reservation(db, call.confirmation_number), call.journey_id)
        for segment in find_segments(booking, call.flight_number):
            segment["bags_checked"] = call.num_bags
        about = {
            "confirmation_number": call.confirmation_number,
            "journey_id": call.journey_id,
        }
        self._record_action(
            {
                "action_type": "add_baggage_allowance",
                **about,
                "flight_number": call.flight_number,
                "num_bags": call.num_bags,
            }
        )
        return {
            "status": "success",
            **about,
            "bags_checked": call.num_bags,
            "message": f"Baggage allowance set to {call.num_bags} checked bag(s)",
        }


@register_schema_tool_for_eval("eva_airline")
class AddMealRequestTool(WriteAirlineTool):
    """Sets which meal is served."""

    description = "Request a special meal on a booked journey, or on one leg of it."
    parameters = "AddMealRequest"

    def _run(self, db: Row, call: AddMealRequest) -> Row:
        booking = find_booking(find_reservation(db, call.confirmation_number), call.journey_id)
        for segment in find_segments(booking, call.flight_number):
            segment["meal_request"] = call.meal_type
        about = {
            "confirmation_number": call.confirmation_number,
            "passenger_id": call.passenger_id,
            "journey_id": call.journey_id,
            "meal_type": call.meal_type,
        }
        self._record_action(
            {"action_type": "add_meal_request", **about, "flight_number": call.flight_number}
        )
        message = f"{call.meal_type} meal request added"
        return {"status": "success", **about, "message": message}


@register_schema_tool_for_eval("eva_airline")
class AddToStandbyTool(WriteAirlineTool):
    """Puts passengers on a journey's standby list."""

    description = (
        "Put passengers on the standby list of another journey of the same day. Their own booking "
        "stays as it is."
    )
    parameters = "AddToStandby"

    def _run(self, db: Row, call: AddToStandby) -> Row:
        journey = db.get("journeys", {}).get(call.journey_id)
        if journey is None:
            raise ToolError("flight_not_found", f"Flight {call.journey_id} not found")
        if journey.get("status") == "cancelled":
            raise ToolError("flight_cancelled", f"Flight {call.journey_id} is cancelled")
        # An unknown reservation is listed all the same, as in the reference.
        reservation = db.get("reservations", {}).get(call.confirmation_number)
        if reservation is not None:
            _check_passengers(reservation, call.passenger_ids)
        position = _join_standby(journey, reservation, call)
        about = {
            "confirmation_number": call.confirmation_number,
            "journey_id": call.journey_id,
        }
        ids = list(call.passenger_ids)
        self._record_action({"action_type": "add_to_standby", **about, "passenger_ids": ids})
        message = f"Added {len(ids)} passenger(s) to standby list"
        return {
            "status": "success",
            **about,
            "standby_list_position": position,
            "message": message,
        }


def _check_seat_is_free(db: Row, call: AssignSeat, flight: Any, cabin: str) -> None:
    segments = db.get("journeys", {}).get(call.journey_id, {}).get("segments", [])
    segment = next((s for s in segments if s.get("flight_number") == flight), None)
    if segment is None:
        return
    # Counted again after a rebooking took a seat: whoever took the last one gets none here.
    if segment.get("available_seats", {}).get(cabin, 0) <= 0:
        raise ToolError("no_seats_available", f"Flight {flight} has no seats left in {cabin}")
    by_cabin = segment.get("available_seat_types")
    kinds = by_cabin.get(cabin, SEAT_TYPES) if isinstance(by_cabin, dict) else SEAT_TYPES
    if call.seat_preference != "no_preference" and call.seat_preference not in kinds:
        free = ", ".join(kinds) or "none"
        raise ToolError(
            "seat_type_unavailable",
            f"Flight {flight} has no {call.seat_preference} seat left in {cabin}; left: {free}",
        )


def _seat(cabin: str, passenger_id: str, preference: str) -> str:
    # Only the last three characters count: PAX1 and PAX12 fail, as in the reference.
    row = FIRST_ROWS.get(cabin, OTHER_FIRST_ROW) + int(passenger_id[-3:])
    return f"{row}{SEAT_LETTERS[preference]}"


def _check_passengers(reservation: Row, passenger_ids: list[str]) -> None:
    known = [passenger.get("passenger_id") for passenger in reservation.get("passengers", [])]
    unknown = [passenger for passenger in passenger_ids if passenger not in known]
    if unknown:
        raise ToolError("invalid_passengers", f"Unknown passenger ID(s): {', '.join(unknown)}")


def _join_standby(journey: Row, reservation: Row | None, call: AddToStandby) -> int:
    """Append to both lists; returns the position of the last of these passengers."""
    waiting = journey.setdefault("standby_list", [])
    position = len(waiting) + len(call.passenger_ids)
    if reservation is not None:
        reservation.setdefault("standby_list", []).append(
            {
                "journey_id": call.journey_id,
                "passenger_ids": list(call.passenger_ids),
                "position": position,
                "status": "pending",
            }
        )
    for passenger_id in call.passenger_ids:
        waiting.append(
            {
                "confirmation_number": call.confirmation_number,
                "passenger_id": passenger_id,
                "position": len(waiting) + 1,
            }
        )
    return position
