"""The tools that pay back, make up for trouble, or hand the call to a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_voiceeval.tools import ToolError, register_schema_tool_for_eval

from .records import Row, find_reservation, today
from .tool_base import WriteAirlineTool

if TYPE_CHECKING:
    from pytest_voiceeval.tools import CallParams

    from .params import (
        IssueHotelVoucher,
        IssueMealVoucher,
        IssueTravelCredit,
        ProcessRefund,
        TransferToAgent,
    )

REFUND_DAYS = 7
CREDIT_MONTHS = 12
MAX_HOTEL_NIGHTS = 3
MEAL_VOUCHER_AMOUNTS = {
    "delay_over_2_hours": 12,
    "delay_over_4_hours": 15,
    "cancellation_wait_same_day": 15,
    "irrops_overnight": 25,
}


@register_schema_tool_for_eval("eva_airline")
class ProcessRefundTool(WriteAirlineTool):
    """Starts a refund. Refunds are numbered in the order in which they succeed."""

    description = (
        "Pay money back to the original form of payment. Check first that the caller is entitled "
        "to it and to how much: nothing is checked here."
    )
    parameters = "ProcessRefund"

    def _run(self, db: Row, call: ProcessRefund) -> Row:
        code = call.confirmation_number
        find_reservation(db, code)
        refund_id = f"REF-{code}-{self._next_call_index('process_refund'):03d}"
        about = {
            "confirmation_number": code,
            "refund_amount": call.refund_amount,
            "refund_type": call.refund_type,
        }
        db.setdefault("refunds", {})[refund_id] = {
            "refund_id": refund_id,
            **about,
            "processing_days": REFUND_DAYS,
            "initiated_date": today(db),
            "status": "processing",
        }
        self._record_action({"action_type": "process_refund", **about})
        time = f"processing time {REFUND_DAYS} business days"
        return {
            "status": "success",
            "refund_id": refund_id,
            **about,
            "processing_days": REFUND_DAYS,
            "message": f"${call.refund_amount} refund initiated, {time}",
        }


@register_schema_tool_for_eval("eva_airline")
class IssueTravelCreditTool(WriteAirlineTool):
    """Issues a credit for later flights. A second one of a reservation replaces the first."""

    description = (
        "Issue a travel credit of a given amount to a passenger, valid for 12 months. Use it where "
        "the rules grant a credit instead of a refund."
    )
    parameters = "IssueTravelCredit"

    def _run(self, db: Row, call: IssueTravelCredit) -> Row:
        find_reservation(db, call.confirmation_number)
        credit_code = f"TC{call.confirmation_number}{call.passenger_id[:3].upper()}"
        about = {
            "confirmation_number": call.confirmation_number,
            "passenger_id": call.passenger_id,
            "amount": call.amount,
        }
        issued = today(db)
        db.setdefault("travel_credits", {})[credit_code] = {
            "credit_code": credit_code,
            **about,
            "credit_reason": call.credit_reason,
            "issued_date": issued,
            "expiry_date": _one_year_later(issued),
            "status": "active",
        }
        self._record_action(
            {"action_type": "issue_travel_credit", **about, "credit_reason": call.credit_reason}
        )
        return {
            "status": "success",
            "credit_code": credit_code,
            **about,
            "valid_months": CREDIT_MONTHS,
            "message": f"${call.amount} travel credit issued, valid for {CREDIT_MONTHS} months",
        }


@register_schema_tool_for_eval("eva_airline")
class IssueHotelVoucherTool(WriteAirlineTool):
    """Issues a hotel voucher. A second one of a reservation replaces the first."""

    description = (
        "Issue a hotel voucher to a passenger the airline left stranded overnight, for 1 to 3 "
        "nights. More nights need a person's approval."
    )
    parameters = "IssueHotelVoucher"

    def _run(self, db: Row, call: IssueHotelVoucher) -> Row:
        find_reservation(db, call.confirmation_number)
        if call.num_nights > MAX_HOTEL_NIGHTS:
            raise ToolError(
                "exceeds_authority",
                f"You may grant up to {MAX_HOTEL_NIGHTS} hotel nights, not {call.num_nights}; "
                "transfer to a person for more",
            )
        voucher_code = f"HOTEL-{call.confirmation_number}"
        owner = {
            "confirmation_number": call.confirmation_number,
            "passenger_id": call.passenger_id,
        }
        # Made only now: an empty table would count as a difference.
        db.setdefault("hotel_vouchers", {})[voucher_code] = {
            "voucher_code": voucher_code,
            **owner,
            "num_nights": call.num_nights,
            "issued_date": today(db),
            "status": "active",
        }
        self._record_action(
            {"action_type": "issue_hotel_voucher", **owner, "num_nights": call.num_nights}
        )
        return {
            "status": "success",
            "voucher_code": voucher_code,
            **owner,
            "number_of_nights": call.num_nights,
            "valid_at": "Any hotels in airport area",
            "message": f"Hotel voucher issued for {call.num_nights} night(s)",
        }


@register_schema_tool_for_eval("eva_airline")
class IssueMealVoucherTool(WriteAirlineTool):
    """Issues a meal voucher. A second one of a reservation replaces the first."""

    description = (
        "Issue a meal voucher to a passenger whose flight was delayed or cancelled. The reason "
        "sets the amount."
    )
    parameters = "IssueMealVoucher"

    def _run(self, db: Row, call: IssueMealVoucher) -> Row:
        find_reservation(db, call.confirmation_number)
        amount = MEAL_VOUCHER_AMOUNTS[call.voucher_reason]
        voucher_code = f"MEAL-{call.confirmation_number}-{call.passenger_id[:4].upper()}"
        owner = {
            "confirmation_number": call.confirmation_number,
            "passenger_id": call.passenger_id,
        }
        db.setdefault("meal_vouchers", {})[voucher_code] = {
            "voucher_code": voucher_code,
            **owner,
            "amount": amount,
            "voucher_reason": call.voucher_reason,
            "issued_date": today(db),
            "status": "active",
        }
        why = {"voucher_reason": call.voucher_reason, "amount": amount}
        self._record_action({"action_type": "issue_meal_voucher", **owner, **why})
        return {
            "status": "success",
            "voucher_code": voucher_code,
            **owner,
            **why,
            "valid_at": "Airport terminal restaurants",
            "message": f"${amount} meal voucher issued",
        }


@register_schema_tool_for_eval("eva_airline")
class TransferToAgentTool(WriteAirlineTool):
    """Hands the call to a person, which ends it. Changes no data."""

    description = (
        "Transfer the caller to a live agent. It ends your call at once: offer it first, wait for "
        "the caller's yes, and say goodbye before."
    )
    parameters = "TransferToAgent"
    ends_call = True

    def _run(self, db: Row, call: TransferToAgent) -> Row:
        code = call.confirmation_number
        find_reservation(db, code)
        transfer_id = f"TRF-{code}-{self._next_call_index('transfer_to_agent'):03d}"
        about = {
            "confirmation_number": code,
            "transfer_reason": call.transfer_reason,
            "issue_summary": call.issue_summary,
        }
        self._record_action({"action_type": "transfer_to_agent", **about})
        return {
            "status": "success",
            "transfer_id": transfer_id,
            **about,
            "estimated_wait": "2-3 minutes",
            "message": "Transferring to live agent",
        }

    async def _after_result(self, params: CallParams) -> None:  # noqa: ARG002
        await self._send_exit_message()


def _one_year_later(day: str) -> str:
    # By text, as in the reference: 29 February gives a day that does not exist.
    year, rest = day.split("-", 1)
    return f"{int(year) + 1}-{rest}"
