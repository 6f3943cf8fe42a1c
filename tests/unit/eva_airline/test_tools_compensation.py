"""Refunds, credits, vouchers and the transfer to a person."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_voiceeval.tools import get_schema_tool_for_eval

DB = json.loads(Path(__file__).with_name("tools_db.json").read_text(encoding="utf-8"))

CODE = "K7M2QX"
UNKNOWN = {"confirmation_number": "AAAAAA"}


@pytest.fixture
def state() -> dict[str, Any]:
    return {"db": copy.deepcopy(DB)}


DEFAULTS: dict[str, dict[str, Any]] = {
    "process_refund": {"refund_amount": "12.5", "refund_type": "taxes_only"},
    "issue_travel_credit": {"passenger_id": "PAX001", "amount": 40, "credit_reason": "goodwill"},
    "issue_hotel_voucher": {"passenger_id": "PAX001", "num_nights": 3},
    "issue_meal_voucher": {"passenger_id": "PAX002", "voucher_reason": "irrops_overnight"},
    "transfer_to_agent": {"transfer_reason": "asked", "issue_summary": "wants a person"},
}


def run(state: dict[str, Any], name: str, **changes: Any) -> Any:
    tool = get_schema_tool_for_eval(name, domain="eva_airline", shared_state=state)
    return tool.invoke(**({"confirmation_number": "k7m2qx"} | DEFAULTS[name] | changes))


def test_refunds_are_numbered_by_success(state: dict[str, Any]) -> None:
    assert run(state, "process_refund", refund_amount=0)["status"] == "error"
    assert run(state, "process_refund", **UNKNOWN)["status"] == "error"
    answers = [run(state, "process_refund") for _ in range(2)]
    assert [answer["refund_id"] for answer in answers] == [f"REF-{CODE}-001", f"REF-{CODE}-002"]
    assert answers[0] == {
        "status": "success",
        "refund_id": f"REF-{CODE}-001",
        "confirmation_number": CODE,
        "refund_amount": 12.5,
        "refund_type": "taxes_only",
        "processing_days": 7,
        "message": "$12.5 refund initiated, processing time 7 business days",
    }
    assert state["db"]["refunds"][f"REF-{CODE}-002"] == {
        "refund_id": f"REF-{CODE}-002",
        "confirmation_number": CODE,
        "refund_amount": 12.5,
        "refund_type": "taxes_only",
        "processing_days": 7,
        "initiated_date": "2026-03-10",
        "status": "processing",
    }
    assert state["actions"][1] == {
        "action_type": "process_refund",
        "confirmation_number": CODE,
        "refund_amount": 12.5,
        "refund_type": "taxes_only",
    }


def test_a_credit_replaces_the_one_before(state: dict[str, Any]) -> None:
    run(state, "issue_travel_credit")
    answer = run(state, "issue_travel_credit", passenger_id="PAX002", amount="60")
    assert (answer["credit_code"], answer["amount"], answer["valid_months"]) == (
        f"TC{CODE}PAX",
        60.0,
        12,
    )
    assert state["db"]["travel_credits"] == {
        f"TC{CODE}PAX": {
            "credit_code": f"TC{CODE}PAX",
            "confirmation_number": CODE,
            "passenger_id": "PAX002",
            "amount": 60.0,
            "credit_reason": "goodwill",
            "issued_date": "2026-03-10",
            "expiry_date": "2027-03-10",
            "status": "active",
        }
    }
    assert state["actions"][-1] == {
        "action_type": "issue_travel_credit",
        "confirmation_number": CODE,
        "passenger_id": "PAX002",
        "amount": 60.0,
        "credit_reason": "goodwill",
    }


def test_a_credit_of_a_leap_day_ends_on_a_day_that_does_not_exist(state: dict[str, Any]) -> None:
    state["db"]["_current_date"] = "2028-02-29"
    run(state, "issue_travel_credit")
    assert state["db"]["travel_credits"][f"TC{CODE}PAX"]["expiry_date"] == "2029-02-29"


def test_a_database_without_a_day_is_named(state: dict[str, Any]) -> None:
    del state["db"]["_current_date"]
    answer = run(state, "issue_travel_credit")
    assert answer["message"] == "KeyError: '_current_date'"
    assert state["db"]["travel_credits"] == {}


def test_a_hotel_voucher_makes_its_table(state: dict[str, Any]) -> None:
    answer = run(state, "issue_hotel_voucher")
    assert (answer["voucher_code"], answer["number_of_nights"], answer["valid_at"]) == (
        f"HOTEL-{CODE}",
        3,
        "Any hotels in airport area",
    )
    owner = {"confirmation_number": CODE, "passenger_id": "PAX001", "num_nights": 3}
    assert state["db"]["hotel_vouchers"] == {
        f"HOTEL-{CODE}": {
            "voucher_code": f"HOTEL-{CODE}",
            **owner,
            "issued_date": "2026-03-10",
            "status": "active",
        }
    }
    assert state["actions"] == [{"action_type": "issue_hotel_voucher", **owner}]


@pytest.mark.parametrize(
    ("reason", "amount"),
    [
        ("delay_over_2_hours", 12),
        ("delay_over_4_hours", 15),
        ("cancellation_wait_same_day", 15),
        ("irrops_overnight", 25),
    ],
)
def test_meal_vouchers(state: dict[str, Any], reason: str, amount: int) -> None:
    answer = run(state, "issue_meal_voucher", voucher_reason=reason)
    code = f"MEAL-{CODE}-PAX0"
    assert (answer["voucher_code"], answer["amount"]) == (code, amount)
    assert answer["valid_at"] == "Airport terminal restaurants"
    facts = {
        "confirmation_number": CODE,
        "passenger_id": "PAX002",
        "voucher_reason": reason,
        "amount": amount,
    }
    assert state["db"]["meal_vouchers"] == {
        code: {
            "voucher_code": code,
            **facts,
            "issued_date": "2026-03-10",
            "status": "active",
        }
    }
    assert state["actions"] == [{"action_type": "issue_meal_voucher", **facts}]


class TestTransfer:
    def test_it_is_recorded_and_changes_no_data(self, state: dict[str, Any]) -> None:
        assert run(state, "transfer_to_agent", **UNKNOWN)["status"] == "error"
        about = {
            "confirmation_number": CODE,
            "transfer_reason": "asked",
            "issue_summary": "wants a person",
        }
        assert run(state, "transfer_to_agent") == {
            "status": "success",
            "transfer_id": f"TRF-{CODE}-001",
            **about,
            "estimated_wait": "2-3 minutes",
            "message": "Transferring to live agent",
        }
        assert run(state, "transfer_to_agent")["transfer_id"] == f"TRF-{CODE}-002"
        assert state["db"] == DB
        assert state["actions"][0] == {"action_type": "transfer_to_agent", **about}

    @pytest.mark.parametrize(
        ("code", "kinds"),
        [(CODE, ["push", "result", "push"]), ("AAAAAA", ["result"])],
        ids=["success", "refused"],
    )
    async def test_it_ends_the_call_after_its_answer(
        self, state: dict[str, Any], code: str, kinds: list[str]
    ) -> None:
        log: list[tuple[str, Any]] = []

        class Params:
            arguments = {"confirmation_number": code, **DEFAULTS["transfer_to_agent"]}  # noqa: RUF012

            async def result_callback(self, result: Any) -> None:
                log.append(("result", result))

        class Rtvi:
            async def send_server_message(self, data: Any) -> None:
                log.append(("push", data))

        state["__rtvi__"] = Rtvi()
        tool = get_schema_tool_for_eval(
            "transfer_to_agent", domain="eva_airline", shared_state=state
        )
        await tool(Params())
        assert [kind for kind, _ in log] == kinds
        if code == CODE:
            assert log[0][1]["type"] == "action-applied"
            assert log[0][1]["writes"] == []
            assert log[-1][1] == {"text": "<exit>Transfer complete.</exit>"}
