"""A caller that is a bot of its own, driven over the wire like the agent."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from pytest_voiceeval.call.caller import CallerSide, HangUp, Say
from pytest_voiceeval.call.caller_state import BotState
from pytest_voiceeval.call.errors import CallerFailed, CallError
from pytest_voiceeval.call.faults import (
    as_call_error,
    bot_killed,
    describe_exit,
    find_exit,
    killed_from_outside,
)
from pytest_voiceeval.call.limits import CallLimits
from pytest_voiceeval.call.listening import hear_out
from pytest_voiceeval.call.peer import Peer
from pytest_voiceeval.call.pulls import Pulled, Wanted, as_record, pull
from pytest_voiceeval.call.result import SideRecord
from pytest_voiceeval.call.setup import side_setup
from pytest_voiceeval.call.tool_calls import merge_tool_calls
from pytest_voiceeval.call.turns import TurnCollector
from pytest_voiceeval.wire.errors import WireError
from pytest_voiceeval.wire.rtvi import Envelope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_voiceeval.call.result import ExitProbe, Utterance
    from pytest_voiceeval.call.setup import SideSetup
    from pytest_voiceeval.call.tap import Tap
    from pytest_voiceeval.scenario.model import Scenario
    from pytest_voiceeval.wire.backlog import Event

NUDGE = "Hello? Are you still there?"
"""What the agent's side says to a caller bot that answered nothing."""


class BotCaller:
    """Passes the agent's words to a user bot, and the bot's words back.

    A user bot ends the call with ``<exit>``; what it said in that turn are its last words.

    Args:
        url: Address of the user bot, any ``{session}`` filled in.
        scenario: Gives the bot its prompt, tools and state.
        limits: Longest waits.
        single_connection: Set up and talk on one connection.
        process_exit: Tells how its process ended, None for a bot we did not start.
        call_dir: Folder of the call's files, if the bot is to know it.
        audio: It is to speak: then it is driven by its sound, and not by :meth:`reply`.
    """

    def __init__(
        self,
        url: str,
        scenario: Scenario,
        limits: CallLimits | None = None,
        *,
        single_connection: bool = False,
        process_exit: ExitProbe | None = None,
        call_dir: str | None = None,
        audio: bool = False,
    ) -> None:
        self._scenario = scenario
        self._limits = limits or CallLimits()
        self._peer = Peer(
            "user",
            url,
            self._limits,
            single_connection=single_connection,
            probe=process_exit,
            audio=audio,
        )
        self._call_dir = call_dir
        self._delivered = 0
        self._replies = 0

    @property
    def peer(self) -> Peer:
        """The bot itself."""
        return self._peer

    @property
    def state(self) -> BotState:
        """The bot's half of the state."""
        return BotState(self._peer)

    @property
    def tap(self) -> Tap:
        """What the bot has sent so far."""
        return self._peer.ledger.tap

    async def start(self) -> None:
        """Set the bot up and open its talk connection.

        Raises:
            CallerFailed: It cannot be reached, or refuses.
        """
        setup = await side_setup(self._scenario, "user", call_dir=self._call_dir)
        try:
            await self._peer.set_up(self._own_setup(setup))
            await self._peer.join()
        except WireError as error:
            raise await self.blame(error) from error

    async def reply(self, transcript: Sequence[Utterance]) -> Say | HangUp:
        """Let the bot answer what the agent said since its last reply.

        Raises:
            CallerFailed: It is gone, broken or silent.
            BotKilled: Somebody else ended its process.
        """
        self._replies += 1
        try:
            turn = await self._converse(self._news(transcript))
        except WireError as error:
            raise await self.blame(error) from error
        if turn.exit_at is not None:
            return HangUp(self.why_left(turn.exit_words), turn.text or None)
        return Say(turn.text)

    async def read_out(self, *, include_db: bool) -> CallerSide:
        """Pull the bot's context, actions and database; whatever fails is a warning."""
        pulled = Pulled()
        try:
            pulled = await pull(self._peer, Wanted(include_db=include_db))
        except WireError as error:
            pulled.notes.append(f"reading the caller's state: {error}")
        record = as_record(pulled, self._peer)
        errors = [f"the caller's bot reported an error: {e}" for e in self._peer.ledger.errors]
        return CallerSide(
            record=record,
            tool_calls=merge_tool_calls("user", record.context, self._peer.ledger),
            warnings=(*pulled.notes, *errors, *self._peer.warnings),
        )

    def so_far(self) -> CallerSide:
        """What its events told: tokens and model runs."""
        ledger = self._peer.ledger
        return CallerSide(
            SideRecord(
                tokens=ledger.tokens,
                model_runs=ledger.model_runs,
                uncounted_runs=ledger.uncounted_runs,
            )
        )

    async def close(self) -> None:
        """Close its connection."""
        await self._peer.leave()

    def why_left(self, words: str) -> str:
        """Why it hung up, by the words of its ``<exit>``."""
        return f"the caller's bot ended the call: {words}"

    def failure(self, fatal: str) -> CallError:
        """The call's error for a fatal one of the bot's."""
        return CallerFailed(f"the caller's bot reported a fatal error: {fatal}")

    def at_work_until(self, now: float) -> float:  # noqa: ARG002 - its events tell
        """Until when it was thinking of an answer, as far as its events do not tell."""
        return 0.0

    def thinking_time(self, now: float) -> float:  # noqa: ARG002 - its own time is the call's
        """Seconds until now that count neither for nor against the agent."""
        return 0.0

    def _own_setup(self, setup: SideSetup) -> SideSetup:
        """What the bot is told."""
        return setup

    def _news(self, transcript: Sequence[Utterance]) -> str:
        """What the agent said since the last reply; a nudge if the bot has heard it all."""
        words = [u.text for u in transcript[self._delivered :] if u.role == "agent"]
        self._delivered = len(transcript)
        return " ".join(words) or NUDGE

    async def _converse(self, words: str) -> TurnCollector:
        turn = TurnCollector(time.monotonic(), self._limits, self._peer.habits)
        await self._peer.say(words)
        heard = await hear_out(turn, self._limits, self._peer.listen, partial(self._take, turn))
        if not heard:
            errors = self._peer.ledger.errors
            said = f"; its last reported error: {errors[-1]}" if errors else ""
            seconds = f"{self._limits.turn_silence:g} s (turn_silence)"
            raise CallerFailed(f"no sign of the caller's bot for {seconds}{said}")
        return turn

    def _take(self, turn: TurnCollector, event: Event) -> None:
        fatal = self._peer.ledger.note(event, self._replies)
        turn.feed(event)
        if fatal is not None:
            raise self.failure(fatal)
        if isinstance(event.kind, Envelope) and event.kind.type == "error-response":
            raise CallerFailed(
                f"the caller's bot does not take 'send-text': {event.kind.data!r:.200}"
            )

    async def blame(self, error: WireError) -> CallError:
        """The call's error for one of the bot's connection."""
        exit_ = await find_exit(self._peer.probe, self._limits.process_exit)
        if exit_ is not None and killed_from_outside(exit_):
            return bot_killed("user", exit_)
        fault = as_call_error(error, "user")
        return fault if exit_ is None else CallerFailed(f"{fault}; {describe_exit(exit_)}")
