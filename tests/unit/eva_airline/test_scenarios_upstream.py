"""The public benchmark's own data: all fifty records, and the gold calls known for half of them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from pytest_voiceeval.packs.eva_airline.data import current_dataset
from pytest_voiceeval.packs.eva_airline.derived import RecordScenario
from pytest_voiceeval.packs.eva_airline.seeds import SEEDS

from pytest_voiceeval.scenario.dialogue import ToolCall, dialogue_from_calls, parse_calls
from pytest_voiceeval.scenario.replay import initial_state, replay
from pytest_voiceeval.scoring.db_hash import get_dict_hash

UNCHANGED = {"5.2.5", "7.1.1", "7.2.2", "7.2.8", "7.3.1", "7.4.1"}


@pytest.fixture
def eva(upstream_root, monkeypatch):
    monkeypatch.setenv("EVAL_DATA_ROOT", str(upstream_root / "eva"))
    return upstream_root


@pytest.fixture
def scenarios(eva):
    return [
        RecordScenario(eva_id=line.id, name=line.short_name) for line in current_dataset().lines
    ]


def test_a_process_of_its_own_lists_fifty(upstream_root, tmp_path):
    code = (
        "from pytest_voiceeval.scenario.registry import scenarios_of, domain_info;"
        "print(*scenarios_of('eva_airline')); print(domain_info('eva_airline').edition)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path,
        env={"EVAL_DATA_ROOT": str(upstream_root / "eva")},
    )  # fmt: skip
    listed, edition = run.stdout.splitlines()
    names = listed.split()
    assert (len(names), len(set(names)), edition) == (50, 50, "upstream")
    assert {seed.name for seed in SEEDS} <= set(names)
    assert {"eva_airline__1_1_3", "eva_airline__3_1_5", "eva_airline__7_4_1"} <= set(names)
    assert "eva_airline__1_1_2" not in names


def test_all_fifty_are_complete(scenarios):
    assert len(scenarios) == 50
    for scenario in scenarios:
        agent, user = scenario.get_agent_prompt(), scenario.get_user_prompt()
        assert "L, A, X" in agent, scenario.eva_id
        assert "L, A, X" in user, scenario.eva_id
        assert f"Today is {scenario.record['current_date_time'][:10]}." in agent
        assert scenario.policy in agent
        assert f"Your name is {scenario.record['user_config']['name']}." in user
        assert scenario.description
        assert (scenario.reference_dialogue, scenario.forbidden_calls) == (None, ())
        assert scenario.expected_scenario_db["_current_date"] == scenario.current_date


def test_fifty_callers_know_how_to_identify_except_the_one_who_refuses(scenarios):
    told = {
        scenario.eva_id: any("your confirmation number is" in line for line in guidelines)
        for scenario in scenarios
        for guidelines in [scenario.user_actions.guidelines]
    }
    assert [eva_id for eva_id, known in told.items() if not known] == ["7.1.1"]


def test_six_expect_an_unchanged_database(scenarios):
    unchanged = {
        scenario.eva_id
        for scenario in scenarios
        if get_dict_hash(initial_state(scenario)["db"])
        == get_dict_hash(scenario.expected_scenario_db)
    }
    assert unchanged == UNCHANGED


def test_seeds_take_their_passenger_from_the_edition(eva):
    names = {seed.name: seed().user_persona.name for seed in SEEDS}
    assert names["eva_airline__voluntary_date_change"] == "Samantha Rodriguez"
    assert names["eva_airline__escalation_edge_case"] == "Mitchell Barnes"


def test_known_gold_calls_lead_to_the_expected_database(eva, scenarios):
    samples = json.loads((eva / "eva_sample_calls.json").read_text(encoding="utf-8"))["records"]
    by_id = {scenario.eva_id: scenario for scenario in scenarios}
    reached = {}
    for eva_id, sample in samples.items():
        authentication = parse_calls(sample["authentication"], eva_id)
        calls = parse_calls(sample["calls"], eva_id)
        dialogue = dialogue_from_calls(calls, authentication=authentication)
        played = [call for turn in dialogue for call in turn.calls]
        result = replay(by_id[eva_id], played)
        reached[eva_id] = (get_dict_hash(result.db), [step.call.name for step in result.refused])
    assert reached == {
        eva_id: (sample["expected_db_hash"], []) for eva_id, sample in samples.items()
    }
    assert len(reached) == 25


def test_a_wrong_seat_misses_it(eva):
    samples = json.loads((eva / "eva_sample_calls.json").read_text(encoding="utf-8"))["records"]
    scenario = RecordScenario(eva_id="1.1.2", name="x")
    calls = parse_calls(samples["1.1.2"]["calls"], "1.1.2")
    wrong = ToolCall("assign_seat", {**calls[-1].arguments, "seat_preference": "aisle"})
    assert (
        get_dict_hash(replay(scenario, [*calls[:-1], wrong]).db)
        != samples["1.1.2"]["expected_db_hash"]
    )
