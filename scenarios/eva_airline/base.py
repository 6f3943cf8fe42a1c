"""The airline's scenarios: everything but the caller follows from the record's id."""

from __future__ import annotations

import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_voiceeval import (
    END_CONVERSATION_GUIDELINE,
    EXECUTION_HONESTY_GUIDELINE,
    GENERAL_PROMPT,
    VOICE_ALPHANUMERIC_RULE,
    Actions,
    DataError,
    Dialogue,
    Persona,
    Resources,
    Scenario,
    SuccessSignal,
    Task,
    ToolCall,
    parse_calls,
    parse_dialogue,
)

from .data import Policy, current_dataset, read_database, read_policy

if TYPE_CHECKING:
    from collections.abc import Callable

DOMAIN = "eva_airline"
MAX_DURATION = 900.0
"""Seconds of conversation: speech takes about ten times as long as text."""

AGENT_TOOLS = (
    "GetReservationTool",
    "GetFlightStatusTool",
    "GetDisruptionInfoTool",
    "SearchRebookingOptionsTool",
    "RebookFlightTool",
    "CancelReservationTool",
    "ProcessRefundTool",
    "AssignSeatTool",
    "AddBaggageAllowanceTool",
    "AddMealRequestTool",
    "AddToStandbyTool",
    "IssueTravelCreditTool",
    "IssueHotelVoucherTool",
    "IssueMealVoucherTool",
    "TransferToAgentTool",
    "EndConversationTool",
)
"""What every agent of this domain can do, whatever the policy file declares."""

SPELLED = frozenset(
    {
        "confirmation_number",
        "flight_number",
        "origin",
        "destination",
        "gate",
        "seat",
        "seat_assigned",
        "ticket_number",
        "passenger_id",
        "passenger_ids",
        "email",
        "credit_code",
        "voucher_code",
        "refund_id",
        "transfer_id",
    }
)
"""What holds identifiers that an agent spells, airports and seats included."""

UNSPOKEN = frozenset({"journey_id", "new_journey_id", "old_journey_id"})
"""What holds ids that are not for callers."""

JOURNEY_ID_RULE = (
    "Journey ids, such as those beginning with FL and an underscore, are internal: never read one "
    "aloud. Refer to a flight by its flight number and its date."
)

T = TypeVar("T")


class EvaAirlineBaseScenario(Scenario):
    """A call to an airline's reservations line.

    A subclass sets `name`, `eva_id` and `description`, and the caller: `user_persona`,
    `user_task` and `user_actions`. Databases, date, policy, tools and signals follow from the
    data of the edition in use.

    Attributes:
        eva_id: id of the record, such as `1.1.2`.
    """

    domain = DOMAIN
    success_signals = (SuccessSignal.DB_STATE_MATCH, SuccessSignal.CLEAN_EXIT)
    max_duration = MAX_DURATION
    spelled_fields = SPELLED
    unspoken_fields = UNSPOKEN
    eva_id: str

    @cached_property
    def record(self) -> dict[str, Any]:
        """The record of the dataset.

        Raises:
            KeyError: the dataset has none of this id.
            DataError: it cannot be read.
        """
        return current_dataset().read(self.eva_id)

    @cached_property
    def _scenario_db(self) -> dict[str, Any]:
        return read_database(self.eva_id)

    @cached_property
    def current_date(self) -> str:
        """The day of the call, `YYYY-MM-DD`, as the database has it."""
        date = self._scenario_db.get("_current_date")
        if not isinstance(date, str):
            raise self._bad_record(f"the database of {self.eva_id} has no '_current_date'")
        return date

    @cached_property
    def expected_scenario_db(self) -> dict[str, Any]:
        """The database as it must be at the end."""
        truth = self.record.get("ground_truth")
        database = truth.get("expected_scenario_db") if isinstance(truth, dict) else None
        if not isinstance(database, dict):
            raise self._bad_record("'ground_truth.expected_scenario_db' must be an object")
        return database

    @cached_property
    def reference_dialogue(self) -> Dialogue | None:
        """The record's own conversation, if it has one."""
        return self._parsed("reference_dialogue", parse_dialogue)

    @cached_property
    def forbidden_calls(self) -> tuple[ToolCall, ...]:
        """Calls the record says must not be made."""
        return self._parsed("forbidden_calls", parse_calls) or ()

    @cached_property
    def reference_answer(self) -> Any:
        """Recorded actions the record asks for, where the database cannot show what was done."""
        return self.record.get("reference_answer")

    def _parsed(self, key: str, parse: Callable[[Any, str], T]) -> T | None:
        if self.record.get(key) is None:
            return None
        return parse(self.record[key], f"{current_dataset().place(self.eva_id)}, {key}")

    def _bad_record(self, problem: str) -> DataError:
        dataset = current_dataset()
        line = dataset.find(self.eva_id)
        return DataError(problem, path=dataset.path, line=line.number if line else None)

    @cached_property
    def _policy(self) -> Policy:
        return read_policy()

    @property
    def policy(self) -> str:
        """All instructions of the agent file, as they stand there."""
        return self._policy.instructions

    @property
    def agent_persona(self) -> Persona:
        """The agent's role, from the agent file."""
        return Persona(role=self._policy.role)

    @property
    def agent_task(self) -> Task:
        """What the agent is for, from the agent file."""
        return Task(goal=self._policy.description)

    @property
    def agent_actions(self) -> Actions:
        """Nothing: the policy says it all."""
        return Actions()

    @property
    def agent_resources(self) -> Resources:
        """The fixed tools."""
        return Resources(tools={name: {} for name in AGENT_TOOLS})

    @property
    def user_resources(self) -> Resources:
        """Nothing: callers have no tools, and what they know is part of their actions."""
        return Resources()

    def get_agent_prompt(self) -> str:
        """Return role and policy word by word, then what concerns this call and the phone."""
        notes = (
            "## Additional Notes to Follow",
            f"Today is {self.current_date}.",
            GENERAL_PROMPT,
            VOICE_ALPHANUMERIC_RULE,
            JOURNEY_ID_RULE,
            END_CONVERSATION_GUIDELINE,
            EXECUTION_HONESTY_GUIDELINE,
        )
        return "\n\n".join((self._policy.role, self.policy.rstrip("\n"), *notes))

    def setup_shared_state(self, state: dict[str, Any], side: str) -> None:
        """Give the agent the initial database; the caller has none."""
        if side == "agent":
            state["db"] = copy.deepcopy(self._scenario_db)
