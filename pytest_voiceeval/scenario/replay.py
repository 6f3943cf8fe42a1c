"""Gold replay: a scenario's tools run in process on its initial state, without any bot."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.data.artifacts import load_db_artifact
from pytest_voiceeval.data.root import resolve_data_path
from pytest_voiceeval.scenario.initialization import apply_initialization_actions
from pytest_voiceeval.scoring.db_hash import get_dict_hash
from pytest_voiceeval.tools.base import HANDED_IN, StandardSchemaTool, WriteScenarioTool
from pytest_voiceeval.tools.registry import get_schema_tool_for_eval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_voiceeval.scenario.model import Scenario
    from pytest_voiceeval.scenario.turns import ToolCall


class ReplayError(RuntimeError):
    """A scenario's initial state cannot be set up; the text names the scenario."""


@dataclass(frozen=True, slots=True)
class Step:
    """One replayed call.

    Attributes:
        call: the call.
        result: what the tool answered.
        wrote: whether it changed the database, as the hash sees it.
    """

    call: ToolCall
    result: Mapping[str, Any]
    wrote: bool

    @property
    def refused(self) -> bool:
        """Whether the tool answered with an error."""
        return self.result.get("status") == "error" or "error" in self.result


@dataclass(frozen=True, slots=True)
class Replay:
    """Where some calls lead.

    Attributes:
        db: the agent's database afterwards; None if the scenario has none.
        actions: the records the write tools left.
        steps: the calls with their results, in order.
        handed_in: the results that write tools handed in.
    """

    db: dict[str, Any] | None
    actions: list[dict[str, Any]]
    steps: tuple[Step, ...]
    handed_in: tuple[Any, ...] = ()

    @property
    def refused(self) -> tuple[Step, ...]:
        """The steps whose tool answered with an error."""
        return tuple(step for step in self.steps if step.refused)


def initial_state(scenario: Scenario, side: str = "agent") -> dict[str, Any]:
    """Return the shared state a bot of that side would begin the call with, as a copy.

    Raises:
        ReplayError: the state is not plain JSON, or an initialization action failed or has an
            unknown side.
        DataError: the database cannot be loaded.
    """
    state = _as_sent(scenario, side)
    path = state.pop("db_path", None)
    if path is not None and "db" not in state:
        state["db"] = load_db_artifact(resolve_data_path(path))
    actions = _actions_of(scenario, side)
    if actions:
        outcome = apply_initialization_actions(scenario.domain, actions, state.get("db"))
        if not outcome["success"]:
            problems = "; ".join(outcome["errors"])
            raise ReplayError(f"{scenario.name}: initialization of the {side} failed: {problems}")
    return state


def replay(scenario: Scenario, calls: Sequence[ToolCall]) -> Replay:
    """Run calls with the scenario's own tools on its initial agent state.

    A call of a tool that the agent does not have is answered as a bot would answer it; so is any
    call that fails. Nothing of the scenario is changed.

    Raises:
        ReplayError: the initial state cannot be set up.
        UnknownToolError: the scenario gives its agent a tool that does not exist.
    """
    state = initial_state(scenario)
    tools = agent_tools(scenario, state)
    steps = tuple(_step(call, tools, state) for call in calls)
    handed_in = tuple(state.get(HANDED_IN, ()))
    return Replay(state.get("db"), state.get("actions", []), steps, handed_in)


def agent_tools(scenario: Scenario, state: dict[str, Any]) -> dict[str, StandardSchemaTool]:
    """Build the agent's tools on a shared state, by function name.

    Raises:
        UnknownToolError: the scenario names a tool that does not exist.
    """
    wanted: dict[str, dict[str, Any]] = json.loads(scenario.get_agent_tools())
    tools = [
        get_schema_tool_for_eval(name, domain=scenario.domain, shared_state=state, **arguments)
        for name, arguments in wanted.items()
    ]
    return {tool.name: tool for tool in tools}


def _as_sent(scenario: Scenario, side: str) -> dict[str, Any]:
    """Return what `setup_shared_state` adds, as it would arrive over the wire."""
    state: dict[str, Any] = {}
    scenario.setup_shared_state(state, side)
    try:
        sent: dict[str, Any] = json.loads(json.dumps(state))
    except (TypeError, ValueError) as error:
        text = f"{scenario.name}: the shared state of the {side} is not plain JSON: {error}"
        raise ReplayError(text) from error
    return sent


def _step(call: ToolCall, tools: Mapping[str, StandardSchemaTool], state: dict[str, Any]) -> Step:
    tool = tools.get(call.name)
    if tool is None:
        return Step(call, _unknown_tool(call.name, tools), wrote=False)
    if not isinstance(tool, WriteScenarioTool):
        return Step(call, tool.invoke(**call.arguments), wrote=False)
    before = _hash_of(state)
    result = tool.invoke(**call.arguments)
    return Step(call, result, wrote=_hash_of(state) != before)


def _unknown_tool(name: str, tools: Mapping[str, StandardSchemaTool]) -> dict[str, Any]:
    return {
        "status": "error",
        "error_type": "unknown_tool",
        "message": f"There is no tool named {name!r}; use one of those that are available.",
        "available_tools": sorted(tools),
    }


def _hash_of(state: Mapping[str, Any]) -> str | None:
    database = state.get("db")
    return None if database is None else get_dict_hash(database)


def _actions_of(scenario: Scenario, side: str) -> list[Mapping[str, Any]]:
    actions = list(scenario.initialization_actions or ())
    for index, action in enumerate(actions):
        if action.get("side") not in ("agent", "user"):
            found = action.get("side")
            raise ReplayError(
                f"{scenario.name}: initialization action {index} has an unknown side {found!r}; "
                "use 'agent' or 'user'"
            )
    return [action for action in actions if action["side"] == side]
