"""One text conversation, end to end: set-up, kickoff, turns, end, read-out."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.call.caller import Caller, HangUp, Say
from pytest_voiceeval.call.ending import Ended
from pytest_voiceeval.call.errors import CallerFailed, CallError, ProtocolFailed, ScenarioInvalid
from pytest_voiceeval.call.faults import (
    as_call_error,
    bot_killed,
    describe_exit,
    find_exit,
    killed_from_outside,
)
from pytest_voiceeval.call.in_step import POLL, InStep, in_step
from pytest_voiceeval.call.listening import blaming_caller, hear_out, passed, running
from pytest_voiceeval.call.minutes import Exchange, Minutes
from pytest_voiceeval.call.peer import Peer
from pytest_voiceeval.call.plan import AgentLink, CallPlan
from pytest_voiceeval.call.readout import finish_calls, read_out
from pytest_voiceeval.call.result import Conversation, EndReason, ProcessExit
from pytest_voiceeval.call.setup import side_setup
from pytest_voiceeval.call.turns import TurnCollector
from pytest_voiceeval.scoring.db_hash import get_dict_hash
from pytest_voiceeval.wire.errors import ConnectionLost, MessageTooLarge, SendTimeout, WireError
from pytest_voiceeval.wire.rtvi import Envelope

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Iterator

    from pytest_voiceeval.call.limits import CallLimits
    from pytest_voiceeval.scenario.model import Scenario
    from pytest_voiceeval.wire.backlog import Event

__all__ = ["KICKOFF", "AgentLink", "CallPlan", "ProcessExit", "run_call"]

KICKOFF = "Hello"
"""What the harness says so that the agent opens the call."""


async def run_call(plan: CallPlan) -> Conversation:
    """Hold the conversation and read out both sides. Cancelling it closes every connection.

    Returns:
        What happened; whatever the agent did wrong is in it.

    Raises:
        CallError: Something else than the agent went wrong; ``conversation`` holds what was
            measured until then.
    """
    peer = Peer(
        "agent",
        plan.agent.url,
        plan.limits,
        single_connection=plan.one_connection,
        probe=plan.agent.process_exit,
    )
    minutes = Minutes(plan.scenario, peer, plan.caller)
    try:
        async with peer:
            await Call(plan, peer, minutes).run()
    except CallError as error:
        minutes.stop_clock()
        error.conversation = minutes.freeze()
        raise
    return minutes.freeze()


NORMAL_CLOSURE = 1000
"""The close code of a peer that is through, as RFC 6455 has it."""

LATE_EVENTS = 1.0
"""Seconds after the end of a call for taking what had arrived before."""


class Call:
    """One call under way. Its talk is text; calls with sound have one of their own."""

    def __init__(self, plan: CallPlan, agent: Peer, minutes: Minutes) -> None:
        self._plan = plan
        self._limits = plan.limits
        self._agent = agent
        self._minutes = minutes
        self._turn = TurnCollector(0.0, plan.limits, agent.habits)
        self._over_at = 0.0
        self._in_step: InStep | None = None
        if plan.pace is not None:
            plan.pace.watch(lambda: agent.ledger.requests)

    async def run(self) -> None:
        self._minutes.expected_hash = await _expected_hash(self._plan.scenario)
        self._in_step = in_step(self._plan, self._agent, self._minutes)
        await self._before_talk(self._set_up())
        async with _started(self._plan.caller, self._limits, self._minutes):
            await self._before_talk(self._agent.join())
            await self._put_in_step()
            try:
                await self._talk()
            except Ended as ended:
                self._minutes.close(ended.reason, ended.detail)
            await finish_calls(self._agent, self._turn, self._minutes)
            await self._put_in_step()
            await read_out(self._plan, self._agent, self._minutes)
        if self._plan.pace is not None and self._plan.pace.note:
            self._minutes.warnings.append(self._plan.pace.note)

    # -- before

    async def _set_up(self) -> None:
        plan = self._plan
        if plan.state is not None:
            await plan.state.prepare(plan.limits)
            return
        await self._agent.set_up(await side_setup(plan.scenario, "agent", call_dir=plan.call_dir))

    async def _before_talk(self, step: Coroutine[Any, Any, None]) -> None:
        """Do a step whose failure is no verdict about the agent."""
        try:
            await step
        except WireError as error:
            exit_ = self._minutes.process_exit = await self._how_it_ended(error)
            if exit_ is not None and killed_from_outside(exit_):
                raise bot_killed("agent", exit_) from error
            fault = as_call_error(error, "agent")
            if exit_ is not None:
                fault = type(fault)(f"{fault}; {describe_exit(exit_)}")
            raise fault from error

    async def _put_in_step(self) -> None:
        """Let each side see what the other one did, where the scenario asks for it."""
        if self._in_step is not None:
            await self._in_step.step()

    async def _keep_in_step(self, *peers: Peer) -> None:
        """Do so whenever one of the bots has recorded an action; ends with the talk."""
        seen = 0
        while self._in_step is not None:
            await asyncio.sleep(POLL)
            recorded = sum(len(peer.ledger.applied) for peer in peers)
            if recorded > seen:
                seen = recorded
                await self._put_in_step()

    async def _how_it_ended(self, error: WireError) -> ProcessExit | None:
        """How the agent's process ended, given time to end only if the connection just broke."""
        lost = isinstance(error, ConnectionLost) and error.abnormal
        seconds = self._limits.process_exit if lost else self._limits.exit_settle
        return await find_exit(self._agent.probe, seconds)

    # -- the talk

    async def _talk(self) -> None:
        """Take turns until the conversation ends, which :class:`Ended` tells."""
        self._minutes.kick_off()
        self._over_at = time.monotonic() + self._plan.max_duration
        await self._say(None)
        while True:
            await self._hear_out()
            await self._put_in_step()
            if self._minutes.completed_turns >= self._limits.max_turns:
                raise Ended(
                    EndReason.TURN_LIMIT, f"{self._limits.max_turns} agent turns (max_turns)"
                )
            match await self._answer():
                case Say(text=text):
                    await self._put_in_step()
                    await self._say(text)
                case HangUp() as hang_up:
                    await self._hang_up(hang_up)

    async def _say(self, words: str | None) -> None:
        """Open the next exchange; None is the kickoff."""
        while (event := await self._listen(None)) is not None:
            self._take(event)
        self._turn = TurnCollector(time.monotonic(), self._limits, self._agent.habits)
        self._note_repetition(words)
        self._minutes.exchanges.append(Exchange(words, self._turn))
        try:
            await self._agent.say(KICKOFF if words is None else words)
        except SendTimeout as error:
            raise Ended(EndReason.AGENT_SILENT, str(error)) from error
        except MessageTooLarge as error:
            raise CallerFailed(f"the simulated caller said too much at once: {error}") from error
        except ConnectionLost as lost:
            raise await self._gone(lost) from lost

    def _note_repetition(self, words: str | None) -> None:
        for number, earlier in enumerate(self._minutes.exchanges, start=1):
            if words and earlier.said and words.casefold() == earlier.said.casefold():
                self._minutes.warnings.append(
                    f"the caller repeated in turn {len(self._minutes.exchanges) + 1} "
                    f"its words of turn {number}"
                )
                return

    async def _hear_out(self) -> None:
        """Listen until the agent's turn is over."""
        turn = self._turn
        if not await hear_out(turn, self._limits, self._listen, self._take):
            raise Ended(EndReason.AGENT_SILENT, self._silence())
        if turn.exit_at is None and turn.spoke and not turn.text:
            raise ProtocolFailed(
                "the agent spoke but sent no words of it: a text call needs 'bot-output', "
                "'bot-tts-text' or 'bot-llm-text' events"
            )
        self._minutes.exchanges[-1].complete = not turn.partial
        if turn.exit_at is not None:
            raise Ended(EndReason.EXIT, turn.exit_words)

    def _silence(self) -> str:
        busy = "; a function call was in progress" if self._turn.open_calls else ""
        errors = self._agent.ledger.errors
        said = f"; its last reported error: {errors[-1]}" if errors else ""
        return (
            f"no sign of the agent for {self._limits.turn_silence:g} s (turn_silence) "
            f"in turn {len(self._minutes.exchanges)}{busy}{said}"
        )

    async def _listen(self, until: float | None) -> Event | None:
        """The agent's next event, None if there was none until then; None takes only what is there.

        Raises:
            Ended: The agent is gone, or the call has lasted too long.
            CallError: The agent broke the protocol, or was killed.
        """
        # what had arrived by then still counts, but an agent that never pauses cannot go on
        over_at = self._over_at if until is not None else self._over_at + LATE_EVENTS
        if passed(over_at):
            raise self._end_unless_exit(
                EndReason.TIMEOUT,
                f"the conversation reached {self._plan.max_duration:g} s (max_duration)",
            )
        try:
            return await self._agent.listen(until and min(until, self._over_at))
        except ConnectionLost as lost:
            raise await self._gone(lost) from lost
        except WireError as error:
            raise ProtocolFailed(f"the agent broke the protocol: {error}") from error

    def _take(self, event: Event) -> None:
        """Count one event of the agent, whoever's turn it is."""
        fatal = self._agent.ledger.note(event, len(self._minutes.exchanges))
        self._turn.feed(event)
        if fatal is not None:
            raise self._end_unless_exit(EndReason.AGENT_ERROR, fatal)
        if isinstance(event.kind, Envelope) and event.kind.type == "error-response":
            raise ProtocolFailed(f"the agent does not take 'send-text': {event.kind.data!r:.200}")

    def _end_unless_exit(self, reason: EndReason, detail: str) -> Ended:
        """An agent that had ended the call has ended it, whatever comes after."""
        if self._turn.exit_at is not None:
            return Ended(EndReason.EXIT, self._turn.exit_words)
        return Ended(reason, detail)

    async def _gone(self, lost: ConnectionLost) -> Exception:
        """What a lost connection means for the call."""
        if not lost.by_peer:
            return ProtocolFailed(f"the agent broke the protocol: {lost}")
        self._minutes.stop_clock()
        exit_ = self._minutes.process_exit = await self._how_it_ended(lost)
        if exit_ is not None and killed_from_outside(exit_):
            return bot_killed("agent", exit_)
        if self._has_hung_up(lost, exit_):
            self._close_last_turn()
            return Ended(EndReason.EXIT, "the agent hung up: it closed the connection")
        detail = str(lost) if exit_ is None else f"{lost}; {describe_exit(exit_)}"
        return self._end_unless_exit(EndReason.AGENT_GONE, detail)

    def _close_last_turn(self) -> None:
        self._minutes.exchanges[-1].complete = not self._turn.partial

    def _has_hung_up(self, lost: ConnectionLost, exit_: ProcessExit | None) -> bool:
        """Whether an agent that knows no message of ours ended the call in its own way.

        After it has spoken, a normal closure says so; it may end its process with the call.
        """
        spoke = any(exchange.turn.text for exchange in self._minutes.exchanges)
        in_order = lost.code == NORMAL_CLOSURE and (exit_ is None or exit_.code == 0)
        return self._plan.state is not None and spoke and in_order

    # -- the caller

    async def _answer(self) -> Say | HangUp:
        """What the caller does next; an empty answer is never sent, a second one is its fault."""
        for _ in range(2):
            answer = await self._ask()
            if isinstance(answer, HangUp) or answer.text.strip():
                return answer
        raise CallerFailed("the simulated caller answered twice with no words at all")

    async def _ask(self) -> Say | HangUp:
        """Ask the caller while the agent is still listened to; wait for both to be through."""
        with self._clock_of_the_caller():
            async with running(self._reply()) as reply, running(self._overhear()) as agent:
                await asyncio.wait({reply, agent}, return_when=asyncio.FIRST_COMPLETED)
                if agent.done():
                    agent.result()
                answer = reply.result()
        await self._hear_out()
        return answer

    @contextmanager
    def _clock_of_the_caller(self) -> Iterator[None]:
        """The time the caller takes is not the agent's: it does not count against the call's."""
        began, most = time.monotonic(), self._limits.caller
        most += self._plan.pace.patience if self._plan.pace is not None else 0.0
        self._over_at += most
        try:
            yield
        finally:
            self._over_at += time.monotonic() - began - most

    async def _reply(self) -> Say | HangUp:
        async with blaming_caller("replying", self._limits, "caller"):
            answer = await self._plan.caller.reply(self._minutes.transcript)
        leaves = isinstance(answer, HangUp) and not (answer.last_words or "").strip()
        if self._plan.pace is not None and not leaves:  # else the agent is asked nothing more
            await self._plan.pace.turn()
        return answer

    async def _overhear(self) -> None:
        """Count what the agent sends meanwhile; ends only with the conversation."""
        while True:
            event = await self._listen(self._over_at)
            if event is not None:
                self._take(event)
            if self._turn.exit_at is not None:
                await self._hear_out()

    async def _hang_up(self, hang_up: HangUp) -> None:
        """Deliver the last words and let the agent act on them, within bounds."""
        detail = hang_up.reason
        if (hang_up.last_words or "").strip():
            await self._put_in_step()
            await self._say(hang_up.last_words)
            self._over_at = min(self._over_at, time.monotonic() + self._limits.last_reply)
            try:
                await self._hear_out()
            except Ended as ended:
                if ended.reason not in {EndReason.TIMEOUT, EndReason.AGENT_SILENT}:
                    raise
                seconds = f"{self._limits.last_reply:g} s (last_reply)"
                detail += f"; the agent did not finish its answer to the last words in {seconds}"
        raise Ended(EndReason.CALLER_HANGUP, detail)


async def _expected_hash(scenario: Scenario) -> str | None:
    """Hash of the expected database, computed off the loop.

    Raises:
        ScenarioInvalid: It cannot be loaded, or is not JSON.
    """
    try:
        return await asyncio.to_thread(_hash_expected, scenario)
    except Exception as error:  # scenarios are foreign code
        raise ScenarioInvalid(
            f"scenario {scenario.name!r} has no usable expected database: "
            f"{type(error).__name__}: {error}"
        ) from error


def _hash_expected(scenario: Scenario) -> str | None:
    expected = scenario.expected_scenario_db
    return None if expected is None else get_dict_hash(expected)


@asynccontextmanager
async def _started(caller: Caller, limits: CallLimits, minutes: Minutes) -> AsyncIterator[None]:
    """The caller, from start to close; what goes wrong while it closes is only noted."""
    try:
        async with blaming_caller("starting", limits, "caller_start"):
            await caller.start()
        yield
    finally:
        try:
            async with blaming_caller("closing", limits, "caller_close"):
                await caller.close()
        except CallerFailed as error:
            minutes.warnings.append(str(error))
