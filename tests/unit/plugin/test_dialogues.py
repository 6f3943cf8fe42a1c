"""What the scripts of a call are, and what is said where a fault does not apply."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pytest_voiceeval.plugin.dialogues import fault_not_applicable, script_for
from pytest_voiceeval.scenario.registry import get_eval_scenario


def report_of(reason: str) -> SimpleNamespace:
    return SimpleNamespace(longrepr=("seeds.py", 47, f"Skipped: {reason}"))


def reason_for(name: str, fault: str) -> str:
    """Why a fault skips a scenario."""
    settings = SimpleNamespace(agent_fault=fault, script=None)
    with pytest.raises(pytest.skip.Exception) as skipped:
        script_for(get_eval_scenario(name), settings)
    return str(skipped.value)


def test_items_a_fault_could_not_spoil_are_counted_by_the_reason_they_were_skipped_for():
    reason = reason_for("eva_airline__escalation_edge_case", "missing-call")
    assert reason.endswith("escalation_edge_case: the agent writes nothing that could be left out")
    one, other = report_of(reason), report_of("no judge")
    assert fault_not_applicable([]) == fault_not_applicable([other]) == []
    assert fault_not_applicable([one, other]) == [
        "fault:    not applicable to 1 scenario, skipped (-rs says why)"
    ]
    assert fault_not_applicable([one, one])[0].endswith("to 2 scenarios, skipped (-rs says why)")
