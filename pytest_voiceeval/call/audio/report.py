"""What the sound of a call told: plain, frozen data, part of a :class:`Conversation`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_voiceeval.call.audio.activity import Span
    from pytest_voiceeval.call.audio.playout import PlayoutFigures
    from pytest_voiceeval.call.audio.relay import Pace
    from pytest_voiceeval.call.audio.timing import Timing
    from pytest_voiceeval.call.result import Side


@dataclass(frozen=True)
class VirtualClock:
    """What is to be known of a call on the virtual clock.

    Attributes:
        event_log_hash: All that the bots sent, and when, as one hash: the same in every run.
        real_seconds: What its talk, the read-outs after it included, took by the real clock.
    """

    event_log_hash: str
    real_seconds: float


@dataclass(frozen=True)
class SoundReport:
    """How a call sounded, and how well it was carried. Seconds since the recording's first frame.

    Attributes:
        timing: Latencies, interruptions, silences, at the agent's end of the line.
        spans: Each side's speech as it is in the recording.
        kickoff: When the agent was asked to open the call; None if it never was.
        jitter: Seconds the relay held sound back.
        pace: How punctual the relay was.
        playout: What became of each side's sound on its way.
        recording: Name of the recording in the call's folder, None if there is none.
        virtual: Of a call that was not held in real time.
    """

    timing: Timing
    spans: Mapping[Side, tuple[Span, ...]]
    kickoff: float | None
    jitter: float
    pace: Pace
    playout: Mapping[Side, PlayoutFigures]
    recording: str | None = None
    virtual: VirtualClock | None = None
