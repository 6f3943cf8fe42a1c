"""What a judge's verdict does to a scored call."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import pytest

from pytest_voiceeval.call.errors import JudgeUnusable
from pytest_voiceeval.call.judgement import Judgement, why_broken
from pytest_voiceeval.call.result import Conversation, EndReason, Utterance
from pytest_voiceeval.call.score import score, with_judgement
from pytest_voiceeval.scoring.signals import SuccessSignal
from tests.unit.call.test_score import EXPECTED, WRONG, shop, talk, with_db

S = SuccessSignal
BY_JUDGE = (S.JUDGE_PASSED, S.CLEAN_EXIT)
BY_STATEMENTS = (S.NL_ASSERTION, S.CLEAN_EXIT)
BY_ALL = (S.DB_STATE_MATCH, S.JUDGE_PASSED, S.CLEAN_EXIT)
UNUSABLE = {"code": "timeout", "message": "no answer within 5 s"}


def said(score: float | None = 0.95, *passed: bool, **more: Any) -> Judgement:
    assertions = tuple(
        {"index": n, "assertion": f"statement {n}", "passed": each, "reason": "because"}
        for n, each in enumerate(passed, 1)
    )
    return Judgement(score, "a reason", 0.9, assertions=assertions, **more)


def unusable(*passed: bool) -> Judgement:
    return said(None, *passed, error=UNUSABLE)


def judged(signals: tuple[S, ...], judgement: Judgement, *, good: bool = True, **more: Any) -> Any:
    scenario = shop(*signals, expected_scenario_db=EXPECTED)
    end = more.pop("end", EndReason.EXIT)
    result = score(scenario, talk(end, agent=with_db(EXPECTED if good else WRONG), **more))
    return with_judgement(scenario, result, judgement, more.get("gates", frozenset()))


@pytest.mark.parametrize(
    ("signals", "judgement", "passed", "failed"),
    [
        (BY_JUDGE, said(0.9), True, []),
        (BY_JUDGE, said(0.89999), False, ["judge_passed"]),
        (BY_JUDGE, said(1.0, False), True, []),
        (BY_STATEMENTS, said(0.1, True, True), True, []),
        (BY_STATEMENTS, said(1.0, True, False), False, ["nl_assertion"]),
        ((*BY_JUDGE, S.NL_ASSERTION), said(0.1, False), False, ["nl_assertion", "judge_passed"]),
        (BY_JUDGE, said(None, broken="nobody said a word"), False, ["judge_passed"]),
        (BY_ALL, said(0.5), False, ["judge_passed"]),
        (BY_ALL, said(1.0), True, []),
        ((S.DB_STATE_MATCH, S.CLEAN_EXIT), said(0.0), True, []),
    ],
)
def test_what_the_judge_decides(
    signals: tuple[S, ...], judgement: Judgement, passed: bool, failed: list[str]
) -> None:
    result = judged(signals, judgement)
    assert result.passed is passed
    assert result.breakdown["failed"] == failed
    assert result.judgement is judgement
    assert result.signals[S.JUDGE_PASSED] is judgement.reached


def test_a_low_score_that_does_not_count_is_told_as_such() -> None:
    result = judged((S.DB_STATE_MATCH, S.CLEAN_EXIT), said(0.2, False))
    assert result.breakdown["excluded"] == ["nl_assertion", "judge_passed"]


@pytest.mark.parametrize("signals", [BY_JUDGE, BY_ALL])
def test_an_unusable_judge_that_was_to_decide_is_an_error(signals: tuple[S, ...]) -> None:
    with pytest.raises(JudgeUnusable, match="judge unusable: no answer within 5 s") as error:
        judged(signals, unusable())
    assert error.value.code == "judge_unusable"
    assert error.value.conversation is not None
    assert error.value.signals["clean_exit"] is True
    assert error.value.signals["judge_passed"] is None
    copied = pickle.loads(pickle.dumps(error.value))
    assert (str(copied), copied.signals) == (str(error.value), error.value.signals)
    assert copied.judgement.error == UNUSABLE


def test_an_unusable_judge_about_statements() -> None:
    with pytest.raises(JudgeUnusable):
        judged(BY_STATEMENTS, unusable(False))


@pytest.mark.parametrize(
    ("signals", "more", "reasons"),
    [
        (BY_ALL, {"good": False}, ("db_state_match",)),
        (BY_ALL, {"end": EndReason.TIMEOUT}, ("clean_exit (timeout)",)),
        (BY_JUDGE, {"end": EndReason.TIMEOUT}, ("clean_exit (timeout)",)),
        (BY_JUDGE, {"end": EndReason.AGENT_GONE}, ("agent_gone", "clean_exit (agent_gone)")),
    ],
)
def test_what_the_agent_did_wrong_stays_a_failure(
    signals: tuple[S, ...], more: dict[str, Any], reasons: tuple[str, ...]
) -> None:
    result = judged(signals, unusable(), **more)
    assert result.passed is False
    assert result.why_failed == reasons
    assert "judge unusable: no answer within 5 s" in result.warnings


def test_an_unusable_judge_that_decides_nothing_is_a_warning() -> None:
    result = judged((S.DB_STATE_MATCH, S.CLEAN_EXIT), unusable(False))
    assert result.passed is True
    assert result.signals[S.JUDGE_PASSED] is result.signals[S.NL_ASSERTION] is None
    assert result.warnings[-1] == "judge unusable: no answer within 5 s"


@pytest.mark.parametrize(
    ("gates", "judgement", "passed"),
    [
        ({S.NL_ASSERTION}, said(0.1, True), True),
        ({S.NL_ASSERTION}, said(1.0, False), False),
        ({S.JUDGE_PASSED}, said(0.1, True), False),
        (set(), said(0.1, False), True),
    ],
)
def test_an_item_may_let_the_judge_decide(
    gates: set[S], judgement: Judgement, passed: bool
) -> None:
    scenario = shop(S.DB_STATE_MATCH, S.CLEAN_EXIT, expected_scenario_db=EXPECTED)
    result = score(scenario, talk(agent=with_db(EXPECTED)))
    found = with_judgement(scenario, result, judgement, frozenset(gates))
    assert found.passed is found.task_passed is passed
    assert bool(found.breakdown["failed"]) is not passed


def test_notes_become_warnings() -> None:
    assert judged(BY_JUDGE, said(1.0, notes=("odd",))).warnings[-1] == "odd"


def test_a_judgement_shows_what_a_failed_assertion_needs() -> None:
    assert repr(said(0.5, False)) == (
        "<Judgement: score 0.5 of 0.9: a reason; not true: statement 1 (because)>"
    )
    assert repr(unusable()) == "<Judgement: none, no answer within 5 s>"
    assert said(0.95, True).passed is True
    assert said(0.95, False).passed is False
    assert said(0.5).passed is False
    assert unusable().passed is None


def spoke(*roles: str, text: str = "Hello.") -> Conversation:
    utterances = tuple(Utterance(role, text, 0.0, 1.0, 1) for role in roles)  # type: ignore[arg-type]
    return talk(transcript=utterances)


@pytest.mark.parametrize(
    ("conversation", "why"),
    [
        (spoke("agent", "user"), ""),
        (spoke(), "nobody said a word"),
        (spoke("agent", "user", text="  "), "nobody said a word"),
        (spoke("agent", "agent"), "the caller never said a word"),
        (spoke("user"), "the agent never said a word"),
        (
            replace(spoke("agent", "user"), end_reason=EndReason.AGENT_SILENT),
            "the agent dropped out of it (agent_silent)",
        ),
    ],
)
def test_a_broken_call_is_not_shown_to_a_judge(conversation: Conversation, why: str) -> None:
    assert why_broken(conversation) == why
