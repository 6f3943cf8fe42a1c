"""One direction of a call: what a bot sent, played to the other in real time."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_voiceeval.call.audio.activity import amplitude, loud
from pytest_voiceeval.call.audio.pcm import PcmReader
from pytest_voiceeval.call.audio.plan import CHUNK, RATE

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from pytest_voiceeval.wire.frames import AudioFrame

    Samples = NDArray[np.int16]

MOST = 300
"""Seconds of sound that wait to be played; of a bot that sends faster, for longer, the rest is
dropped."""
HOLE = 0.5
"""Seconds from which on silence inside of speech is a pause and no hole."""
_EDGE = round(0.02 * RATE)  # samples before and after a hole that must be loud for it to be one


@dataclass(slots=True)
class PlayoutFigures:
    """What became of a bot's sound.

    Attributes:
        frames: Audio frames that arrived.
        underruns: Holes in running speech, where the next frame came too late.
        hole_seconds: Their length in all.
        flushed_seconds: Sound dropped because its bot was interrupted.
        overflow_seconds: Sound dropped because too much waited.
        seconds: Sound in all.
    """

    frames: int = 0
    underruns: int = 0
    hole_seconds: float = 0.0
    flushed_seconds: float = 0.0
    overflow_seconds: float = 0.0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Spurt:
    """Sound that was played without a break: when its first frame came, and was played."""

    arrived: float
    played: float


class Playout:
    """Holds a bot's sound back a little, then plays it without holes, chunk by chunk.

    The first sample of a spurt is played at the first tick that is `jitter` after its arrival, the
    others follow it as they follow each other: late frames are made up for, and the delay is known.
    When nothing is left the spurt is over, and what the resampler kept is its end. Times are on the
    loop's clock.

    Args:
        jitter: Seconds to hold back.
        level: Of speech, in dB of full scale.
        note: Takes texts about what looked odd.
    """

    def __init__(self, jitter: float, level: float, note: Callable[[str], None]) -> None:
        self.figures = PlayoutFigures()
        self.spurts: list[Spurt] = []
        self.last_voice: float | None = None  # arrival of the last loud frame
        self._jitter = jitter
        self._threshold = amplitude(level)
        self._note = note
        self._reader = PcmReader(note)
        self._pieces: deque[Samples] = deque()
        self._waiting = 0
        self._loud_waiting = 0  # samples until the last loud one has been played
        self._came = 0.0  # when the last frame did
        self._arrived: float | None = None  # of the spurt that is played or held back
        self._playing = False
        self._stopped = False
        self._flushes: list[tuple[float, float]] = []  # when, and seconds of speech
        self._dry: float | None = None  # when the last spurt ran out in the middle of a sound

    # -- what the bot sends

    def push(self, at: float, frame: AudioFrame) -> None:
        """Take a frame.

        Raises:
            BadSound: It cannot be played.
        """
        if self._arrived is None and frame.audio:
            if self._stopped or at - self._came > HOLE:
                self._reader.drop_half()
            self._arrived, self._stopped = at, False
        samples = self._reader.read(frame)
        self._came = at
        self.figures.frames += 1
        self.figures.seconds += len(self._reader.latest) / frame.sample_rate
        if self._waiting > MOST * RATE:
            self._overflow(len(samples))
            return
        if loud(self._reader.latest, self._threshold):
            self.last_voice = at
            self._loud_waiting = self._waiting + max(1, len(samples))
        self._append(samples)

    def stopped(self) -> None:
        """The bot says it has stopped speaking: the end of its sound is no hole."""
        self._stopped = True
        self._dry = None

    def flush(self, at: float) -> None:
        """Drop what has not been played: the bot was interrupted."""
        if self._loud_waiting:
            self._flushes.append((at, self._loud_waiting / RATE))
        self.figures.flushed_seconds += self._waiting / RATE
        self._reader.reset()
        self._pieces.clear()
        self._waiting = self._loud_waiting = 0
        self._end(dry=None)

    # -- what the other one hears

    @property
    def sounding(self) -> bool:
        """Something loud still waits to be played."""
        return self._loud_waiting > 0

    def take(self, at: float) -> Samples | None:
        """The chunk of the tick that is due at that time; None is silence."""
        if self._arrived is None or not (self._playing or self._begins(at)):
            return None
        if self._waiting < CHUNK:
            self._append(self._reader.finish())
        chunk, count = self._pull()
        self._loud_waiting = max(0, self._loud_waiting - CHUNK)
        if not self._waiting:
            self._run_out(chunk[:count], at + count / RATE)
        return chunk

    def lead(self, played: float) -> float:
        """Seconds by which what was played at that time had come before."""
        place = bisect_right(self.spurts, played + 1e-6, key=lambda spurt: spurt.played) - 1
        if place < 0:
            return self._jitter
        return self.spurts[place].played - self.spurts[place].arrived

    def dropped(self, played: float, lead: float) -> float:
        """Seconds of speech that had come, and were dropped when the playing stopped at that time.

        Sound that was dropped was spoken all the same; but what a bot sent ahead of time it had
        not spoken when it was interrupted.

        Args:
            played: When the playing stopped.
            lead: By how much what was played had come before.
        """
        near = 2 * CHUNK / RATE
        return sum(
            max(0.0, min(seconds, at - (played - lead)))
            for at, seconds in self._flushes
            if abs(at - played) <= near
        )

    def _begins(self, at: float) -> bool:
        assert self._arrived is not None  # noqa: S101 - seen by the only caller
        if at < self._arrived + self._jitter:
            return False
        self._playing = True
        self.spurts.append(Spurt(self._arrived, at))
        self._count_hole(at)
        return True

    def _count_hole(self, at: float) -> None:
        """A spurt that goes on in the middle of a sound where the last one broke off."""
        dry, self._dry = self._dry, None
        if dry is None or at - dry > HOLE + self._jitter:
            return
        if self._pieces and loud(self._pieces[0][:_EDGE], self._threshold):
            self.figures.underruns += 1
            self.figures.hole_seconds += at - dry

    def _run_out(self, last: Samples, at: float) -> None:
        broke_off = loud(last[-_EDGE:], self._threshold)
        self._end(dry=at if broke_off and not self._stopped else None)

    def _end(self, dry: float | None) -> None:
        self._arrived, self._playing, self._dry = None, False, dry
        self._loud_waiting = 0

    def _append(self, samples: Samples) -> None:
        if len(samples):
            self._pieces.append(samples)
            self._waiting += len(samples)

    def _pull(self) -> tuple[Samples, int]:
        """One chunk, filled up with silence, and how much of it is sound."""
        import numpy as np

        chunk = np.zeros(CHUNK, np.int16)
        filled = 0
        while filled < CHUNK and self._pieces:
            piece = self._pieces.popleft()
            part = piece[: CHUNK - filled]
            chunk[filled : filled + len(part)] = part
            filled += len(part)
            if len(part) < len(piece):
                self._pieces.appendleft(piece[len(part) :])
        self._waiting -= filled
        return chunk, filled

    def _overflow(self, samples: int) -> None:
        if not self.figures.overflow_seconds:
            self._note(f"it sent sound {MOST} s ahead of time; what came then was dropped")
        self.figures.overflow_seconds += samples / RATE
