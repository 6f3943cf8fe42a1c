"""Recordings can be read at every moment, and are on one clock."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np
import pytest

from pytest_voiceeval.call.audio.plan import CHUNK, RATE
from pytest_voiceeval.call.audio.recording import (
    MOST_TRACKS,
    StereoRecorder,
    TrackRecorder,
    WavWriter,
)
from pytest_voiceeval.wire.frames import AudioFrame


def read(path: Path) -> tuple[np.ndarray, int]:
    with wave.open(str(path)) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2")
        return samples.reshape(-1, file.getnchannels()), file.getframerate()


def chunk(value: int) -> np.ndarray:
    return np.full(CHUNK, value, np.int16)


def test_left_went_to_the_agent_and_right_to_the_caller(tmp_path: Path) -> None:
    recorder = StereoRecorder(tmp_path / "call.wav")
    recorder.take(None, None)
    recorder.take(chunk(1), None)
    recorder.take(None, chunk(2))
    recorder.take(chunk(3), chunk(4))
    recorder.close()
    samples, rate = read(tmp_path / "call.wav")
    assert rate == RATE
    assert samples[::CHUNK].tolist() == [[0, 0], [1, 0], [0, 2], [3, 4]]


def test_a_file_that_is_never_closed_is_valid_and_short_by_less_than_a_second(
    tmp_path: Path,
) -> None:
    recorder = StereoRecorder(tmp_path / "call.wav")
    ticks = round(2.5 * RATE / CHUNK)
    for _ in range(ticks):
        recorder.take(chunk(7), None)
    crashed = tmp_path / "crashed.wav"
    crashed.write_bytes((tmp_path / "call.wav").read_bytes())
    samples, _ = read(crashed)
    assert ticks * CHUNK - RATE - CHUNK <= len(samples) < ticks * CHUNK
    assert (samples[:, 0] == 7).all()
    recorder.close()
    assert len(read(tmp_path / "call.wav")[0]) == ticks * CHUNK


def test_an_empty_recording_is_valid(tmp_path: Path) -> None:
    with WavWriter(tmp_path / "x.wav", 2, RATE) as file:
        assert file.frames == 0
    assert len(read(tmp_path / "x.wav")[0]) == 0


def test_a_track_is_what_the_bot_sent_on_the_clock_of_the_recording(tmp_path: Path) -> None:
    track = TrackRecorder(tmp_path, "agent")
    sound = np.full(960, 5, "<i2").tobytes()
    track.take(0.5, AudioFrame(sound, 24_000, 1))
    track.take(0.57, AudioFrame(sound, 24_000, 1))  # 30 ms late: a network does that
    track.take(2.0, AudioFrame(sound, 24_000, 1))
    track.take(2.1, AudioFrame(sound + b"\1", 16_000, 2))
    track.close()
    samples, rate = read(tmp_path / "track_agent.wav")
    loud = np.flatnonzero(samples[:, 0]) / rate
    assert loud[0] == 0.5
    assert loud[1919] == pytest.approx(0.58, abs=1e-3)
    assert loud[1920] == 2.0
    stereo, rate = read(tmp_path / "track_agent.2.wav")
    assert (stereo.shape[1], rate) == (2, 16_000)


def test_a_track_of_odd_frames_is_whole(tmp_path: Path) -> None:
    track = TrackRecorder(tmp_path, "agent")
    sound = np.arange(1, 41, dtype="<i2").tobytes()
    for at in range(0, len(sound), 3):
        track.take(0.0, AudioFrame(sound[at : at + 3], 8_000, 1))
    for byte in sound:
        track.take(0.0, AudioFrame(bytes([byte]), 8_000, 1))
    track.close()
    samples, _ = read(tmp_path / "track_agent.wav")
    assert samples[:, 0].tolist() == [*range(1, 41)] * 2


def test_a_bot_that_changes_its_format_all_the_time_gets_a_file_for_each(tmp_path: Path) -> None:
    notes: list[str] = []
    track = TrackRecorder(tmp_path, "agent", notes.append)
    for number in range(60):
        rate = 16_000 if number % 2 else 8_000
        track.take(number * 0.02, AudioFrame(np.full(rate // 50, 5, "<i2").tobytes(), rate, 1))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "track_agent.2.wav",
        "track_agent.wav",
    ]
    for number in range(60):
        track.take(2.0, AudioFrame(b"", 4_000 + number, 1))
    track.close()
    assert len(list(tmp_path.iterdir())) == MOST_TRACKS
    assert notes == ["its tracks have the first 8 of its audio formats only"]
    samples, rate = read(tmp_path / "track_agent.wav")
    assert np.count_nonzero(samples) == 30 * rate // 50
