"""The tools that change or cancel a flight."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from pytest_voiceeval.tools import ToolError, register_schema_tool_for_eval

from .rebooking import Cost, Rebooking, apply_rebooking, plan_rebooking
from .records import (
    Row,
    add_seats,
    cabin_of,
    fare_of,
    find_booking,
    find_reservation,
    first_departure,
    last_arrival,
)
from .tool_base import WriteAirlineTool

if TYPE_CHECKING:
    from .params import CancelReservation, RebookFlight

CANCELLATION_FEE = 100
REFUNDABLE_REASONS = ("irrops_refund", "24_hour_rule")


@register_schema_tool_for_eval("eva_airline")
class RebookFlightTool(WriteAirlineTool):
    """Moves a booking to another journey."""

    description = (
        "Change a booked journey, or one leg of it, to another journey and charge what is due. "
        "Use it only after the caller agreed to the new flight and its cost. Bags and meals move "
        "along; the seat has to be assigned again."
    )
    parameters = "RebookFlight"

    def _run(self, db: Row, call: RebookFlight) -> Row:
        reservation = find_reservation(db, call.confirmation_number)
        plan = plan_rebooking(db, reservation, call)
        cost = plan.cost()
        apply_rebooking(db, reservation, plan)
        self._record_action(_rebooking_record(plan, cost))
        return _rebooking_answer(plan, cost)


@register_schema_tool_for_eval("eva_airline")
class CancelReservationTool(WriteAirlineTool):
    """Cancels one booked journey."""

    description = (
        "Cancel one booked journey of a reservation. It shows whether a refund or a travel credit "
        "is due but pays neither: use process_refund or issue_travel_credit for that."
    )
    parameters = "CancelReservation"

    def _run(self, db: Row, call: CancelReservation) -> Row:
        reservation = find_reservation(db, call.confirmation_number)
        booking = find_booking(reservation, call.journey_id)
        if booking.get("status") == "cancelled":
            raise ToolError("already_cancelled", f"Journey {call.journey_id} is already cancelled")
        terms = _cancellation_terms(reservation, booking, call.cancellation_reason)
        status = _cancel(db, reservation, booking)
        self._record_action(
            {
                "action_type": "cancel_reservation",
                "confirmation_number": call.confirmation_number,
                "journey_id": call.journey_id,
                "cancellation_reason": call.cancellation_reason,
                **{key: terms[key] for key in terms if key != "credit_amount_eligible"},
            }
        )
        return {
            "status": "success",
            "confirmation_number": call.confirmation_number,
            "journey_id": call.journey_id,
            **terms,
            "reservation_status": status,
            "message": f"Journey {call.journey_id} cancelled",
        }


def _rebooking_record(plan: Rebooking, cost: Cost) -> Row:
    call = plan.call
    record = {
        "action_type": "rebook_flight",
        "confirmation_number": call.confirmation_number,
        "old_journey_id": call.journey_id,
        "new_journey_id": call.new_journey_id,
        "rebooking_type": call.rebooking_type,
        "original_fare_class": plan.old_cabin,
        "new_fare_class": plan.new_cabin,
        "change_fee": cost.change_fee,
        "fare_difference": cost.fare_difference,
        "total_collected": cost.total_collected,
        "partial_rebook": plan.replaced is not None,
    }
    if plan.replaced is not None:
        record["replaced_flight_number"] = call.flight_number
    return record


def _rebooking_answer(plan: Rebooking, cost: Cost) -> Row:
    cabin_changed = plan.new_cabin != plan.old_cabin
    in_cabin = f" in {plan.new_cabin}" if cabin_changed else ""
    answer: Row = {
        "status": "success",
        "confirmation_number": plan.call.confirmation_number,
        "new_journey": _journey_summary(plan.new_journey),
        "cost_summary": {
            "original_fare_class": plan.old_cabin,
            "new_fare_class": plan.new_cabin,
            "cabin_changed": cabin_changed,
            "change_fee": cost.change_fee,
            "fare_difference": cost.fare_difference,
            "credit_due": cost.credit_due,
            "total_collected": cost.total_collected,
            "fee_waived": cost.fee_waived,
        },
        "message": f"Successfully rebooked to flight {plan.call.new_journey_id}{in_cabin}",
    }
    if plan.replaced is not None:
        shown = ("flight_number", "origin", "destination", "fare_paid")
        answer["partial_rebook"] = True
        answer["replaced_segment"] = {key: plan.replaced.get(key) for key in shown}
        answer["kept_segments"] = [{k: s.get(k) for k in (*shown, "seat")} for s in plan.kept]
    return answer


def _journey_summary(journey: Row) -> Row:
    return {
        "journey_id": journey.get("journey_id"),
        "num_stops": journey.get("num_stops"),
        "segments": copy.deepcopy(journey.get("segments", [])),
        "departure": first_departure(journey),
        "arrival": last_arrival(journey),
        "origin": journey.get("origin"),
        "destination": journey.get("destination"),
    }


def _cancellation_terms(reservation: Row, booking: Row, reason: str) -> Row:
    refundable = reason in REFUNDABLE_REASONS or reservation.get("fare_type") == "refundable"
    fee = 0 if refundable else CANCELLATION_FEE
    due = max(0, fare_of(booking) - fee)
    return {
        "is_refundable": refundable,
        "cancellation_fee": fee,
        "refund_amount_eligible": due if refundable else 0,
        "credit_amount_eligible": 0 if refundable else due,
    }


def _cancel(db: Row, reservation: Row, booking: Row) -> str:
    """Cancel a booking and give its seats back; returns the status to tell the caller."""
    booking["status"] = "cancelled"
    add_seats(db.get("journeys", {}).get(booking["journey_id"]), cabin_of(booking), +1)
    if any(other.get("status") != "cancelled" for other in reservation["bookings"]):
        return "active"  # a word for the answer only: the database keeps its status
    reservation["status"] = "cancelled"
    return "cancelled"
