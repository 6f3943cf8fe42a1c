"""Text as tones and back, exactly or not at all: a voice for tests of what carries voices.

Sixteen tones, one per half byte, 10 ms each, between 700 and 3250 Hz, so that they pass a telephone
line of 8 kHz. A message is eight tones to find it by, its length, the text in UTF-8 and a CRC-32 of
both. What was damaged on its way, by a lost frame or a hole, is noticed; it is never heard as
another text.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Samples = npt.NDArray[np.float32]

SYMBOL = 0.01
"""Seconds of one tone."""

LOWEST = 700.0
STEP = 170.0
TONES = 16
SYNC = (0, 15, 3, 12, 6, 9, 15, 0)
LONGEST = 4096
"""Bytes of a text: 80 s of sound."""

HOPS = 4
"""Looks at the sound per tone."""

_HEAD = 2
_CHECK = 4
_AMPLITUDE = 0.35 * 32767
_SOUND = 200.0
"""Root mean square, of 16 bit samples, below which nothing is heard."""

_TONAL = 0.35
"""Least part of the energy in the two strongest tones of a stretch that holds one of them."""

_CLEAR = 0.35
"""Least part of the energy that the right tone has while a message is looked for."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What a listener made of a stretch of sound.

    Attributes:
        text: The text, None if it was damaged.
        start: Seconds from the first sample that was fed to the first tone.
        end: The same for the end of the last one.
    """

    text: str | None
    start: float
    end: float


def encode(text: str, sample_rate: int) -> bytes:
    """Turn a text into sound: 16 bit mono samples, 40 characters a second.

    Args:
        text: At most `LONGEST` bytes in UTF-8.
        sample_rate: In Hz, 8000 or more.

    Raises:
        ValueError: The text is too long.
    """
    body = text.encode("utf-8", "backslashreplace")
    if len(body) > LONGEST:
        raise ValueError(f"a text of {len(body)} bytes is too long to be spoken, at most {LONGEST}")
    message = len(body).to_bytes(_HEAD, "big") + body
    message += zlib.crc32(message).to_bytes(_CHECK, "big")
    symbols = [*SYNC, *(half for byte in message for half in (byte >> 4, byte & 15))]
    edges = np.round(np.arange(len(symbols) + 1) * SYMBOL * sample_rate).astype(int)
    frequencies = np.repeat(LOWEST + STEP * np.array(symbols), np.diff(edges))
    wave = np.sin(2 * np.pi * np.cumsum(frequencies) / sample_rate)
    fade = min(len(wave) // 2, int(0.002 * sample_rate))
    wave[:fade] *= np.linspace(0, 1, fade)
    wave[len(wave) - fade :] *= np.linspace(1, 0, fade)
    return (wave * _AMPLITUDE).astype("<i2").tobytes()


class Listener:
    """Finds messages in a stream of sound, however it is cut into pieces.

    Args:
        sample_rate: In Hz.
    """

    def __init__(self, sample_rate: int) -> None:
        self._rate = sample_rate
        self._window = round(SYMBOL * sample_rate)
        self._samples: Samples = np.zeros(0, np.float32)
        self._gone = 0
        """Samples that were dropped from the front."""
        self._start: int | None = None
        """Where a message begins whose end was not heard yet."""
        self._stray = 0
        """Samples with tones in them since the last message."""

    def feed(self, audio: bytes) -> list[Heard]:
        """Listen on: 16 bit mono samples in, whatever ended in them out."""
        more = samples_of(audio)
        self._samples = np.concatenate([self._samples, more])
        stretch = self._samples[-len(more) - self._window :]
        tonal = not is_silent(audio) and is_tonal(stretch, self._rate)
        if not (tonal or self._stray):  # most of a call: keep what a first tone may begin in
            self._drop(max(0, len(self._samples) - 2 * self._window))
            return []
        self._stray += len(more) if tonal else 0
        heard = []
        while (found := self._next()) is not None:
            heard.append(found)
        return heard

    def silence(self) -> list[Heard]:
        """The speaker has stopped: what was begun and did not end is damaged."""
        stray, self._stray, self._start = self._stray, 0, None
        self._drop(len(self._samples))
        if stray < len(SYNC) * self._window:
            return []
        return [Heard(None, (self._gone - stray) / self._rate, self._gone / self._rate)]

    def _next(self) -> Heard | None:
        """The first message that is complete; what lies before it was no message."""
        if self._start is None:
            self._start = self._find_sync()
        if self._start is None:
            return None
        start = self._start
        head = self._read(start, len(SYNC), _HEAD)
        if head is None:
            return None
        size = int.from_bytes(head, "big")
        if size > LONGEST:
            return self._take(None, start, len(SYNC) + 2 * _HEAD)
        message = self._read(start, len(SYNC), _HEAD + size + _CHECK)
        if message is None:
            return None
        body, check = message[:-_CHECK], message[-_CHECK:]
        whole = zlib.crc32(body) == int.from_bytes(check, "big")
        text = body[_HEAD:].decode("utf-8", "replace") if whole else None
        return self._take(text, start, len(SYNC) + 2 * len(message))

    def _take(self, text: str | None, start: int, symbols: int) -> Heard:
        end = start + round(symbols * SYMBOL * self._rate)
        began = (self._gone + start) / self._rate
        if text is None:
            # its length may be what was damaged: listen again right behind the tones it began with
            end = start + round(len(SYNC) * SYMBOL * self._rate)
        self._drop(end)
        self._start, self._stray = None, 0
        return Heard(text, began, self._gone / self._rate)

    def _find_sync(self) -> int | None:
        """Where the tones begin that open a message; silence before them is dropped."""
        hop = self._window / HOPS
        span = (len(SYNC) - 1) * HOPS
        count = int((len(self._samples) - self._window) / hop) + 1
        if count <= span:
            return None
        starts = np.round(np.arange(count) * hop).astype(int)
        share = _shares(self._samples, starts, self._rate)
        columns = np.arange(count - span)
        parts = [share[columns + HOPS * k, tone] for k, tone in enumerate(SYNC)]
        clear = np.min(parts, axis=0) > _CLEAR
        first = int(np.argmax(clear)) if clear.any() else -1
        if first < 0:
            self._drop(int(starts[count - span - 1]))
            return None
        # the best of the looks nearby, and then the best sample around it
        score = np.sum(parts, axis=0)[first : first + HOPS]
        return self._refine(int(starts[first + int(np.argmax(score))]))

    def _refine(self, about: int) -> int:
        step = max(1, self._window // 32)
        reach = self._window // HOPS
        offsets = range(max(0, about - reach), about + reach + 1, step)
        return max(offsets, key=self._sync_quality)

    def _sync_quality(self, start: int) -> float:
        starts = start + np.round(np.arange(len(SYNC)) * SYMBOL * self._rate).astype(int)
        if starts[-1] + self._window > len(self._samples):
            return -1.0
        share = _shares(self._samples, starts, self._rate)
        return float(share[np.arange(len(SYNC)), SYNC].sum())

    def _read(self, start: int, skip: int, count: int) -> bytes | None:
        """`count` bytes behind `skip` tones, or None if they have not all been heard yet."""
        symbols = skip + np.arange(2 * count)
        starts = start + np.round(symbols * SYMBOL * self._rate).astype(int)
        if starts[-1] + self._window > len(self._samples):
            return None
        halves = np.argmax(_shares(self._samples, starts, self._rate), axis=1)
        return bytes((halves[0::2] << 4 | halves[1::2]).astype(np.uint8))

    def _drop(self, count: int) -> None:
        self._samples = self._samples[count:]
        self._gone += count


def is_tonal(samples: Samples, sample_rate: int) -> bool:
    """Whether there is one of the tones in these samples, at least 10 ms of them; noise is none.

    A stretch of that length holds one tone, or the end of one and the beginning of the next.
    """
    window = round(SYMBOL * sample_rate)
    starts = np.arange(0, len(samples) - window + 1, window)
    if not len(starts):
        return False
    two = np.sort(_shares(samples, starts, sample_rate), axis=1)[:, -2:].sum(axis=1)
    return bool((two > _TONAL).any())


def is_silent(audio: bytes) -> bool:
    """Whether there is nothing but digital zeros."""
    return not audio.strip(b"\0")


def samples_of(audio: bytes) -> Samples:
    """16 bit mono samples as numbers; half a sample at the end is dropped."""
    return np.frombuffer(audio[: len(audio) // 2 * 2], "<i2").astype(np.float32)


def _shares(samples: Samples, starts: npt.NDArray[np.int_], rate: int) -> Samples:
    """How much of the energy each tone has in windows that begin at `starts`: one row a window."""
    bank = _bank(rate)
    window = bank.shape[0]
    pieces = samples[starts[:, None] + np.arange(window)]
    energy = np.sum(pieces**2, axis=1)
    tones = np.abs(pieces @ bank) ** 2 * (2 / window)
    shares: Samples = tones / np.maximum(energy, window * _SOUND**2 / 4)[:, None]
    return shares


@lru_cache(maxsize=8)
def _bank(rate: int) -> npt.NDArray[np.complex64]:
    """One complex tone a column, as long as a symbol."""
    window = round(SYMBOL * rate)
    frequencies = LOWEST + STEP * np.arange(TONES)
    return np.exp(-2j * np.pi * np.outer(np.arange(window), frequencies) / rate).astype(
        np.complex64
    )
