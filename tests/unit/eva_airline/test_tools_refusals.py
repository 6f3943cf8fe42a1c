"""How the 15 tools word a refusal."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_voiceeval.tools import get_schema_tool_for_eval

CODE = "K7M2QX"
JOURNEY = "FL_SV100_20260312"

GOOD: dict[str, dict[str, Any]] = {
    "get_flight_status": {"flight_number": "SV100", "flight_date": "2026-03-12"},
    "get_disruption_info": {"flight_number": "SV100", "date": "2026-03-12"},
    "search_rebooking_options": {
        "origin": "JFK",
        "destination": "LAX",
        "date": "2026-03-14",
        "passenger_count": 1,
        "fare_class": "any",
    },
    "rebook_flight": {
        "confirmation_number": CODE,
        "journey_id": JOURNEY,
        "new_journey_id": "FL_SV110_20260314",
        "rebooking_type": "voluntary",
        "waive_change_fee": False,
    },
    "add_to_standby": {
        "confirmation_number": CODE,
        "journey_id": "FL_SV110_20260314",
        "passenger_ids": ["PAX001"],
    },
    "assign_seat": {
        "confirmation_number": CODE,
        "passenger_id": "PAX001",
        "journey_id": JOURNEY,
        "seat_preference": "aisle",
    },
    "add_baggage_allowance": {"confirmation_number": CODE, "journey_id": JOURNEY, "num_bags": 2},
    "add_meal_request": {
        "confirmation_number": CODE,
        "passenger_id": "PAX001",
        "journey_id": JOURNEY,
        "meal_type": "vegan",
    },
    "issue_travel_credit": {
        "confirmation_number": CODE,
        "passenger_id": "PAX001",
        "amount": 50,
        "credit_reason": "goodwill",
    },
    "issue_hotel_voucher": {"confirmation_number": CODE, "passenger_id": "PAX001", "num_nights": 1},
    "issue_meal_voucher": {
        "confirmation_number": CODE,
        "passenger_id": "PAX001",
        "voucher_reason": "delay_over_2_hours",
    },
    "cancel_reservation": {
        "confirmation_number": CODE,
        "journey_id": JOURNEY,
        "cancellation_reason": "voluntary",
    },
    "process_refund": {
        "confirmation_number": CODE,
        "refund_amount": 10,
        "refund_type": "full_fare",
    },
    "transfer_to_agent": {
        "confirmation_number": CODE,
        "transfer_reason": "asked for it",
        "issue_summary": "wants a person",
    },
}


def changed(name: str, **changes: Any) -> dict[str, Any]:
    return GOOD[name] | changes


CONFIRMATION = "invalid_confirmation_number_format"
REFUSALS = [
    (
        "get_reservation",
        {"confirmation_number": "ABC12", "last_name": "R"},
        CONFIRMATION,
        "Invalid confirmation_number 'ABC12': must be 6 alphanumeric characters",
    ),
    (
        "get_reservation",
        {"confirmation_number": CODE},
        "invalid_parameter",
        "Invalid or missing parameter 'last_name': Field required",
    ),
    (
        "get_reservation",
        {},
        CONFIRMATION,
        "Invalid confirmation_number '{}': must be 6 alphanumeric characters",
    ),
    (
        "get_flight_status",
        changed("get_flight_status", flight_number="S1"),
        "invalid_flight_number_format",
        "Invalid flight_number 'S1': must be 2-3 letters followed by 1-4 digits (e.g. SK621)",
    ),
    (
        "get_flight_status",
        changed("get_flight_status", flight_date="26-3-1"),
        "invalid_date_format",
        "Invalid flight_date '26-3-1': must be YYYY-MM-DD",
    ),
    (
        "get_disruption_info",
        changed("get_disruption_info", date="March 20"),
        "invalid_date_format",
        "Invalid date 'March 20': must be YYYY-MM-DD",
    ),
    (
        "search_rebooking_options",
        changed("search_rebooking_options", origin="AUST"),
        "invalid_airport_code_format",
        "Invalid origin 'AUST': must be 3-letter airport code (e.g. JFK)",
    ),
    (
        "search_rebooking_options",
        changed("search_rebooking_options", passenger_count=0),
        "invalid_parameter",
        (
            "Invalid or missing parameter 'passenger_count': "
            "Input should be greater than or equal to 1"
        ),
    ),
    (
        "search_rebooking_options",
        changed("search_rebooking_options", fare_class="economy"),
        "invalid_fare_class",
        (
            "Invalid fare_class 'economy': Input should be 'basic_economy', 'main_cabin', "
            "'premium_economy', 'business', 'first' or 'any'"
        ),
    ),
    (
        "rebook_flight",
        {k: v for k, v in GOOD["rebook_flight"].items() if k != "waive_change_fee"},
        "invalid_parameter",
        "Invalid or missing parameter 'waive_change_fee': Field required",
    ),
    (
        "rebook_flight",
        changed("rebook_flight", rebooking_type="upgrade"),
        "invalid_rebooking_type",
        "Invalid rebooking_type 'upgrade': Input should be 'voluntary',",
    ),
    (
        "rebook_flight",
        changed("rebook_flight", new_fare_class="any"),
        "invalid_fare_class",
        "Invalid new_fare_class 'any': Input should be",
    ),
    (
        "cancel_reservation",
        changed("cancel_reservation", journey_id="not-a-valid-journey-id"),
        "invalid_journey_id_format",
        (
            "Invalid journey_id 'not-a-valid-journey-id': must be FL_<flight>_<YYYYMMDD> "
            "(e.g. FL_SK621_20260320)"
        ),
    ),
    (
        "cancel_reservation",
        changed("cancel_reservation", cancellation_reason="Voluntary"),
        "invalid_cancellation_reason",
        "Invalid cancellation_reason 'Voluntary': Input should be 'voluntary',",
    ),
    (
        "add_baggage_allowance",
        changed("add_baggage_allowance", num_bags=6),
        "invalid_bag_count",
        "Invalid num_bags '6': Input should be less than or equal to 5",
    ),
    (
        "add_baggage_allowance",
        changed("add_baggage_allowance", num_bags="two"),
        "invalid_bag_count",
        "Invalid num_bags 'two': Input should be a valid integer",
    ),
    (
        "add_meal_request",
        changed("add_meal_request", meal_type="pizza"),
        "invalid_meal_type",
        "Invalid meal_type 'pizza': Input should be 'vegetarian',",
    ),
    (
        "issue_hotel_voucher",
        changed("issue_hotel_voucher", num_nights=0),
        "invalid_parameter",
        "Invalid or missing parameter 'num_nights': Input should be greater than or equal to 1",
    ),
    (
        "issue_travel_credit",
        changed("issue_travel_credit", passenger_id="1"),
        "invalid_passenger_id_format",
        "Invalid passenger_id '1': must be PAX<digits> (e.g. PAX001)",
    ),
    (
        "issue_travel_credit",
        changed("issue_travel_credit", amount=0),
        "invalid_parameter",
        "Invalid or missing parameter 'amount': Input should be greater than 0",
    ),
    (
        "issue_travel_credit",
        changed("issue_travel_credit", credit_reason="because"),
        "invalid_credit_reason",
        "Invalid credit_reason 'because': Input should be",
    ),
    (
        "issue_meal_voucher",
        changed("issue_meal_voucher", voucher_reason=None),
        "invalid_voucher_reason",
        "Invalid voucher_reason 'None': Input should be",
    ),
    (
        "add_to_standby",
        changed("add_to_standby", passenger_ids=["PAX001", "x"]),
        "invalid_passenger_id_format",
        "Invalid passenger_ids 'x': String should match pattern '^PAX",
    ),
    (
        "process_refund",
        changed("process_refund", refund_amount=0),
        "invalid_parameter",
        "Invalid or missing parameter 'refund_amount': Input should be greater than 0",
    ),
    (
        "process_refund",
        changed("process_refund", refund_type="all"),
        "invalid_refund_type",
        "Invalid refund_type 'all': Input should be",
    ),
    (
        "assign_seat",
        changed("assign_seat", seat_preference="exit_row"),
        "invalid_seat_preference",
        "Invalid seat_preference 'exit_row': Input should be 'window',",
    ),
    (
        "transfer_to_agent",
        changed("transfer_to_agent", issue_summary=7),
        "invalid_parameter",
        "Invalid or missing parameter 'issue_summary': Input should be a valid string",
    ),
]


@pytest.mark.parametrize(
    ("name", "arguments", "error_type", "message"),
    REFUSALS,
    ids=[f"{i}-{name}-{error}" for i, (name, _, error, _) in enumerate(REFUSALS)],
)
def test_refusals(name: str, arguments: Any, error_type: str, message: str) -> None:
    state: dict[str, Any] = {}
    tool = get_schema_tool_for_eval(name, domain="eva_airline", shared_state=state)
    answer = tool.invoke(**arguments)
    assert (answer["status"], answer["error_type"]) == ("error", error_type)
    assert answer["message"].startswith(message)
    assert state == {}
