"""The four tools that read."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_voiceeval.tools import get_schema_tool_for_eval

DB = json.loads(Path(__file__).with_name("tools_db.json").read_text(encoding="utf-8"))


@pytest.fixture
def state() -> dict[str, Any]:
    return {"db": copy.deepcopy(DB)}


def run(state: dict[str, Any], name: str, **arguments: Any) -> Any:
    tool = get_schema_tool_for_eval(name, domain="eva_airline", shared_state=state)
    return tool.invoke(**arguments)


def search(state: dict[str, Any], **changes: Any) -> Any:
    wanted = {
        "origin": "JFK",
        "destination": "LAX",
        "date": "2026-03-14",
        "passenger_count": 1,
        "fare_class": "main_cabin",
    }
    return run(state, "search_rebooking_options", **(wanted | changes))


class TestGetReservation:
    def test_bookings_are_sorted_by_day_in_a_copy(self, state: dict[str, Any]) -> None:
        answer = run(state, "get_reservation", confirmation_number="k7m2qx", last_name="lund")
        shown = answer["reservation"]
        assert [b["journey_id"] for b in shown["bookings"]] == [
            "FL_SV100_20260312",
            "FL_SV300_SV301_20260320",
        ]
        shown["bookings"][0]["segments"][0]["seat"] = "1A"
        assert state == {"db": DB}

    def test_the_same_day_is_sorted_by_journey(self, state: dict[str, Any]) -> None:
        bookings = state["db"]["reservations"]["K7M2QX"]["bookings"]
        bookings.append(copy.deepcopy(bookings[1]) | {"journey_id": "FL_SV099_20260312"})
        answer = run(state, "get_reservation", confirmation_number="K7M2QX", last_name="Lund")
        ids = [b["journey_id"] for b in answer["reservation"]["bookings"]]
        assert ids == ["FL_SV099_20260312", "FL_SV100_20260312", "FL_SV300_SV301_20260320"]

    @pytest.mark.parametrize(
        ("code", "last_name", "error_type", "message"),
        [
            ("AAAAAA", "Okafor", "not_found", "Reservation AAAAAA not found"),
            ("aaaaaa", "", "not_found", "Reservation AAAAAA not found"),
            (
                "k7m2qx",
                "Nobody",
                "authentication_failed",
                "Last name does not match reservation K7M2QX",
            ),
            (
                "K7M2QX",
                " Okafor",
                "authentication_failed",
                "Last name does not match reservation K7M2QX",
            ),
        ],
        ids=["code", "code without a name", "name", "not trimmed"],
    )
    def test_refusals(
        self, state: dict[str, Any], code: str, last_name: Any, error_type: str, message: str
    ) -> None:
        answer = run(state, "get_reservation", confirmation_number=code, last_name=last_name)
        assert answer == {"status": "error", "error_type": error_type, "message": message}
        assert state == {"db": DB}


class TestGetFlightStatus:
    @pytest.mark.parametrize(
        ("flight", "day", "journey"),
        [
            ("sv110", "2026-03-14", "FL_SV110_20260314"),
            ("SV301", "2026-03-20", "FL_SV300_SV301_20260320"),
        ],
        ids=["by id", "by segment"],
    )
    def test_found(self, state: dict[str, Any], flight: str | None, day: Any, journey: Any) -> None:
        answer = run(state, "get_flight_status", flight_number=flight, flight_date=day)
        assert answer == {"status": "success", "journey": DB["journeys"][journey]}
        answer["journey"]["segments"].clear()
        assert state == {"db": DB}

    @pytest.mark.parametrize(
        ("flight", "day"), [("sv999", "2026-03-14"), ("SV301", "2026-03-21")], ids=["none", "day"]
    )
    def test_not_found_shows_what_was_asked(
        self, state: dict[str, Any], flight: str | None, day: Any
    ) -> None:
        answer = run(state, "get_flight_status", flight_number=flight, flight_date=day)
        message = f"Flight {flight} not found for date {day}"
        assert answer == {"status": "error", "error_type": "not_found", "message": message}


class TestGetDisruptionInfo:
    def test_found(self, state: dict[str, Any]) -> None:
        answer = run(state, "get_disruption_info", flight_number="sv100", date="2026-03-12")
        disruption = DB["disruptions"]["SV100_2026-03-12"]
        assert answer == {"status": "success", "disruption": disruption}

    def test_not_found(self, state: dict[str, Any]) -> None:
        answer = run(state, "get_disruption_info", flight_number="SV100", date="2026-03-13")
        assert answer["error_type"] == "not_found"
        assert answer["message"] == "No disruption info found for flight SV100"


class TestSearch:
    def test_options_are_what_can_be_booked_by_departure(self, state: dict[str, Any]) -> None:
        answer = search(state)
        ids = [option["journey_id"] for option in answer["options"]]
        assert ids == ["FL_SV160_SV161_20260314", "FL_SV120_20260314", "FL_SV110_20260314"]
        assert [option["fare"] for option in answer["options"]] == [280.0, 240.0, 300.0]
        assert (answer["count"], answer["message"]) == (3, "3 flight(s) found")

    def test_an_option(self, state: dict[str, Any]) -> None:
        option = search(state)["options"][0]
        segments = option.pop("segments")
        assert option == {
            "journey_id": "FL_SV160_SV161_20260314",
            "origin": "JFK",
            "destination": "LAX",
            "num_stops": 1,
            "total_duration_minutes": 300,
            "departure_time": "06:00",
            "arrival_time": "13:00",
            "available_seats": {
                "basic_economy": 2,
                "main_cabin": 1,
                "premium_economy": 0,
                "business": 0,
                "first": 0,
            },
            "fare": 280.0,
        }
        assert segments is state["db"]["journeys"]["FL_SV160_SV161_20260314"]["segments"]

    @pytest.mark.parametrize(
        ("changes", "flights"),
        [
            ({"passenger_count": 2}, ["SV120", "SV110"]),
            ({"passenger_count": 3}, ["SV120"]),
            ({"passenger_count": 10}, []),
            ({"fare_class": "business"}, ["SV110"]),
            ({"fare_class": "first"}, []),
            ({"fare_class": "any"}, ["SV160_SV161", "SV120", "SV110"]),
            ({"fare_class": "any", "passenger_count": 4}, ["SV120", "SV110"]),
            ({"date": "2026-03-15"}, []),
            ({"origin": "LAX", "destination": "JFK"}, []),
        ],
        ids=str,
    )
    def test_which_are_kept(
        self, state: dict[str, Any], changes: dict[str, Any], flights: Any
    ) -> None:
        answer = search(state, **changes)
        assert answer["status"] == "success"
        assert [o["journey_id"] for o in answer["options"]] == [f"FL_{f}_20260314" for f in flights]

    @pytest.mark.parametrize(
        ("count", "fares"),
        [(1, [110, 240.0, 300.0]), (4, [240.0, 450])],
        ids=["one", "four"],
    )
    def test_any_is_the_cheapest_cabin_with_room_and_a_price(
        self, state: dict[str, Any], count: Any, fares: Any
    ) -> None:
        options = search(state, fare_class="any", passenger_count=count)["options"]
        assert [option["fare"] for option in options] == fares

    def test_a_cabin_without_a_price_has_no_fare(self, state: dict[str, Any]) -> None:
        state["db"]["journeys"]["FL_SV110_20260314"]["fares"]["business"] = None
        (option,) = search(state, fare_class="business")["options"]
        assert option["fare"] is None


def test_reading_records_nothing(state: dict[str, Any]) -> None:
    run(state, "get_reservation", confirmation_number="K7M2QX", last_name="Okafor")
    search(state)
    assert set(state) == {"db"}
