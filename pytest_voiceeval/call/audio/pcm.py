"""From a bot's audio frames, of whatever shape, to 16 kHz mono samples.

numpy and soxr are imported with the first sound: a run without audio never loads them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.call.audio.plan import RATE
from pytest_voiceeval.wire.frames import AudioFrame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from pytest_voiceeval.wire.backlog import Event

    Samples = NDArray[np.int16]

RATES = range(4_000, 192_001)
MOST_CHANNELS = 8
PART = 192_000
"""Bytes of sound that are taken at once: four seconds of what most bots send."""
_HEADER_MOST = 512  # bytes in which the data chunk of a WAV header is looked for


def load() -> None:
    """Import what sound needs now, and not while a call waits for its frames."""
    import numpy as np  # noqa: F401
    import soxr  # type: ignore[import-untyped]  # noqa: F401


def in_parts(event: Event) -> Iterator[Event]:
    """An event, its sound in frames of a size that takes no time to speak of."""
    frame = event.kind
    if not isinstance(frame, AudioFrame) or len(frame.audio) <= PART:
        yield event
        return
    for start in range(0, len(frame.audio), PART):
        yield replace(event, kind=replace(frame, audio=frame.audio[start : start + PART]))


class BadSound(ValueError):
    """An audio frame nobody can play."""


class PcmReader:
    """Reads the frames of one bot. Rate and channels count as each frame says.

    Bytes are a stream: half a sample, or half of a pair of channels, waits for the next frame.

    Args:
        note: Takes texts about what looked odd, each kind once.

    Attributes:
        latest: The last frame's samples, mono, at its own rate.
    """

    latest: Samples

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note
        self._noted: set[str] = set()
        self._format = (0, 0)
        self._carry = b""
        self._stream: Any = None

    def read(self, frame: AudioFrame) -> Samples:
        """Return what can be played by now; the resampler keeps some 20 ms to itself.

        Raises:
            BadSound: The frame's rate or number of channels is none.
        """
        import numpy as np

        tail = self._adopt(frame)
        self.latest = mono = self._mono(self._bytes(frame))
        samples = mono if frame.sample_rate == RATE else self._resampled(mono, last=False)
        return samples if tail is None else np.concatenate([tail, samples])

    def finish(self) -> Samples:
        """Return what the resampler kept: what comes later does not follow on it."""
        import numpy as np

        rest = np.zeros(0, np.int16)
        if self._stream is not None:
            rest = self._resampled(rest, last=True)
        self._stream = None
        return rest

    def drop_half(self) -> None:
        """Forget a sample of which the rest is not to come."""
        if self._carry:
            self._say("its sound ended in the middle of a sample", f"{len(self._carry)} bytes")
        self._carry = b""

    def reset(self) -> None:
        """Forget a stretch of sound that is not to be heard."""
        self._carry, self._stream = b"", None

    def _adopt(self, frame: AudioFrame) -> Samples | None:
        """Take over the frame's format; return the end of what was in another."""
        rate, channels = frame.sample_rate, frame.num_channels
        if rate not in RATES or channels > MOST_CHANNELS:
            raise BadSound(
                f"an audio frame of {rate} Hz and {channels} channels: expected "
                f"{RATES[0]} to {RATES[-1]} Hz and 1 to {MOST_CHANNELS} channels"
            )
        if channels == 0:
            self._say("its audio frames do not say how many channels they have", "taken as mono")
        if (rate, channels) == self._format:
            return None
        tail = self.finish()
        self.drop_half()
        self._format = (rate, channels)
        return tail

    def _bytes(self, frame: AudioFrame) -> bytes:
        data = frame.audio
        if data[:4] == b"RIFF" and data[8:12] == b"WAVE":
            self._say("its sound begins with a WAV header", "left out")
            data = _without_header(data)
        data = self._carry + data
        block = 2 * max(1, self._format[1])
        whole = len(data) - len(data) % block
        if whole < len(data):
            self._say("its audio frames end in the middle of a sample", "joined with the next ones")
        self._carry = data[whole:]
        return data[:whole]

    def _mono(self, data: bytes) -> Samples:
        import numpy as np

        samples = np.frombuffer(data, "<i2")
        channels = max(1, self._format[1])
        if channels == 1:
            return samples
        mixed: Samples = np.rint(samples.reshape(-1, channels).mean(axis=1)).astype(np.int16)
        return mixed

    def _resampled(self, mono: Samples, *, last: bool) -> Samples:
        import numpy as np

        if self._stream is None:
            import soxr

            # in floats: with integers soxr dithers
            rate = self._format[0]
            self._stream = soxr.ResampleStream(rate, RATE, 1, dtype="float32", quality="HQ")
        out = self._stream.resample_chunk(mono.astype(np.float32), last=last)
        samples: Samples = np.clip(np.rint(out), -32768, 32767).astype(np.int16)
        return samples

    def _say(self, what: str, how: str) -> None:
        if what not in self._noted:
            self._noted.add(what)
            self._note(f"{what} ({how})")


def _without_header(data: bytes) -> bytes:
    at = data.find(b"data", 0, _HEADER_MOST)
    return data[at + 8 :] if at >= 0 else data[44:]
