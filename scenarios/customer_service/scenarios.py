"""Who calls the customer service, and which actions must have been recorded at the end.

`calls.yaml` holds what differs from call to call.
"""

# ruff: noqa: RUF012 - a pack declares by class attributes
from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from pytest_voiceeval import (
    END_CONVERSATION_GUIDELINE,
    EXECUTION_HONESTY_GUIDELINE,
    VOICE_ALPHANUMERIC_RULE,
    Actions,
    Persona,
    RecordScenario,
    Resources,
    SuccessSignal,
    Task,
    load_db_artifact,
    read_text,
    register_records,
    with_spelling,
)

FOLDER = Path(__file__).parent
DATABASE = load_db_artifact(FOLDER / "accounts.json")


class CustomerServiceScenario(RecordScenario):
    """A call to the customer service: the recorded actions are compared, all of them.

    The reference leaves out whatever an agent words itself, such as the reason of a return.
    """

    domain = "customer_service"
    success_signals = (SuccessSignal.ACTION_MATCH, SuccessSignal.CLEAN_EXIT)
    max_duration = 120
    ignore_capitalization = True
    ignore_punctuation = True
    clean_text = True
    disallow_extra_items = True  # an action too many costs somebody money
    KEYS = {"account": str, "wish": str, "actions": list}
    OPTIONAL = {"knows": list}

    agent_persona = Persona(role="customer service agent of Northlight")
    agent_task = Task(goal="settle what the caller calls about, as the policy has it.")
    agent_actions = Actions(
        guidelines=[
            VOICE_ALPHANUMERIC_RULE,
            EXECUTION_HONESTY_GUIDELINE,
            END_CONVERSATION_GUIDELINE,
        ]
    )
    agent_resources = Resources(
        tools={
            "LookupAccountTool": {},
            "CheckOrderStatusTool": {},
            "ProcessRefundTool": {},
            "StartItemReturnTool": {},
            "ChangePlanTool": {},
            "UnlockAccountTool": {},
            "CancelSubscriptionTool": {},
            "ResolveTicketTool": {},
            "EndConversationTool": {},
        },
        info_sections={"How we do things": read_text(FOLDER / "policy.md")},
    )
    user_actions = Actions(guidelines=[VOICE_ALPHANUMERIC_RULE])

    @property
    def account(self) -> dict[str, Any]:
        """The caller's account, as it is before the call."""
        found: dict[str, Any] | None = DATABASE["accounts"].get(self.record["account"])
        if found is None:
            raise self.record.error(f"there is no account {self.record['account']!r}")
        return found

    @property
    def user_persona(self) -> Persona:
        """The holder of the account."""
        return Persona(role="customer of Northlight", name=self.account["name"])

    @property
    def user_task(self) -> Task:
        """What the caller wants."""
        return Task(goal=self.record["wish"])

    @property
    def user_resources(self) -> Resources:
        """What the caller is asked for."""
        number, phone = self.record["account"], self.account["phone"]
        facts = [
            f"The number of your account is {with_spelling(number)}.",
            f"Your phone number is {with_spelling(phone)}.",
        ]
        return Resources(information=[*facts, *self.record.fields.get("knows", ())])

    @property
    def reference_answer(self) -> dict[str, Any]:
        """The actions of the record, all of them on the caller's account."""
        account = {"account_id": self.record["account"]}
        return {"actions": [{**action, **account} for action in self.record["actions"]]}

    def setup_shared_state(self, state: dict[str, Any], side: str) -> None:
        """Give the agent its own copy of all accounts."""
        if side == "agent":
            state["db"] = copy.deepcopy(DATABASE)


register_records(CustomerServiceScenario, FOLDER / "calls.yaml")
