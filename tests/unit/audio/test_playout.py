"""A bot's sound is played whole, on time, and counted where it could not be."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_voiceeval.call.audio import playout as module
from pytest_voiceeval.call.audio.plan import CHUNK, TICK
from pytest_voiceeval.call.audio.playout import Playout
from pytest_voiceeval.wire.frames import AudioFrame

LOUD = 8000


class Line:
    """Frames pushed at given times, ticks in between; what was played lies on a time line."""

    def __init__(self, jitter: float = 0.2) -> None:
        self.notes: list[str] = []
        self.playout = Playout(jitter, -45.0, self.notes.append)
        self.now = 0.0
        self.played: list[np.ndarray] = []

    def until(self, at: float) -> None:
        while self.now <= at + 1e-9:
            chunk = self.playout.take(self.now)
            self.played.append(np.zeros(CHUNK, np.int16) if chunk is None else chunk)
            self.now += TICK

    def push(self, at: float, samples: np.ndarray, rate: int = 16_000) -> None:
        self.until(at)
        self.playout.push(at, AudioFrame(samples.astype("<i2").tobytes(), rate, 1))

    def stream(self, at: float, seconds: float, level: int = LOUD, rate: int = 16_000) -> None:
        """Real-time frames of 40 ms."""
        for number in range(round(seconds / 0.04)):
            self.push(at + number * 0.04, np.full(round(0.04 * rate), level), rate)

    @property
    def sound(self) -> np.ndarray:
        return np.concatenate(self.played)


def test_sound_is_played_after_the_jitter_whole_and_in_one_piece() -> None:
    line = Line()
    line.stream(0.1, 0.4)
    line.until(2.0)
    loud = np.flatnonzero(line.sound)
    assert 0.3 <= loud[0] / 16_000 < 0.3 + TICK
    assert loud[-1] - loud[0] + 1 == len(loud) == 6400
    assert line.playout.figures.underruns == 0
    [spurt] = line.playout.spurts
    assert line.playout.lead(spurt.played + 0.1) == pytest.approx(spurt.played - 0.1)


def test_the_tail_that_the_resampler_keeps_is_the_end_of_the_spurt() -> None:
    line = Line()
    line.stream(0.0, 0.2, rate=24_000)
    line.until(1.0)
    first = line.sound.copy()
    line.stream(1.5, 0.2, rate=24_000)
    line.until(3.0)
    loud = np.flatnonzero(np.abs(first) > LOUD / 2)
    assert loud[-1] - loud[0] + 1 == pytest.approx(3200, abs=2)
    # nothing of the first is glued to the second
    later = np.flatnonzero(np.abs(line.sound[len(first) :]) > LOUD / 2)
    assert later[-1] - later[0] + 1 == pytest.approx(3200, abs=2)


def test_frames_late_by_less_than_the_jitter_leave_no_hole() -> None:
    line = Line()
    for number, late in enumerate([0, 0.15, 0.1, 0.0, 0.18, 0.02, 0.0]):
        line.push(number * 0.04 + late, np.full(640, LOUD))
    line.until(1.0)
    loud = np.flatnonzero(line.sound)
    assert loud[-1] - loud[0] + 1 == len(loud) == 7 * 640


@pytest.mark.parametrize(
    ("gap", "level", "stopped", "holes"),
    [
        pytest.param(0.3, LOUD, False, 1, id="a hole in the middle of a sound"),
        pytest.param(0.3, LOUD, True, 0, id="the bot said that it had stopped"),
        pytest.param(0.3, 0, False, 0, id="speech that had faded out"),
        pytest.param(2.0, LOUD, False, 0, id="a pause"),
    ],
)
def test_only_holes_in_running_speech_are_underruns(
    gap: float, level: int, stopped: bool, holes: int
) -> None:
    line = Line()
    line.stream(0.0, 0.2)
    line.push(0.2, np.full(640, level))
    if stopped:
        line.playout.stopped()
    line.stream(0.24 + gap, 0.2)
    line.until(4.0)
    assert line.playout.figures.underruns == holes
    assert (line.playout.figures.hole_seconds > 0.2) is bool(holes)


def test_an_interruption_drops_what_waits_and_is_no_hole() -> None:
    line = Line()
    line.push(0.0, np.full(16_000, LOUD))
    line.until(0.4)
    line.playout.flush(line.now)
    line.until(0.6)
    line.stream(0.6, 0.2)
    line.until(2.0)
    figures = line.playout.figures
    assert 0.7 < figures.flushed_seconds < 0.85
    assert figures.underruns == 0
    assert not line.playout.sounding


def test_sounding_lasts_until_the_last_loud_sample_is_played() -> None:
    line = Line()
    line.push(0.0, np.full(640, LOUD))
    assert line.playout.sounding
    line.until(0.23)
    assert line.playout.sounding
    line.until(0.3)
    assert not line.playout.sounding
    line.push(0.3, np.zeros(640))
    assert not line.playout.sounding


def test_a_bot_far_ahead_of_time_is_heard_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 1)
    line = Line()
    for _ in range(30):
        line.push(0.0, np.full(1600, LOUD))
    line.until(3.5)
    assert 1.0 <= np.count_nonzero(line.sound) / 16_000 <= 1.2
    assert line.playout.figures.overflow_seconds > 1.5
    assert line.notes == ["it sent sound 1 s ahead of time; what came then was dropped"]


def test_without_jitter_sound_is_still_whole() -> None:
    line = Line(jitter=0.0)
    line.push(0.0, np.full(640, LOUD), 24_000)
    line.until(1.0)
    assert np.count_nonzero(np.abs(line.sound) > LOUD / 2) == pytest.approx(427, abs=3)


def test_frames_without_sound_open_nothing() -> None:
    line = Line()
    line.push(0.0, np.zeros(0))
    line.push(0.1, np.zeros(0))
    line.stream(0.19, 0.2)
    line.until(1.0)
    [spurt] = line.playout.spurts
    assert spurt.arrived == 0.19
    assert line.playout.figures.underruns == 0


@pytest.mark.parametrize("ahead", [False, True], ids=["as it speaks", "all at once"])
def test_what_was_dropped_counts_as_spoken_up_to_the_interruption(ahead: bool) -> None:
    line = Line()
    if ahead:
        line.push(0.0, np.full(10 * 16_000, LOUD))
        line.until(0.6)
    else:
        line.stream(0.0, 0.6)
    line.playout.flush(line.now)
    played = line.playout.spurts[0].played
    heard = played + np.count_nonzero(line.sound) / 16_000
    lead = line.playout.lead(played)
    assert line.playout.dropped(heard, lead) == pytest.approx(0.2, abs=0.05)
    assert heard - lead + line.playout.dropped(heard, lead) <= line.now + 1e-9


@pytest.mark.parametrize(
    ("pause", "stopped", "heard"),
    [
        pytest.param(0.3, False, 0x0201, id="a hole"),
        pytest.param(0.3, True, 0x0302, id="the bot had stopped"),
        pytest.param(1.0, False, 0x0302, id="a pause"),
    ],
)
def test_half_a_sample_goes_with_what_follows_on_it(
    pause: float, stopped: bool, heard: int
) -> None:
    line = Line(jitter=0.1)
    line.playout.push(0.0, AudioFrame(b"\1", 16_000, 1))
    line.until(0.25)
    if stopped:
        line.playout.stopped()
    line.until(pause)
    line.playout.push(pause, AudioFrame(b"\2\3\4", 16_000, 1))
    line.until(pause + 1.0)
    assert line.sound[np.flatnonzero(line.sound)[0]] == heard


def test_what_is_loud_does_not_depend_on_where_frames_are_cut() -> None:
    line = Line()
    data = np.full(640, 3, "<i2").tobytes()  # 0x0003: as 0x0300 it would be speech
    line.playout.push(0.0, AudioFrame(data[:1], 16_000, 1))
    line.playout.push(0.0, AudioFrame(data[1:], 16_000, 1))
    assert not line.playout.sounding
