"""Calls with sound as the options want them: how they are carried, and how slow an agent may be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_voiceeval.call.result import Verdict
from pytest_voiceeval.plugin.audio_options import BUDGETS
from pytest_voiceeval.plugin.hooks import with_verdicts

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_voiceeval.call.audio.plan import SoundPlan
    from pytest_voiceeval.call.audio.timing import Timing
    from pytest_voiceeval.call.result import CallResult
    from pytest_voiceeval.plugin.audio_options import AudioSettings
    from pytest_voiceeval.plugin.calling import Job


def sound_plan(job: Job, folder: Path) -> SoundPlan | None:
    """How the sound of a call is carried; None for a call in text."""
    settings = job.settings.audio
    if not settings.on:
        return None
    from pytest_voiceeval.call.audio.plan import SoundPlan
    from pytest_voiceeval.plugin.embedding import why_real

    why = why_real(job)
    return SoundPlan(
        folder=folder,
        jitter=settings.jitter_buffer / 1000,
        record_tracks=settings.record_tracks,
        speech_level=settings.speech_level,
        remark=f"held on the real clock: {why}" if why else "",
    )


def judge_latency(result: CallResult, settings: AudioSettings) -> CallResult:
    """Hold a scored call to the latency budgets; without budgets it is as it was."""
    verdicts = [_verdict(name, most, result) for name, most in settings.budgets.items()]
    return with_verdicts(result, verdicts) if verdicts else result


def _verdict(name: str, most: float, result: CallResult) -> Verdict:
    signal = name.removeprefix("max_")
    sound = result.conversation.sound
    if sound is None:
        return Verdict(signal, None, gates=True, why="only a call with --modality audio is timed")
    value, of = _value(name, sound.timing)
    if value is None and name == "max_first_audio":
        why = f"the agent gave no sound at all, the budget {most:g} ms"
        return Verdict(signal, holds=False, gates=True, why=why)
    if value is None:
        return Verdict(signal, None, gates=True, why=f"the agent gave no {of}")
    found = f"the {BUDGETS[name]} is {value:.0f} ms ({of}), the budget {most:g} ms"
    return Verdict(signal, value <= most, gates=True, why=found)


def _value(name: str, timing: Timing) -> tuple[float | None, str]:
    """A figure in milliseconds, and what it was measured from."""
    if name == "max_first_audio":
        first = timing.first_audio
        return (None, "sound") if first is None else (first * 1000, "from its sound")
    latency = timing.latency
    if latency is None:
        return None, "answer"
    percentile = name.removeprefix("max_latency_")
    return getattr(latency, percentile) * 1000, f"n={latency.n}, from the sound"
