"""After the talk: wait for what still runs, then read out both sides."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pytest_voiceeval.call.caller import KeepsRecord
from pytest_voiceeval.call.errors import (
    AgentStateFailed,
    OwnVerdict,
    ProtocolFailed,
    StateUnreadable,
)
from pytest_voiceeval.call.faults import bot_killed, find_exit, killed_from_outside
from pytest_voiceeval.call.listening import blaming_caller, passed
from pytest_voiceeval.call.pulls import Pulled, Wanted, as_record, pull
from pytest_voiceeval.call.shown_actions import actions_shown
from pytest_voiceeval.wire.errors import ConnectionLost, SendTimeout, WireError

if TYPE_CHECKING:
    from pytest_voiceeval.call.caller import CallerSide
    from pytest_voiceeval.call.minutes import Minutes
    from pytest_voiceeval.call.peer import Peer
    from pytest_voiceeval.call.plan import CallPlan
    from pytest_voiceeval.call.state_probe import StateProbe
    from pytest_voiceeval.call.turns import TurnCollector


async def finish_calls(agent: Peer, turn: TurnCollector, minutes: Minutes) -> None:
    """Wait for function calls in progress, so that the state is read after them."""
    seconds = agent.limits.tool_wait
    give_up = time.monotonic() + seconds
    try:
        while turn.open_calls and agent.lost is None and not passed(give_up):
            event = await agent.listen(give_up)
            if event is not None:
                agent.ledger.note(event, minutes.turn)
                turn.feed(event)
    except WireError as error:
        minutes.warnings.append(f"while waiting for function calls to end: {error}")
    if turn.open_calls and (agent.lost is None or minutes.agent_failed):  # it did not hang up
        minutes.warnings.append(
            f"{turn.open_calls} function call(s) unfinished {seconds:g} s after the end (tool_wait)"
        )


async def read_out(plan: CallPlan, agent: Peer, minutes: Minutes) -> None:
    """Pull the agent's state, then the caller's if it keeps any.

    Raises:
        StateUnreadable: The agent answered that it cannot tell its state, and the verdict needs it.
        AgentStateFailed: The user's code that tells it in its stead did not.
        ProtocolFailed: It broke the protocol meanwhile.
        BotKilled: Somebody else ended its process meanwhile.
        CallerFailed: The caller's read-out raised or took too long.
    """
    wanted = _wanted(plan, agent, minutes)
    if plan.state is not None:
        await _ask_probe(plan.state, wanted, agent, minutes)
    elif minutes.process_exit is None:
        await _read_agent(wanted, agent, minutes)
    else:
        minutes.warnings.append("the agent's process has ended, so its state was not read")
    compared = plan.scenario.expected_user_db is not None
    if isinstance(plan.caller, KeepsRecord):
        async with blaming_caller("reporting its side", plan.limits, "caller_read_out"):
            minutes.caller = await plan.caller.read_out(include_db=wanted.include_db or compared)
    if compared and not minutes.agent_failed:
        _require_state_of(minutes.caller)


def _require_state_of(caller: CallerSide | None) -> None:
    """Refuse a verdict about the caller's database where nobody knows it.

    Raises:
        StateUnreadable: It was not told; a caller that has none told that.
    """
    if caller is None or caller.record.actions is None:
        why = "; ".join(caller.warnings[-1:]) if caller else "the caller has no state of its own"
        raise StateUnreadable(f"the caller's final database is not known: {why or 'no answer'}")


def _wanted(plan: CallPlan, agent: Peer, minutes: Minutes) -> Wanted:
    scenario = plan.scenario
    by_predicates = bool(scenario.db_state_assertions)
    by_actions = bool(scenario.reference_answer) and not agent.ledger.final_responses
    by_database = minutes.expected_hash is not None
    # an agent that failed already need not tell its state as well
    needed = (by_predicates or by_actions or by_database) and not minutes.agent_failed
    return Wanted(
        by_predicates or plan.include_db,
        minutes.expected_hash,
        state_needed=needed,
        actions_needed=by_actions and needed,
    )


async def _ask_probe(probe: StateProbe, wanted: Wanted, agent: Peer, minutes: Minutes) -> None:
    """Learn the state from the user's code, and the actions from what the agent showed."""
    shown = actions_shown(agent.ledger)
    minutes.warnings += [note for note in (probe.note, shown.note) if note]
    db, db_hash = None, None
    try:
        db, db_hash = await probe.read(agent.limits)
    except (AgentStateFailed, OwnVerdict) as error:
        if not minutes.agent_failed:
            raise
        minutes.warnings.append(str(error))
    pulled = Pulled(actions=shown.records, db_hash=db_hash, db=db)
    minutes.agent = as_record(pulled, agent)
    if shown.records is None and wanted.actions_needed:
        raise StateUnreadable(f"the actions of the agent are not known: {shown.note}")


async def _read_agent(wanted: Wanted, agent: Peer, minutes: Minutes) -> None:
    """Pull on the open connection; if it is lost, connect once more."""
    if agent.lost is None and await _pulled(wanted, agent, minutes):
        return
    try:
        again = agent.lost is not None and await agent.rejoin()
    except WireError as error:
        minutes.warnings.append(f"connecting again to read the agent's state: {error}")
        again = False
    if again:
        minutes.warnings.append(
            "the agent closed the connection: its state was read on a new one, "
            "and is lost if the agent keeps nothing across connections"
        )
        if await _pulled(wanted, agent, minutes):
            return
    await _explain_loss(agent, minutes)


async def _pulled(wanted: Wanted, agent: Peer, minutes: Minutes) -> bool:
    try:
        pulled = await pull(agent, wanted)
    except (ConnectionLost, SendTimeout) as error:
        minutes.warnings.append(f"reading the agent's state: {error}")
        return False
    except WireError as error:
        raise ProtocolFailed(f"the agent broke the protocol: {error}") from error
    minutes.warnings += pulled.notes
    minutes.agent = as_record(pulled, agent)
    return True


async def _explain_loss(agent: Peer, minutes: Minutes) -> None:
    minutes.process_exit = await find_exit(agent.probe, agent.limits.process_exit)
    if minutes.process_exit is not None and killed_from_outside(minutes.process_exit):
        raise bot_killed("agent", minutes.process_exit)
    minutes.warnings.append("the agent's state was not read: its connection is lost")
