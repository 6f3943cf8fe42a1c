"""Noise on what the agent hears."""

from __future__ import annotations

import wave
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pytest_voiceeval.call.audio.noise import noise_of
from pytest_voiceeval.call.errors import ScenarioInvalid
from pytest_voiceeval.scenario.parts import NoiseConfig

SILENCE = np.zeros(256, np.int16)


def scenario(noise: Any, name: str = "shop__loud") -> Any:
    return SimpleNamespace(name=name, noise_config=noise)


def wav(path: Path, samples: Any, *, rate: int = 16000, channels: int = 1, width: int = 2) -> str:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(np.asarray(samples, f"<i{width}").tobytes())
    return str(path)


def level(samples: Any) -> float:
    """Decibels of full scale."""
    return float(20 * np.log10(np.sqrt(np.mean((samples / 32768.0) ** 2))))


@pytest.mark.parametrize("config", [None, {}, NoiseConfig(), {"gain_db": -6.0}], ids=repr)
def test_a_quiet_scenario(config: Any) -> None:
    assert noise_of(scenario(config)) is None


def test_the_sum_is_that_of_the_reference(tmp_path: Path) -> None:
    file = wav(tmp_path / "hum.wav", [1000] * 400)
    noise = noise_of(scenario({"noise_files": [file]}))
    assert noise is not None
    assert noise.mix(np.full(3, 1000, np.int16)).tolist() == [1999] * 3


def test_white_noise_has_its_level_also_over_silence() -> None:
    noise = noise_of(scenario(NoiseConfig(random_white_noise=True, white_noise_db=-20, gain_db=-6)))
    assert noise is not None
    heard = np.concatenate([noise.mix(SILENCE) for _ in range(200)])
    # uniform noise has a third of the power of its peak
    assert level(heard) == pytest.approx(-20 - 6 - 4.77, abs=0.2)


def test_files_follow_one_another_and_begin_again(tmp_path: Path) -> None:
    one, two = wav(tmp_path / "1.wav", [3000] * 100), wav(tmp_path / "2.wav", [-3000] * 50)
    noise = noise_of(scenario({"noise_files": [one, two], "random_offset": False}))
    assert noise is not None
    heard = np.concatenate([noise.mix(SILENCE) for _ in range(2)])
    period = np.array([2999] * 100 + [-2999] * 50)
    assert np.abs(heard - np.resize(period, len(heard))).max() <= 1


def test_other_rates_and_channels_are_taken(tmp_path: Path) -> None:
    file = wav(tmp_path / "s.wav", [2000, 4000] * 8000, rate=8000, channels=2)
    noise = noise_of(scenario({"noise_files": [file], "max_noise_duration": 0.5}))
    assert noise is not None
    heard = np.concatenate([noise.mix(SILENCE) for _ in range(8)])
    assert np.median(heard) == pytest.approx(3000, abs=5)


def test_the_same_scenario_has_the_same_noise_in_every_call() -> None:
    def heard(name: str) -> list[int]:
        noise = noise_of(scenario({"random_white_noise": True, "white_noise_db": -10}, name))
        assert noise is not None
        return noise.mix(SILENCE).tolist()

    assert heard("a") == heard("a") != heard("b")


def test_loud_noise_is_cut_and_does_not_wrap() -> None:
    noise = noise_of(scenario({"random_white_noise": True, "white_noise_db": 40}))
    assert noise is not None
    heard = noise.mix(np.full(256, 32767, np.int16))
    assert heard.max() == 32767
    assert heard.min() >= -32767


@pytest.mark.parametrize(
    ("noise", "why"),
    [
        ({"white": True}, "noise_config takes gain_db, .*got .*white"),
        ("loud", "noise_config takes"),
        ({"noise_files": ["nowhere.wav"]}, "nowhere.wav cannot be read: .*No such file"),
        ({"noise_files": "hum.wav"}, "noise_files must be a list of paths, got 'hum.wav'"),
        ({"noise_files": [7]}, "noise_files must be a list of paths"),
        ({"gain_db": "loud"}, "gain_db must be a number from -200 to 60 dB, got 'loud'"),
        ({"gain_db": float("nan")}, "gain_db must be a number .*got nan"),
        (NoiseConfig(white_noise_db=1e9), "white_noise_db must be a number .*got 1000000000.0"),
        ({"white_noise_db": None}, "white_noise_db must be a number .*got None"),
        ({"max_noise_duration": 0}, "max_noise_duration must be a number of seconds above 0"),
        ({"random_white_noise": "no"}, "random_white_noise must be true or false, got 'no'"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_cannot_be_used_is_named(noise: Any, why: str) -> None:
    with pytest.raises(ScenarioInvalid, match=f"'shop__loud': .*{why}"):
        noise_of(scenario(noise))


def test_a_file_of_another_kind_is_named(tmp_path: Path) -> None:
    (tmp_path / "text.wav").write_text("no sound")
    with pytest.raises(
        ScenarioInvalid, match=r"text\.wav cannot be read: file does not start with RIFF"
    ):
        noise_of(scenario({"noise_files": [str(tmp_path / "text.wav")]}))
    (tmp_path / "none.wav").write_bytes(b"")
    with pytest.raises(ScenarioInvalid, match=r"none\.wav cannot be read: it is no WAV file"):
        noise_of(scenario({"noise_files": [str(tmp_path / "none.wav")]}))
    wide = wav(tmp_path / "wide.wav", [1] * 10, width=4)
    with pytest.raises(ScenarioInvalid, match=r"wide\.wav has 32 bit samples; expected"):
        noise_of(scenario({"noise_files": [wide]}))
    empty = wav(tmp_path / "empty.wav", [])
    with pytest.raises(ScenarioInvalid, match=r"empty\.wav has no sound"):
        noise_of(scenario({"noise_files": [empty]}))


def test_a_file_that_was_cut_off_is_heard_as_far_as_it_goes(tmp_path: Path) -> None:
    file = Path(wav(tmp_path / "cut.wav", [3000] * 401, channels=2))
    file.write_bytes(file.read_bytes()[:-3])
    noise = noise_of(scenario({"noise_files": [str(file)]}))
    assert noise is not None
    assert noise.mix(SILENCE).tolist() == [2999] * 256
