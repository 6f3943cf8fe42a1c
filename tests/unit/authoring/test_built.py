"""A domain written in the authoring format is played: its files become scenarios."""

from __future__ import annotations

import pytest

from pytest_voiceeval import packs
from pytest_voiceeval.data.errors import MissingData
from pytest_voiceeval.packs import find_pack
from pytest_voiceeval.scenario.authoring import build_domain
from pytest_voiceeval.scenario.data_table import DataTable
from pytest_voiceeval.scenario.registry import get_eval_scenario, scenarios_of
from pytest_voiceeval.scenario.replay import replay
from pytest_voiceeval.scoring.signals import SuccessSignal

from .conftest import SCENARIO

CLASS = """

from pytest_voiceeval import Actions, BuiltScenario, Persona, Resources, Task, register_built


class LibraryScenario(BuiltScenario):
    domain = "DOMAIN"
    agent_persona = Persona(role="clerk")
    agent_task = Task(goal="help")
    agent_actions = user_actions = Actions()
    agent_resources = Resources(tools={"FindLoan": {}, "ExtendLoan": {}})
    user_persona = Persona(role="reader")
    user_task = Task(goal="read")
    user_resources = Resources()


register_built(LibraryScenario)
"""


@pytest.fixture
def played(library):
    """Write the domain with a class for its scenarios."""

    def write(**files: str) -> str:
        domain = library(**files)
        code = find_pack(domain).path / "__init__.py"
        code.write_text(code.read_text() + CLASS.replace("DOMAIN", domain))
        return domain

    return write


def _only(domain):
    (name,) = scenarios_of(domain)
    return get_eval_scenario(name)


def test_a_file_is_a_scenario_once_it_is_built(played):
    domain = played()
    build_domain(domain)
    packs.unload_pack(domain)
    scenario = _only(domain)
    assert scenario.name == f"{domain}__1.1"
    assert scenario.record["persona"] == "You are in a hurry."
    assert scenario.success_signals == (SuccessSignal.DB_STATE_MATCH, SuccessSignal.CLEAN_EXIT)
    calls = [call for turn in scenario.reference_dialogue for call in turn.calls]
    end = replay(scenario, calls[:-1])
    assert end.db == scenario.expected_scenario_db
    assert replay(scenario, ()).db != end.db
    assert [call.name for call in scenario.forbidden_calls] == ["extend_loan"]


def test_before_that_it_says_how_to_build_it(played):
    domain = played()
    with pytest.raises(MissingData, match=f"is not built yet: run `voiceeval data build {domain}`"):
        _only(domain)


def test_with_a_reference_answer_actions_decide_as_well(played, tmp_path, monkeypatch):
    domain = played(**{"1.1": f"match: extend_loan.fee\n{SCENARIO}"})
    build_domain(domain, tmp_path / "other")
    packs.unload_pack(domain)
    monkeypatch.setenv("EVAL_DATA_ROOT", str(tmp_path / "other"))
    scenario = _only(domain)
    assert SuccessSignal.ACTION_MATCH in scenario.success_signals
    assert scenario.reference_answer == {"actions": [{"action_type": "extend_loan", "fee": 0}]}
    assert any("| 1.1 | 1.1 |" in line for line in DataTable(domain).lines())
