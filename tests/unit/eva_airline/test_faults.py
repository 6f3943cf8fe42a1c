"""What each kind of agent fault does to each of the fifty scenarios, replayed in process."""

from __future__ import annotations

import functools
import json

import pytest

from pytest_voiceeval.bots.faults import (
    FAULTS,
    REPLIES_BEFORE_CRASH,
    FaultPlan,
    NotApplicable,
    plan_fault,
)
from pytest_voiceeval.data.root import shipped_data_root
from pytest_voiceeval.scenario import registry
from pytest_voiceeval.scenario.dialogue import ENDING_CALLS, Dialogue
from pytest_voiceeval.scenario.model import Scenario
from pytest_voiceeval.scenario.replay import Replay, replay
from pytest_voiceeval.scenario.verdicts import ReplayVerdict
from pytest_voiceeval.scoring.signals import SuccessSignal

# d: db_state_match fails, a: is_action_match fails, da: both, .: neither, -: does not apply
SEEN_BY = """
       wrong-field  missing-call  extra-write  do-nothing  never-exits
1.1.2  d            d             d            d           .
1.1.3  d            d             d            da          .
1.1.4  d            d             d            da          .
1.1.5  d            d             d            da          .
1.2.1  a            d             d            da          .
1.2.2  a            d             d            da          .
1.2.3  da           d             d            da          .
1.3.1  da           d             d            da          .
1.3.2  da           d             d            da          .
2.1.1  d            d             d            d           .
2.1.2  d            d             d            d           .
2.1.6  a            da            d            da          .
2.2.2  d            d             d            d           .
2.2.4  d            d             d            d           .
2.2.5  d            d             d            d           .
2.3.2  d            d             d            d           .
2.3.4  a            da            d            da          .
2.4.1  d            d             d            d           .
2.4.2  d            d             d            d           .
3.1.3  d            d             d            d           .
3.1.5  a            d             d            da          .
3.3.4  a            d             d            da          .
4.1.1  d            d             d            da          .
4.1.2  a            d             d            da          .
4.1.3  a            d             d            da          .
4.1.5  a            d             d            da          .
4.2.1  d            d             d            d           .
4.2.4  d            d             d            d           .
4.2.5  d            d             d            d           .
5.1.1  d            d             d            d           .
5.1.2  a            da            d            da          .
5.1.3  a            da            d            da          .
5.1.5  d            da            d            da          .
5.2.1  d            d             d            d           .
5.2.2  d            d             d            d           .
5.2.5  -            -             d            a           a
5.2.6  d            d             d            d           .
6.1.1  d            d             d            da          a
6.1.4  a            d             d            da          .
6.3.1  d            d             d            da          a
6.3.4  d            d             d            d           .
7.1.1  -            -             d            .           .
7.2.1  -            -             d            .           .
7.2.2  -            -             d            .           .
7.2.5  a            d             d            da          .
7.2.6  a            da            d            da          .
7.2.8  -            -             d            a           a
7.2.9  a            d             d            da          .
7.3.1  -            -             d            .           .
7.4.1  -            -             d            .           .
"""
KINDS, *ROWS = [line.split() for line in SEEN_BY.strip().splitlines()]
SEEN = {record_id: dict(zip(KINDS, cells, strict=True)) for record_id, *cells in ROWS}
LETTERS = {SuccessSignal.DB_STATE_MATCH: "d", SuccessSignal.ACTION_MATCH: "a"}

each_id = pytest.mark.parametrize("record_id", SEEN)


@pytest.fixture(autouse=True)
def _our_edition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EVAL_DATA_ROOT", raising=False)


@functools.cache
def _scenarios() -> dict[str, Scenario]:
    found = map(registry.get_eval_scenario, registry.scenarios_of("eva_airline"))
    return {scenario.eva_id: scenario for scenario in found}


def _planned(record_id: str, fault: str) -> FaultPlan:
    plan = plan_fault(_scenarios()[record_id], fault)
    assert isinstance(plan, FaultPlan), plan
    return plan


def _outcome(scenario: Scenario, dialogue: Dialogue, *, watched: bool = False) -> Replay:
    return replay(scenario, [call for turn in dialogue for call in turn.calls], watched=watched)


def _seen(scenario: Scenario, outcome: Replay) -> str:
    """Which signals of the scenario see the difference."""
    failed = [
        letter
        for signal, letter in LETTERS.items()
        if signal in scenario.success_signals
        and ReplayVerdict(scenario, {signal}).of(outcome) is False
    ]
    return "".join(failed) or "."


def _writes(scenario: Scenario) -> bool:
    gold = _outcome(scenario, scenario.reference_dialogue, watched=True)
    return any(step.wrote for step in gold.steps)


def test_the_table_has_every_scenario_and_the_other_kinds_are_below() -> None:
    assert list(SEEN) == list(_scenarios())
    assert {*KINDS, "hangs", "crashes", "garbage"} == set(FAULTS)


@pytest.mark.parametrize("fault", KINDS)
@each_id
def test_a_fault_is_seen_by_the_signals_it_should_be(record_id: str, fault: str) -> None:
    scenario = _scenarios()[record_id]
    plan = plan_fault(scenario, fault)
    if isinstance(plan, NotApplicable):
        assert SEEN[record_id][fault] == "-"
        assert scenario.name in plan.reason
    else:
        assert _seen(scenario, _outcome(scenario, plan.dialogue)) == SEEN[record_id][fault]


@pytest.mark.parametrize("fault", ["wrong-field", "missing-call"])
def test_only_an_agent_who_has_nothing_to_write_cannot_write_it_wrongly(fault: str) -> None:
    spared = {record_id for record_id, seen in SEEN.items() if seen[fault] == "-"}
    idle = {record_id for record_id, scenario in _scenarios().items() if not _writes(scenario)}
    assert spared == idle


def test_doing_nothing_is_right_in_a_refusal_only_and_is_then_too_short() -> None:
    lines = (shipped_data_root() / "eva_airline" / "eva_airline_dataset.jsonl").read_text("utf-8")
    refusals = {r["id"] for r in map(json.loads, lines.splitlines()) if r["refusal"]}
    assert {record_id for record_id, seen in SEEN.items() if seen["do-nothing"] == "."} == refusals
    assert all(len(_planned(record_id, "do-nothing").dialogue) == 1 for record_id in refusals)


@each_id
def test_who_never_exits_says_all_and_does_all_but_end_the_call(record_id: str) -> None:
    scenario, dialogue = _scenarios()[record_id], _planned(record_id, "never-exits").dialogue
    assert SuccessSignal.CLEAN_EXIT in scenario.success_signals
    assert not any(call.name in ENDING_CALLS for turn in dialogue for call in turn.calls)
    assert [t.text for t in dialogue] == [t.text for t in scenario.reference_dialogue]


@each_id
def test_who_hangs_falls_silent_in_the_middle_of_the_call(record_id: str) -> None:
    plan = _planned(record_id, "hangs")
    turns = sum(turn.role == "agent" for turn in plan.dialogue)
    assert plan.hang_at_turn is not None
    assert 3 <= plan.hang_at_turn < turns - 2  # after the three turns a call must have


@pytest.mark.parametrize(
    ("fault", "waits_at"), [("crashes", REPLIES_BEFORE_CRASH), ("garbage", None)]
)
@each_id
def test_a_broken_bot_plays_what_is_right_until_it_breaks(
    record_id: str, fault: str, waits_at: int | None
) -> None:
    plan = _planned(record_id, fault)
    assert (plan.bot_fault, plan.hang_at_turn) == (fault, waits_at)
    assert plan.dialogue == _scenarios()[record_id].reference_dialogue
