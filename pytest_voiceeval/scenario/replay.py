"""Gold replay: a scenario's tools run in process on its initial state, without any bot."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.data.artifacts import load_db_artifact
from pytest_voiceeval.data.root import resolve_data_path
from pytest_voiceeval.scenario.initialization import apply_initialization_actions
from pytest_voiceeval.scenario.sync import apply_sync_delta, deltas_of, keeps_in_step
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
        crash: what the tool raised that is no refusal, None if nothing.
    """

    call: ToolCall
    result: Mapping[str, Any]
    wrote: bool
    crash: Exception | None = None

    @property
    def refused(self) -> bool:
        """Whether the tool answered with an error."""
        return self.result.get("status") == "error" or "error" in self.result


@dataclass(frozen=True, slots=True)
class Replay:
    """Where some calls lead.

    Attributes:
        db: the agent's database afterwards; None if the scenario has none.
        actions: the records the write tools left; those of the caller's have the side `user`.
        steps: the calls with their results, in order.
        handed_in: the results that write tools handed in.
        user_db: the caller's database afterwards; None if the caller has none.
    """

    db: dict[str, Any] | None
    actions: list[dict[str, Any]]
    steps: tuple[Step, ...]
    handed_in: tuple[Any, ...] = ()
    user_db: dict[str, Any] | None = None

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


def replay(scenario: Scenario, calls: Sequence[ToolCall], *, watched: bool = True) -> Replay:
    """Run calls with the scenario's own tools on its initial state.

    A call of a tool that neither the agent nor the caller has is answered as a bot would answer it;
    so is any call that fails. The caller's tools work on the caller's state; where the scenario
    keeps both in step, that is done after every call. Nothing of the scenario is changed.

    Args:
        scenario: the scenario.
        calls: the calls, in order.
        watched: whether the steps tell if they wrote, which takes as long as all the rest; else
            none of them did.

    Raises:
        ReplayError: the initial state cannot be set up.
        SyncError: the scenario cannot say how to keep the databases in step.
        UnknownToolError: the scenario names a tool that does not exist.
    """
    state = initial_state(scenario)
    tools = agent_tools(scenario, state)
    user: dict[str, Any] = {}
    user_tools = caller_tools(scenario, user)
    synced = keeps_in_step(scenario)
    if user_tools or synced or scenario.expected_user_db is not None:
        user |= initial_state(scenario, "user")
    steps = []
    for call in (None, *calls):
        if call is not None:
            of_user = call.name in user_tools and call.name not in tools
            side = (user_tools, user) if of_user else (tools, state)
            steps.append(make_call(call, *side, watched=watched))
        if synced:
            _put_in_step(scenario, {"agent": state.get("db"), "user": user.get("db")})
    of_caller = [{**record, "side": "user"} for record in user.get("actions", ())]
    actions = [*state.get("actions", ()), *of_caller]
    handed_in = tuple(state.get(HANDED_IN, ()))
    return Replay(state.get("db"), actions, tuple(steps), handed_in, user.get("db"))


def _put_in_step(scenario: Scenario, databases: Mapping[str, dict[str, Any] | None]) -> None:
    deltas = deltas_of(scenario, databases["agent"], databases["user"])
    for side, delta in deltas.items():
        database = databases[side]
        if database is None:
            raise ReplayError(f"{scenario.name}: sync_state tells the {side}, who has no database")
        apply_sync_delta(scenario.domain, delta, database)


def agent_tools(scenario: Scenario, state: dict[str, Any]) -> dict[str, StandardSchemaTool]:
    """Build the agent's tools on a shared state, by function name.

    Raises:
        UnknownToolError: the scenario names a tool that does not exist.
    """
    return _tools(scenario, scenario.get_agent_tools(), state)


def caller_tools(scenario: Scenario, state: dict[str, Any]) -> dict[str, StandardSchemaTool]:
    """Build the caller's tools on a shared state, by function name; most callers have none.

    Raises:
        UnknownToolError: the scenario names a tool that does not exist.
    """
    named = "{}"
    with suppress(NotImplementedError):  # a scenario of which only the agent's half is written
        named = scenario.get_user_tools()
    return _tools(scenario, named, state)


def _tools(scenario: Scenario, named: str, state: dict[str, Any]) -> dict[str, StandardSchemaTool]:
    wanted: dict[str, dict[str, Any]] = json.loads(named or "{}")
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


def make_call(
    call: ToolCall,
    tools: Mapping[str, StandardSchemaTool],
    state: dict[str, Any],
    *,
    watched: bool = True,
) -> Step:
    """Make one call with tools that were built on `state`, as a bot would."""
    tool = tools.get(call.name)
    if tool is None:
        return Step(call, _unknown_tool(call.name, tools), wrote=False)
    if not watched or not isinstance(tool, WriteScenarioTool):
        result = tool.invoke(**call.arguments)
        return Step(call, result, wrote=False, crash=tool.crash)
    before = _hash_of(state)
    result = tool.invoke(**call.arguments)
    return Step(call, result, wrote=_hash_of(state) != before, crash=tool.crash)


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
