"""The minutes of a call with sound: turns as they were heard, and what their sound tells."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_voiceeval.call.audio.recording import RECORDING
from pytest_voiceeval.call.audio.report import SoundReport
from pytest_voiceeval.call.audio.timing import Heard, measure
from pytest_voiceeval.call.minutes import Minutes
from pytest_voiceeval.call.result import Conversation, Side, TurnLatency, Utterance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_voiceeval.call.audio.activity import Span
    from pytest_voiceeval.call.audio.plan import SoundPlan
    from pytest_voiceeval.call.audio.relay import Leg, Relay
    from pytest_voiceeval.call.audio.talk import SpokenTurn, Talk

WORDLESS = "[speech without words]"
"""What stands in the transcript for speech whose bot sent no words of it."""
CUT_OFF = "[INTERRUPTED]"
"""The same for speech that was interrupted, in the reference's word."""


class SoundMinutes(Minutes):
    """Takes down a call with sound, once its relay runs.

    Attributes:
        relay: The sound.
        talk: The turns.
        plan: How the sound is measured.
        kickoff: When the agent was asked to open the call, on the loop's clock.
        over: When the conversation was over, likewise.
        answer_times: By exchange, seconds from the caller's last frame to the agent's first, in the
            reference's way.
    """

    relay: Relay | None = None
    talk: Talk | None = None
    plan: SoundPlan | None = None
    kickoff: float | None = None
    over: float | None = None

    def attach(self, relay: Relay, talk: Talk, plan: SoundPlan) -> None:
        """From now on there is sound."""
        self.relay, self.talk, self.plan = relay, talk, plan
        self.answer_times: dict[int, float] = {}

    # -- what a text call has in other ways

    @property
    def turn(self) -> int:
        """Number of the exchange under way, 0 before there is sound."""
        return 0 if self.talk is None else self.talk.exchange

    @property
    def completed_turns(self) -> int:
        """Turns of the agent that were heard to their end, the one under way included."""
        if self.talk is None:
            return 0
        turns = [turn for turn in self.talk.turns if turn.side == "agent"]
        return sum(turn.heard_at is not None and not self._is_partial(turn) for turn in turns)

    @property
    def transcript(self) -> tuple[Utterance, ...]:
        """Who said what so far, timed by its sound in the recording."""
        if self.talk is None or self.relay is None:
            return ()
        lines: list[Utterance] = []
        for side in ("agent", "user"):
            lines += self._lines_of(side)
        return tuple(sorted(lines, key=lambda line: (line.start, line.turn)))

    def _latencies(self) -> tuple[TurnLatency, ...]:
        if self.talk is None:
            return ()
        return tuple(
            TurnLatency(turn, seconds, self._turn_end(turn, seconds))
            for turn, seconds in sorted(self.answer_times.items())
        )

    def _turn_end(self, number: int, answered: float) -> float:
        """Seconds from the caller's last sound to the end of the agent's turn."""
        heard = [u for u in self.transcript if u.turn == number]
        ends = {u.role: u.end for u in heard}
        if len(ends) < 2:
            return answered
        return max(answered, ends["agent"] - ends["user"])

    def freeze(self) -> Conversation:
        """Everything measured until now."""
        conversation = super().freeze()
        if self.relay is None or not self.relay.started:
            return conversation
        return replace(conversation, sound=self._report(conversation))

    # -- turns

    def _lines_of(self, side: Side) -> list[Utterance]:
        assert self.talk is not None and self.relay is not None  # noqa: S101, PT018 - seen above
        turns = [turn for turn in self.talk.turns if turn.side == side]
        spans = self.relay.leg_of(side).detector.spans
        found: list[list[Span]] = [[] for _ in turns]
        begins = [self._first_sound(turn) for turn in turns]
        for span in spans:
            place = bisect_right(begins, span.start + 1e-6) - 1
            if place >= 0:
                found[place].append(span)
        lines = (self._line(turn, heard) for turn, heard in zip(turns, found, strict=True))
        return [line for line in lines if line is not None]

    def _first_sound(self, turn: SpokenTurn) -> float:
        at = turn.collector.sent_at if turn.heard_at is None else turn.heard_at
        return self.since_start(at)

    def _line(self, turn: SpokenTurn, heard: Sequence[Span]) -> Utterance | None:
        text, partial = turn.collector.text, self._is_partial(turn)
        if not heard and (turn.side == "user" or not text):
            return None
        begin = self._first_sound(turn)
        start, end = (heard[0].start, heard[-1].end) if heard else (begin, begin)
        words = text or (CUT_OFF if partial else WORDLESS)
        return Utterance(turn.side, words, round(start, 6), round(end, 6), turn.number, partial)

    def _is_partial(self, turn: SpokenTurn) -> bool:
        """It was interrupted, or the call ended while it could be heard."""
        over = self.over
        if turn.cut or over is None or turn.closed_at is not None or self.relay is None:
            return turn.cut
        leg = self.relay.leg_of(turn.side)
        latest = leg.detector.latest
        sounds = latest is not None and self.relay.started + latest.end > over - 0.1
        return leg.playout.sounding or sounds

    # -- sound

    def _report(self, conversation: Conversation) -> SoundReport:
        assert self.talk and self.relay and self.plan  # noqa: S101, PT018 - attached together
        relay, talk = self.relay, self.talk
        spans: dict[Side, tuple[Span, ...]] = {
            "agent": relay.to_user.detector.spans,
            "user": relay.to_agent.detector.spans,
        }
        kickoff = None if self.kickoff is None else self.since_start(self.kickoff)
        heard = Heard(
            agent=[self._as_it_came(relay.to_user, span) for span in spans["agent"]],
            user=spans["user"],
            kickoff=kickoff or 0.0,
            end=relay.seconds if self.over is None else self.since_start(self.over),
            opens=[self.since_start(at) for at in talk.opens],
            tools=frozenset(c.turn for c in conversation.tool_calls if c.side == "agent"),
            words=_words(conversation.transcript),
        )
        return SoundReport(
            timing=measure(heard),
            spans=spans,
            kickoff=kickoff,
            jitter=self.plan.jitter,
            pace=replace(relay.pace),
            playout={
                side: replace(relay.leg_of(side).playout.figures) for side in ("agent", "user")
            },
            recording=None if self.plan.folder is None else RECORDING,
        )

    def _as_it_came(self, leg: Leg, span: Span) -> Span:
        """Speech as it arrived, before the relay held it back, and what it dropped of it."""
        assert self.relay is not None  # noqa: S101 - attached
        lead = leg.playout.lead(self.relay.started + span.start)
        came = span.moved(-lead)
        dropped = leg.playout.dropped(self.relay.started + span.end, lead)
        return replace(came, end=came.end + dropped)


def _words(transcript: Sequence[Utterance]) -> dict[Side, int]:
    words: dict[Side, int] = {"agent": 0, "user": 0}
    for line in transcript:
        if line.text not in {WORDLESS, CUT_OFF}:
            words[line.role] += len(line.text.split())
    return words
