"""The energy detector."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_voiceeval.call.audio.activity import ActivityDetector, find_speech

RATE = 16_000


def silence(seconds: float) -> np.ndarray:
    return np.zeros(round(seconds * RATE), np.int16)


def tone(seconds: float, level: float = -12.0) -> np.ndarray:
    high = 32768 * 10 ** (level / 20)
    square = np.where(np.arange(round(seconds * RATE)) // 16 % 2, high, -high)
    return np.rint(square).astype(np.int16)


def spans(*pieces: np.ndarray) -> list[tuple[float, float]]:
    return [(s.start, s.end) for s in find_speech(np.concatenate(pieces))]


def test_edges_are_exact_to_the_sample() -> None:
    lead, speech = silence(0.10123), tone(0.4567)
    [(start, end)] = spans(lead, speech, silence(0.5))
    assert round(start * RATE) == len(lead)
    assert round(end * RATE) == len(lead) + len(speech)


@pytest.mark.parametrize(
    ("pieces", "count"),
    [
        pytest.param([tone(0.1), silence(0.19), tone(0.1)], 1, id="a pause inside of speech"),
        pytest.param([tone(0.1), silence(0.22), tone(0.1)], 2, id="a pause between two"),
        pytest.param([tone(0.02)], 0, id="a click"),
        pytest.param([tone(0.3, -50)], 0, id="too quiet"),
        pytest.param([tone(0.3, -44)], 1, id="just loud enough"),
        pytest.param([silence(1.0)], 0, id="silence"),
        pytest.param([], 0, id="nothing"),
    ],
)
def test_what_counts_as_speech(pieces: list[np.ndarray], count: int) -> None:
    assert len(spans(silence(0.1), *pieces, silence(0.4))) == count


@pytest.mark.parametrize("size", [1, 100, 256, 333])
def test_the_size_of_the_pieces_does_not_matter(size: int) -> None:
    sound = np.concatenate([silence(0.05), tone(0.3), silence(0.3), tone(0.2), silence(0.1)])
    detector = ActivityDetector()
    for at in range(0, len(sound), size):
        detector.feed(sound[at : at + size])
    assert detector.spans == find_speech(sound)
    assert detector.position == pytest.approx(len(sound) / RATE)


def test_silence_may_be_skipped() -> None:
    skipping, feeding = ActivityDetector(), ActivityDetector()
    for piece in (silence(0.08), tone(0.2), silence(0.32), tone(0.1), silence(0.0101)):
        feeding.feed(piece)
        if piece.any():
            skipping.feed(piece)
        else:
            skipping.skip(len(piece))
    assert skipping.spans == feeding.spans


def test_speech_under_way_is_told_and_ends_after_the_pause() -> None:
    detector = ActivityDetector()
    detector.feed(tone(0.024))
    assert not detector.speaking
    assert detector.latest is None
    detector.feed(tone(0.024))
    assert detector.speaking
    assert detector.latest is not None
    assert detector.latest.end == pytest.approx(0.048)
    detector.skip(256 * 10)
    assert detector.speaking
    detector.skip(256 * 4)
    assert not detector.speaking
    assert [span.end for span in detector.spans] == [pytest.approx(0.048)]
