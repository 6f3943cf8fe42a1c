from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_voiceeval.bots.script_file import ScriptFileError, keys_of, script_from_file
from pytest_voiceeval.scenario.dialogue import ToolCall
from pytest_voiceeval.scenario.model import Scenario
from pytest_voiceeval.scoring.signals import SuccessSignal


class AirlineScenario(Scenario):
    name = "airline__date_change"
    success_signals = (SuccessSignal.CLEAN_EXIT,)
    eva_id = "1.1.2"


CALL = {"name": "rebook_flight", "arguments": {"journey_id": "FL_1"}}
LOOK_UP = {"name": "get_reservation", "arguments": {"confirmation_number": "ABC123"}}


@pytest.fixture
def scenario() -> Scenario:
    return AirlineScenario()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "calls.json"


def write(file: Path, record: Any, key: str = "1.1.2") -> None:
    file.write_text(json.dumps({"records": {key: record}}))


@pytest.mark.parametrize(
    "key", ["airline__date_change", "airline::date_change", "date_change", "1.1.2"]
)
def test_finds_the_record_of_a_scenario(scenario: Scenario, file: Path, key: str) -> None:
    write(file, {"calls": [CALL], "authentication": [LOOK_UP], "expected_db_hash": "x"}, key)
    dialogue = script_from_file(file, scenario)
    calls = [call for turn in dialogue for call in turn.calls]
    assert calls == [
        ToolCall("get_reservation", {"confirmation_number": "ABC123"}),
        ToolCall("rebook_flight", {"journey_id": "FL_1"}),
        ToolCall("end_conversation", {}),
    ]
    assert sum(turn.role == "agent" for turn in dialogue) >= 3


def test_the_most_exact_key_wins(scenario: Scenario) -> None:
    assert keys_of(scenario) == [
        "airline__date_change",
        "airline::date_change",
        "date_change",
        "1.1.2",
    ]


def test_a_record_without_calls_still_is_a_conversation(scenario: Scenario, file: Path) -> None:
    write(file, {"calls": []})
    dialogue = script_from_file(file, scenario)
    assert [call.name for turn in dialogue for call in turn.calls] == ["end_conversation"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "calls.json:1: "),
        ("[]", 'expected {"records": {…}} with one object per scenario'),
        ('{"records": []}', 'expected {"records": {…}}'),
        ('{"records": {}}', "has no record for airline__date_change (looked for airline__date_"),
        ('{"records": {"date_chance": {}}}', "closest are date_chance"),
        ('{"records": {"1.1.2": []}}', "record 1.1.2: must be an object with 'calls', not list"),
        ('{"records": {"1.1.2": {}}}', "record 1.1.2: has no 'calls'"),
        ('{"records": {"1.1.2": {"calls": {}}}}', "record 1.1.2, calls: expected a list of calls"),
        (
            '{"records": {"1.1.2": {"calls": [{"name": "a"}, {"name": 7}]}}}',
            "record 1.1.2, calls, call 2: 'name' must be the name of a function",
        ),
        (
            '{"records": {"1.1.2": {"calls": [], "authentication": [7]}}}',
            "record 1.1.2, authentication, call 1: must be an object",
        ),
        (
            '{"records": {"1.1.2": {"calls": [{"name": "end_conversation"}, {"name": "a"}]}}}',
            "end_conversation ends the call, so it must come last",
        ),
    ],
    ids=[
        "no JSON",
        "no object",
        "records are no object",
        "no record",
        "a similar record",
        "record is no object",
        "no calls",
        "calls are no list",
        "a call without a name",
        "authentication",
        "calls after the end",
    ],
)
def test_says_what_is_wrong_and_where(
    scenario: Scenario, file: Path, content: str, problem: str
) -> None:
    file.write_text(content)
    with pytest.raises(ScriptFileError) as caught:
        script_from_file(file, scenario)
    assert str(caught.value).startswith(f"script file {file}")
    assert problem in str(caught.value)


def test_a_missing_file_is_named(scenario: Scenario, tmp_path: Path) -> None:
    with pytest.raises(ScriptFileError, match=r"script file .*none\.json: there is no such file"):
        script_from_file(tmp_path / "none.json", scenario)


def test_the_sample_calls_of_the_benchmark(upstream_root: Path) -> None:
    file = upstream_root / "eva_sample_calls.json"
    records = json.loads(file.read_text())["records"]
    for key, record in records.items():
        scenario = AirlineScenario()
        scenario.eva_id = key
        dialogue = script_from_file(file, scenario)
        names = [call.name for turn in dialogue for call in turn.calls]
        wanted = [call["name"] for call in record["authentication"] + record["calls"]]
        assert names == [*wanted, "end_conversation"]
