"""Cancelling, seats, bags, meals and standby; the refusals of all tools that write."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_voiceeval.tools import get_schema_tool_for_eval
from pytest_voiceeval.tools.writes import changed_records, fingerprint_records

DB = json.loads(Path(__file__).with_name("tools_db.json").read_text(encoding="utf-8"))

CODE = "K7M2QX"
SINGLE, CONNECTION = "FL_SV100_20260312", "FL_SV300_SV301_20260320"
OTHER = "FL_SV110_20260314"


@pytest.fixture
def state() -> dict[str, Any]:
    return {"db": copy.deepcopy(DB)}


DEFAULTS: dict[str, dict[str, Any]] = {
    "cancel_reservation": {"journey_id": SINGLE, "cancellation_reason": "voluntary"},
    "assign_seat": {"passenger_id": "PAX001", "journey_id": SINGLE, "seat_preference": "aisle"},
    "add_baggage_allowance": {"journey_id": SINGLE, "num_bags": 3},
    "add_meal_request": {"passenger_id": "PAX001", "journey_id": SINGLE, "meal_type": "halal"},
    "add_to_standby": {"journey_id": OTHER, "passenger_ids": ["PAX001"]},
    "process_refund": {"refund_amount": "12.5", "refund_type": "taxes_only"},
    "issue_travel_credit": {"passenger_id": "PAX001", "amount": 40, "credit_reason": "goodwill"},
    "issue_hotel_voucher": {"passenger_id": "PAX001", "num_nights": 3},
    "issue_meal_voucher": {"passenger_id": "PAX002", "voucher_reason": "irrops_overnight"},
    "transfer_to_agent": {"transfer_reason": "asked", "issue_summary": "wants a person"},
}


def run(state: dict[str, Any], name: str, **changes: Any) -> Any:
    tool = get_schema_tool_for_eval(name, domain="eva_airline", shared_state=state)
    return tool.invoke(**({"confirmation_number": "k7m2qx"} | DEFAULTS[name] | changes))


def reservation(state: dict[str, Any]) -> Any:
    return state["db"]["reservations"][CODE]


def segments(state: dict[str, Any], journey_id: str = SINGLE) -> Any:
    found = [b for b in reservation(state)["bookings"] if b["journey_id"] == journey_id]
    return found[0]["segments"]


UNKNOWN = {"confirmation_number": "AAAAAA"}
NO_JOURNEY = {"journey_id": "FL_XX1_20260101"}
REFUSALS = [
    *[(name, UNKNOWN, "not_found") for name in DEFAULTS if name != "add_to_standby"],
    *[
        (name, NO_JOURNEY, "journey_not_found")
        for name in ("cancel_reservation", "assign_seat", "add_baggage_allowance")
    ],
    ("add_meal_request", NO_JOURNEY, "journey_not_found"),
    ("assign_seat", {"flight_number": "SV999"}, "flight_not_found"),
    ("assign_seat", {"flight_number": "sv100"}, "flight_not_found"),
    ("assign_seat", {"journey_id": CONNECTION}, "flight_number_required"),
    ("add_baggage_allowance", {"flight_number": "SV999"}, "flight_not_found"),
    ("add_meal_request", {"flight_number": "SV999"}, "flight_not_found"),
    ("add_to_standby", NO_JOURNEY, "flight_not_found"),
    ("add_to_standby", {"journey_id": "FL_SV130_20260314"}, "flight_cancelled"),
    ("add_to_standby", {"passenger_ids": ["PAX001", "PAX999"]}, "invalid_passengers"),
    ("issue_hotel_voucher", {"num_nights": 4}, "exceeds_authority"),
    ("issue_hotel_voucher", {"num_nights": 4, **UNKNOWN}, "not_found"),
]


@pytest.mark.parametrize(
    ("name", "changes", "error_type"),
    REFUSALS,
    ids=[f"{i}-{name}-{error}" for i, (name, _, error) in enumerate(REFUSALS)],
)
def test_refusals_change_count_and_record_nothing(
    state: dict[str, Any], name: str, changes: dict[str, Any], error_type: str
) -> None:
    answer = run(state, name, **changes)
    assert (answer["status"], answer["error_type"]) == ("error", error_type)
    assert state == {"db": DB}


class TestCancel:
    @pytest.mark.parametrize(
        ("reason", "fare_type", "refundable", "fee", "refund", "credit"),
        [
            ("voluntary", "non_refundable", False, 100, 0, 160.0),
            ("medical", "non_refundable", False, 100, 0, 160.0),
            ("24_hour_rule", "non_refundable", True, 0, 260.0, 0),
            ("irrops_refund", "non_refundable", True, 0, 260.0, 0),
            ("voluntary", "refundable", True, 0, 260.0, 0),
        ],
    )
    def test_money(
        self,
        state: dict[str, Any],
        reason: str,
        fare_type: Any,
        refundable: bool,
        fee: int,
        refund: Any,
        credit: Any,
    ) -> None:
        reservation(state)["fare_type"] = fare_type
        answer = run(state, "cancel_reservation", cancellation_reason=reason)
        assert answer["is_refundable"] is refundable
        assert answer["cancellation_fee"] == fee
        assert answer["refund_amount_eligible"] == refund
        assert answer["credit_amount_eligible"] == credit
        assert state["actions"] == [
            {
                "action_type": "cancel_reservation",
                "confirmation_number": CODE,
                "journey_id": SINGLE,
                "cancellation_reason": reason,
                "is_refundable": refundable,
                "cancellation_fee": fee,
                "refund_amount_eligible": refund,
            }
        ]
        assert state["db"]["refunds"] == state["db"]["travel_credits"] == {}

    def test_the_fee_takes_no_more_than_the_fare(self, state: dict[str, Any]) -> None:
        reservation(state)["bookings"][1]["fare_paid"] = 60.0
        assert run(state, "cancel_reservation")["credit_amount_eligible"] == 0

    def test_the_reservation_is_cancelled_with_its_last_booking(
        self, state: dict[str, Any]
    ) -> None:
        first = run(state, "cancel_reservation", journey_id=CONNECTION)
        assert first["reservation_status"] == "active"
        assert reservation(state)["status"] == "confirmed"
        second = run(state, "cancel_reservation")
        assert second["reservation_status"] == "cancelled"
        assert reservation(state)["status"] == "cancelled"
        seats = [
            segment["available_seats"]["main_cabin"]
            for journey in (CONNECTION, SINGLE)
            for segment in state["db"]["journeys"][journey]["segments"]
        ]
        assert seats == [2, 3, 6]

    def test_twice_is_refused(self, state: dict[str, Any]) -> None:
        run(state, "cancel_reservation")
        answer = run(state, "cancel_reservation")
        assert answer["error_type"] == "already_cancelled"
        assert answer["message"] == f"Journey {SINGLE} is already cancelled"
        assert len(state["actions"]) == 1


class TestSeat:
    @pytest.mark.parametrize(
        ("cabin", "passenger", "preference", "seat"),
        [
            ("main_cabin", "PAX001", "window", "21A"),
            ("main_cabin", "PAX001", "aisle", "21C"),
            ("main_cabin", "PAX001", "middle", "21B"),
            ("main_cabin", "PAX002", "no_preference", "22C"),
            ("basic_economy", "PAX001", "window", "26A"),
            ("premium_economy", "PAX001", "window", "11A"),
            ("business", "PAX001", "window", "6A"),
            ("first", "PAX001", "window", "2A"),
            ("main_cabin", "PAX1234", "aisle", "254C"),
        ],
    )
    def test_seats(
        self, state: dict[str, Any], cabin: Any, passenger: str, preference: str, seat: str
    ) -> None:
        reservation(state)["bookings"][1]["fare_class"] = cabin
        before = copy.deepcopy(state["db"]["journeys"])
        answer = run(state, "assign_seat", passenger_id=passenger, seat_preference=preference)
        assert answer == {
            "status": "success",
            "confirmation_number": CODE,
            "passenger_id": passenger,
            "journey_id": SINGLE,
            "flight_number": "SV100",
            "seat_assigned": seat,
            "fare_class": cabin,
            "preference": preference,
            "message": f"Seat {seat} ({preference}) successfully assigned",
        }
        assert segments(state)[0]["seat"] == seat
        assert state["db"]["journeys"] == before
        assert state["actions"][0]["seat_assigned"] == seat
        assert state["actions"][0]["flight_number"] == "SV100"

    def test_a_leg_of_a_connection(self, state: dict[str, Any]) -> None:
        run(state, "assign_seat", journey_id=CONNECTION, flight_number="SV301")
        assert [segment["seat"] for segment in segments(state, CONNECTION)] == ["22C", "21C"]

    @pytest.mark.parametrize("passenger", ["PAX1", "PAX12"])
    def test_a_short_passenger_id_crashes(self, state: dict[str, Any], passenger: str) -> None:
        answer = run(state, "assign_seat", passenger_id=passenger)
        number = passenger[-3:]
        assert answer == {
            "status": "error",
            "error_type": "execution_error",
            "message": f"ValueError: invalid literal for int() with base 10: '{number}'",
        }
        assert state == {"db": DB}

    @pytest.mark.parametrize(
        ("types", "preference", "error_type"),
        [
            ({"main_cabin": ["aisle"]}, "window", "seat_type_unavailable"),
            ({"main_cabin": []}, "aisle", "seat_type_unavailable"),
            ({"main_cabin": []}, "no_preference", None),
            ({"business": []}, "window", None),
            (["aisle"], "window", None),
            (None, "window", None),
        ],
        ids=["taken", "all taken", "no preference", "other cabin", "no object", "absent"],
    )
    def test_kinds_of_seat(
        self, state: dict[str, Any], types: Any, preference: str, error_type: str
    ) -> None:
        state["db"]["journeys"][SINGLE]["segments"][0]["available_seat_types"] = types
        answer = run(state, "assign_seat", seat_preference=preference)
        assert answer.get("error_type") == error_type

    def test_whoever_took_the_last_seat_gets_none(self, state: dict[str, Any]) -> None:
        seats = state["db"]["journeys"][SINGLE]["segments"][0]["available_seats"]
        seats["main_cabin"] = 0
        assert run(state, "assign_seat")["error_type"] == "no_seats_available"

    def test_a_journey_that_is_gone_is_not_asked(self, state: dict[str, Any]) -> None:
        del state["db"]["journeys"][SINGLE]
        assert run(state, "assign_seat")["status"] == "success"


class TestBagsAndMeals:
    @pytest.mark.parametrize(
        ("flight", "bags"), [(None, [3, 3]), ("SV301", [2, 3])], ids=["all", "one"]
    )
    def test_bags(self, state: dict[str, Any], flight: str | None, bags: Any) -> None:
        answer = run(
            state, "add_baggage_allowance", journey_id=CONNECTION, flight_number=flight, num_bags=3
        )
        assert answer == {
            "status": "success",
            "confirmation_number": CODE,
            "journey_id": CONNECTION,
            "bags_checked": 3,
            "message": "Baggage allowance set to 3 checked bag(s)",
        }
        assert [segment["bags_checked"] for segment in segments(state, CONNECTION)] == bags
        assert state["actions"] == [
            {
                "action_type": "add_baggage_allowance",
                "confirmation_number": CODE,
                "journey_id": CONNECTION,
                "flight_number": flight,
                "num_bags": 3,
            }
        ]

    @pytest.mark.parametrize(
        ("flight", "meals"),
        [(None, ["halal", "halal"]), ("SV301", ["vegan", "halal"])],
        ids=["all", "one"],
    )
    def test_meals_for_any_passenger(
        self, state: dict[str, Any], flight: str | None, meals: Any
    ) -> None:
        about = {
            "confirmation_number": CODE,
            "passenger_id": "PAX777",
            "journey_id": CONNECTION,
            "meal_type": "halal",
        }
        answer = run(
            state,
            "add_meal_request",
            passenger_id="PAX777",
            journey_id=CONNECTION,
            flight_number=flight,
        )
        assert answer == {"status": "success", **about, "message": "halal meal request added"}
        assert [segment["meal_request"] for segment in segments(state, CONNECTION)] == meals
        record = {"action_type": "add_meal_request", **about, "flight_number": flight}
        assert state["actions"] == [record]


class TestStandby:
    def test_both_lists_are_made(self, state: dict[str, Any]) -> None:
        answer = run(state, "add_to_standby", passenger_ids=["PAX001", "PAX002"])
        assert answer == {
            "status": "success",
            "confirmation_number": CODE,
            "journey_id": OTHER,
            "standby_list_position": 2,
            "message": "Added 2 passenger(s) to standby list",
        }
        ids = ["PAX001", "PAX002"]
        assert reservation(state)["standby_list"] == [
            {"journey_id": OTHER, "passenger_ids": ids, "position": 2, "status": "pending"}
        ]
        assert state["db"]["journeys"][OTHER]["standby_list"] == [
            {"confirmation_number": CODE, "passenger_id": "PAX001", "position": 1},
            {"confirmation_number": CODE, "passenger_id": "PAX002", "position": 2},
        ]
        assert state["actions"] == [
            {
                "action_type": "add_to_standby",
                "confirmation_number": CODE,
                "journey_id": OTHER,
                "passenger_ids": ids,
            }
        ]
        reservation(state)["standby_list"][0]["passenger_ids"].clear()
        assert state["actions"][0]["passenger_ids"] == ids

    def test_a_second_call_adds_a_second_entry(self, state: dict[str, Any]) -> None:
        run(state, "add_to_standby")
        assert run(state, "add_to_standby")["standby_list_position"] == 2
        positions = [entry["position"] for entry in reservation(state)["standby_list"]]
        assert positions == [1, 2]

    def test_an_unknown_reservation_waits_too(self, state: dict[str, Any]) -> None:
        answer = run(state, "add_to_standby", confirmation_number="AAAAAA", passenger_ids=["PAX9"])
        assert answer["status"] == "success"
        assert state["db"]["journeys"][OTHER]["standby_list"] == [
            {"confirmation_number": "AAAAAA", "passenger_id": "PAX9", "position": 1}
        ]
        assert state["db"]["reservations"] == DB["reservations"]

    def test_nobody_is_accepted(self, state: dict[str, Any]) -> None:
        assert run(state, "add_to_standby", passenger_ids=[])["standby_list_position"] == 0
        assert state["db"]["journeys"][OTHER]["standby_list"] == []
        assert reservation(state)["standby_list"][0]["passenger_ids"] == []

    def test_unknown_passengers_are_named(self, state: dict[str, Any]) -> None:
        answer = run(state, "add_to_standby", passenger_ids=["PAX999", "PAX001", "PAX7"])
        assert answer["message"] == "Unknown passenger ID(s): PAX999, PAX7"


def test_writes_name_the_records_of_a_call(state: dict[str, Any]) -> None:
    before = fingerprint_records(state["db"])
    run(state, "cancel_reservation")
    run(state, "issue_hotel_voucher")
    assert changed_records(before, fingerprint_records(state["db"])) == [
        ["reservations", CODE],
        ["journeys", SINGLE],
        ["hotel_vouchers", f"HOTEL-{CODE}"],
    ]
