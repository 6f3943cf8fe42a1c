"""Scenarios that could not judge an agent are told before the call."""

from __future__ import annotations

import re

import pytest

from pytest_voiceeval.scenario.checks import needs_judge, problems_of
from pytest_voiceeval.scenario.dialogue import DialogueTurn
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


@pytest.mark.parametrize(
    ("signals", "members", "says"),
    [
        ((S.DB_STATE_ASSERTION, S.CLEAN_EXIT), {"db_state_assertions": ()}, "is empty"),
        ((S.NL_ASSERTION, S.CLEAN_EXIT), {"nl_assertions": ()}, "is empty"),
        ((S.ACTION_MATCH, S.CLEAN_EXIT), {"reference_answer": {}}, "is empty"),
        (
            (S.DB_STATE_MATCH, S.DB_STATE_ASSERTION),
            {"expected_scenario_db": {}, "db_state_assertions": []},
            "db_state_assertions is empty",
        ),
    ],
)
def test_a_criterion_without_content_is_refused_whatever_its_type(shop, signals, members, says):
    [problem] = _problems(shop, signals, **members)
    assert says in problem


def test_arguments_to_compare_must_exist(shop):
    action = {"name": "cancel", "arguments": {"order_id": "7"}, "compare_args": ["order_idd"]}
    members = {"reference_answer": {"actions": [action]}}
    [problem] = _problems(shop, (S.ACTION_MATCH,), **members)
    assert problem == ("reference action 1 (cancel) compares arguments it does not have: order_idd")


A, U = "agent", "user"


@pytest.mark.parametrize(
    ("dialogue", "says"),
    [
        ((DialogueTurn(U, "Hi."), DialogueTurn(A, "Bye.")), "is the agent's, not the user's"),
        ((DialogueTurn(A, "Hello."),), "makes no call that ends the conversation"),
        ("hello", "must hold DialogueTurn objects"),
        ([{"role": "agent"}], "must hold DialogueTurn objects"),
    ],
)
def test_a_dialogue_that_cannot_be_played_is_the_scenarios_fault(shop, dialogue, says):
    [problem] = _problems(shop, (S.CLEAN_EXIT,), reference_dialogue=dialogue)
    assert says in problem


@pytest.mark.parametrize(
    ("signals", "answer"),
    [
        ((S.JUDGE_PASSED, S.CLEAN_EXIT), True),
        ((S.NL_ASSERTION, S.JUDGE_PASSED), True),
        ((S.DB_STATE_MATCH, S.NL_ASSERTION), False),
        ((S.CLEAN_EXIT,), False),
    ],
)
def test_which_scenarios_nobody_but_the_judge_decides(shop, signals, answer):
    scenario = type("Judged", (shop,), {"success_signals": signals})(name="check_tests__y")
    assert needs_judge(scenario) is answer


@pytest.mark.parametrize("given", ["is kind", ["is kind", ""], [3], {"1": "is kind"}])
def test_statements_for_the_judge_are_a_list_of_sentences(shop, given):
    [problem] = _problems(shop, (S.NL_ASSERTION, S.CLEAN_EXIT), nl_assertions=given)
    assert problem.startswith("nl_assertions must be a list of sentences for the judge, not ")
    assert _problems(shop, (S.NL_ASSERTION, S.CLEAN_EXIT), nl_assertions=("is kind",)) == []
