"""The 31 scenarios: what they are, that their dialogues pass, and that a bad agent does not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_voiceeval.bots.faults import FaultPlan, NotApplicable, plan_fault
from pytest_voiceeval.scenario.auditing import check_domain
from pytest_voiceeval.scenario.checks import needs_judge, problems_of
from pytest_voiceeval.scenario.registry import location_of, scenarios_of
from pytest_voiceeval.scenario.replay import agent_tools, initial_state, replay
from pytest_voiceeval.scoring.signals import SuccessSignal

from .conftest import ALL, DECIDED_BY_ACTIONS, NAMES, gold_calls, matches, passes, scenario_of

FLAGS = ("ignore_capitalization", "ignore_punctuation", "clean_text")
SIGNALS = {
    "restaurant": {SuccessSignal.ACTION_MATCH, SuccessSignal.CLEAN_EXIT},
    "customer_service": {SuccessSignal.ACTION_MATCH, SuccessSignal.CLEAN_EXIT},
    "qa": {SuccessSignal.JUDGE_PASSED, SuccessSignal.CLEAN_EXIT},
}
SECONDS = {"restaurant": 180, "customer_service": 120, "qa": 60}
FLAGS_SET = {"restaurant": FLAGS[:2], "customer_service": FLAGS, "qa": FLAGS}


@pytest.mark.parametrize("domain", NAMES)
def test_a_domain_has_these_scenarios(domain: str) -> None:
    assert scenarios_of(domain) == [f"{domain}__{name}" for name in NAMES[domain]]


@pytest.mark.parametrize("name", ALL)
def test_signals_limits_and_flags(name: str) -> None:
    scenario = scenario_of(name)
    domain = scenario.domain
    assert set(scenario.success_signals or ()) == SIGNALS[domain]
    seconds = 120 if "waitlist" in name else SECONDS[domain]
    assert scenario.max_duration == seconds
    assert tuple(flag for flag in FLAGS if getattr(scenario, flag)) == FLAGS_SET[domain]
    assert needs_judge(scenario) is (domain == "qa")


@pytest.mark.parametrize("name", ALL)
def test_the_reference_dialogue_leads_to_the_reference(name: str) -> None:
    scenario = scenario_of(name)
    outcome = replay(scenario, gold_calls(name))
    assert problems_of(scenario) == []
    assert outcome.refused == ()
    assert matches(name, outcome) is True
    assert matches(name, replay(scenario, ())) is False


@pytest.mark.parametrize("domain", NAMES)
def test_data_check_has_nothing_to_say(domain: str) -> None:
    audit = check_domain(domain)
    assert audit.problems == []
    assert [row.id for row in audit.rows] == list(NAMES[domain])


@pytest.mark.parametrize("name", ALL)
def test_it_is_found_in_its_data_file(name: str) -> None:
    path, line = location_of(name)
    text = path.read_text(encoding="utf-8").splitlines()
    assert text[line - 1] == f"- id: {scenario_of(name).short_name}"


# -- faults


@pytest.mark.parametrize("fault", ["wrong-field", "missing-call", "extra-write", "do-nothing"])
@pytest.mark.parametrize("name", DECIDED_BY_ACTIONS)
def test_a_fault_of_what_is_written_spoils_the_match(name: str, fault: str) -> None:
    plan = plan_fault(scenario_of(name), fault)
    assert isinstance(plan, FaultPlan)
    calls = [call for turn in plan.dialogue for call in turn.calls]
    assert passes(name, gold_calls(name)) is True
    assert passes(name, calls) is False


@pytest.mark.parametrize("fault", ["wrong-field", "missing-call", "extra-write"])
def test_what_only_a_judge_sees_is_no_fault_to_plan(fault: str) -> None:
    plan = plan_fault(scenario_of("qa__capital_france"), fault)
    assert isinstance(plan, NotApplicable)
    assert plan.reason.endswith("none of its signals looks at what the tools wrote")


@pytest.mark.parametrize("name", DECIDED_BY_ACTIONS)
def test_forbidden_calls_are_possible_and_spoil_the_match(name: str) -> None:
    for call in scenario_of(name).forbidden_calls:
        calls = [*gold_calls(name)[:-1], call]
        assert not replay(scenario_of(name), calls).steps[-1].refused
        assert passes(name, calls) is False


# -- prompts and tools


TODAY = "2026-03-12"  # said in the policy: no secret


def secrets(reference: Any) -> set[str]:
    """Texts of a reference by which it would be recognised: names, numbers, amounts."""
    if isinstance(reference, dict):
        return set().union(*(secrets(value) for value in reference.values()))
    if isinstance(reference, list):
        return set().union(*(secrets(value) for value in reference))
    return {reference} if isinstance(reference, str) else set()


@pytest.mark.parametrize("domain", ["restaurant", "customer_service"])
def test_no_prompt_holds_anothers_answer(domain: str) -> None:
    names = [f"{domain}__{name}" for name in NAMES[domain]]
    for name in names:
        scenario = scenario_of(name)
        said = scenario.get_agent_prompt() + scenario.get_user_prompt()
        others = [secrets(scenario_of(other).reference_answer) for other in names if other != name]
        telling = {text for texts in others for text in texts if any(map(str.isdigit, text))}
        telling -= {text for text in telling if len(text) == 1}  # a quantity
        own = secrets(scenario.reference_answer)
        leaked = {text for text in telling - own - {TODAY} if text in said}
        assert leaked == set(), name


def test_no_prompt_of_qa_holds_an_answer() -> None:
    for name in ALL[-10:]:
        prompts = scenario_of(name).get_agent_prompt() + scenario_of(name).get_user_prompt()
        for other in ALL[-10:]:
            assert scenario_of(other).reference_answer["answer"] not in prompts


@pytest.mark.parametrize("name", ALL)
def test_the_agents_prompt_does_not_know_the_call(name: str) -> None:
    scenario = scenario_of(name)
    prompt = scenario.get_agent_prompt()
    answers = secrets(scenario.reference_answer)
    telling = {text for text in answers if len(text) > 1 and any(map(str.isdigit, text))}
    assert not [text for text in telling - {TODAY} if text in prompt]


def schema_problems(schema: dict[str, Any]) -> list[str]:
    """What is wrong with a JSON Schema of the few kinds a model is given."""
    kind = schema.get("type")
    known = {"string", "integer", "number", "boolean", "array", "object"}
    problems = [] if kind in known else [f"type {kind!r}"]
    if kind == "array":
        problems += schema_problems(schema["items"])
    if kind == "object":
        properties = schema["properties"]
        problems += [f"required {key}" for key in schema["required"] if key not in properties]
        problems += [text for inner in properties.values() for text in schema_problems(inner)]
    if not isinstance(schema.get("enum", []), list):
        problems.append("enum")
    return problems


@pytest.mark.parametrize("domain", NAMES)
def test_schemas_are_valid(domain: str) -> None:
    scenario = scenario_of(f"{domain}__{NAMES[domain][0]}")
    tools = agent_tools(scenario, initial_state(scenario))
    assert len(tools) == len(json.loads(scenario.get_agent_tools()))
    for tool in tools.values():
        parameters = tool.schema.to_openai()["function"]["parameters"]
        assert schema_problems(parameters) == [], tool.name
        for field in parameters["properties"].values():
            assert field["description"]
