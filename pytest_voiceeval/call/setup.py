"""What a bot is told before the call, and how it has to answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.call.errors import CallerFailed, ScenarioInvalid, SetupFailed
from pytest_voiceeval.scoring.normalize import canonical
from pytest_voiceeval.wire.errors import RequestRefused, RequestTimeout

if TYPE_CHECKING:
    from pytest_voiceeval.call.limits import CallLimits
    from pytest_voiceeval.call.result import Side
    from pytest_voiceeval.scenario.model import Scenario
    from pytest_voiceeval.wire.connection import Connection


@dataclass(frozen=True)
class SideSetup:
    """The scenario's half for one bot: prompt, tools and state as JSON text, init actions.

    ``call_dir`` is the folder of the call's files, None for a bot that is not to know it.
    """

    prompt: str
    tools: str
    domain: str
    state: str
    actions: tuple[Mapping[str, Any], ...]
    call_dir: str | None = None


async def side_setup(scenario: Scenario, side: Side, *, call_dir: str | None = None) -> SideSetup:
    """Ask the scenario for one side's half, off the loop: databases are loaded here.

    Raises:
        ScenarioInvalid: The scenario cannot say it, or says something JSON cannot carry.
    """
    try:
        setup = await asyncio.to_thread(_ask_scenario, scenario, side)
    except Exception as error:  # scenarios are foreign code
        raise ScenarioInvalid(
            f"scenario {scenario.name!r} cannot set up its {side} side: "
            f"{type(error).__name__}: {error}"
        ) from error
    return replace(setup, call_dir=call_dir)


def _ask_scenario(scenario: Scenario, side: Side) -> SideSetup:
    agent = side == "agent"
    state: dict[str, Any] = {}
    scenario.setup_shared_state(state, side)
    canonical(state)  # names the place of what JSON cannot hold
    return SideSetup(
        prompt=scenario.get_agent_prompt() if agent else scenario.get_user_prompt(),
        tools=scenario.get_agent_tools() if agent else scenario.get_user_tools(),
        domain=scenario.domain,
        state=json.dumps(state, allow_nan=False),
        actions=_actions_of(scenario, side),
    )


def _actions_of(scenario: Scenario, side: Side) -> tuple[Mapping[str, Any], ...]:
    actions = tuple(scenario.initialization_actions or ())
    for action in actions:
        if action.get("side") not in {"agent", "user"}:
            raise ValueError(
                f"initialization action {action.get('func_name')!r} has an unknown side "
                f"{action.get('side')!r}, expected 'agent' or 'user'"
            )
    return tuple(action for action in actions if action["side"] == side)


async def set_up_bot(
    conn: Connection, setup: SideSetup, side: Side, limits: CallLimits, *, audio: bool = False
) -> bool:
    """Send the set-up, each request awaited and checked; `audio` asks for a voice, too.

    Returns:
        True if the bot promised to keep to text for the whole session.

    Raises:
        SetupFailed: The agent answered one of them with a failure; the text has its words.
        CallerFailed: The caller's bot did.
        WireError: It refused one with an error, gave no answer in time, or is gone.
    """
    who, failure = ("agent", SetupFailed) if side == "agent" else ("caller's bot", CallerFailed)
    prompt = {
        "prompt": setup.prompt,
        "tools": setup.tools,
        "add_suffix": False,
        "tool_domain": setup.domain,
    }
    if setup.call_dir is not None:
        # a key of ours; handlers written for the reference read the four above and no other
        prompt["call_dir"] = setup.call_dir
    state = {
        "domain": setup.domain,
        "shared_state_init": setup.state,
        "actions": [dict(action) for action in setup.actions],
    }
    for name, arguments in (
        ("reset", {}),
        ("update_system_prompt", prompt),
        ("apply_initialization", state),
    ):
        reply = await conn.request(name, arguments, deadline=limits.request, name=name)
        fault = _fault_in(reply)
        if fault:
            raise failure(f"the {who} answered {name!r} with {fault}; see its log for the cause")
    return await _grants_output(conn, limits, audio=audio) and not audio


def _fault_in(reply: Any) -> str:
    """What is wrong with a set-up reply, in the bot's own words where it gave any."""
    if reply is False:
        return "false"
    if isinstance(reply, Mapping) and reply.get("success") is False:
        errors = reply.get("errors")
        listed = errors if isinstance(errors, list) else [errors]
        return "a failure: " + ("; ".join(str(e) for e in listed if e) or "no reason given")
    return ""


async def _grants_output(conn: Connection, limits: CallLimits, *, audio: bool) -> bool:
    """Ask for text only, or for a voice. A bot that does not know the request may well speak."""
    try:
        reply = await conn.request(
            "configure_output", {"audio": audio}, deadline=limits.optional_request
        )
    except (RequestRefused, RequestTimeout):
        return False
    return reply is True
