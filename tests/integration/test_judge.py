"""Runs with a judge: what it decides, what becomes of its failures, and what runs without it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import Run
from tests.integration.packs import write_pack
from tests.scripted_judge import (
    Answer,
    Request,
    approve,
    count_assertions,
    evidence,
    scripted_judge,
    verdict,
)

SCENARIOS = """

def judged(name, *signals, **more):
    signals = (*map(SuccessSignal, signals), SuccessSignal.CLEAN_EXIT)
    more = {"name": "shop__" + name, "success_signals": signals, **more}
    more.setdefault("reference_answer", "case " + name)
    register_eval_scenario(type(name, (Shop,), more))


judged("good", "judge_passed")
judged("low", "judge_passed")
judged("true", "nl_assertion", "db_state_match", nl_assertions=["is kind", "says goodbye"])
judged("untrue", "nl_assertion", nl_assertions=["is kind", "names a price"])
judged("prose", "judge_passed")
judged("missing", "nl_assertion", nl_assertions=["is kind", "says goodbye"])
judged("aside", "db_state_match")
judged("wrong", "db_state_match", "judge_passed", expected_scenario_db={"stock": {}})
"""

Lines = Callable[[], list[dict[str, Any]]]


def reply(request: Request) -> dict[str, Any] | str:
    """What the judge says about each case."""
    shown = evidence(request)
    case = next((c for c in ("low", "untrue", "prose", "missing", "aside", "wrong")
                 if f"case {c}" in shown), "")  # fmt: skip
    if case in {"prose", "aside", "wrong"}:
        return "It went rather well."
    if case == "low":
        return verdict(0.52, "The agent never asked for the order.")
    if case == "untrue":
        return verdict(1.0, "Fine.", [True, False])
    if case == "missing":
        return verdict(1.0, "Fine.", [True])
    return approve(request)


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_what_a_judge_decides_and_what_becomes_of_its_failures(
    pytester: pytest.Pytester, run: Run, results: Lines
) -> None:
    write_pack(pytester.path, [], extra=SCENARIOS)
    with scripted_judge(reply) as url:
        secret = f"{url}?api_key=open-sesame"
        result = run("--domain", "shop", "--judge-url", secret, "--judge-model", "scripted",
                     "--judge-seed", "7", "-rA")  # fmt: skip
    result.assert_outcomes(passed=3, failed=3, errors=2)
    lines = {line["scenario"].removeprefix("shop__"): line for line in results()}
    outcomes = {name: line["outcome"] for name, line in lines.items()}
    assert outcomes == {
        "good": "passed",
        "low": "failed",
        "true": "passed",
        "untrue": "failed",
        "prose": "error",
        "missing": "error",
        "aside": "passed",
        "wrong": "failed",
    }
    result.stdout.fnmatch_lines(
        [f"voiceeval: judge: model scripted at {url}?api_key=***, threshold 0.9"]
    )

    # the text of a failure
    result.stdout.fnmatch_lines(
        [
            "the judge's score 0.52 is below 0.9",
            "the judge: score 0.52 of 0.9 (scripted):",
            "  The agent never asked for the order.",
            "the judge: 1 of 2 statements not true",
            "  2. not true: names a price - reason 2",
            "  1. true: is kind - reason 1",
        ]
    )
    # of an error: the other signals are told, and nothing is said against the agent
    text = result.stdout.str()
    assert "judge unusable: the reply holds no object with a score" in text
    assert "judge unusable: the verdict about assertion 2 is missing" in text
    assert "not judged; without the judge: is_action_match failed, db_state_match passed," in text
    assert lines["wrong"]["reasons"] == ["db_state_match"]
    assert any("judge unusable" in warning for warning in lines["wrong"]["warnings"])
    assert any("judge unusable" in warning for warning in lines["aside"]["warnings"])

    # the results
    judge = lines["low"]["judge"]
    assert (judge["model"], judge["score"], judge["passed"]) == ("scripted", 0.52, False)
    assert (judge["seed"], len(judge["prompt"]), judge["attempts"]) == (7, 12, 1)
    assert lines["true"]["judge"]["assertions"] == {"passed": 2, "total": 2}
    assert lines["prose"]["error"]["code"] == "judge_unusable"
    assert lines["prose"]["judge"]["error"]["code"] == "no_verdict"
    assert lines["prose"]["signals"]["clean_exit"] is True
    assert lines["prose"]["signals"]["judge_passed"] is None
    out = pytester.path / "out"
    metrics = read(out / "shop__untrue" / "metrics.json")
    assert (metrics["judge_score"], metrics["nl_assertion_pass_rate"]) == (1.0, 0.5)
    assert metrics["judge_passed"] is True
    filed = read(out / "shop__prose" / "judge_result.json")
    assert filed["score"] == 0.0
    assert [attempt["reply"] for attempt in filed["attempts"]] == ["It went rather well."] * 2
    assert "case prose" in filed["judge_input"]["user_content"]
    assert read(out / "shop__prose" / "metrics.json")["latencies"]
    summary = (out / "all_summary.txt").read_text()
    assert "Judge score mean: 0.880 (n=4; 4 more without a verdict: judge unusable)" in summary
    assert "NL-Assertion pass: 75.00% (3/4 assertions)" in summary

    everything = text + "".join(
        path.read_text() for path in out.rglob("*") if path.is_file() and path.suffix != ".pyc"
    )
    assert "open-sesame" not in everything


OWN_TESTS = """
import pytest

call_apples = pytest.mark.voiceeval(scenario="shop::apples")


@call_apples
@pytest.mark.judge(criteria=["is kind", "is brief"])
def test_by_marker(call):
    assert call.passed
    assert [each["assertion"] for each in call.judgement.assertions] == ["is kind", "is brief"]


@call_apples
@pytest.mark.judge(criteria="is rude")
def test_untrue(call):
    assert call.passed


@pytest.mark.judge(threshold=0.4)
def test_text(judge):
    verdict = judge("It is four.", reference="4")
    assert verdict.passed and verdict.threshold == 0.4
    assert judge.llm.judge("a", "b")["score"] == 0.5


@pytest.mark.judge
@call_apples
def test_about_a_call(call, judge):
    assert judge(call, "is rude", threshold=0.5).passed


@pytest.mark.judge
def test_broken_judge(judge):
    assert judge([{"role": "agent", "text": "make it crash"}]).passed
"""


def own_reply(request: Request) -> Any:
    shown = evidence(request)
    if "make it crash" in shown:
        return Answer(status=401, body="who are you?")
    return verdict(0.5, "So so.", ["rude" not in shown] * count_assertions(request))


def test_the_judge_in_tests_of_ones_own(pytester: pytest.Pytester, run: Run) -> None:
    write_pack(pytester.path, ["apples"])
    pytester.makepyfile(test_own=OWN_TESTS)
    with scripted_judge(own_reply) as url:
        pytester.makeini(f"[pytest]\nvoiceeval_judge_url = {url}\nvoiceeval_judge_model = m\n")
        result = run("-m", "judge", "--junitxml", "junit.xml")
        asked = len(url.requests)
        # the address alone does not turn it on
        off = run("--judge-threshold", "0.5", "-rs")
        assert len(url.requests) == asked
    result.assert_outcomes(passed=2, failed=2, errors=1)
    result.stdout.fnmatch_lines(
        [
            "judge unusable: *: HTTP 401: who are you?; check the key in the environment*",
            "the judge: 1 of 1 statement not true",
            "*Judgement: score 0.5 of 0.5: So so.; not true: is rude (reason 1)>*",
        ]
    )
    junit = (pytester.path / "junit.xml").read_text()
    assert 'errors="1" failures="2"' in junit
    assert 'name="voiceeval.judge_score" value="0.5"' in junit
    off.assert_outcomes(skipped=5)
    off.stdout.fnmatch_lines(
        [
            "SKIPPED * it is marked `judge`, and the LLM judge is off: turn it on with*",
            "SKIPPED * it uses the fixture `judge`, and the LLM judge is off*",
        ]
    )


def test_without_a_judge(pytester: pytest.Pytester, run: Run, results: Lines) -> None:
    write_pack(pytester.path, [], extra=SCENARIOS)
    result = run("shop::good", "shop::true", "-rs")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(
        ["SKIPPED * judge_passed needs the judge; the LLM judge is off: turn it on with *"]
    )
    [line] = [line for line in results() if line["scenario"] == "shop__true"]
    assert line["signals"]["nl_assertion"] is None
    assert "judge" not in line


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--judge"], "the LLM judge is on, and nothing says which one it is: give --judge-url"),
        (["--judge-url", "http://127.0.0.1:9/v1"], "give --judge-model"),
        (["--judge-threshold", "1.1"], "--judge-threshold must be a number from 0 to 1, got 1.1"),
    ],
)
def test_options_that_cannot_be_used(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, arguments: list[str], text: str
) -> None:
    write_pack(pytester.path, ["apples"])
    result = pytester.runpytest_inprocess("-p", "no:asyncio", "--domain", "shop", *arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: *{text}*"])
