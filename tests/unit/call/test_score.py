"""From a conversation to verdicts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_voiceeval.call.errors import ScenarioInvalid, StateUnreadable
from pytest_voiceeval.call.prediction import merged_actions, prediction_of
from pytest_voiceeval.call.result import Conversation, EndReason, SideRecord, Tokens
from pytest_voiceeval.call.score import ScoreOptions, score
from pytest_voiceeval.scenario.model import Scenario
from pytest_voiceeval.scoring.assertions import register_db_state_predicate
from pytest_voiceeval.scoring.db_hash import get_dict_hash
from pytest_voiceeval.scoring.signals import SuccessSignal

S = SuccessSignal
EXPECTED = {"orders": {"1": {"state": "returned", "items": [1, 2]}}}
WRONG = {"orders": {"1": {"state": "open", "items": [1, 2]}}}
REFUND = {"action_type": "refund", "amount": 5}


class Shop(Scenario):
    """A scenario that starts from a given database."""

    domain = "call_score_shop"
    success_signals = (S.DB_STATE_MATCH, S.CLEAN_EXIT)
    initial: dict[str, Any] = WRONG

    def get_agent_tools(self) -> str:
        return "{}"

    def setup_shared_state(self, state: dict[str, Any], side: str) -> None:
        state["db"] = self.initial


def shop(*signals: SuccessSignal, **arguments: Any) -> Shop:
    scenario = Shop(name="shop__return", **arguments)
    if signals:
        scenario.success_signals = signals
    return scenario


def agent(**record: Any) -> SideRecord:
    return SideRecord(**{"actions": (), "tokens": Tokens(5, 10, 10), "model_runs": 5, **record})


def talk(end: EndReason = EndReason.EXIT, **measured: Any) -> Conversation:
    measured = {"agent": agent(), "agent_turns": 4, **measured}
    return Conversation("shop__return", "shop", end_reason=end, **measured)


def with_db(db: Any, *, sent: bool = True) -> SideRecord:
    return agent(db_hash=get_dict_hash(db), db=db if sent else None)


# -- the database


def test_the_expected_database_passes() -> None:
    result = score(shop(expected_scenario_db=EXPECTED), talk(agent=with_db(EXPECTED, sent=False)))
    assert result.passed is True
    assert result.task_passed is True
    assert result.signals == {
        S.ACTION_MATCH: None,
        S.DB_STATE_MATCH: True,
        S.DB_STATE_ASSERTION: None,
        S.NL_ASSERTION: None,
        S.JUDGE_PASSED: None,
        S.CLEAN_EXIT: True,
    }
    assert result.db_hash == result.expected_hash == get_dict_hash(EXPECTED)
    assert result.db_diff == {"tables_added": [], "tables_removed": [], "tables_modified": {}}
    assert result.changes == ()
    assert result.why_failed == ()
    assert result.warnings == ()


def test_another_database_fails_and_the_change_is_named() -> None:
    result = score(shop(expected_scenario_db=EXPECTED), talk(agent=with_db(WRONG)))
    assert result.passed is False
    assert result.why_failed == ("db_state_match",)
    assert result.changes is not None
    (change,) = result.changes
    assert (change.path, change.expected, change.actual) == (
        ("orders", "1", "state"),
        "returned",
        "open",
    )
    assert result.db_diff is not None
    assert set(result.db_diff["tables_modified"]) == {"orders"}
    assert (result.db, result.expected_db, result.db_note) == (WRONG, EXPECTED, "")


@pytest.mark.parametrize(
    ("record", "note"),
    [
        (SideRecord(), "the agent's final state could not be read"),
        (agent(), "the agent reported no database"),
        (
            with_db(WRONG, sent=False),
            "the agent reported another hash but did not send its database",
        ),
    ],
    ids=["no summary", "no hash", "hash only"],
)
def test_without_its_database_there_is_a_reason_and_no_empty_diff(
    record: SideRecord, note: str
) -> None:
    result = score(
        shop(expected_scenario_db=EXPECTED), talk(agent=record), ScoreOptions(min_agent_turns=0)
    )
    assert result.signals[S.DB_STATE_MATCH] is False
    assert (result.db_diff, result.changes, result.db_note) == (None, None, note)


def test_the_database_sent_counts_more_than_the_hash_reported() -> None:
    lying = replace(with_db(EXPECTED), db_hash="0" * 64)
    result = score(shop(expected_scenario_db=EXPECTED), talk(agent=lying))
    assert result.signals[S.DB_STATE_MATCH] is True
    assert result.changes == ()
    assert "reported the database hash 000" in result.warnings[0]
    posing = replace(with_db(WRONG), db_hash=get_dict_hash(EXPECTED))
    assert score(shop(expected_scenario_db=EXPECTED), talk(agent=posing)).passed is False


def test_a_state_that_is_not_json_is_an_error_naming_the_place() -> None:
    broken = agent(db={"orders": {"1": {"price": float("nan")}}}, db_hash="x")
    with pytest.raises(StateUnreadable, match="price") as caught:
        score(shop(expected_scenario_db=EXPECTED), talk(agent=broken))
    assert caught.value.conversation is not None


def test_an_expected_database_that_is_not_json_is_the_scenarios_fault() -> None:
    with pytest.raises(ScenarioInvalid, match="scenario 'shop__return' has no usable expected"):
        score(shop(expected_scenario_db={"t": {1, 2}}), talk(agent=with_db(WRONG)))


def test_a_scenario_that_doing_nothing_solves_is_marked() -> None:
    result = score(shop(expected_scenario_db=WRONG), talk(agent=with_db(WRONG)))
    assert result.passed is True
    assert result.warnings == (
        "the expected database is the initial one: an agent that does nothing matches it too",
    )


# -- ends and stalling


@pytest.mark.parametrize(
    ("end", "passed", "task_passed", "why"),
    [
        (EndReason.EXIT, True, True, ()),
        (EndReason.CALLER_HANGUP, False, True, ("clean_exit (caller_hangup)",)),
        (EndReason.TIMEOUT, False, True, ("clean_exit (timeout)",)),
        (EndReason.TURN_LIMIT, False, True, ("clean_exit (turn_limit)",)),
        (EndReason.AGENT_SILENT, False, False, ("agent_silent", "clean_exit (agent_silent)")),
        (EndReason.AGENT_ERROR, False, False, ("agent_error", "clean_exit (agent_error)")),
        (EndReason.AGENT_GONE, False, False, ("agent_gone", "clean_exit (agent_gone)")),
    ],
)
def test_only_an_exit_is_a_clean_end(
    end: EndReason, passed: bool, task_passed: bool, why: tuple[str, ...]
) -> None:
    result = score(shop(expected_scenario_db=EXPECTED), talk(end, agent=with_db(EXPECTED)))
    assert (result.passed, result.task_passed, result.why_failed) == (passed, task_passed, why)
    assert result.signals[S.CLEAN_EXIT] is (end is EndReason.EXIT)


@pytest.mark.parametrize(
    ("end", "passed"),
    [(EndReason.TIMEOUT, True), (EndReason.AGENT_GONE, False), (EndReason.AGENT_SILENT, False)],
)
def test_an_agent_at_fault_fails_even_where_the_end_does_not_decide(
    end: EndReason, passed: bool
) -> None:
    scenario = shop(S.DB_STATE_MATCH, expected_scenario_db=EXPECTED)
    assert score(scenario, talk(end, agent=with_db(EXPECTED))).passed is passed


@pytest.mark.parametrize(
    ("tokens", "turns", "minimum", "stalled"),
    [
        (Tokens(2, 0, 0), 9, 3, True),
        (Tokens(3, 0, 0), 0, 3, False),
        (None, 2, 3, True),
        (None, 3, 3, False),
        (None, 0, 0, False),
    ],
    ids=["too few runs", "enough runs", "too few turns", "enough turns", "switched off"],
)
def test_too_few_agent_turns_are_stalled(
    tokens: Tokens | None, turns: int, minimum: int, stalled: bool
) -> None:
    record = replace(with_db(EXPECTED), tokens=tokens)
    result = score(
        shop(expected_scenario_db=EXPECTED),
        talk(agent=record, agent_turns=turns),
        ScoreOptions(min_agent_turns=minimum),
    )
    assert (result.stalled, result.passed, result.task_passed) == (
        stalled,
        not stalled,
        not stalled,
    )
    assert result.why_failed == (("stalled",) if stalled else ())


def test_nothing_applicable_is_neither_passed_nor_failed() -> None:
    result = score(shop(S.JUDGE_PASSED), talk())
    assert (result.passed, result.task_passed, result.why_failed) == (None, None, ())
    assert result.breakdown["not_applicable"] == ["judge_passed"]
    assert score(shop(S.JUDGE_PASSED), talk(EndReason.AGENT_GONE)).passed is False


def test_a_conversation_without_an_end_is_not_scored() -> None:
    with pytest.raises(ValueError, match="no end reason"):
        score(shop(), Conversation("shop__return", "shop"))


def test_unusable_signals_are_the_scenarios_fault() -> None:
    scenario = shop()
    scenario.success_signals = ()
    with pytest.raises(ScenarioInvalid, match="scenario 'shop__return' cannot be judged"):
        score(scenario, talk())


# -- actions


@pytest.mark.parametrize(
    ("actions", "user_actions", "pushed", "expected"),
    [
        ((REFUND,), (), (), [{"actions": [{"side": "agent", **REFUND}]}]),
        ((REFUND,), (), ("{}",), [{"actions": [{"side": "agent", **REFUND}]}]),
        ((), (), ('{"pizza": 1}', "plain"), [{"pizza": 1}, {"message": "plain"}]),
        ((), (), (), [{"actions": []}]),
        (None, (), (), []),
        (None, (), ('{"pizza": 1}',), [{"pizza": 1}]),
        (
            ({"side": "own", "a": 1},),
            ({"side": "agent", "b": 2},),
            (),
            [{"actions": [{"side": "own", "a": 1}, {"side": "user", "b": 2}]}],
        ),
    ],
    ids=[
        "pulled",
        "pulled first",
        "pushed",
        "none",
        "no summary",
        "no summary, pushed",
        "both sides",
    ],
)
def test_what_is_compared_with_the_reference_answer(
    actions: Any, user_actions: Any, pushed: tuple[str, ...], expected: list[Any]
) -> None:
    conversation = talk(
        agent=agent(actions=actions),
        user=SideRecord(actions=user_actions),
        final_responses=pushed,
    )
    assert prediction_of(conversation) == expected


def test_actions_of_an_unread_caller_are_none() -> None:
    assert merged_actions(talk(user=SideRecord())) == ()
    assert merged_actions(talk(agent=SideRecord())) is None


@pytest.mark.parametrize(
    ("reference", "actions", "strict", "verdict"),
    [
        ({"actions": [REFUND]}, (REFUND,), False, True),
        ({"actions": [REFUND]}, ({**REFUND, "amount": 6},), False, False),
        ({"actions": [REFUND]}, (), False, False),
        ({"actions": [REFUND]}, (REFUND, {"action_type": "x"}), False, True),
        ({"actions": [REFUND]}, (REFUND, {"action_type": "x"}), True, False),
        ({"actions": []}, (), False, True),
        (None, (REFUND,), False, None),
        ("", (), False, None),
    ],
    ids=["same", "other", "missing", "extra", "extra, strict", "none wanted", "no answer", "empty"],
)
def test_action_match(
    reference: Any, actions: tuple[Any, ...], strict: bool, verdict: bool | None
) -> None:
    scenario = shop(S.ACTION_MATCH, S.CLEAN_EXIT, reference_answer=reference)
    result = score(scenario, talk(agent=agent(actions=actions)), ScoreOptions(strict_match=strict))
    assert result.signals[S.ACTION_MATCH] is verdict
    assert bool(result.action_differences) is (verdict is False)


def test_a_missing_transfer_fails_on_the_actions_alone() -> None:
    scenario = shop(
        S.ACTION_MATCH,
        S.DB_STATE_MATCH,
        S.CLEAN_EXIT,
        reference_answer={"actions": [{"name": "transfer_to_human"}]},
        expected_scenario_db=EXPECTED,
    )
    result = score(scenario, talk(agent=with_db(EXPECTED)))
    assert result.why_failed == ("is_action_match",)
    assert result.changes == ()
    (difference,) = result.action_differences
    assert (difference.kind, difference.reference, difference.path) == (
        "missing",
        {"name": "transfer_to_human"},
        ("actions", 0),
    )


def test_a_plain_text_answer_is_a_message() -> None:
    scenario = shop(S.ACTION_MATCH, reference_answer="Paris", ignore_capitalization=True)
    conversation = talk(final_responses=("paris",))
    assert score(scenario, conversation).signals[S.ACTION_MATCH] is True


def test_no_answer_at_all_matches_nothing() -> None:
    scenario = shop(S.ACTION_MATCH, reference_answer={"actions": []})
    result = score(scenario, talk(agent=SideRecord(tokens=Tokens(5, 1, 1))))
    assert result.signals[S.ACTION_MATCH] is False
    (difference,) = result.action_differences
    assert (difference.kind, difference.reference) == ("missing", {"actions": []})


def test_without_an_answer_every_record_is_missing_by_itself() -> None:
    scenario = shop(S.ACTION_MATCH, reference_answer={"actions": [REFUND, {"name": "x"}]})
    result = score(scenario, talk(agent=SideRecord(tokens=Tokens(5, 1, 1))))
    assert [each.reference for each in result.action_differences] == [REFUND, {"name": "x"}]


def test_an_unusable_reference_answer_is_the_scenarios_fault() -> None:
    with pytest.raises(ScenarioInvalid, match="has no usable reference answer"):
        score(shop(S.ACTION_MATCH, reference_answer=[5]), talk(agent=agent(actions=(REFUND,))))


# -- predicates


@register_db_state_predicate("call_score_shop")
def order_is(db: dict[str, Any], order: str, state: str) -> bool:
    return bool(db["orders"][order]["state"] == state)


def is_returned(**more: Any) -> dict[str, Any]:
    arguments = {"order": "1", "state": "returned"}
    return {
        "side": "agent",
        "func_name": "order_is",
        "arguments": arguments,
        "assert_value": True,
        **more,
    }


@pytest.mark.parametrize(
    ("record", "assertions", "verdict"),
    [
        (with_db(EXPECTED), [is_returned()], True),
        (with_db(WRONG), [is_returned()], False),
        (with_db(EXPECTED), [is_returned(), is_returned(assert_value=False)], False),
        (agent(), [is_returned()], False),
        (with_db(EXPECTED), None, None),
    ],
    ids=["holds", "does not", "one of two", "no database", "none asked"],
)
def test_database_predicates(record: SideRecord, assertions: Any, verdict: bool | None) -> None:
    scenario = shop(S.DB_STATE_ASSERTION, S.CLEAN_EXIT, db_state_assertions=assertions)
    result = score(scenario, talk(agent=record))
    assert result.signals[S.DB_STATE_ASSERTION] is verdict
    assert len(result.assertion_verdicts) == len(assertions or ())


def test_predicates_of_the_callers_side_see_the_callers_database() -> None:
    scenario = shop(S.DB_STATE_ASSERTION, db_state_assertions=[is_returned(side="user")])
    conversation = talk(agent=with_db(WRONG), user=with_db(EXPECTED))
    assert score(scenario, conversation).passed is True


# -- what is passed on


def test_measurements_are_passed_on() -> None:
    conversation = talk(
        agent=with_db(EXPECTED),
        user=SideRecord(tokens=Tokens(1, 2, 3)),
        end_detail="The task is finished.",
        duration=12.5,
        warnings=("odd",),
    )
    result = score(shop(expected_scenario_db=EXPECTED), conversation)
    assert result.conversation is conversation
    assert (result.scenario, result.domain) == ("shop__return", "shop")
    assert (result.end_reason, result.end_detail) == (EndReason.EXIT, "The task is finished.")
    assert result.tokens == {"agent": Tokens(5, 10, 10), "user": Tokens(1, 2, 3)}
    assert (result.agent_turns, result.model_runs, result.duration) == (4, 5, 12.5)
    assert result.warnings == ("odd",)
    assert result.artifacts is None
