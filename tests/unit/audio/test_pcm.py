"""Frames of every shape become the same sound."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from pytest_voiceeval.call.audio.pcm import PART, BadSound, PcmReader, in_parts
from pytest_voiceeval.wire.backlog import Event
from pytest_voiceeval.wire.frames import AudioFrame

SECONDS = 0.5


def wave(rate: int, hertz: float = 500.0) -> np.ndarray:
    found: np.ndarray = np.rint(
        9000 * np.sin(2 * np.pi * hertz * np.arange(round(SECONDS * rate)) / rate)
    ).astype("<i2")
    return found


def through(data: bytes, size: int, rate: int, channels: int = 1) -> tuple[np.ndarray, list[str]]:
    notes: list[str] = []
    reader = PcmReader(notes.append)
    frames = [AudioFrame(data[at : at + size], rate, channels) for at in range(0, len(data), size)]
    return np.concatenate([*map(reader.read, frames), reader.finish()]), notes


@pytest.mark.parametrize("rate", [8_000, 16_000, 22_050, 24_000, 44_100, 48_000])
def test_any_rate_keeps_its_length_and_its_sound(rate: int) -> None:
    heard, notes = through(wave(rate).tobytes(), 2 * round(0.04 * rate), rate)
    assert abs(len(heard) - round(SECONDS * 16_000)) <= 1
    middle = slice(800, -800)
    assert np.abs(heard[middle].astype(int) - wave(16_000)[: len(heard)][middle]).max() < 60
    assert notes == []


@pytest.mark.parametrize("size", [1, 3, 37, 641, 1920, 10**6])
def test_the_size_of_frames_does_not_matter(size: int) -> None:
    data = wave(24_000).tobytes()
    assert np.array_equal(through(data, size, 24_000)[0], through(data, 1920, 24_000)[0])


def test_stereo_is_mixed_and_never_swapped_by_a_frame_that_ends_inside_of_a_pair() -> None:
    left = wave(16_000)
    data = np.stack([left, np.zeros_like(left)], axis=1).tobytes()
    whole, _ = through(data, 640, 16_000, channels=2)
    cut, notes = through(data, 638, 16_000, channels=2)
    assert np.array_equal(whole, np.rint(left / 2).astype(np.int16))
    assert np.array_equal(cut, whole)
    assert notes == ["its audio frames end in the middle of a sample (joined with the next ones)"]


def test_a_change_of_rate_loses_nothing() -> None:
    reader = PcmReader([].append)
    heard = [
        reader.read(AudioFrame(wave(24_000).tobytes(), 24_000, 1)),
        reader.read(AudioFrame(wave(8_000).tobytes(), 8_000, 1)),
        reader.finish(),
    ]
    assert abs(sum(map(len, heard)) - 16_000) <= 2


def test_half_a_sample_at_the_end_is_noted_and_does_not_shift_what_follows() -> None:
    notes: list[str] = []
    reader = PcmReader(notes.append)
    reader.read(AudioFrame(b"\1\0\2", 16_000, 1))
    assert len(reader.finish()) == 0
    reader.drop_half()
    assert reader.read(AudioFrame(b"\7\0", 16_000, 1)).tolist() == [7]
    assert "its sound ended in the middle of a sample (1 bytes)" in notes


def test_half_a_sample_waits_for_the_other_one_however_late_it_comes() -> None:
    reader = PcmReader([].append)
    assert len(reader.read(AudioFrame(b"\1", 16_000, 1))) == 0
    reader.finish()
    assert reader.read(AudioFrame(b"\2\3\0", 16_000, 1)).tolist() == [0x201, 3]


def test_a_wav_header_is_no_sound() -> None:
    sound = wave(16_000).tobytes()
    header = struct.pack("<4sI4s4sI16s4sI", b"RIFF", 0, b"WAVE", b"fmt ", 16, b"", b"data", 0)
    heard, notes = through(header + sound, 10**6, 16_000)
    assert heard.tobytes() == sound
    assert notes == ["its sound begins with a WAV header (left out)"]


@pytest.mark.parametrize(("rate", "channels"), [(0, 1), (3_999, 1), (200_000, 1), (16_000, 9)])
def test_a_format_nobody_can_play_is_refused(rate: int, channels: int) -> None:
    with pytest.raises(BadSound, match=f"{rate} Hz and {channels} channels: expected 4000 to"):
        PcmReader([].append).read(AudioFrame(b"\0\0", rate, channels))


def test_a_frame_without_a_number_of_channels_is_mono() -> None:
    notes: list[str] = []
    assert PcmReader(notes.append).read(AudioFrame(b"\5\0", 16_000, 0)).tolist() == [5]
    assert notes == ["its audio frames do not say how many channels they have (taken as mono)"]


def test_long_frames_are_taken_in_parts() -> None:
    frame = AudioFrame(bytes(2 * PART + 3), 24_000, 1)
    parts = list(in_parts(Event(1.5, frame)))
    kinds = [part.kind for part in parts]
    assert all(isinstance(kind, AudioFrame) for kind in kinds)
    assert [len(kind.audio) for kind in kinds] == [PART, PART, 3]  # type: ignore[union-attr]
    assert {part.at for part in parts} == {1.5}
    short = Event(2.0, AudioFrame(b"\0\0", 24_000, 1))
    assert list(in_parts(short)) == [short]
