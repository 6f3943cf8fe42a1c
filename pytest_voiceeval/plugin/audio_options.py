"""Options of how a call sounds and how its sound is measured."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_voiceeval.plugin.option import Option

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MODALITIES = ("text", "audio")
CLOCKS = ("virtual", "real")
NAMING = (
    "--agent-url",
    "--agent-cmd",
    "--agent-model",
    "--user-url",
    "--user-cmd",
    "--caller-url",
    "--caller-voice",
)
"""Options with which a bot is no longer the built-in one, or its model no longer the script."""

BUDGETS = {
    "max_latency_p50": "P50 of the response latencies",
    "max_latency_p90": "P90 of the response latencies",
    "max_latency_p95": "P95 of the response latencies",
    "max_latency_p99": "P99 of the response latencies",
    "max_first_audio": "time from the kickoff to the first sound",
}
"""Budgets of a call with sound, by their marker argument, and what each is about."""


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


OPTIONS: tuple[Option, ...] = (
    Option(
        "--modality",
        "string",
        "text: the caller types and the agent is read; audio: both speak, and are timed by their "
        "sound (default: text).",
        metavar="text|audio",
        default="text",
        extra={"choices": MODALITIES},
    ),
    Option(
        "--jitter-buffer",
        "float",
        "Milliseconds that sound is held back, so that late frames leave no holes (default: 200).",
        metavar="MS",
        default=200.0,
    ),
    Option(
        "--speech-level",
        "float",
        "Level from which on sound counts as speech, in dB of full scale (default: -45).",
        metavar="DBFS",
        default=-45.0,
    ),
    Option(
        "--record-tracks",
        "bool",
        "Keep what each bot sent, as it sent it, beside the recording of a call.",
        default=False,
    ),
    Option(
        "--clock",
        "string",
        "virtual: a call takes as long as its bots compute, and goes the same way every time; "
        "real: as long as it takes to speak (default: virtual with the built-in bots).",
        metavar="virtual|real",
        extra={"choices": CLOCKS},
    ),
    Option(
        "--caller-voice",
        "string",
        "YAML file of how the built-in caller speaks and hears, for an agent that does not "
        "understand its tones.",
        metavar="FILE",
    ),
    *(
        Option(_flag(name), "float", f"Fail a call whose {what} is above this.", metavar="MS")
        for name, what in BUDGETS.items()
    ),
)


@dataclass(frozen=True, slots=True)
class AudioSettings:
    """What the options of this module come to.

    Attributes:
        modality: `text` or `audio`.
        jitter_buffer: Milliseconds.
        speech_level: Decibels of full scale.
        record_tracks: Keep each bot's sound as well.
        caller_voice: Configuration file of the built-in caller's bot, absolute; None for tones.
        clock: `virtual` or `real`: the one that calls use if they can.
        clock_given: Whether that was asked for.
        budgets: Milliseconds, by the names in `BUDGETS`; those that were given.
    """

    modality: str = "text"
    jitter_buffer: float = 200.0
    speech_level: float = -45.0
    record_tracks: bool = False
    caller_voice: Path | None = None
    clock: str = "real"
    clock_given: bool = False
    budgets: Mapping[str, float] = field(default_factory=dict)

    @property
    def on(self) -> bool:
        """Whether calls have sound."""
        return self.modality == "audio"

    def with_budgets(self, given: Mapping[str, float]) -> AudioSettings:
        """The same with other budgets, by a marker."""
        return replace(self, budgets={**self.budgets, **given})


def read(values: Mapping[str, Any], base: Path) -> AudioSettings:
    """Return the settings of `values` by flag; relative paths are below `base`.

    Raises:
        pytest.UsageError: A value cannot be used; the text names the option.
    """
    budgets = {name: values[_flag(name)] for name in BUDGETS}
    settings = AudioSettings(
        modality=values["--modality"],
        jitter_buffer=values["--jitter-buffer"],
        speech_level=values["--speech-level"],
        record_tracks=values["--record-tracks"],
        caller_voice=_voice(values, base),
        clock=_clock(values),
        clock_given=values["--clock"] is not None,
        budgets={name: value for name, value in budgets.items() if value is not None},
    )
    problem = _problem(settings)
    if problem:
        raise pytest.UsageError(problem)
    return settings


def _clock(values: Mapping[str, Any]) -> str:
    """The clock of calls with sound.

    Raises:
        pytest.UsageError: The virtual one was asked for, and somebody lives by the real one.
    """
    named = [flag for flag in NAMING if values.get(flag)]
    audio = values["--modality"] == "audio"
    given: str | None = values["--clock"]
    if given != "virtual":
        return given or ("virtual" if audio and not named else "real")
    if not audio:
        raise pytest.UsageError(
            "--clock virtual is about calls with sound: give --modality audio, or leave it out"
        )
    if named:
        raise pytest.UsageError(
            f"--clock virtual takes both bots to be the built-in ones: whom {named[0]} names lives "
            "by the real clock, and nobody can make it pass faster; leave out one of the two"
        )
    return given


def _voice(values: Mapping[str, Any], base: Path) -> Path | None:
    """The file of the built-in caller's voice.

    Raises:
        pytest.UsageError: There is no such file, or no such caller in this run.
    """
    name = values["--caller-voice"]
    if name is None:
        return None
    if values["--modality"] != "audio":
        raise pytest.UsageError("--caller-voice is about calls with sound: give --modality audio")
    if values["--user-url"] or values["--user-cmd"]:
        raise pytest.UsageError(
            "--caller-voice is about the built-in caller, --user-url and --user-cmd name your own "
            "bot: give one"
        )
    file: Path = (base / name).absolute()
    if not file.is_file():
        raise pytest.UsageError(f"--caller-voice: there is no file {name}")
    return file


def _problem(settings: AudioSettings) -> str | None:
    if not 0 <= settings.jitter_buffer <= 5000:
        return f"--jitter-buffer must be 0 to 5000 ms, not {settings.jitter_buffer:g}"
    if not -90 <= settings.speech_level < 0:
        return f"--speech-level must be -90 to below 0 dBFS, not {settings.speech_level:g}"
    problem = problem_of_budgets(settings.budgets)
    return None if problem is None else "--" + problem.replace("_", "-")


def problem_of_budgets(budgets: Mapping[str, Any]) -> str | None:
    """What is wrong with a budget, by option or by marker; None if nothing is."""
    for name, value in budgets.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (number and value > 0 and math.isfinite(value)):
            return f"{name} must be a positive number of milliseconds, not {value}"
    return None
