"""What the airline's tools have in common: checked parameters and a loaded database."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from pytest_voiceeval.tools import (
    StandardSchemaTool,
    ToolError,
    WriteScenarioTool,
    describe_parameters,
    validate_parameters,
)

if TYPE_CHECKING:
    from pydantic import BaseModel

AIRLINE_ACTION_TYPES = (
    "rebook_flight",
    "cancel_reservation",
    "process_refund",
    "issue_meal_voucher",
    "issue_hotel_voucher",
    "issue_travel_credit",
    "assign_seat",
    "add_baggage_allowance",
    "add_meal_request",
    "add_to_standby",
    "transfer_to_agent",
)
"""The `action_type` of every record a tool of this domain writes."""


class AirlineTool(StandardSchemaTool):
    """A tool on the airline's database.

    A subclass sets `description` and `parameters`, the name of its model in `params`, and
    overrides `_run`.

    Args:
        shared_state: The bot's dictionary for this scenario; its `db` is the database.
    """

    parameters: ClassVar[str]

    def __init__(self, shared_state: dict[str, Any] | None = None) -> None:
        super().__init__()
        self.shared_state = {} if shared_state is None else shared_state

    @property
    def properties(self) -> dict[str, Any]:
        """The JSON Schema of each parameter."""
        return describe_parameters(self._model())[0]

    @property
    def required_properties(self) -> list[str]:
        """The parameters that must be given, in the order in which they are checked."""
        return describe_parameters(self._model())[1]

    @abstractmethod
    def _run(self, db: dict[str, Any], call: Any) -> dict[str, Any]:
        """Do the work on `db` for the checked parameters `call`."""

    def _execute(self, /, **arguments: Any) -> dict[str, Any]:
        from . import params

        call = validate_parameters(self._model(), arguments, params.RULES)
        db = self.shared_state.get("db")
        if not db:
            raise ToolError("db_not_initialized", "The reservation system has no data loaded")
        return self._run(db, call)

    def _model(self) -> type[BaseModel]:
        from . import params

        model: type[BaseModel] = getattr(params, self.parameters)
        return model


class WriteAirlineTool(AirlineTool, WriteScenarioTool):
    """A tool that changes the airline's database, or hands the call over, and records it."""

    ACTION_TYPES = AIRLINE_ACTION_TYPES
