"""`rebook_flight`: refusals, money, and what is left in the database."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_voiceeval.tools import get_schema_tool_for_eval

DB = json.loads(Path(__file__).with_name("tools_db.json").read_text(encoding="utf-8"))

SINGLE, CONNECTION = "FL_SV100_20260312", "FL_SV300_SV301_20260320"
NEW = "FL_SV110_20260314"


@pytest.fixture
def state() -> dict[str, Any]:
    return {"db": copy.deepcopy(DB)}


def run(state: dict[str, Any], **changes: Any) -> Any:
    wanted = {
        "confirmation_number": "k7m2qx",
        "journey_id": SINGLE,
        "new_journey_id": NEW,
        "rebooking_type": "voluntary",
        "waive_change_fee": False,
    }
    tool = get_schema_tool_for_eval("rebook_flight", domain="eva_airline", shared_state=state)
    return tool.invoke(**(wanted | changes))


def bookings(state: dict[str, Any]) -> Any:
    return state["db"]["reservations"]["K7M2QX"]["bookings"]


def booking(state: dict[str, Any], journey_id: str) -> Any:
    return next(b for b in bookings(state) if b["journey_id"] == journey_id)


def seats(state: dict[str, Any], journey_id: str, cabin: str) -> list[int]:
    segments = state["db"]["journeys"][journey_id]["segments"]
    return [segment["available_seats"].get(cabin) for segment in segments]


REFUSALS = [
    ({"confirmation_number": "AAAAAA", "journey_id": "FL_XX1_20260101"}, "not_found"),
    ({"journey_id": "FL_XX1_20260101", "new_journey_id": "FL_XX2_20260101"}, "journey_not_found"),
    ({"new_journey_id": "FL_XX2_20260101", "flight_number": "XX1"}, "flight_not_found"),
    ({"new_journey_id": "FL_SV140_20260314", "flight_number": "XX1"}, "not_bookable"),
    ({"flight_number": "SV999", "new_fare_class": "first"}, "flight_not_found"),
    ({"flight_number": "sv100"}, "flight_not_found"),
    ({"new_fare_class": "first"}, "fare_class_not_available"),
    ({"new_fare_class": "basic_economy"}, "no_seats_available"),
]


@pytest.mark.parametrize(
    ("changes", "error_type"),
    REFUSALS,
    ids=[
        "reservation",
        "journey",
        "new journey",
        "not bookable",
        "leg",
        "case of the leg",
        "no fare",
        "no seats",
    ],
)
def test_refusals_come_in_order_and_change_nothing(
    state: dict[str, Any], changes: dict[str, Any], error_type: str
) -> None:
    answer = run(state, **changes)
    assert (answer["status"], answer["error_type"]) == ("error", error_type)
    assert state == {"db": DB}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"journey_id": "FL_XX1_20260101"}, "Journey FL_XX1_20260101 not found in reservation"),
        ({"new_journey_id": "FL_XX2_20260101"}, "Flight FL_XX2_20260101 not found"),
        (
            {"new_journey_id": "FL_SV140_20260314"},
            "Flight FL_SV140_20260314 is not available for booking",
        ),
        ({"flight_number": "SV999"}, f"Flight SV999 not found in journey {SINGLE}"),
    ],
)
def test_refusals_name_what_is_missing(
    state: dict[str, Any], changes: dict[str, Any], message: str
) -> None:
    assert run(state, **changes)["message"] == message


@pytest.mark.parametrize("new", ["FL_SV130_20260314", "FL_SV150_20260314"], ids=["status", "key"])
def test_a_cancelled_journey_and_one_without_the_bookable_key_can_be_taken(
    state: dict[str, Any], new: Any
) -> None:
    assert run(state, new_journey_id=new)["status"] == "success"


def test_a_whole_change(state: dict[str, Any]) -> None:
    answer = run(state)
    assert booking(state, SINGLE) == booking({"db": DB}, SINGLE) | {"status": "cancelled"}
    assert bookings(state)[-1] == {
        "journey_id": NEW,
        "fare_class": "main_cabin",
        "fare_paid": 300.0,
        "status": "confirmed",
        "segments": [
            {
                "flight_number": "SV110",
                "date": "2026-03-14",
                "fare_paid": 300.0,
                "seat": None,
                "bags_checked": 1,
                "meal_request": "kosher",
            }
        ],
    }
    assert state["db"]["reservations"]["K7M2QX"]["status"] == "changed"
    assert (seats(state, NEW, "main_cabin"), seats(state, SINGLE, "main_cabin")) == ([1], [6])
    assert answer["cost_summary"] == {
        "original_fare_class": "main_cabin",
        "new_fare_class": "main_cabin",
        "cabin_changed": False,
        "change_fee": 75,
        "fare_difference": 40.0,
        "credit_due": 0,
        "total_collected": 115.0,
        "fee_waived": False,
    }
    assert answer["message"] == f"Successfully rebooked to flight {NEW}"
    assert answer["confirmation_number"] == "K7M2QX"
    new_journey = answer["new_journey"]
    assert new_journey.pop("segments") == state["db"]["journeys"][NEW]["segments"]
    assert new_journey == {
        "journey_id": NEW,
        "num_stops": 0,
        "departure": "09:00",
        "arrival": "12:00",
        "origin": "JFK",
        "destination": "LAX",
    }
    assert "partial_rebook" not in answer
    assert state["actions"] == [
        {
            "action_type": "rebook_flight",
            "confirmation_number": "K7M2QX",
            "old_journey_id": SINGLE,
            "new_journey_id": NEW,
            "rebooking_type": "voluntary",
            "original_fare_class": "main_cabin",
            "new_fare_class": "main_cabin",
            "change_fee": 75,
            "fare_difference": 40.0,
            "total_collected": 115.0,
            "partial_rebook": False,
        }
    ]


def test_the_answer_is_a_copy(state: dict[str, Any]) -> None:
    run(state)["new_journey"]["segments"].clear()
    assert len(state["db"]["journeys"][NEW]["segments"]) == 1


def test_another_cabin(state: dict[str, Any]) -> None:
    answer = run(state, new_fare_class="business")
    assert answer["message"] == f"Successfully rebooked to flight {NEW} in business"
    assert answer["cost_summary"]["cabin_changed"] is True
    assert answer["cost_summary"]["fare_difference"] == 640.0
    assert seats(state, NEW, "business") == [0]
    assert seats(state, SINGLE, "main_cabin") == [6]
    assert bookings(state)[-1]["fare_class"] == "business"


FEES = [
    ("voluntary", "basic_economy", 75),
    ("voluntary", "main_cabin", 75),
    ("voluntary", "premium_economy", 75),
    ("voluntary", "business", 0),
    ("voluntary", "first", 0),
    ("voluntary", "unheard_of", 75),
    ("same_day", "basic_economy", 199),
    ("same_day", "main_cabin", 75),
    ("same_day", "business", 75),
    ("missed_flight_passenger_fault", "main_cabin", 75),
    ("missed_connection_airline_fault", "main_cabin", 75),
    ("irrops_cancellation", "main_cabin", 0),
    ("irrops_delay", "basic_economy", 0),
    ("irrops_schedule_change", "premium_economy", 0),
]


@pytest.mark.parametrize(("kind", "cabin", "fee"), FEES)
def test_the_fee_follows_type_and_old_cabin(
    state: dict[str, Any], kind: Any, cabin: Any, fee: int
) -> None:
    booking(state, SINGLE)["fare_class"] = cabin
    cost = run(state, rebooking_type=kind, new_fare_class="main_cabin")["cost_summary"]
    assert cost["change_fee"] == fee
    assert cost["fee_waived"] is kind.startswith("irrops")
    assert cost["total_collected"] == (0 if kind.startswith("irrops") else fee + 40.0)


def test_a_waived_fee_leaves_the_difference(state: dict[str, Any]) -> None:
    cost = run(state, waive_change_fee=True)["cost_summary"]
    assert (cost["change_fee"], cost["fee_waived"], cost["total_collected"]) == (0, True, 40.0)


def test_a_cheaper_fare_is_a_credit(state: dict[str, Any]) -> None:
    cost = run(state, new_journey_id="FL_SV120_20260314")["cost_summary"]
    assert (cost["fare_difference"], cost["credit_due"]) == (-20.0, 20.0)
    assert cost["total_collected"] == 75


def test_a_booking_without_a_fare_of_its_own_costs_the_sum_of_its_segments(
    state: dict[str, Any],
) -> None:
    del booking(state, CONNECTION)["fare_paid"]
    cost = run(state, journey_id=CONNECTION)["cost_summary"]
    assert cost["fare_difference"] == -100.0


class TestSegments:
    """What each new segment costs and carries over."""

    def new_segments(self, state: dict[str, Any], **changes: Any) -> list[tuple[Any, ...]]:
        assert run(state, **changes)["status"] == "success"
        keys = ("flight_number", "fare_paid", "bags_checked", "meal_request", "seat")
        made = [b for b in bookings(state) if b["journey_id"] == changes["new_journey_id"]]
        return [tuple(segment[key] for key in keys) for segment in made[-1]["segments"]]

    def test_more_new_segments_than_old(self, state: dict[str, Any]) -> None:
        new = "FL_SV320_SV321_SV322_20260321"
        assert self.new_segments(state, journey_id=CONNECTION, new_journey_id=new) == [
            ("SV320", 210.0, 2, "vegan", None),
            ("SV321", 290.0, 1, None, None),
            ("SV322", 0, 2, "vegan", None),
        ]

    def test_fewer_new_segments_than_old(self, state: dict[str, Any]) -> None:
        rows = self.new_segments(state, journey_id=CONNECTION, new_journey_id=NEW)
        assert rows == [("SV110", 300.0, 2, "vegan", None)]

    def test_in_a_disruption_the_old_fares_stay(self, state: dict[str, Any]) -> None:
        rows = self.new_segments(
            state,
            journey_id=CONNECTION,
            new_journey_id="FL_SV320_SV321_SV322_20260321",
            rebooking_type="irrops_delay",
        )
        assert [row[1] for row in rows] == [150.0, 250.0, 0]
        assert bookings(state)[-1]["fare_paid"] == 400.0

    def test_missing_bags_and_meals_are_none(self, state: dict[str, Any]) -> None:
        segment = booking(state, SINGLE)["segments"][0]
        del segment["bags_checked"], segment["meal_request"]
        rows = self.new_segments(state, new_journey_id=NEW)
        assert rows == [("SV110", 300.0, 0, None, None)]

    def test_a_booking_without_segments(self, state: dict[str, Any]) -> None:
        booking(state, SINGLE)["segments"] = []
        rows = self.new_segments(state, new_journey_id=NEW)
        assert rows == [("SV110", 300.0, 0, None, None)]

    def test_one_leg_in_a_disruption_keeps_its_fare_on_a_direct_flight(
        self, state: dict[str, Any]
    ) -> None:
        new = "FL_SV310_20260320"
        rows = self.new_segments(
            state,
            journey_id=CONNECTION,
            flight_number="SV301",
            new_journey_id=new,
            rebooking_type="irrops_cancellation",
        )
        assert rows == [("SV310", 250.0, 1, None, None)]
        assert booking(state, new)["fare_paid"] == 250.0

    def test_one_leg_in_a_disruption_takes_the_fares_of_a_connection(
        self, state: dict[str, Any]
    ) -> None:
        rows = self.new_segments(
            state,
            journey_id=CONNECTION,
            flight_number="SV300",
            new_journey_id="FL_SV160_SV161_20260314",
            rebooking_type="irrops_cancellation",
        )
        assert [row[1:4] for row in rows] == [(120.0, 2, "vegan"), (160.0, 2, "vegan")]


class TestOneLeg:
    NEW_LEG = "FL_SV310_20260320"

    def change(self, state: dict[str, Any], **changes: Any) -> Any:
        return run(
            state,
            journey_id=CONNECTION,
            flight_number="SV301",
            new_journey_id=self.NEW_LEG,
            **changes,
        )

    def test_the_other_leg_is_kept_in_a_booking_of_its_own(self, state: dict[str, Any]) -> None:
        self.change(state)
        assert [(b["journey_id"], b["status"]) for b in bookings(state)] == [
            (CONNECTION, "cancelled"),
            (SINGLE, "confirmed"),
            (self.NEW_LEG, "confirmed"),
            (CONNECTION, "confirmed"),
        ]
        kept = bookings(state)[-1]
        assert kept == {
            "journey_id": CONNECTION,
            "fare_class": "main_cabin",
            "fare_paid": 150.0,
            "status": "confirmed",
            "segments": [bookings({"db": DB})[0]["segments"][0]],
        }
        assert kept["segments"][0] is not bookings(state)[0]["segments"][0]

    def test_the_seats_of_both_old_legs_come_back(self, state: dict[str, Any]) -> None:
        self.change(state)
        assert seats(state, CONNECTION, "main_cabin") == [2, 3]
        assert seats(state, self.NEW_LEG, "main_cabin") == [4]

    def test_the_money_is_that_of_the_leg(self, state: dict[str, Any]) -> None:
        cost = self.change(state)["cost_summary"]
        assert (cost["fare_difference"], cost["credit_due"]) == (-50.0, 50.0)
        assert cost["total_collected"] == 75

    def test_the_answer_and_the_record_say_so(self, state: dict[str, Any]) -> None:
        answer = self.change(state)
        assert answer["partial_rebook"] is True
        leg = {"flight_number": "SV301", "origin": None, "destination": None, "fare_paid": 250.0}
        assert answer["replaced_segment"] == leg
        kept = leg | {"flight_number": "SV300", "fare_paid": 150.0, "seat": "22C"}
        assert answer["kept_segments"] == [kept]
        record = state["actions"][-1]
        assert (record["partial_rebook"], record["replaced_flight_number"]) == (True, "SV301")

    def test_the_only_leg_leaves_nothing_to_keep(self, state: dict[str, Any]) -> None:
        answer = run(state, flight_number="SV100")
        assert (answer["partial_rebook"], answer["kept_segments"]) == (True, [])
        assert len(bookings(state)) == 3

    def test_a_kept_booking_changed_again_cancels_the_wrong_entry(
        self, state: dict[str, Any]
    ) -> None:
        self.change(state)
        answer = run(state, journey_id=CONNECTION, new_journey_id=NEW)
        # The first booking of that journey was cancelled before; the kept one stays confirmed.
        assert answer["cost_summary"]["fare_difference"] == 150.0
        assert [b["status"] for b in bookings(state)] == [
            "cancelled",
            "confirmed",
            "confirmed",
            "confirmed",
            "confirmed",
        ]


def test_a_cancelled_booking_can_be_changed_again(state: dict[str, Any]) -> None:
    run(state)
    assert run(state, new_journey_id="FL_SV120_20260314")["status"] == "success"
    assert [b["status"] for b in bookings(state)][1:] == ["cancelled", "confirmed", "confirmed"]


def test_a_journey_that_is_gone_gives_no_seats_back(state: dict[str, Any]) -> None:
    del state["db"]["journeys"][SINGLE]
    assert run(state)["status"] == "success"


def test_a_cabin_the_old_journey_did_not_count_is_counted_from_now_on(
    state: dict[str, Any],
) -> None:
    del state["db"]["journeys"][SINGLE]["segments"][0]["available_seats"]["main_cabin"]
    run(state)
    assert seats(state, SINGLE, "main_cabin") == [1]
