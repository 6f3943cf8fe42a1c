"""Noise on what the agent hears, as a scenario's `NoiseConfig` wants it."""

from __future__ import annotations

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
    if given is None or isinstance(given, NoiseConfig):
        return given
    known = {field.name for field in fields(NoiseConfig)}
    if not isinstance(given, dict) or set(given) - known:
        raise ScenarioInvalid(
            f"scenario {scenario.name!r}: noise_config takes {', '.join(sorted(known))}, "
            f"got {given!r:.200}"
        )
    return NoiseConfig(**given)


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
            f"scenario {name!r}: the noise file {path.absolute()} cannot be read: {error}"
        ) from error
    if width != _SIXTEEN_BIT:
        raise ScenarioInvalid(
            f"scenario {name!r}: the noise file {path.absolute()} has {8 * width} bit samples; "
            "expected a WAV file of 16 bit samples"
        )
    mono = np.frombuffer(data, "<i2").reshape(-1, channels).mean(axis=1) / 32768
    sound: Sound = soxr.resample(mono.astype(np.float32), rate, RATE)
    return sound
