"""The judge's words in failure texts, figures and summaries."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_voiceeval.call.errors import JudgeUnusable
from pytest_voiceeval.call.judgement import Judgement
from pytest_voiceeval.report.error_text import render_error
from pytest_voiceeval.report.failure_text import HEAD_LINES, render
from pytest_voiceeval.report.judge_figures import judge_line, judge_metrics
from pytest_voiceeval.report.judge_text import show_score
from pytest_voiceeval.report.layout import WIDTH
from pytest_voiceeval.report.summary_text import Call, summary_text
from tests.unit.report.building import call


def said(score: float | None, *passed: bool, reason: str = "a reason", **more: Any) -> Judgement:
    verdicts = tuple(
        {"index": n, "assertion": f"statement {n}", "passed": each, "reason": f"because {n}"}
        for n, each in enumerate(passed, 1)
    )
    return Judgement(
        score, reason, 0.9, assertions=verdicts, settings={"model": "m", "prompt": "abc"}, **more
    )


def text_of(judgement: Judgement) -> str:
    result = call(
        signals={"nl_assertion": judgement.holds, "judge_passed": judgement.reached},  # type: ignore[dict-item]
        judged_by=("nl_assertion", "judge_passed", "clean_exit"),
    )
    return render(replace(result, judgement=judgement), nodeid="x::y")


def test_statements_that_are_not_true_come_first_each_with_its_reason() -> None:
    text = text_of(said(0.4, True, False, reason="The agent\nwas <b>rude</b>.\x1b[31m"))
    assert text.splitlines()[:2] == [
        "the judge: 1 of 2 statements not true; the judge's score 0.4 is below 0.9",
        "failed: nl_assertion, judge_passed; passed: clean_exit",
    ]
    part = text.partition("the judge: score 0.4 of 0.9 (m):\n")[2].splitlines()
    assert part[:3] == [
        "  The agent was <b>rude</b>.\\u001b[31m",
        "  2. not true: statement 2 - because 2",
        "  1. true: statement 1 - because 1",
    ]


def test_a_long_judgement_keeps_to_one_screen() -> None:
    text = text_of(said(0.4, *[False] * 60, reason="word " * 400))
    head = text.partition("\ntranscript:")[0]
    assert len(head.splitlines()) <= HEAD_LINES + 1
    assert all(len(line) <= WIDTH for line in head.splitlines())


def test_a_broken_call_is_named() -> None:
    text = text_of(said(None, False, broken="nobody said a word", reason="not judged"))
    assert text.startswith("no call to judge: nobody said a word\n")
    assert "the judge was not asked:\n  not judged\n" in text


def test_an_error_tells_the_verdicts_that_need_no_judge() -> None:
    result = call()
    signals = {"db_state_match": False, "nl_assertion": None, "clean_exit": True}
    error = JudgeUnusable("judge unusable: HTTP 500", result.conversation, None, signals)
    text = render_error(error, nodeid="x::y", artifacts=None)
    assert text.splitlines()[:3] == [
        "judge unusable: HTTP 500",
        "not judged; without the judge: db_state_match failed, clean_exit passed",
        "ended: exit after 3 agent turns, 14.2 s",
    ]


@pytest.mark.parametrize(
    ("score", "shown"),
    [(0.0, "0"), (0.8999, "0.899"), (0.57, "0.57"), (0.9, "0.9"), (0.99999, "0.999"), (1.0, "1")],
)
def test_a_score_is_never_shown_better_than_it_is(score: float, shown: str) -> None:
    assert show_score(score) == shown


def test_figures() -> None:
    assert judge_metrics(None) == judge_line(None) == {}
    assert judge_metrics(said(0.5, True, False)) == {
        "judge_passed": False,
        "judge_score": 0.5,
        "nl_assertion_verdicts": list(said(0.5, True, False).assertions),
        "nl_assertion_pass_rate": 0.5,
    }
    failed = said(None, False, error={"code": "timeout", "message": "late"})
    assert judge_metrics(failed) == {}
    line = judge_line(failed)["judge"]
    assert (line["score"], line["passed"], line["error"]["code"]) == (None, None, "timeout")
    assert (line["model"], line["prompt"]) == ("m", "abc")
    assert judge_metrics(said(None, broken="x")) == {"judge_passed": False}


def test_a_mean_is_over_the_calls_that_were_judged() -> None:
    good = [
        Call(
            {"scenario": "s__a", "outcome": "passed", "signals": {}, **judge_line(said(0.8))},
            {"judge_score": 0.8},
        )
    ] * 7
    error = {"code": "timeout", "message": "late"}
    bad = [
        Call({"scenario": "s__b", "outcome": "error", **judge_line(said(None, error=error))}, {})
    ]
    text = summary_text([*good, *bad * 3])
    assert "Judge score mean: 0.800 (n=7; 3 more without a verdict: judge unusable)" in text
