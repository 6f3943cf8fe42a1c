"""Scenarios that could not judge an agent are told before the call."""

from __future__ import annotations

import re

import pytest

from pytest_voiceeval.scenario.checks import problems_of
from pytest_voiceeval.scoring.assertions import register_db_state_predicate
from pytest_voiceeval.scoring.signals import SuccessSignal

S = SuccessSignal


@register_db_state_predicate("check_tests")
def stock_of(db, item):
    return db["stock"][item]


def _assertion(value, item="lamp", side="agent"):
    return {"side": side, "func_name": "stock_of", "arguments": {"item": item},
            "assert_value": value}  # fmt: skip


def _stock(lamps):
    return {"stock": {"lamp": lamps}}


def _problems(shop, signals, **members):
    members = {"domain": "check_tests", "success_signals": signals, **members}
    return problems_of(type("Checked", (shop,), members)(name="check_tests__x"))


@pytest.mark.parametrize(
    ("signals", "members"),
    [
        ((S.DB_STATE_MATCH, S.CLEAN_EXIT), {"expected_scenario_db": {}}),
        ((S.CLEAN_EXIT,), {}),
        ((S.JUDGE_PASSED, S.CLEAN_EXIT), {}),
        ((S.JUDGE_PASSED, S.NL_ASSERTION), {}),
        ((S.ACTION_MATCH,), {"reference_answer": {"actions": []}}),
        ((S.DB_STATE_MATCH, S.NL_ASSERTION), {"expected_scenario_db": {"t": {}}}),
        (
            (S.DB_STATE_ASSERTION,),
            {"db_state_assertions": [_assertion(3)], "expected_scenario_db": _stock(3)},
        ),
        ((S.DB_STATE_ASSERTION,), {"db_state_assertions": [_assertion(3)]}),
    ],
    ids=[
        "db",
        "exit",
        "judge",
        "judge-twice",
        "no-actions",
        "one-source",
        "assertion",
        "no-expectation",
    ],
)
def test_fit(shop, signals, members):
    assert _problems(shop, signals, **members) == []


@pytest.mark.parametrize(
    ("signals", "members", "problem"),
    [
        (("db_state_mach", "clean_exit"), {}, "no signal 'db_state_mach', did you mean 'db_st"),
        (("vibes",), {}, "there is no signal 'vibes'; there are is_action_match"),
        (
            (S.DB_STATE_ASSERTION, S.CLEAN_EXIT),
            {"db_state_assertions": []},
            "db_state_assertion is to decide, but db_state_assertions is empty",
        ),
        (
            (S.DB_STATE_MATCH, S.NL_ASSERTION, S.CLEAN_EXIT),
            {},
            "nothing but the clean exit could decide: it has no expected_scenario_db, nl_assertio",
        ),
        (
            (S.CLEAN_EXIT,),
            {"initialization_actions": [{"func_name": "f", "side": "bot"}]},
            r"initialization action 0 \(f\) has the side 'bot'; use 'agent' or 'user'",
        ),
        (
            (S.DB_STATE_ASSERTION,),
            {"db_state_assertions": [_assertion(3)], "expected_scenario_db": _stock(4)},
            "'stock_of' about the agent's database contradicts .* asserts 3, that gives 4",
        ),
        (
            (S.DB_STATE_ASSERTION,),
            {
                "db_state_assertions": [_assertion(3, item="sofa", side="user")],
                "expected_user_db": {"stock": {}},
            },
            "'stock_of' about the user's database cannot be evaluated: Predicate raised: KeyError",
        ),
    ],
    ids=["typo", "unknown", "empty", "nothing", "side", "contradiction", "raises"],
)
def test_unfit(shop, signals, members, problem):
    problems = _problems(shop, signals, **members)
    assert len(problems) == 1
    assert re.search(problem, problems[0])
