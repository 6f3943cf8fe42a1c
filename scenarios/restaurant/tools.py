"""What an agent of a restaurant can do.

The tools share the state of the call: `db` holds the menu, the order and the waiting list.
"""

# ruff: noqa: RUF012 - a pack declares by class attributes
from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from pytest_voiceeval.tools import (
    ReadScenarioTool,
    ToolError,
    WriteScenarioTool,
    register_schema_tool_for_eval,
)

DOMAIN = "restaurant"


def text(description: str) -> dict[str, str]:
    """The JSON Schema of a text."""
    return {"type": "string", "description": description}


@register_schema_tool_for_eval(DOMAIN)
class GetMenuTool(ReadScenarioTool):
    """Reads the menu."""

    description = "Get the menu with the price of every item in dollars."

    def _execute(self) -> dict[str, Any]:
        db = self.shared_state["db"]
        return {"status": "success", "restaurant": db["restaurant"], "menu": db["menu"]}


@register_schema_tool_for_eval(DOMAIN)
class PlaceOrderTool(WriteScenarioTool):
    """Places the caller's order, and hands it in as the result of the call."""

    description = "Place the order. An order placed before in the same call is replaced."
    required_properties = ["items", "customer_name", "total_price"]
    properties = {
        "items": {
            "type": "array",
            "description": "What was ordered, an entry for each item of the menu.",
            "items": {
                "type": "object",
                "properties": {
                    "name": text("Name of the item, as on the menu."),
                    "unit_price": text("Price of one, such as 8.05."),
                    "quantity": text("How many, such as 2."),
                },
                "required": ["name", "unit_price", "quantity"],
            },
        },
        "customer_name": text("First and last name of the customer."),
        "total_price": text("Price of the whole order, such as 16.10."),
        "customer_phone": text("Phone number of the customer, such as 555-0100."),
    }

    def _execute(
        self, items: list[Any], customer_name: str, total_price: str, customer_phone: str = ""
    ) -> dict[str, Any]:
        menu = self.shared_state["db"]["menu"]
        quantities = add_up(items, menu)
        prices = {name: Decimal(menu[name]["price"]) for name in quantities}
        total = sum(prices[name] * quantities[name] for name in quantities)
        if read_price(total_price) != total:
            raise ToolError("wrong_total", f"These items cost {total}, not {total_price}")
        lines = [
            {"name": name, "unit_price": str(prices[name]), "quantity": str(quantities[name])}
            for name in quantities
        ]
        order = {
            "items": lines,
            "customer_name": customer_name,
            "customer_phone": customer_phone,
            "total_price": str(total),
        }
        self.shared_state["db"]["order"] = order
        self._hand_in(order)
        return {"success": True, "message": "The order is placed.", "order": order}


def add_up(items: list[Any], menu: dict[str, Any]) -> dict[str, int]:
    """How many of each item of the menu were ordered; an item may be named more than once."""
    if not items or not isinstance(items, list):
        raise ToolError("nothing_ordered", "The order has no list of items")
    found: dict[str, int] = {}
    for item in items:
        if not isinstance(item, dict):
            raise ToolError("invalid_item", f"{item} has no name, unit_price and quantity")
        wanted = str(item.get("name")).strip()
        name = next((n for n in menu if n.casefold() == wanted.casefold()), None)
        if name is None:
            raise ToolError("not_on_menu", f"{wanted} is not on the menu: {', '.join(menu)}")
        if read_price(item.get("unit_price")) != Decimal(menu[name]["price"]):
            raise ToolError("wrong_price", f"{name} costs {menu[name]['price']}")
        found[name] = found.get(name, 0) + read_count(item.get("quantity"))
    return found


class WaitListTool(WriteScenarioTool):
    """A tool that changes the waiting list, and hands it in as it is then."""

    @property
    def waitlist(self) -> list[dict[str, Any]]:
        """The waiting parties, the next to be seated first."""
        parties: list[dict[str, Any]] = self.shared_state["db"]["waitlist"]
        return parties

    def party(self, name: str) -> dict[str, Any] | None:
        """The party of this name."""
        wanted = str(name).strip().casefold()
        return next((one for one in self.waitlist if one["name"].casefold() == wanted), None)

    def changed(self, message: str) -> dict[str, Any]:
        """Hand the list in, and answer."""
        result = {"waitlist": self.waitlist, "parties": len(self.waitlist)}
        self._hand_in(result)
        return {"success": True, "message": message, **result}


@register_schema_tool_for_eval(DOMAIN)
class JoinWaitListTool(WaitListTool):
    """Adds a party at the end."""

    description = "Put a party on the waiting list."
    required_properties = ["name", "phone", "party_size"]
    properties = {
        "name": text("First and last name."),
        "phone": text("Phone number, such as 555-0100."),
        "party_size": {"type": "integer", "description": "How many people."},
    }

    def _execute(self, name: str, phone: str, party_size: int) -> dict[str, Any]:
        if self.party(name):
            raise ToolError("already_waiting", f"{name} is on the waiting list already")
        size = read_count(party_size)
        self.waitlist.append({"name": name, "phone": phone, "party_size": size})
        return self.changed(f"{name} is on the waiting list.")


@register_schema_tool_for_eval(DOMAIN)
class DropWaitListTool(WaitListTool):
    """Takes a party off."""

    description = "Take a party off the waiting list."
    required_properties = ["name"]
    properties = {"name": text("First and last name, as on the list.")}

    def _execute(self, name: str) -> dict[str, Any]:
        party = self.party(name)
        if party is None:
            raise ToolError("not_waiting", f"{name} is not on the waiting list")
        self.waitlist.remove(party)
        return self.changed(f"{name} is off the waiting list.")


@register_schema_tool_for_eval(DOMAIN)
class GetWaitlistTool(ReadScenarioTool):
    """Reads the waiting list."""

    description = "Get the waiting list, the next party to be seated first."

    def _execute(self) -> dict[str, Any]:
        return {"status": "success", "waitlist": self.shared_state["db"]["waitlist"]}


def read_price(value: object) -> Decimal:
    """Read dollars and cents exactly; a float could not hold most of them."""
    found = re.fullmatch(r"\$?(\d{1,6}(\.\d{1,2})?)", str(value).strip(), re.ASCII)
    if found is None:
        raise ToolError("invalid_price", f"{value} is not a price such as 8.05")
    return Decimal(found[1])


def read_count(value: object) -> int:
    """Read a whole number from one on."""
    if not re.fullmatch(r"[1-9]\d{0,2}", str(value).strip(), re.ASCII):
        raise ToolError("invalid_number", f"{value} is not a whole number from 1 to 999")
    return int(str(value))
