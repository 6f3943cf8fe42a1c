"""What the tools of the restaurants answer, hand in and refuse."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from pytest_voiceeval.tools import get_schema_tool_for_eval

MENU = {
    "Pie": {"price": "0.10"},
    "Tea": {"price": "0.20"},
    "Feast": {"price": "1234.05"},
}
WAITING = [{"name": "Ida Berg", "phone": "555-0101", "party_size": 2}]


@pytest.fixture
def state() -> dict[str, Any]:
    """A restaurant before the call."""
    return {"db": copy.deepcopy({"restaurant": "X", "menu": MENU, "waitlist": WAITING})}


def use(state: dict[str, Any], tool: str, **arguments: Any) -> dict[str, Any]:
    made = get_schema_tool_for_eval(tool, domain="restaurant", shared_state=state)
    return made.invoke(**arguments)


def item(name: str = "Pie", unit_price: Any = "0.10", quantity: Any = "1") -> dict[str, Any]:
    return {"name": name, "unit_price": unit_price, "quantity": quantity}


def order(state: dict[str, Any], *items: Any, total_price: Any) -> dict[str, Any]:
    asked = {"items": list(items), "customer_name": "Ann", "total_price": total_price}
    return use(state, "PlaceOrderTool", **asked)


def test_an_order_is_handed_in_with_exact_amounts_as_texts(state: dict[str, Any]) -> None:
    answer = order(state, item(), item("Tea", "0.20"), total_price="0.30")
    assert answer["success"] is True
    [handed_in] = state["_final_responses"]
    assert handed_in == state["db"]["order"]
    assert handed_in == {
        "items": [item(), item("Tea", "0.20")],
        "customer_name": "Ann",
        "customer_phone": "",
        "total_price": "0.30",
    }


@pytest.mark.parametrize(
    ("items", "total"),
    [
        ([item(quantity=3)], 0.3),
        ([item(unit_price=0.1, quantity="3")], "$0.30"),
        ([item(), item(), item()], "0.3"),
        ([item(" pie "), item("PIE", quantity=2)], "0.30"),
    ],
    ids=["numbers", "a sign", "one by one", "written otherwise"],
)
def test_models_write_the_same_order_in_many_ways(
    state: dict[str, Any], items: list[Any], total: Any
) -> None:
    assert order(state, *items, total_price=total)["success"] is True
    assert state["db"]["order"]["items"] == [item(quantity="3")]
    assert state["db"]["order"]["total_price"] == "0.30"


@pytest.mark.parametrize(
    ("items", "total", "kind", "says"),
    [
        ([item()], "0.11", "wrong_total", "These items cost 0.10, not 0.11"),
        ([item()], "0.1000001", "invalid_price", "0.1000001 is not a price such as 8.05"),
        ([item("Feast", "1234.05")], "1,234.05", "invalid_price", "1,234.05 is not a price"),
        ([item()], "NaN", "invalid_price", "NaN is not a price"),
        ([item("Soup")], "0.10", "not_on_menu", "Soup is not on the menu: Pie, Tea, Feast"),
        ([item(unit_price="0.2")], "0.20", "wrong_price", "Pie costs 0.10"),
        ([item(quantity="0")], "0.00", "invalid_number", "0 is not a whole number"),
        ([item(quantity="1.5")], "0.15", "invalid_number", "1.5 is not a whole number"),
        ([], "0.00", "nothing_ordered", "The order has no list of items"),
    ],
)
def test_what_does_not_add_up_is_refused_and_not_handed_in(
    state: dict[str, Any], items: list[Any], total: str, kind: str, says: str
) -> None:
    answer = order(state, *items, total_price=total)
    assert (answer["status"], answer["error_type"]) == ("error", kind)
    assert answer["message"].startswith(says)
    assert "_final_responses" not in state
    assert "order" not in state["db"]


def test_the_waiting_list_is_handed_in_after_every_change(state: dict[str, Any]) -> None:
    joined = use(state, "JoinWaitListTool", name="Bo", phone="555-0102", party_size="4")
    assert joined["parties"] == 2
    left = use(state, "DropWaitListTool", name="bo ")
    assert left["waitlist"] == use(state, "GetWaitlistTool")["waitlist"] == WAITING
    bo = {"name": "Bo", "phone": "555-0102", "party_size": 4}
    # each as it was then, whatever became of the list
    assert state["_final_responses"] == [
        {"waitlist": [*WAITING, bo], "parties": 2},
        {"waitlist": WAITING, "parties": 1},
    ]


@pytest.mark.parametrize(
    ("tool", "arguments", "kind"),
    [
        (
            "JoinWaitListTool",
            {"name": "IDA BERG", "phone": "1", "party_size": 2},
            "already_waiting",
        ),
        ("JoinWaitListTool", {"name": "Bo", "phone": "1", "party_size": 0}, "invalid_number"),
        ("DropWaitListTool", {"name": "Bo"}, "not_waiting"),
    ],
)
def test_what_would_change_nothing_is_refused(
    state: dict[str, Any], tool: str, arguments: dict[str, Any], kind: str
) -> None:
    assert use(state, tool, **arguments)["error_type"] == kind
    assert state["db"]["waitlist"] == WAITING
    assert "_final_responses" not in state


def test_the_menu_is_that_of_the_state(state: dict[str, Any]) -> None:
    assert use(state, "get_menu") == {"status": "success", "restaurant": "X", "menu": MENU}
