"""The minutes of a call: exchanges as they happen, a :class:`Conversation` at any time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.call.caller import KeepsAccount, KeepsEvents
from pytest_voiceeval.call.result import (
    AGENT_FAULTS,
    Conversation,
    EndReason,
    ProcessExit,
    Side,
    SideRecord,
    TurnLatency,
    Utterance,
    WireEvent,
)
from pytest_voiceeval.call.tool_calls import merge_tool_calls

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_voiceeval.call.caller import Caller, CallerSide
    from pytest_voiceeval.call.peer import Peer
    from pytest_voiceeval.call.tap import Tap
    from pytest_voiceeval.call.turns import TurnCollector
    from pytest_voiceeval.scenario.model import Scenario


SYNCED = "voiceeval-synced"
"""Type of an event that is the harness's own: a side was told what it must see of the other."""


@dataclass
class Exchange:
    """Our message and the agent's turn that answers it; ``said`` is None for the kickoff."""

    said: str | None
    turn: TurnCollector
    complete: bool = False


class Minutes:
    """Takes down what happens in one call.

    Attributes:
        warnings: What looked odd and changed no verdict.
        exchanges: So far, the kickoff's first.
        process_exit: How the agent's process ended, if it did.
        expected_hash: Of the scenario's expected database.
        agent: The agent's side, once it has been read out.
        caller: The caller's side, once it has been read out.
    """

    def __init__(self, scenario: Scenario, agent: Peer, caller: Caller | None = None) -> None:
        self.warnings: list[str] = []
        self.exchanges: list[Exchange] = []
        self.process_exit: ProcessExit | None = None
        self.expected_hash: str | None = None
        self.agent: SideRecord | None = None
        self.caller: CallerSide | None = None
        self._scenario = scenario
        self._peer = agent
        self._taps: dict[Side, Tap] = {"agent": agent.ledger.tap}
        if isinstance(caller, KeepsEvents):
            self._taps["user"] = caller.tap
        self._account = caller if isinstance(caller, KeepsAccount) else None
        self._began = time.monotonic()
        self._end: tuple[EndReason, str] | None = None
        self._started = 0.0
        self._ended: float | None = None
        self._started_at = ""
        self._synced: list[tuple[float, Side, Mapping[str, Any]]] = []

    def note_sync(self, side: str, delta: Mapping[str, Any]) -> None:
        """A side was told what it must see of the other."""
        self._synced.append((time.monotonic(), "user" if side == "user" else "agent", delta))

    def kick_off(self, at: float | None = None) -> None:
        """The clock starts, now or at a moment of the loop's clock."""
        self._started = time.monotonic() if at is None else at
        self._started_at = datetime.now(UTC).isoformat(timespec="milliseconds")

    @property
    def agent_failed(self) -> bool:
        """Whether the conversation ended by a fault of the agent, whatever its state says."""
        return self._end is not None and self._end[0] in AGENT_FAULTS

    def close(self, reason: EndReason, detail: str) -> None:
        """The conversation is over; what follows is reading out."""
        self._end = (reason, detail)
        self.stop_clock()

    def stop_clock(self) -> None:
        """Nothing after this counts to the duration."""
        self._ended = self._ended or time.monotonic()

    @property
    def turn(self) -> int:
        """Number of the exchange under way, 0 before the kickoff."""
        return len(self.exchanges)

    @property
    def completed_turns(self) -> int:
        """Agent turns that came to their end with words."""
        return sum(e.complete and bool(e.turn.text) for e in self.exchanges)

    @property
    def transcript(self) -> tuple[Utterance, ...]:
        """Who said what so far."""
        lines: list[Utterance] = []
        for number, exchange in enumerate(self.exchanges, start=1):
            lines += self._lines(number, exchange)
        return tuple(lines)

    def _lines(self, number: int, exchange: Exchange) -> list[Utterance]:
        turn = exchange.turn
        sent = self.since_start(turn.sent_at)
        said = [Utterance("user", exchange.said, sent, sent, number)] if exchange.said else []
        text = turn.text
        if not text:
            return said
        start = self.since_start(turn.first_text_at or turn.sent_at)
        end = max(start, self.since_start(turn.worked_at))
        partial = turn.partial or (not exchange.complete and self._ended is not None)
        return [*said, Utterance("agent", text, start, end, number, partial)]

    def since_start(self, at: float) -> float:
        """A moment of the loop's clock on that of the call."""
        return round(at - self._started, 6)

    def _latencies(self) -> tuple[TurnLatency, ...]:
        return tuple(
            TurnLatency(
                turn=number,
                first_text=None if t.first_text_at is None else t.first_text_at - t.sent_at,
                turn_end=t.worked_at - t.sent_at,
            )
            for number, t in enumerate((e.turn for e in self.exchanges), start=1)
            if t.first_sign_at is not None
        )

    def freeze(self) -> Conversation:
        """Everything measured until now."""
        reason, detail = self._end or (None, "")
        ledger = self._peer.ledger
        agent = self.agent or SideRecord(
            tokens=ledger.tokens,
            model_runs=ledger.model_runs,
            uncounted_runs=ledger.uncounted_runs,
        )
        caller = self._caller_side()
        calls = merge_tool_calls("agent", agent.context, ledger)
        calls += caller.tool_calls if caller else ()
        ended = self._ended or time.monotonic()
        return Conversation(
            scenario=self._scenario.name,
            domain=self._scenario.domain,
            end_reason=reason,
            end_detail=detail,
            transcript=self.transcript,
            tool_calls=tuple(sorted(calls, key=lambda call: call.turn)),
            agent=agent,
            user=caller.record if caller else None,
            final_responses=tuple(ledger.final_responses),
            latencies=self._latencies(),
            agent_turns=self.completed_turns,
            duration=ended - self._started if self._started_at else 0.0,
            started_at=self._started_at,
            expected_hash=self.expected_hash,
            process_exit=self.process_exit,
            warnings=tuple(dict.fromkeys([*self.warnings, *self._noted_errors(caller)])),
            events=self._events(),
            elapsed=time.monotonic() - self._began,
        )

    def _caller_side(self) -> CallerSide | None:
        """What the caller reported; of one that was not read out, what it is known to have used."""
        if self.caller is not None or self._account is None:
            return self.caller
        so_far = self._account.so_far()
        return so_far if so_far.record.model_runs else None

    def _events(self) -> tuple[WireEvent, ...]:
        events = [
            WireEvent(self.since_start(at), side, kind, data)
            for side, tap in self._taps.items()
            for at, kind, data in tap.events
        ]
        events += [
            WireEvent(self.since_start(at), side, SYNCED, delta) for at, side, delta in self._synced
        ]
        return tuple(sorted(events, key=lambda event: event.at))

    def _noted_errors(self, caller: CallerSide | None) -> list[str]:
        errors = [f"the agent reported an error: {text}" for text in self._peer.ledger.errors]
        unlogged = [
            f"{tap.dropped} late events of the {side}'s bot were not kept for the log"
            for side, tap in self._taps.items()
            if tap.dropped
        ]
        of_caller = caller.warnings if caller else ()
        return [*errors, *unlogged, *self._peer.warnings, *of_caller]
