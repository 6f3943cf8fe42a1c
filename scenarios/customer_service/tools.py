"""What an agent of the customer service can do, each tool on one account.

Every change is recorded as an action. A change that would change nothing is refused, so that an
agent which asks twice does not act twice.
"""

# ruff: noqa: RUF012 - a pack declares by class attributes
from __future__ import annotations

import copy
import datetime
import re
from decimal import Decimal
from typing import Any

from pytest_voiceeval.tools import (
    ReadScenarioTool,
    ToolError,
    WriteScenarioTool,
    register_schema_tool_for_eval,
)

DOMAIN = "customer_service"

RESOLUTION_TYPES = (
    "refund",
    "credit",
    "replacement",
    "repair",
    "plan_change",
    "account_unlocked",
    "cancellation",
    "information",
)


def text(description: str) -> dict[str, str]:
    """The JSON Schema of a text."""
    return {"type": "string", "description": description}


ACCOUNT = {"account_id": text("Number of the account, such as NL-1000.")}
ORDER = {"order_id": text("Number of the order, such as N-10000.")}


def find_account(state: dict[str, Any], account_id: str) -> dict[str, Any]:
    """The account of this number."""
    account: dict[str, Any] | None = state["db"]["accounts"].get(str(account_id))
    if account is None:
        raise ToolError("not_found", f"There is no account {account_id}")
    return account


def find_order(state: dict[str, Any], account_id: str, order_id: str) -> dict[str, Any]:
    """The order of this number, if it belongs to the account."""
    order: dict[str, Any] | None = find_account(state, account_id)["orders"].get(str(order_id))
    if order is None:
        raise ToolError("not_found", f"Account {account_id} has no order {order_id}")
    return order


@register_schema_tool_for_eval(DOMAIN)
class LookupAccountTool(ReadScenarioTool):
    """Reads an account."""

    description = "Look an account up, and what each plan costs a month."
    properties = ACCOUNT
    required_properties = ["account_id"]

    def _execute(self, account_id: str) -> dict[str, Any]:
        account = find_account(self.shared_state, account_id)
        plans = self.shared_state["db"]["plans"]
        return {"status": "success", "account_id": account_id, "account": account, "plans": plans}


@register_schema_tool_for_eval(DOMAIN)
class CheckOrderStatusTool(ReadScenarioTool):
    """Reads an order."""

    description = "Get the status, dates and price of an order."
    properties = ACCOUNT | ORDER
    required_properties = ["account_id", "order_id"]

    def _execute(self, account_id: str, order_id: str) -> dict[str, Any]:
        order = find_order(self.shared_state, account_id, order_id)
        return {"status": "success", "order_id": order_id, "order": order}


class AccountTool(WriteScenarioTool):
    """A tool that changes an account, and records what it did under its own name."""

    def record(self, **facts: Any) -> dict[str, Any]:
        """Record the action, and answer with it."""
        self._record_action({"action_type": self.name, **facts})
        return {"status": "success", **facts}


@register_schema_tool_for_eval(DOMAIN)
class ProcessRefundTool(AccountTool):
    """Gives money back."""

    ACTION_TYPES = ["process_refund"]
    description = "Give money back: it is taken off the balance of the account."
    properties = {
        **ACCOUNT,
        "amount": text("Dollars and cents, such as $9.05."),
        "description": text("What the refund is for, in a few words."),
        "date": text("Today, as YYYY-MM-DD."),
    }
    required_properties = ["account_id", "amount", "description", "date"]

    def _execute(self, account_id: str, amount: str, description: str, date: str) -> dict[str, Any]:
        account, money = find_account(self.shared_state, account_id), read_money(amount)
        if money <= 0:
            raise ToolError("invalid_amount", f"{amount} is not more than nothing")
        day = read_date(date)
        charge = {"description": f"Refund - {description}", "amount": write_money(-money)}
        account["recent_charges"].append({**charge, "date": day})
        account["balance"] = write_money(read_money(account["balance"]) - money)
        return self.record(
            account_id=account_id,
            amount=write_money(money),
            description=description,
            date=day,
            balance=account["balance"],
        )


@register_schema_tool_for_eval(DOMAIN)
class StartItemReturnTool(AccountTool):
    """Has an order sent back."""

    ACTION_TYPES = ["start_item_return"]
    description = "Start the return of an order that was delivered."
    properties = {**ACCOUNT, **ORDER, "reason": text("Why it is returned, in a few words.")}
    required_properties = ["account_id", "order_id", "reason"]

    def _execute(self, account_id: str, order_id: str, reason: str) -> dict[str, Any]:
        order = find_order(self.shared_state, account_id, order_id)
        if order["status"] != "Delivered":
            raise ToolError("not_returnable", f"The status of {order_id} is {order['status']}")
        order |= {"status": "Return Started", "return_reason": reason}
        return self.record(account_id=account_id, order_id=order_id, reason=reason)


@register_schema_tool_for_eval(DOMAIN)
class ChangePlanTool(AccountTool):
    """Moves an account to another plan."""

    ACTION_TYPES = ["change_plan"]
    description = "Change the internet plan of an account. Plans: Home 100, 200, 500 and 1000."
    properties = {**ACCOUNT, "new_plan": text("Name of the plan, such as Home 100.")}
    required_properties = ["account_id", "new_plan"]

    def _execute(self, account_id: str, new_plan: str) -> dict[str, Any]:
        account, plans = (
            find_account(self.shared_state, account_id),
            self.shared_state["db"]["plans"],
        )
        if str(new_plan) not in plans:
            offered = ", ".join(f"{name} for {rate} a month" for name, rate in plans.items())
            raise ToolError("not_found", f"There is no plan {new_plan}: {offered}")
        if account["plan"] == new_plan:
            raise ToolError("no_change", f"{account_id} has {new_plan} already")
        account |= {"plan": new_plan, "monthly_rate": plans[new_plan]}
        return self.record(account_id=account_id, new_plan=new_plan, monthly_rate=plans[new_plan])


@register_schema_tool_for_eval(DOMAIN)
class UnlockAccountTool(AccountTool):
    """Lets a customer log in again."""

    ACTION_TYPES = ["unlock_account"]
    description = "Unlock an account that was locked after failed logins."
    properties = ACCOUNT
    required_properties = ["account_id"]

    def _execute(self, account_id: str) -> dict[str, Any]:
        account = find_account(self.shared_state, account_id)
        if account["account_status"] != "Locked":
            raise ToolError("no_change", f"{account_id} is not locked")
        account |= {"account_status": "Active", "failed_login_attempts": "0"}
        return self.record(account_id=account_id)


@register_schema_tool_for_eval(DOMAIN)
class CancelSubscriptionTool(AccountTool):
    """Ends a plan."""

    ACTION_TYPES = ["cancel_subscription"]
    description = "Cancel the internet plan of an account."
    properties = ACCOUNT
    required_properties = ["account_id"]

    def _execute(self, account_id: str) -> dict[str, Any]:
        account = find_account(self.shared_state, account_id)
        if account["plan"] == "Canceled":
            raise ToolError("no_change", f"The plan of {account_id} is canceled already")
        account |= {"plan": "Canceled", "monthly_rate": "$0.00"}
        return self.record(account_id=account_id)


@register_schema_tool_for_eval(DOMAIN)
class ResolveTicketTool(AccountTool):
    """Closes the case. It hands the ticket in as well, for agents whose actions cannot be read."""

    ACTION_TYPES = ["resolve_ticket"]
    description = "Close the case, once everything is settled."
    properties = {
        **ACCOUNT,
        "issue_summary": text("What the caller called about, in a sentence."),
        "resolution_type": {**text("What was done."), "enum": list(RESOLUTION_TYPES)},
        "resolution_details": text("What was done, in a sentence."),
    }
    required_properties = ["account_id", "issue_summary", "resolution_type", "resolution_details"]

    def _execute(
        self, account_id: str, issue_summary: str, resolution_type: str, resolution_details: str
    ) -> dict[str, Any]:
        account = find_account(self.shared_state, account_id)
        if resolution_type not in RESOLUTION_TYPES:
            known = ", ".join(RESOLUTION_TYPES)
            raise ToolError("invalid_parameter", f"{resolution_type!r} is not one of {known}")
        if account.get("ticket"):
            raise ToolError("no_change", f"The case of {account_id} is closed already")
        ticket = {
            "account_id": account_id,
            "issue_summary": issue_summary,
            "resolution_type": resolution_type,
            "resolution_details": resolution_details,
        }
        snapshot = copy.deepcopy(account)
        account["ticket"] = ticket
        answer = self.record(**ticket, account=snapshot)
        self._hand_in({**ticket, "account": snapshot, "actions": self.shared_state["actions"]})
        return answer


def read_money(amount: str) -> Decimal:
    """Read `$1,234.56` or `-$49.99` exactly; a float could not hold most amounts."""
    found = re.fullmatch(r"(-?)\$?(\d{1,3}(?:,\d{3})+|\d{1,7})(\.\d{1,2})?", str(amount).strip())
    if found is None:
        raise ToolError("invalid_amount", f"{amount} is not an amount such as $9.05")
    return Decimal(f"{found[1]}{found[2].replace(',', '')}{found[3] or ''}")


def read_date(date: str) -> str:
    """Read `2026-03-12`, a day that exists."""
    try:
        if re.fullmatch(r"\d{4}-\d\d-\d\d", str(date), re.ASCII):
            return datetime.date.fromisoformat(str(date)).isoformat()
    except ValueError:
        pass
    raise ToolError("invalid_date", f"{date} is not a day such as 2026-03-12")


def write_money(amount: Decimal) -> str:
    """Write an amount with its cents: `$1,234.56`, `-$49.99`."""
    return f"{'-' if amount < 0 else ''}${abs(amount):,.2f}"
