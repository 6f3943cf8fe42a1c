"""Noise on what the agent hears, as a scenario's `NoiseConfig` wants it."""

from __future__ import annotations

import math
import wave
import zlib
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.call.audio.plan import RATE
from pytest_voiceeval.call.errors import ScenarioInvalid
from pytest_voiceeval.scenario.parts import NoiseConfig

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pytest_voiceeval.scenario.model import Scenario

    Samples = NDArray[np.int16]
    Sound = NDArray[np.float32]

_SIXTEEN_BIT = 2
_LEVELS = {"gain_db": (-200, 60), "white_noise_db": (-200, 60)}
"""Decibels a config may ask for: from nothing at all to far beyond full scale."""
_SWITCHES = ("random_offset", "random_white_noise")


def noise_of(scenario: Scenario) -> Noise | None:
    """The noise of a scenario, None if it is quiet. It reads files: call it off the event loop.

    Raises:
        ScenarioInvalid: Its `noise_config` cannot be used; the text names the key or the file.
    """
    config = _config(scenario)
    if config is None or not (config.noise_files or config.random_white_noise):
        return None
    return Noise(config, scenario.name)


def _config(scenario: Scenario) -> NoiseConfig | None:
    given: Any = scenario.noise_config
    if given is None:
        return None
    known = {field.name for field in fields(NoiseConfig)}
    if isinstance(given, dict) and not set(given) - known:
        given = NoiseConfig(**given)
    if not isinstance(given, NoiseConfig):
        raise ScenarioInvalid(
            f"scenario {scenario.name!r}: noise_config takes {', '.join(sorted(known))}, "
            f"got {given!r:.200}"
        )
    problem = _problem(given)
    if problem:
        raise ScenarioInvalid(f"scenario {scenario.name!r}: noise_config: {problem}")
    return given


def _problem(config: NoiseConfig) -> str:
    """What is wrong with a value, empty if nothing is."""
    values: dict[str, Any] = vars(config)
    files = values["noise_files"]
    paths = isinstance(files, list | tuple) and all(isinstance(f, str | Path) for f in files)
    if files is not None and not paths:
        return f"noise_files must be a list of paths, got {files!r:.200}"
    for name, (low, high) in _LEVELS.items():
        if not (_is_number(values[name]) and low <= values[name] <= high):
            return f"{name} must be a number from {low} to {high} dB, got {values[name]!r:.80}"
    longest = values["max_noise_duration"]
    if not (_is_number(longest) and 0 < longest < math.inf):
        return f"max_noise_duration must be a number of seconds above 0, got {longest!r:.80}"
    for name in _SWITCHES:
        if not isinstance(values[name], bool):
            return f"{name} must be true or false, got {values[name]!r:.80}"
    return ""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


class Noise:
    """Adds noise to speech and to silence. The same scenario gets the same noise in every call.

    Args:
        config: Which noise.
        name: The scenario's, for errors and as the seed.

    Raises:
        ScenarioInvalid: A file cannot be used.
    """

    def __init__(self, config: NoiseConfig, name: str) -> None:
        import numpy as np

        self._random = np.random.default_rng(zlib.crc32(name.encode()))
        self._gain = 10 ** (config.gain_db / 20)
        self._white = 10 ** (config.white_noise_db / 20) if config.random_white_noise else 0.0
        files = [_read(Path(path), name) for path in config.noise_files or ()]
        loop: Sound = np.concatenate([*files, np.zeros(0, np.float32)])
        self._loop = loop[: int(config.max_noise_duration * RATE)]
        anywhere = config.random_offset and len(self._loop)
        self._at = int(self._random.integers(len(self._loop))) if anywhere else 0

    def mix(self, samples: Samples) -> Samples:
        """Return a chunk of 16 kHz mono with noise in it."""
        import numpy as np

        noise = self._white * self._random.uniform(-1, 1, len(samples))
        if len(self._loop):
            noise += self._loop[(self._at + np.arange(len(samples))) % len(self._loop)]
            self._at = (self._at + len(samples)) % len(self._loop)
        mixed = np.clip(samples / 32768 + self._gain * noise, -1, 1)
        quantised: Samples = (mixed * 32767).astype(np.int16)
        return quantised


def _read(path: Path, name: str) -> Sound:
    """The samples of a file, mono, at our rate."""
    import numpy as np
    import soxr  # type: ignore[import-untyped]

    try:
        with wave.open(str(path.expanduser())) as file:
            width, channels, rate = file.getsampwidth(), file.getnchannels(), file.getframerate()
            data = file.readframes(file.getnframes())
    except (OSError, EOFError, wave.Error) as error:
        raise ScenarioInvalid(
            f"scenario {name!r}: the noise file {path.absolute()} cannot be read: "
            f"{str(error) or 'it is no WAV file'}"
        ) from error
    if width != _SIXTEEN_BIT:
        raise ScenarioInvalid(
            f"scenario {name!r}: the noise file {path.absolute()} has {8 * width} bit samples; "
            "expected a WAV file of 16 bit samples"
        )
    whole = len(data) - len(data) % (_SIXTEEN_BIT * channels)  # a file may be cut off
    mono = np.frombuffer(data[:whole], "<i2").reshape(-1, channels).mean(axis=1) / 32768
    sound: Sound = soxr.resample(mono.astype(np.float32), rate, RATE)
    if not len(sound):
        raise ScenarioInvalid(f"scenario {name!r}: the noise file {path.absolute()} has no sound")
    return sound
