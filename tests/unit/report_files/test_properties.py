"""The figures of a call as properties of its report."""

from __future__ import annotations

from pathlib import Path

from pytest_voiceeval.call.errors import AgentUnreachable
from pytest_voiceeval.call.result import SideRecord, Tokens
from pytest_voiceeval.report.properties import error_figures, figures
from tests.unit.report_files.samples import agent, scored, talk


def test_every_figure_of_a_scored_call() -> None:
    assert dict(figures(scored(talk(user=SideRecord(tokens=Tokens(1, 2, 3)))))) == {
        "voiceeval.db_state_match": True,
        "voiceeval.clean_exit": True,
        "voiceeval.is_successful": True,
        "voiceeval.is_task_successful": True,
        "voiceeval.stalled": False,
        "voiceeval.scenario": "report_shop__return",
        "voiceeval.domain": "report_shop",
        "voiceeval.end_reason": "exit",
        "voiceeval.agent_turns": 2,
        "voiceeval.total_turns": 3,
        "voiceeval.model_runs": 5,
        "voiceeval.tool_calls": 0,
        "voiceeval.duration": 3.25,
        "voiceeval.latency_count": 1,
        "voiceeval.latency_mean_ms": 500.0,
        "voiceeval.latency_p50_ms": 500.0,
        "voiceeval.latency_p95_ms": 500.0,
        "voiceeval.latency_min_ms": 500.0,
        "voiceeval.latency_max_ms": 500.0,
        "voiceeval.agent_model_calls": 5,
        "voiceeval.agent_tokens_prompt": 100,
        "voiceeval.agent_tokens_completion": 20,
        "voiceeval.user_model_calls": 1,
        "voiceeval.user_tokens_prompt": 2,
        "voiceeval.user_tokens_completion": 3,
        "voiceeval.db_changes": 0,
        "voiceeval.action_differences": 0,
        "voiceeval.warnings": 0,
    }


def test_what_was_not_measured_has_no_property() -> None:
    silent = talk(agent=agent(tokens=None, model_runs=0), latencies=())
    names = {name for name, _ in figures(scored(silent))}
    assert not any("latency" in name or "tokens" in name or "model" in name for name in names)


def test_a_call_without_a_verdict() -> None:
    error = AgentUnreachable("x", talk(end_reason=None))
    known = dict(error_figures("report_shop__return", error, Path("run/report_shop__return.2")))
    assert known["voiceeval.error"] == "agent_unreachable"
    assert known["voiceeval.agent_turns"] == 2
    assert known["voiceeval.artifacts"] == "report_shop__return.2"
    assert "voiceeval.is_successful" not in known
    assert error_figures("s", ValueError("x")) == [
        ("voiceeval.scenario", "s"),
        ("voiceeval.error", "internal"),
    ]
