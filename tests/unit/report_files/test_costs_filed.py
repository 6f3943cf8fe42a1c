"""Tokens and costs of a call in its line, its metrics and its report; what is unknown stays so."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from pytest_voiceeval.call.errors import CallerFailed
from pytest_voiceeval.call.prices import Cost
from pytest_voiceeval.call.result import EndReason, SideRecord, Tokens
from pytest_voiceeval.call.score import score
from pytest_voiceeval.report.metrics import metrics_of, unscored_metrics
from pytest_voiceeval.report.properties import error_figures, figures
from pytest_voiceeval.report.results_file import error_line, scored_line
from tests.unit.report_files.samples import agent, scored, shop, talk

COST = Cost({"agent": 0.0125, "user": None}, {"agent": "m"}, date(2026, 11, 30))
PAID = talk(cost=COST)
BROKEN_OFF = talk(
    end_reason=None,
    user=SideRecord(tokens=Tokens(2, 300, 40), model_runs=2),
    cost=Cost({"agent": 0.0, "user": 0.002}, {"user": "m"}, date(2026, 11, 30)),
)


def test_a_scored_call() -> None:
    known = {
        "models": {"agent": "m", "user": None},
        "cost": {"agent": 0.0125, "user": None, "total": None},
        "prices_of": "2026-11-30",
    }
    line, metrics = scored_line(scored(PAID)), metrics_of(scored(PAID), "x")
    assert {key: line[key] for key in known} == known
    assert {key: metrics[key] for key in known} == known
    shown = dict(figures(scored(PAID)))
    assert shown["voiceeval.agent_model"] == "m"
    assert shown["voiceeval.agent_cost"] == 0.0125
    assert shown["voiceeval.user_cost"] == "unknown"
    assert shown["voiceeval.cost"] == "unknown"


def test_a_call_that_ended_in_an_error() -> None:
    error = CallerFailed("the model is gone", BROKEN_OFF)
    line = error_line("s", "d", error)
    assert line["tokens"]["user"] == {"calls": 2, "prompt": 300, "completion": 40}
    assert line["cost"]["total"] == 0.002
    assert unscored_metrics(BROKEN_OFF, "x", error)["cost"]["total"] == 0.002
    assert dict(error_figures("s", error))["voiceeval.cost"] == 0.002


def test_a_script_has_no_figure_of_its_cost() -> None:
    free = talk(cost=Cost({"agent": 0.0, "user": 0.0}, {}))
    assert not any("cost" in name for name, _ in figures(scored(free)))


def test_answers_without_counts_are_said() -> None:
    side = agent(uncounted_runs=2)
    assert scored_line(scored(talk(agent=side)))["tokens"]["agent"]["uncounted"] == 2


def test_costs_add_up_with_the_oldest_day() -> None:
    judged = COST.plus(Cost({"judge": 0.5}, {"judge": "j"}, date(2026, 1, 2)))
    assert judged.sides == {"agent": 0.0125, "user": None, "judge": 0.5}
    assert judged.models == {"agent": "m", "judge": "j"}
    assert judged.as_of == date(2026, 1, 2)
    assert judged.total is None
    assert replace(judged, sides={"agent": 1.0, "judge": 0.5}).total == 1.5


def test_a_timeout_leaves_nothing_that_looks_measured() -> None:
    """TT-12: what is unknown is null, and the turns are those there were."""
    silent = agent(None, tokens=None, model_runs=0, actions=None, context=None)
    timeout = talk(end_reason=EndReason.TIMEOUT, agent=silent, latencies=())
    line = scored_line(scored(timeout))
    assert (line["tokens"], line["agent_turns"]) == ({"agent": None, "user": None}, 2)
    metrics = metrics_of(scored(timeout), "x")
    assert metrics["latencies"] == []
    assert metrics["model_runs"] is None
    assert metrics["greeting_latency_ms"] is None
    assert metrics["total_turns"] == 3


def test_a_call_without_an_end_is_never_taken_for_a_clean_one() -> None:
    """TT-02."""
    with pytest.raises(ValueError, match="broke off cannot be scored"):
        score(shop(), talk(end_reason=None))
    line = error_line("s", "d", CallerFailed("x", talk(end_reason=None)))
    assert (line["end_reason"], line["outcome"]) == (None, "error")
    metrics = unscored_metrics(talk(end_reason=None), "x", CallerFailed("x"))
    assert metrics["clean_exit"] is None


def test_an_error_without_words_shows_its_type() -> None:
    """TT-15."""
    assert error_line("s", "d", LookupError(""))["error"] == {
        "code": "internal",
        "type": "LookupError",
        "message": "LookupError",
    }
