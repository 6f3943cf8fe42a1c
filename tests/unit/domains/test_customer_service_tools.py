"""What the tools of the customer service do to an account, record and refuse."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from pytest_voiceeval.tools import get_schema_tool_for_eval

ACCOUNT = {
    "name": "Ann",
    "account_status": "Locked",
    "failed_login_attempts": "5",
    "plan": "Home 100",
    "monthly_rate": "$35.00",
    "balance": "$1,234.56",
    "recent_charges": [],
    "orders": {"N-1": {"status": "Delivered"}, "N-2": {"status": "In Transit"}},
}
TICKET = {"issue_summary": "It broke.", "resolution_details": "All is well."}


@pytest.fixture
def state() -> dict[str, Any]:
    """Two accounts before the call."""
    other = {**copy.deepcopy(ACCOUNT), "orders": {}}
    plans = {"Home 100": "$35.00", "Home 500": "$62.50"}
    return {"db": {"plans": plans, "accounts": {"A": copy.deepcopy(ACCOUNT), "B": other}}}


def use(state: dict[str, Any], tool: str, **arguments: Any) -> dict[str, Any]:
    made = get_schema_tool_for_eval(tool, domain="customer_service", shared_state=state)
    return made.invoke(**{"account_id": "A", **arguments})


def refund(state: dict[str, Any], amount: str) -> dict[str, Any]:
    return use(state, "ProcessRefundTool", amount=amount, description="Late", date="2026-03-12")


@pytest.mark.parametrize(
    ("amount", "written", "balance"),
    [
        ("$49.99", "$49.99", "$1,184.57"),
        ("0.10", "$0.10", "$1,234.46"),
        ("7", "$7.00", "$1,227.56"),
        ("$1,234.56", "$1,234.56", "$0.00"),
        ("$2,000.00", "$2,000.00", "-$765.44"),
    ],
)
def test_a_refund_is_a_charge_below_zero(
    state: dict[str, Any], amount: str, written: str, balance: str
) -> None:
    assert refund(state, amount)["status"] == "success"
    account = state["db"]["accounts"]["A"]
    assert account["balance"] == balance
    assert account["recent_charges"] == [
        {"description": "Refund - Late", "amount": f"-{written}", "date": "2026-03-12"}
    ]
    [action] = state["actions"]
    assert action["action_type"] == "process_refund"
    assert (action["account_id"], action["amount"]) == ("A", written)


@pytest.mark.parametrize("amount", ["0", "-$5.00", "five", "$1,23.00", "1.234", "", "NaN"])
def test_what_is_no_amount_is_refused(state: dict[str, Any], amount: str) -> None:
    assert refund(state, amount)["error_type"] == "invalid_amount"
    assert state["db"]["accounts"]["A"] == ACCOUNT
    assert "actions" not in state


def test_a_return_needs_a_delivery(state: dict[str, Any]) -> None:
    answer = use(state, "StartItemReturnTool", order_id="N-1", reason="Broken")
    assert answer["status"] == "success"
    order = state["db"]["accounts"]["A"]["orders"]["N-1"]
    assert order == {"status": "Return Started", "return_reason": "Broken"}
    for order_id in ("N-1", "N-2"):  # the first one is on its way back already
        refused = use(state, "StartItemReturnTool", order_id=order_id, reason="Broken")
        assert refused["error_type"] == "not_returnable"
    assert len(state["actions"]) == 1


def test_an_order_of_another_account_is_not_found(state: dict[str, Any]) -> None:
    for tool, more in (("CheckOrderStatusTool", {}), ("StartItemReturnTool", {"reason": "x"})):
        answer = use(state, tool, account_id="B", order_id="N-1", **more)
        assert answer["message"] == "Account B has no order N-1"


def test_changes_that_change_nothing_are_refused(state: dict[str, Any]) -> None:
    account = state["db"]["accounts"]["A"]
    plan = {"new_plan": "Home 500"}
    for tool, arguments in (
        ("ChangePlanTool", plan),
        ("UnlockAccountTool", {}),
        ("CancelSubscriptionTool", {}),
        ("ResolveTicketTool", {**TICKET, "resolution_type": "refund"}),
    ):
        assert use(state, tool, **arguments)["status"] == "success"
        assert use(state, tool, **arguments)["error_type"] == "no_change"
        if tool == "ChangePlanTool":
            assert (account["plan"], account["monthly_rate"]) == ("Home 500", "$62.50")
    assert (account["account_status"], account["failed_login_attempts"]) == ("Active", "0")
    assert (account["plan"], account["monthly_rate"]) == ("Canceled", "$0.00")
    assert [action["action_type"] for action in state["actions"]] == [
        "change_plan",
        "unlock_account",
        "cancel_subscription",
        "resolve_ticket",
    ]
    assert state["db"]["accounts"]["B"]["plan"] == "Home 100"


def test_a_ticket_is_recorded_and_handed_in(state: dict[str, Any]) -> None:
    refund(state, "$4.56")
    use(state, "ResolveTicketTool", **TICKET, resolution_type="refund")
    _, action = state["actions"]
    [handed_in] = state["_final_responses"]
    assert handed_in["actions"] == state["actions"]
    for place in (action, handed_in):
        assert {key: place[key] for key in TICKET} == TICKET
        assert (place["account_id"], place["resolution_type"]) == ("A", "refund")
        assert place["account"]["balance"] == "$1,230.00"


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("LookupAccountTool", {"account_id": "C"}, "There is no account C"),
        ("ChangePlanTool", {"new_plan": "Home 1"}, "There is no plan Home 1: Home 100 for $35.00"),
        ("ResolveTicketTool", {**TICKET, "resolution_type": "magic"}, "'magic' is not one of"),
    ],
)
def test_what_is_not_there_is_said(
    state: dict[str, Any], tool: str, arguments: dict[str, Any], says: str
) -> None:
    answer = use(state, tool, **arguments)
    assert answer["status"] == "error"
    assert answer["message"].startswith(says)
    assert "actions" not in state
