"""The markers: what `pytest --markers` says, and which items carry `judge`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_voiceeval.scenario.model import Scenario

VOICEEVAL = (
    "voiceeval(scenario=None, duration=None, min_agent_turns=None, strict_match=None, "
    "max_latency_p50=None, max_latency_p90=None, max_latency_p95=None, max_latency_p99=None, "
    "max_first_audio=None): "
    "a call of the voice agent under test; the arguments override the options of the same name."
)
JUDGE = (
    "judge(criteria=None, threshold=None): an LLM judge has a say in the verdict; set on packaged "
    "scenarios that list the signal judge_passed or nl_assertion. On a test of your own: "
    "statements that must be true of its call, and the score it must reach."
)
MARKERS = (VOICEEVAL, JUDGE)

JUDGED = frozenset({"judge_passed", "nl_assertion"})
"""The signals that need a judge."""


def judge_mark(scenario_name: str) -> pytest.MarkDecorator | None:
    """The marker of a scenario that needs the judge, else None."""
    return pytest.mark.judge if _signals_of(scenario_name) & JUDGED else None


def _signals_of(scenario_name: str) -> set[str]:
    from pytest_voiceeval.scenario.registry import get_eval_scenario

    try:
        scenario: Scenario | None = get_eval_scenario(scenario_name)
        return {str(signal) for signal in (scenario.success_signals if scenario else None) or ()}
    except Exception:  # noqa: BLE001 - a scenario that cannot be made says so when it is called
        return set()
