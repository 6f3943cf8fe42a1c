"""When does somebody speak? A small energy detector over mono samples.

Sound is looked at in frames of 8 ms. A frame is active when its root mean square reaches the
level. A stretch of speech begins with the first sample that loud in its first active frame and ends
with the last one in its last; pauses up to 200 ms belong to it (between words, inside of stops);
what is shorter than 30 ms is a click and no speech. There is no model in it and no adaption:
steady noise above the level counts as speech for as long as it lasts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.call.audio.plan import RATE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Samples = NDArray[np.int16]

FRAME = 0.008
"""Seconds of a frame."""
PAUSE = 0.2
"""Seconds of silence that speech may hold."""
CLICK = 0.03
"""Seconds below which sound is no speech."""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of speech, in seconds."""

    start: float
    end: float

    @property
    def length(self) -> float:
        """Seconds."""
        return self.end - self.start

    def moved(self, seconds: float) -> Span:
        """The same, later by so much."""
        return Span(self.start + seconds, self.end + seconds)


def amplitude(level: float) -> float:
    """The value of a 16-bit sample at a level in dB of full scale."""
    return 32768.0 * 10 ** (level / 20)


def loud(samples: Samples, threshold: float) -> bool:
    """Whether a piece of sound has a root mean square of at least so much."""
    import numpy as np

    if not samples.size:
        return False
    wide: Any = samples.astype(np.float32)
    return float(wide @ wide) >= threshold * threshold * samples.size


class ActivityDetector:
    """Finds speech in sound that comes bit by bit.

    Args:
        level: In dB of full scale.
        rate: Samples a second.
    """

    def __init__(self, level: float = -45.0, rate: int = RATE) -> None:
        self._threshold = amplitude(level)
        self._rate = rate
        self._frame = round(FRAME * rate)
        self._pause = round(PAUSE * rate)
        self._click = round(CLICK * rate)
        self._at = 0  # samples looked at
        self._rest: Samples | None = None
        self._open: tuple[int, int] | None = None
        self._spans: list[Span] = []

    @property
    def position(self) -> float:
        """Seconds of sound taken so far."""
        return (self._at + self._waiting) / self._rate

    @property
    def speaking(self) -> bool:
        """Speech has begun, and the pause since its last sound is not yet its end."""
        return self._open is not None and self._long_enough(self._open)

    @property
    def spans(self) -> tuple[Span, ...]:
        """All speech so far, that under way as far as it went."""
        return (*self._spans, *([self.latest] if self.speaking and self.latest else []))

    @property
    def latest(self) -> Span | None:
        """The speech under way as far as it went, else the last one; None if there was none."""
        if self._open is not None and self._long_enough(self._open):
            return self._span(self._open)
        return self._spans[-1] if self._spans else None

    @property
    def _waiting(self) -> int:
        return 0 if self._rest is None else len(self._rest)

    def feed(self, samples: Samples) -> None:
        """Take the next samples."""
        import numpy as np

        if self._rest is not None:
            samples = np.concatenate([self._rest, samples])
        whole = len(samples) - len(samples) % self._frame
        self._rest = samples[whole:] if whole < len(samples) else None
        frames = samples[:whole].reshape(-1, self._frame)
        wide = frames.astype(np.float32)
        energies = np.einsum("ij,ij->i", wide, wide)
        active = energies >= self._threshold**2 * self._frame
        for frame, is_active in zip(frames, active.tolist(), strict=True):
            self._look(frame if is_active else None)

    def skip(self, count: int) -> None:
        """Take so many samples of silence."""
        import numpy as np

        if self._rest is not None or count % self._frame:
            self.feed(np.zeros(count, np.int16))
            return
        self._at += count
        self._close_if_over()

    def _look(self, frame: Samples | None) -> None:
        """Take one frame, None for one that is not active."""
        if frame is not None:
            import numpy as np

            where = np.flatnonzero(np.abs(frame.astype(np.int32)) >= self._threshold)
            first, last = self._at + int(where[0]), self._at + int(where[-1]) + 1
            if self._open is not None and first - self._open[1] > self._pause:
                self._close()
            self._open = (first if self._open is None else self._open[0], last)
        self._at += self._frame
        self._close_if_over()

    def _close_if_over(self) -> None:
        if self._open is not None and self._at - self._open[1] > self._pause:
            self._close()

    def _close(self) -> None:
        if self._open is not None and self._long_enough(self._open):
            self._spans.append(self._span(self._open))
        self._open = None

    def _long_enough(self, span: tuple[int, int]) -> bool:
        return span[1] - span[0] >= self._click

    def _span(self, span: tuple[int, int]) -> Span:
        return Span(span[0] / self._rate, span[1] / self._rate)


def find_speech(samples: Samples, level: float = -45.0, rate: int = RATE) -> tuple[Span, ...]:
    """All speech in a recording of one channel."""
    detector = ActivityDetector(level, rate)
    detector.feed(samples)
    return detector.spans
