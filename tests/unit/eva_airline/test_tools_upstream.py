"""The tools on the benchmark's own databases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_voiceeval.scoring.db_hash import get_dict_hash
from pytest_voiceeval.tools import get_schema_tool_for_eval

RECORDS = [
    "1.1.2",
    "1.1.3",
    "1.1.5",
    "1.2.2",
    "1.3.1",
    "2.1.1",
    "2.1.2",
    "2.2.2",
    "2.2.5",
    "2.3.4",
    "2.4.2",
    "3.1.3",
    "3.3.4",
    "4.1.2",
    "4.1.5",
    "4.2.4",
    "5.1.1",
    "5.1.2",
    "5.1.5",
    "5.2.2",
    "5.2.6",
    "6.1.4",
    "6.3.4",
    "7.2.1",
    "7.2.2",
]


@pytest.fixture(scope="session")
def samples(upstream_root: Path) -> Any:
    return json.loads((upstream_root / "eva_sample_calls.json").read_text())["records"]


@pytest.fixture
def load(upstream_root: Path) -> Any:
    def load_state(record: str) -> dict[str, Any]:
        path = upstream_root / "eva" / "data" / "airline_scenarios" / f"{record}.json"
        return {"db": json.loads(path.read_text())}

    return load_state


def run(state: dict[str, Any], name: str, **arguments: Any) -> Any:
    tool = get_schema_tool_for_eval(name, domain="eva_airline", shared_state=state)
    return tool.invoke(**arguments)


def test_every_sample_record_is_in_the_list(samples: dict[str, Any]) -> None:
    assert sorted(samples) == sorted(RECORDS)


@pytest.mark.parametrize("record", RECORDS)
def test_sample_calls_reach_the_expected_database(
    samples: dict[str, Any], load: Any, record: str
) -> None:
    state, sample = load(record), samples[record]
    assert get_dict_hash(state["db"]) == sample["initial_db_hash"]
    answers = [
        run(state, call["name"], **call["arguments"])
        for call in (*sample["authentication"], *sample["calls"])
    ]
    assert [answer["status"] for answer in answers] == ["success"] * len(answers)
    assert get_dict_hash(state["db"]) == sample["expected_db_hash"]


class TestFactsOfTheFirstRecord:
    """Numbers published for record 1.1.2."""

    @pytest.mark.parametrize(
        ("fare_class", "fares"),
        [
            ("main_cabin", {"SK703": 300, "SK715": 455, "SK739": 340, "SK781": 520, "SK809": 290}),
            ("any", {"SK703": 199, "SK715": 205, "SK739": 215, "SK781": 195, "SK809": 185}),
        ],
    )
    def test_search(self, load: Any, fare_class: Any, fares: Any) -> None:
        answer = run(
            load("1.1.2"),
            "search_rebooking_options",
            origin="AUS",
            destination="LAX",
            date="2026-03-25",
            passenger_count=1,
            fare_class=fare_class,
        )
        found = {o["journey_id"].split("_")[1]: o["fare"] for o in answer["options"]}
        assert found == fares
        first = answer["options"][0]
        assert (first["departure_time"], first["arrival_time"]) == ("08:15", "09:25")

    def test_rebooking(self, load: Any) -> None:
        state = load("1.1.2")
        answer = run(
            state,
            "rebook_flight",
            confirmation_number="ZK3FFW",
            journey_id="FL_SK621_20260320",
            new_journey_id="FL_SK703_20260325",
            rebooking_type="voluntary",
            waive_change_fee=False,
        )
        cost = answer["cost_summary"]
        assert (cost["change_fee"], cost["fare_difference"]) == (75, 40.0)
        assert (cost["credit_due"], cost["total_collected"]) == (0, 115.0)
        seats = [
            state["db"]["journeys"][journey]["segments"][0]["available_seats"]["main_cabin"]
            for journey in ("FL_SK703_20260325", "FL_SK621_20260320")
        ]
        assert seats == [21, 19]
        made = state["db"]["reservations"]["ZK3FFW"]["bookings"][-1]
        assert (made["fare_paid"], made["segments"][0]["seat"]) == (300.0, None)

    @pytest.mark.parametrize(
        ("reason", "refundable", "fee", "refund", "credit"),
        [("24_hour_rule", True, 0, 260.0, 0), ("voluntary", False, 100, 0, 160.0)],
    )
    def test_cancelling(
        self, load: Any, reason: str, refundable: bool, fee: int, refund: Any, credit: Any
    ) -> None:
        state = load("1.1.2")
        answer = run(
            state,
            "cancel_reservation",
            confirmation_number="ZK3FFW",
            journey_id="FL_SK621_20260320",
            cancellation_reason=reason,
        )
        assert answer["is_refundable"] is refundable
        assert (answer["cancellation_fee"], answer["refund_amount_eligible"]) == (fee, refund)
        assert answer["credit_amount_eligible"] == credit
        assert state["db"]["reservations"]["ZK3FFW"]["status"] == "cancelled"
