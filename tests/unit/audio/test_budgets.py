"""Latency budgets: what passes, what fails, and what does not apply."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_voiceeval.call.audio.timing import Heard, measure
from pytest_voiceeval.call.result import CallResult
from pytest_voiceeval.plugin.audio_options import AudioSettings, problem_of_budgets
from pytest_voiceeval.plugin.sounding import judge_latency
from tests.unit.audio.test_report import conversation
from tests.unit.report.building import call

SILENT = Heard(agent=[], user=[], kickoff=1.0, end=9.0)


def judged(budgets: dict[str, float], sound: Any = "as it is") -> CallResult:
    """A call that passed, its only answer after 1000 ms, its first sound after 300."""
    held = conversation()
    if sound is None:
        held = replace(held, sound=None)
    elif sound == "none of the agent":
        assert held.sound is not None
        held = replace(held, sound=replace(held.sound, timing=measure(SILENT)))
    result = replace(call(), conversation=held)
    assert result.passed
    return judge_latency(result, AudioSettings(budgets=budgets))


@pytest.mark.parametrize(
    ("budgets", "sound", "holds", "why"),
    [
        ({"max_latency_p95": 1000}, "as it is", True, "is 1000 ms (n=1, from the sound), the"),
        ({"max_latency_p50": 999.5}, "as it is", False, "P50 of the response latencies is 1000 ms"),
        ({"max_first_audio": 250}, "as it is", False, "is 300 ms (from its sound), the budget 250"),
        ({"max_latency_p95": 1000}, None, None, "only a call with --modality audio is timed"),
        ({"max_latency_p95": 1000}, "none of the agent", None, "the agent gave no answer"),
        ({"max_first_audio": 250}, "none of the agent", False, "no sound at all, the budget 250"),
    ],
)
def test_a_budget(budgets: dict[str, float], sound: Any, holds: bool | None, why: str) -> None:
    result = judged(budgets, sound)
    [name] = (each.removeprefix("max_") for each in budgets)
    assert result.signals[name] is holds  # type: ignore[index]
    assert result.passed is (holds is not False)
    [verdict] = result.verdicts
    assert why in verdict.why


def test_without_a_budget_nothing_changes() -> None:
    assert judged({}).verdicts == ()


@pytest.mark.parametrize("value", ["fast", 0, -1, True, float("nan"), float("inf")])
def test_a_budget_that_is_none(value: Any) -> None:
    problem = problem_of_budgets({"max_latency_p90": value})
    expected = f"max_latency_p90 must be a positive number of milliseconds, not {value}"
    assert problem == expected
