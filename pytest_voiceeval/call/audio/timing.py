"""Who spoke when, in figures: latencies, interruptions, silences. Pure functions over speech spans.

All of it is timed at the agent's end of the line: the caller's speech when it is sent to the agent,
the agent's when it arrives. What the relay holds back is in none of the numbers. Seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from pytest_voiceeval.call.audio.percentiles import Distribution, distribution
from pytest_voiceeval.call.audio.turn_taking import TurnTaking, mean_score

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pytest_voiceeval.call.audio.activity import Span
    from pytest_voiceeval.call.result import Side

TOUCH = 0.1
"""Seconds both have to speak at once for it to be an interruption."""
_SAME = 1e-6


@dataclass(frozen=True)
class Heard:
    """What a call sounded like.

    Attributes:
        agent: Speech of the agent, by time.
        user: Speech of the caller, by time.
        kickoff: When the agent was asked to open the call.
        end: When the conversation was over.
        opens: Where the caller's turns begin: the first one opens exchange 2.
        tools: Exchanges in which the agent called a tool.
        words: Words of each side, as far as its bot told them.
    """

    agent: Sequence[Span]
    user: Sequence[Span]
    kickoff: float
    end: float
    opens: Sequence[float] = ()
    tools: Collection[int] = ()
    words: Mapping[Side, int] | None = None


@dataclass(frozen=True, slots=True)
class ExchangeTiming:
    """One turn of the caller and what the agent did about it.

    Attributes:
        turn: Number of the exchange, as in the transcript.
        latency: From the caller's last sound to the agent's first; None if the agent did not begin
            afresh after it: it never answered, or had begun before.
        tool: The agent called a tool.
        barge_ins: How often the agent began while the caller spoke.
        overlap: How long both spoke at once because of that.
        yielded: How long the agent spoke on after the caller had begun; None if it did not speak.
    """

    turn: int
    latency: float | None
    tool: bool = False
    barge_ins: int = 0
    overlap: float = 0.0
    yielded: float | None = None

    @property
    def turn_taking(self) -> TurnTaking:
        """The same in milliseconds, for its score."""
        return TurnTaking(
            latency=None if self.latency is None else self.latency * 1000,
            tool=self.tool,
            barge_ins=self.barge_ins,
            overlap=self.overlap * 1000,
            yielded=None if self.yielded is None else self.yielded * 1000,
        )


@dataclass(frozen=True)
class Timing:
    """The figures of a call.

    Attributes:
        first_audio: From the kickoff to the agent's first sound; None if it never spoke.
        exchanges: One entry a turn of the caller.
        latency: Of those that were answered.
        overlap: Both spoke at once.
        agent_interrupts: How often the agent began while the caller spoke.
        user_interrupts: The other way round.
        agent_yields: How long the agent spoke on, each time it was interrupted.
        user_yields: The other way round.
        speech: Each side's speech in all.
        talk_ratio: The agent's part of all speech, 0 to 1; None if nobody spoke.
        words_per_minute: Of speech; None for a side without speech or words.
        longest_silence: Nobody spoke, from the kickoff on.
        turn_taking: Score, 0 to 1; None without exchanges.
    """

    first_audio: float | None
    exchanges: tuple[ExchangeTiming, ...]
    latency: Distribution | None
    overlap: float
    agent_interrupts: int
    user_interrupts: int
    agent_yields: tuple[float, ...]
    user_yields: tuple[float, ...]
    speech: Mapping[Side, float]
    talk_ratio: float | None
    words_per_minute: Mapping[Side, float | None]
    longest_silence: float
    turn_taking: float | None


def measure(heard: Heard) -> Timing:
    """Work out the figures of a call."""
    exchanges = tuple(_exchanges(heard))
    speech: dict[Side, float] = {"agent": _total(heard.agent), "user": _total(heard.user)}
    both = sum(speech.values())
    agent_cuts = _interruptions(heard.agent, heard.user)
    user_cuts = _interruptions(heard.user, heard.agent)
    return Timing(
        first_audio=_first_audio(heard),
        exchanges=exchanges,
        latency=distribution([e.latency for e in exchanges if e.latency is not None]),
        overlap=_overlap(heard.agent, heard.user),
        agent_interrupts=len(agent_cuts),
        user_interrupts=len(user_cuts),
        agent_yields=tuple(user_cuts),
        user_yields=tuple(agent_cuts),
        speech=speech,
        talk_ratio=speech["agent"] / both if both else None,
        words_per_minute=_pace(heard, speech),
        longest_silence=_longest_silence(heard),
        turn_taking=mean_score([exchange.turn_taking for exchange in exchanges]),
    )


def _exchanges(heard: Heard) -> list[ExchangeTiming]:
    edges = [*heard.opens, float("inf")]
    found = []
    for number, (begin, end) in enumerate(pairwise(edges), start=2):
        said = [span for span in heard.user if begin - _SAME <= span.start < end - _SAME]
        if said:
            answers = [span for span in heard.agent if begin - _SAME <= span.start < end - _SAME]
            found.append(_exchange(number, said, answers, heard))
    return found


def _exchange(
    number: int, said: Sequence[Span], answers: Sequence[Span], heard: Heard
) -> ExchangeTiming:
    last = max(span.end for span in said)
    fresh = next((span.start - last for span in answers if span.start >= last - _SAME), None)
    barged = [a for a in answers if any(_cuts_into(a, s) for s in said)]
    spoken = [a for a in heard.agent if _cuts_into(said[0], a)]
    return ExchangeTiming(
        turn=number,
        latency=None if fresh is None else max(0.0, fresh),
        tool=number in heard.tools,
        barge_ins=len(barged),
        overlap=_overlap(barged, said),
        yielded=spoken[-1].end - said[0].start if spoken else None,
    )


def _cuts_into(span: Span, other: Span) -> bool:
    """Whether one begins while the other goes on, and they last for a moment together."""
    return other.start < span.start and min(span.end, other.end) - span.start >= TOUCH


def _interruptions(who: Sequence[Span], whom: Sequence[Span]) -> list[float]:
    """For each time somebody was cut into, how long they spoke on."""
    return [
        max(other.end - span.start for other in whom if _cuts_into(span, other))
        for span in who
        if any(_cuts_into(span, other) for other in whom)
    ]


def _first_audio(heard: Heard) -> float | None:
    return next((s.start - heard.kickoff for s in heard.agent if s.start >= heard.kickoff), None)


def _total(spans: Sequence[Span]) -> float:
    return sum(span.length for span in spans)


def _overlap(these: Sequence[Span], those: Sequence[Span]) -> float:
    pairs = ((a, b) for a in these for b in those)
    return sum(max(0.0, min(a.end, b.end) - max(a.start, b.start)) for a, b in pairs)


def _pace(heard: Heard, speech: Mapping[Side, float]) -> dict[Side, float | None]:
    words = heard.words or {}
    return {
        side: words[side] / seconds * 60 if words.get(side) and seconds else None
        for side, seconds in speech.items()
    }


def _longest_silence(heard: Heard) -> float:
    spans = sorted([*heard.agent, *heard.user], key=lambda span: span.start)
    longest, quiet_from = 0.0, heard.kickoff
    for span in spans:
        longest = max(longest, span.start - quiet_from)
        quiet_from = max(quiet_from, span.end)
    return max(longest, heard.end - quiet_from)
