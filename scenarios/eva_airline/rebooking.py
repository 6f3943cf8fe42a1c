"""How a booking is moved to another journey: what it costs and what it leaves behind."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.tools import ToolError

from .records import (
    Row,
    add_seats,
    bookings_of,
    cabin_of,
    fare_of,
    find_booking,
    find_one_segment,
    seats_of,
    total_fare,
)

if TYPE_CHECKING:
    from .params import RebookFlight

SAME_DAY_FEE = 75
SAME_DAY_FEE_BASIC_ECONOMY = 199
CHANGE_FEE = 75
CABINS_WITHOUT_CHANGE_FEE = ("business", "first")


@dataclass(frozen=True)
class Cost:
    """What the passenger pays or gets back, in dollars."""

    change_fee: int
    fare_difference: Any
    credit_due: Any
    total_collected: Any
    fee_waived: bool


@dataclass(frozen=True)
class Rebooking:
    """A change that passed every check and can be applied.

    Attributes:
        call: The checked parameters.
        booking: The booking to change.
        new_journey: The journey to change to.
        replaced: The one segment that is changed, None when the whole journey is.
    """

    call: RebookFlight
    booking: Row
    new_journey: Row
    replaced: Row | None

    @property
    def is_irrops(self) -> bool:
        """Whether the airline disrupted the flight; a missed connection does not count."""
        return "irrops" in self.call.rebooking_type

    @property
    def old_cabin(self) -> str:
        """The fare class booked so far."""
        return cabin_of(self.booking)

    @property
    def new_cabin(self) -> str:
        """The fare class after the change."""
        return self.call.new_fare_class or self.old_cabin

    @property
    def old_segments(self) -> list[Row]:
        """Every segment of the booking so far."""
        segments: list[Row] = self.booking.get("segments", [])
        return segments

    @property
    def kept(self) -> list[Row]:
        """The old segments that stay booked, only when one leg is changed."""
        if self.replaced is None:
            return []
        return [segment for segment in self.old_segments if segment is not self.replaced]

    @property
    def old_fare(self) -> Any:
        """What was paid for the part that is changed."""
        return fare_of(self.booking) if self.replaced is None else self.replaced.get("fare_paid", 0)

    @property
    def new_fare(self) -> Any:
        """The fare of the new journey, None when it is not sold in that class."""
        return self.new_journey.get("fares", {}).get(self.new_cabin)

    def cost(self) -> Cost:
        """Work out what is to be paid; in a disruption nothing is."""
        fee = change_fee(self.call.rebooking_type, self.old_cabin)
        waived = self.is_irrops or self.call.waive_change_fee
        fee = 0 if waived else fee
        difference = self.new_fare - self.old_fare
        collected = 0 if self.is_irrops else fee + max(0, difference)
        return Cost(fee, difference, max(0, -difference), collected, waived)


def change_fee(rebooking_type: str, cabin: str) -> int:
    """The fee for changing a flight booked in `cabin`, before any waiver."""
    if rebooking_type == "same_day":
        return SAME_DAY_FEE_BASIC_ECONOMY if cabin == "basic_economy" else SAME_DAY_FEE
    return 0 if cabin in CABINS_WITHOUT_CHANGE_FEE else CHANGE_FEE


def plan_rebooking(db: Row, reservation: Row, call: RebookFlight) -> Rebooking:
    """Check a change, in the order in which its errors take precedence."""
    booking = find_booking(reservation, call.journey_id)
    new_journey = db.get("journeys", {}).get(call.new_journey_id)
    if new_journey is None:
        raise ToolError("flight_not_found", f"Flight {call.new_journey_id} not found")
    if not new_journey.get("bookable", True):
        raise ToolError(
            "not_bookable", f"Flight {call.new_journey_id} is not available for booking"
        )
    leg = None if call.flight_number is None else find_one_segment(booking, call.flight_number)
    plan = Rebooking(call, booking, new_journey, leg)
    if plan.new_fare is None:
        raise ToolError(
            "fare_class_not_available", f"{call.new_journey_id} is not sold in {plan.new_cabin}"
        )
    if seats_of(new_journey).get(plan.new_cabin, 0) <= 0:
        raise ToolError(
            "no_seats_available", f"{call.new_journey_id} has no seats left in {plan.new_cabin}"
        )
    return plan


def apply_rebooking(db: Row, reservation: Row, plan: Rebooking) -> None:
    """Replace the booking and move the seats."""
    call = plan.call
    # The first booking of that journey, even if it is cancelled already and another one was
    # meant: the expected databases hold this.
    bookings_of(reservation, call.journey_id)[0]["status"] = "cancelled"
    reservation["bookings"].append(_new_booking(plan))
    if plan.kept:
        reservation["bookings"].append(_kept_booking(plan))
    reservation["status"] = "changed"
    add_seats(plan.new_journey, plan.new_cabin, -1)
    add_seats(db["journeys"].get(call.journey_id), plan.old_cabin, +1)


def _new_booking(plan: Rebooking) -> Row:
    new_segments = plan.new_journey.get("segments", [])
    return {
        "journey_id": plan.call.new_journey_id,
        "fare_class": plan.new_cabin,
        "fare_paid": plan.old_fare if plan.is_irrops else plan.new_fare,
        "status": "confirmed",
        "segments": [_new_segment(plan, index, s) for index, s in enumerate(new_segments)],
    }


def _kept_booking(plan: Rebooking) -> Row:
    return {
        "journey_id": plan.call.journey_id,
        "fare_class": plan.old_cabin,
        "fare_paid": total_fare(plan.kept),
        "status": "confirmed",
        "segments": copy.deepcopy(plan.kept),
    }


def _new_segment(plan: Rebooking, index: int, segment: Row) -> Row:
    source = _carried_over_from(plan, index)
    return {
        "flight_number": segment.get("flight_number"),
        "date": plan.new_journey.get("date"),
        "fare_paid": _segment_fare(plan, index, segment),
        "seat": None,  # another aircraft has other seats: the caller has to choose again
        "bags_checked": source.get("bags_checked") or 0,
        "meal_request": source.get("meal_request"),
    }


def _carried_over_from(plan: Rebooking, index: int) -> Row:
    if plan.replaced is not None:
        return plan.replaced
    old = plan.old_segments
    if not old:
        return {}
    return old[index] if index < len(old) else old[0]


def _segment_fare(plan: Rebooking, index: int, segment: Row) -> Any:
    if plan.is_irrops:
        if plan.replaced is None and index < len(plan.old_segments):
            return plan.old_segments[index].get("fare_paid")
        if plan.replaced is not None and len(plan.new_journey.get("segments", [])) == 1:
            return plan.replaced.get("fare_paid")
    return segment.get("fares", {}).get(plan.new_cabin) or 0
