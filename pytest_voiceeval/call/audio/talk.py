"""Whose turn is it? Turns of both sides, from what they send and when they are heard.

A turn opens with the first sign of it: the bot's model at work, speech announced, or sound. It is
over once the other side has spoken and this one is quiet, so that a pause, or a late event about
speech that has ended, opens no other. Times are on the loop's clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_voiceeval.call.messages import Exit, parse_server_message
from pytest_voiceeval.call.turns import TurnCollector
from pytest_voiceeval.wire.frames import InterruptionFrame
from pytest_voiceeval.wire.rtvi import Envelope

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_voiceeval.call.audio.activity import Span
    from pytest_voiceeval.call.limits import CallLimits
    from pytest_voiceeval.call.result import Side
    from pytest_voiceeval.call.turns import BotHabits
    from pytest_voiceeval.wire.backlog import Event

QUIET = 0.3
"""Seconds without sound after which the other side's speech ends a turn."""
TRAILING = 2.0
"""Seconds after the end of a turn in which text still belongs to it."""

_OPENING = frozenset({"bot-llm-started", "bot-started-speaking", "bot-tts-started"})
_WORDS = frozenset({"bot-output", "bot-tts-text", "bot-llm-text", "llm-raw-text", "tts-raw-text"})


@dataclass
class SpokenTurn:
    """One turn of one side.

    Attributes:
        side: Whose.
        number: Of the exchange it belongs to.
        collector: Its events.
        heard_at: When its first sound was played, None while there was none.
        cut: It was interrupted while it could be heard.
        closed_at: When it was over.
    """

    side: Side
    number: int
    collector: TurnCollector
    heard_at: float | None = None
    cut: bool = False
    closed_at: float | None = None


@dataclass
class _Voice:
    """What is heard of one side: whether it speaks, since when, and when it was last heard."""

    speaking: bool = False
    since: float = 0.0
    last: float | None = None


class Talk:
    """Takes events and sound of both sides as they come.

    Attributes:
        turns: So far, by their beginning.
        exchange: Number of the exchange under way: each turn of the caller that is heard opens one.
        opens: When those turns were first heard.
        exits: When and with which words a side ended the call.
    """

    def __init__(self, limits: CallLimits, habits: Mapping[Side, BotHabits]) -> None:
        self.turns: list[SpokenTurn] = []
        self.exchange = 1
        self.opens: list[float] = []
        self.exits: dict[Side, tuple[float, str]] = {}
        self._limits = limits
        self._habits = habits
        self._current: dict[Side, SpokenTurn] = {}
        self._voices: dict[Side, _Voice] = {"agent": _Voice(), "user": _Voice()}
        self._wrote_at: dict[Side, float] = {}
        self._worked_at: dict[Side, float] = {}

    # -- what is known

    def current(self, side: Side) -> SpokenTurn | None:
        """The turn a side has open."""
        return self._current.get(side)

    def latest(self, side: Side) -> SpokenTurn | None:
        """The open turn of a side, or its last one."""
        return next((turn for turn in reversed(self.turns) if turn.side == side), None)

    def busy(self, side: Side) -> bool:
        """A model run or a function call of this side is under way."""
        turn = self.latest(side)
        return turn is not None and turn.collector.at_work

    def speaking(self, side: Side) -> bool:
        """It is heard right now, or pauses between two words."""
        return self._voices[side].speaking

    def speaking_since(self, side: Side) -> float | None:
        """When the speech began that is heard right now; None if there is none."""
        voice = self._voices[side]
        return voice.since if voice.speaking else None

    def last_heard(self, side: Side) -> float | None:
        """When it was last heard."""
        return self._voices[side].last

    def worked_at(self, side: Side) -> float | None:
        """When its events last showed it at work."""
        return self._worked_at.get(side)

    def wrote_at(self, side: Side) -> float | None:
        """When its model last wrote words."""
        return self._wrote_at.get(side)

    @property
    def completed(self) -> int:
        """Turns of the agent that were heard to their end."""
        return sum(
            t.side == "agent" and t.closed_at is not None and t.heard_at is not None and not t.cut
            for t in self.turns
        )

    # -- what happens

    def event(self, side: Side, event: Event, *, audible: bool) -> None:
        """Take an event that is not sound; `audible`: sound of this side is on its way."""
        match event.kind:
            case InterruptionFrame():
                self._interrupted(side, audible=audible)
            case Envelope() as message:
                self._message(side, event, message, audible=audible)

    def _message(self, side: Side, event: Event, message: Envelope, *, audible: bool) -> None:
        if message.type in _OPENING or message.type in _WORDS or message.type.startswith("llm-f"):
            self._worked_at[side] = event.at
        if message.type in {"bot-llm-text", "llm-raw-text"}:
            self._wrote_at[side] = event.at
        if message.type == "bot-interrupted":
            self._interrupted(side, audible=audible)
        if message.type == "server-message":
            match parse_server_message(message.data):
                case Exit(words=words):
                    self.exits.setdefault(side, (event.at, words))
        turn = self._turn_of(side, message.type, event.at)
        if turn is not None:
            turn.collector.feed(event)

    def _turn_of(self, side: Side, kind: str, at: float) -> SpokenTurn | None:
        """The turn an event belongs to; one is opened if the event is the sign of it."""
        turn = self._current.get(side)
        if turn is not None:
            return turn
        last = self.latest(side)
        fresh = last is None or at - (last.closed_at or at) > TRAILING
        if kind in _OPENING or (kind in _WORDS and fresh):
            return self._open(side, at)
        return last

    def _interrupted(self, side: Side, *, audible: bool) -> None:
        turn = self._current.get(side)
        if turn is None:
            return
        if audible or self.speaking(side):
            turn.cut = True
        elif turn.heard_at is None:
            # begun and dropped before anybody heard of it
            del self._current[side]
            self.turns.remove(turn)

    def sound(self, side: Side, now: float, speech: Span | None, *, speaking: bool) -> None:
        """Take what is heard of a side at a tick: its latest speech, and whether that goes on."""
        voice = self._voices[side]
        began = speaking and not voice.speaking
        voice.speaking = speaking
        if speech is not None:
            voice.since, voice.last = speech.start, speech.end
        if began and speech is not None:
            self._began(side, speech.start)
        for turn in list(self._current.values()):
            if turn.heard_at is not None and self._is_over(turn.side, now):
                turn.closed_at = now
                del self._current[turn.side]

    def _began(self, side: Side, at: float) -> None:
        turn = self._current.get(side) or self._open(side, at)
        if turn.heard_at is None:
            turn.heard_at = at
            if side == "user":
                self.exchange += 1
                turn.number = self.exchange
                self.opens.append(at)

    def _is_over(self, side: Side, now: float) -> bool:
        """Whether the other one has been heard since this side fell quiet."""
        last = self._voices[side].last or 0.0
        other = self._voices["user" if side == "agent" else "agent"].last
        return now - last >= QUIET and other is not None and other > last

    def _open(self, side: Side, at: float) -> SpokenTurn:
        collector = TurnCollector(at, self._limits, self._habits[side])
        turn = self._current[side] = SpokenTurn(side, self.exchange, collector)
        self.turns.append(turn)
        return turn
