"""Who calls the restaurants, and what must have been handed in at the end.

`orders.yaml` and `waitlist.yaml` hold what differs from call to call.
"""

# ruff: noqa: RUF012 - a pack declares by class attributes
from __future__ import annotations

import copy
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

from pytest_voiceeval import (
    END_CONVERSATION_GUIDELINE,
    EXECUTION_HONESTY_GUIDELINE,
    Actions,
    DataError,
    Persona,
    RecordScenario,
    Resources,
    SuccessSignal,
    Task,
    load_db_artifact,
    register_records,
    with_spelling,
)

FOLDER = Path(__file__).parent
RESTAURANTS = load_db_artifact(FOLDER / "restaurants.json")


def check_prices(menu: dict[str, Any], path: Path) -> None:
    """Refuse a price that would not stay exact, before anybody orders."""
    for name, item in menu.items():
        price = item.get("price")
        if not (isinstance(price, str) and re.fullmatch(r"\d{1,6}\.\d\d", price, re.ASCII)):
            problem = f'the price of {name} is a text such as "6.40", not {price!r}'
            raise DataError(problem, path=path)


for restaurant in RESTAURANTS.values():
    check_prices(restaurant["menu"], FOLDER / "restaurants.json")


class RestaurantScenario(RecordScenario):
    """What all calls to a restaurant have in common."""

    domain = "restaurant"
    success_signals = (SuccessSignal.ACTION_MATCH, SuccessSignal.CLEAN_EXIT)
    max_duration = 180
    ignore_capitalization = True
    ignore_punctuation = True
    KEYS = {"restaurant": str, "name": str, "phone": str, "wish": str}

    agent_task = Task(goal="take orders, and look after the waiting list for a table.")
    agent_actions = Actions(
        guidelines=[
            "Look at the menu before you name a price, and offer nothing that is not on it.",
            "Ask for the caller's name and phone number.",
            "Say what you are going to order and what it costs before you place an order.",
            EXECUTION_HONESTY_GUIDELINE,
            END_CONVERSATION_GUIDELINE,
        ]
    )
    agent_resources = Resources(
        tools={
            "GetMenuTool": {},
            "PlaceOrderTool": {},
            "JoinWaitListTool": {},
            "DropWaitListTool": {},
            "GetWaitlistTool": {},
            "EndConversationTool": {},
        }
    )
    user_actions = Actions(guidelines=["Give your phone number when you are asked for it."])

    @property
    def agent_persona(self) -> Persona:
        """Somebody who answers the phone there."""
        return Persona(role=f"person who answers the phone of the restaurant {self.place['name']}")

    @property
    def user_persona(self) -> Persona:
        """The caller."""
        return Persona(role="customer of a restaurant", name=self.record["name"])

    @property
    def user_task(self) -> Task:
        """What the caller wants."""
        return Task(goal=self.record["wish"])

    @property
    def user_resources(self) -> Resources:
        """What the caller is asked for."""
        return Resources(information=[f"Your number is {with_spelling(self.record['phone'])}."])

    @property
    def place(self) -> dict[str, Any]:
        """The restaurant that is called."""
        found: dict[str, Any] | None = RESTAURANTS.get(self.record["restaurant"])
        if found is None:
            raise self.record.error(f"there is no restaurant {self.record['restaurant']!r}")
        return found

    def setup_shared_state(self, state: dict[str, Any], side: str) -> None:
        """Give the agent its own copy of menu and waiting list."""
        if side == "agent":
            menu, waitlist = copy.deepcopy((self.place["menu"], self.place["waitlist"]))
            name = self.place["name"]
            state["db"] = {"restaurant": name, "menu": menu, "order": None, "waitlist": waitlist}


class OrderScenario(RestaurantScenario):
    """A call that orders something: the last order that was placed is compared."""

    KEYS = {**RestaurantScenario.KEYS, "order": dict}

    @property
    def reference_answer(self) -> dict[str, Any]:
        """The order, with prices of the menu."""
        lines = [self._line(name, quantity) for name, quantity in self.record["order"].items()]
        total = sum(Decimal(line["unit_price"]) * Decimal(line["quantity"]) for line in lines)
        return {
            "items": lines,
            "customer_name": self.record["name"],
            "customer_phone": self.record["phone"],
            "total_price": str(total),
        }

    def _line(self, name: str, quantity: object) -> dict[str, str]:
        if name not in self.place["menu"]:
            raise self.record.error(f"{name!r} is not on the menu")
        if type(quantity) is not int or quantity < 1:
            raise self.record.error(f"how many of {name!r} is a whole number, not {quantity!r}")
        price = self.place["menu"][name]["price"]
        return {"name": name, "unit_price": price, "quantity": str(quantity)}


class WaitListScenario(RestaurantScenario):
    """A call that joins the waiting list and leaves it again: both changes are compared."""

    max_duration = 120
    disallow_extra_items = True  # no third change
    KEYS = {**RestaurantScenario.KEYS, "party_size": int}

    @property
    def reference_answer(self) -> list[dict[str, Any]]:
        """The waiting list with the caller on it, and as it was before."""
        before = self.place["waitlist"]
        caller = {key: self.record[key] for key in ("name", "phone", "party_size")}
        return [
            {"waitlist": [*before, caller], "parties": len(before) + 1},
            {"waitlist": before, "parties": len(before)},
        ]


register_records(OrderScenario, FOLDER / "orders.yaml")
register_records(WaitListScenario, FOLDER / "waitlist.yaml")
