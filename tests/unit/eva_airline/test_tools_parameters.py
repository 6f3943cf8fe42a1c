"""The 15 tools: what they accept, how they refuse, and how they describe themselves."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_voiceeval.tools import get_schema_tool_for_eval, list_schema_tools_for_eval

DB = json.loads(Path(__file__).with_name("tools_db.json").read_text(encoding="utf-8"))

CODE = "K7M2QX"
JOURNEY = "FL_SV100_20260312"
CABINS = ["basic_economy", "main_cabin", "premium_economy", "business", "first"]

# One good call of each tool, its parameters in the documented order.
GOOD: dict[str, dict[str, Any]] = {
    "get_reservation": {"confirmation_number": CODE, "last_name": "Okafor"},
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
OPTIONAL = {
    "rebook_flight": ["new_fare_class", "flight_number"],
    "assign_seat": ["flight_number"],
    "add_baggage_allowance": ["flight_number"],
    "add_meal_request": ["flight_number"],
}

each_tool = pytest.mark.parametrize("name", GOOD)


def run(name: str, arguments: dict[str, Any], state: dict[str, Any] | None = None) -> Any:
    state = {"db": copy.deepcopy(DB)} if state is None else state
    return get_schema_tool_for_eval(name, domain="eva_airline", shared_state=state).invoke(
        **arguments
    )


def changed(name: str, **changes: Any) -> dict[str, Any]:
    return GOOD[name] | changes


def test_there_are_fifteen_tools_by_class_name() -> None:
    names = list_schema_tools_for_eval("eva_airline")
    functions = {get_schema_tool_for_eval(n, domain="eva_airline").name for n in names}
    assert len(names) == 15
    assert "RebookFlightTool" in names
    assert functions == set(GOOD)


@each_tool
def test_a_good_call_succeeds(name: str) -> None:
    assert run(name, GOOD[name])["status"] == "success"


@each_tool
@pytest.mark.parametrize("db", [None, {}], ids=["missing", "empty"])
def test_without_a_database(name: str, db: Any) -> None:
    state: dict[str, Any] = {} if db is None else {"db": db}
    before = copy.deepcopy(state)
    assert run(name, GOOD[name], state)["error_type"] == "db_not_initialized"
    assert state == before


@each_tool
def test_without_arguments(name: str) -> None:
    answer = run(name, {}, {})
    assert answer["status"] == "error"
    assert answer["error_type"].startswith("invalid_")
    assert answer["message"].endswith(tuple(")sedD")), answer  # a whole sentence
    assert "'{}'" in answer["message"]


@each_tool
def test_the_schema_is_portable_and_in_order(name: str) -> None:
    schema = get_schema_tool_for_eval(name, domain="eva_airline").schema
    assert list(schema.required) == list(GOOD[name])
    assert list(schema.properties) == [*GOOD[name], *OPTIONAL.get(name, [])]
    assert len(schema.description) > 40
    for parameter in schema.properties.values():
        assert set(parameter) <= {"type", "description", "enum", "items"}
        assert parameter["type"] in {"string", "number", "integer", "boolean", "array"}
        assert len(parameter["description"]) > 10
    assert json.loads(json.dumps(schema.to_openai())) == schema.to_openai()


@pytest.mark.parametrize(
    ("name", "parameter", "enum"),
    [
        ("rebook_flight", "new_fare_class", CABINS),
        ("search_rebooking_options", "fare_class", [*CABINS, "any"]),
        ("assign_seat", "seat_preference", ["window", "aisle", "middle", "no_preference"]),
        (
            "process_refund",
            "refund_type",
            ["full_fare", "partial_fare", "taxes_only", "ancillary_fees"],
        ),
    ],
)
def test_enums_are_shown(name: str, parameter: Any, enum: Any) -> None:
    schema = get_schema_tool_for_eval(name, domain="eva_airline").schema
    assert schema.properties[parameter]["enum"] == enum


def test_showing_the_tools_takes_pydantic_only_when_asked() -> None:
    code = (
        "import sys\n"
        "from pytest_voiceeval.tools import list_schema_tools_for_eval as names\n"
        "print(len(names('eva_airline')), 'pytest_voiceeval.packs.eva_airline.params' "
        "in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["15", "False"]


CONFIRMATION = "invalid_confirmation_number_format"


@pytest.mark.parametrize(
    ("name", "changes", "error_type"),
    [
        ("get_reservation", {"confirmation_number": 123456}, CONFIRMATION),
        ("get_reservation", {"confirmation_number": "ABC123\n"}, CONFIRMATION),
        ("get_reservation", {"confirmation_number": "ABC12٣"}, CONFIRMATION),
        ("get_reservation", {"confirmation_number": "ABC12É"}, CONFIRMATION),
        ("get_reservation", {"confirmation_number": None}, CONFIRMATION),
        ("get_flight_status", {"flight_number": "SK٦٢"}, "invalid_flight_number_format"),
        ("get_flight_status", {"flight_number": "SK621\n"}, "invalid_flight_number_format"),
        ("get_flight_status", {"flight_number": "SK62100"}, "invalid_flight_number_format"),
        ("get_flight_status", {"flight_number": ""}, "invalid_flight_number_format"),
        ("get_disruption_info", {"date": "2026-03-12\n"}, "invalid_date_format"),
        ("rebook_flight", {"journey_id": "fl_SV100_20260312"}, "invalid_journey_id_format"),
        ("rebook_flight", {"new_journey_id": "FL_20260314"}, "invalid_journey_id_format"),
        ("rebook_flight", {"new_fare_class": ""}, "invalid_fare_class"),
        ("rebook_flight", {"flight_number": ""}, "invalid_flight_number_format"),
        ("rebook_flight", {"waive_change_fee": "maybe"}, "invalid_parameter"),
        ("rebook_flight", {"waive_change_fee": None}, "invalid_parameter"),
        ("assign_seat", {"passenger_id": "pax001"}, "invalid_passenger_id_format"),
        ("assign_seat", {"passenger_id": "PAX"}, "invalid_passenger_id_format"),
        ("assign_seat", {"passenger_id": "PAX\u0660\u0661"}, "invalid_passenger_id_format"),
        ("add_to_standby", {"passenger_ids": "PAX001"}, "invalid_passenger_id_format"),
        ("add_to_standby", {"passenger_ids": None}, "invalid_passenger_id_format"),
        ("add_baggage_allowance", {"num_bags": 2.5}, "invalid_bag_count"),
        ("add_baggage_allowance", {"num_bags": -1}, "invalid_bag_count"),
        ("process_refund", {"refund_amount": "$188"}, "invalid_parameter"),
        ("process_refund", {"refund_amount": -1}, "invalid_parameter"),
        ("process_refund", {"refund_amount": "nan"}, "invalid_parameter"),
        ("process_refund", {"refund_amount": float("nan")}, "invalid_parameter"),
        ("process_refund", {"refund_amount": "inf"}, "invalid_parameter"),
        ("search_rebooking_options", {"destination": "LA1"}, "invalid_airport_code_format"),
    ],
)
def test_values_that_are_not_accepted(name: str, changes: dict[str, Any], error_type: str) -> None:
    assert run(name, changed(name, **changes))["error_type"] == error_type


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("get_reservation", {"confirmation_number": "k7m2qx"}),
        ("get_reservation", {"last_name": "oKAFOR"}),
        ("get_reservation", {"last_name": ""}),
        ("get_flight_status", {"flight_number": "sv100"}),
        ("get_disruption_info", {"flight_number": "Sv100"}),
        ("search_rebooking_options", {"origin": "jfk", "destination": "lax"}),
        ("search_rebooking_options", {"passenger_count": "2"}),
        ("search_rebooking_options", {"passenger_count": True}),
        ("rebook_flight", {"waive_change_fee": "no"}),
        ("rebook_flight", {"waive_change_fee": 1}),
        ("rebook_flight", {"new_fare_class": None, "flight_number": None}),
        ("rebook_flight", {"anything": "else", "self": 1}),
        ("add_baggage_allowance", {"num_bags": 2.0}),
        ("add_baggage_allowance", {"num_bags": "5"}),
        ("process_refund", {"refund_amount": "188"}),
    ],
)
def test_values_that_are_accepted(name: str, changes: dict[str, Any]) -> None:
    assert run(name, changed(name, **changes))["status"] == "success"


@pytest.mark.parametrize(
    ("name", "changes", "error_type"),
    [
        (
            "rebook_flight",
            {"waive_change_fee": "maybe", "new_fare_class": "x"},
            "invalid_fare_class",
        ),
        (
            "rebook_flight",
            {"confirmation_number": "x", "journey_id": "x", "rebooking_type": "x"},
            CONFIRMATION,
        ),
        (
            "rebook_flight",
            {"journey_id": "x", "rebooking_type": "x"},
            "invalid_journey_id_format",
        ),
        (
            "search_rebooking_options",
            {"passenger_count": 0, "fare_class": "x"},
            "invalid_fare_class",
        ),
        (
            "issue_travel_credit",
            {"amount": 0, "credit_reason": "x"},
            "invalid_credit_reason",
        ),
    ],
    ids=["own type first", "field order", "format before enum", "count last", "amount last"],
)
def test_which_bad_field_decides(name: str, changes: dict[str, Any], error_type: str) -> None:
    assert run(name, changed(name, **changes))["error_type"] == error_type
