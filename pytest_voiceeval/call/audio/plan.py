"""How the sound of one call is carried, kept and measured."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pytest_voiceeval.call.result import Side
    from pytest_voiceeval.wire.backlog import Event

RATE = 16_000
"""Samples a second of everything the relay sends and records."""
CHUNK = 256
"""Samples of one frame to a bot."""
TICK = CHUNK / RATE
"""Seconds from one frame to the next: 16 ms."""
KICKOFF_AFTER = 1.0
"""Seconds from the first frame to the kickoff."""


@dataclass(frozen=True)
class RelayLimits:
    """Up to where a call counts as measured.

    Attributes:
        lag: Seconds by which a frame may be late.
        late_share: Share of the frames that may be late by more than `relay.LATE`.
        underruns: Holes in running speech, in a call and a minute of call.
    """

    lag: float = 0.2
    late_share: float = 0.02
    underruns: int = 3


@dataclass(frozen=True)
class SoundPlan:
    """The sound of one call.

    Attributes:
        folder: Where recordings go, None for none.
        jitter: Seconds that sound is held back, so that late frames leave no holes.
        record_tracks: Keep what each bot sent as well, as it sent it.
        speech_level: Level in dB of full scale from which on sound counts as speech.
        limits: Beyond them the call is no evidence.
        witness: Is shown all that the bots send during the talk, sound included, as it comes.
        remark: A warning that the call is to carry.

    Raises:
        ValueError: A number is out of range.
    """

    folder: Path | None = None
    jitter: float = 0.2
    record_tracks: bool = False
    speech_level: float = -45.0
    limits: RelayLimits = field(default_factory=RelayLimits)
    witness: Callable[[Side, Event], None] | None = None
    remark: str = ""

    def __post_init__(self) -> None:
        if not (0 <= self.jitter <= 5 and math.isfinite(self.jitter)):
            raise ValueError(f"the jitter buffer must hold 0 to 5 s, got {self.jitter!r}")
        if not -90 <= self.speech_level < 0:
            raise ValueError(
                f"the level of speech must be -90 to below 0 dBFS, got {self.speech_level!r}"
            )
