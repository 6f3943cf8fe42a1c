"""Identifiers of the airline: our own agent's lines spell all of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from pytest_voiceeval.packs.eva_airline.base import SPELLED, UNSPOKEN

from pytest_voiceeval.call.result import Conversation, ToolCallSeen, Utterance
from pytest_voiceeval.call.spelling import identifiers_of, misspoken
from pytest_voiceeval.scenario.registry import get_eval_scenario, scenarios_of
from pytest_voiceeval.scenario.replay import replay

if TYPE_CHECKING:
    from pytest_voiceeval.scenario.model import Scenario

from .conftest import DOMAIN

DATE_CHANGE = "eva_airline__voluntary_date_change"


@pytest.fixture(autouse=True)
def _our_edition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EVAL_DATA_ROOT", raising=False)


def scenario_named(name: str) -> Scenario:
    scenario = get_eval_scenario(name)
    assert scenario is not None
    return scenario


def held(scenario: Scenario) -> Conversation:
    """The call as the reference dialogue has it, tool calls with their answers included."""
    assert scenario.reference_dialogue is not None
    spoken = tuple(
        Utterance(turn.role, turn.text, 0.0, 0.0, number // 2 + 1)
        for number, turn in enumerate(scenario.reference_dialogue)
    )
    calls = [call for turn in scenario.reference_dialogue for call in turn.calls]
    seen = tuple(
        ToolCallSeen(1, step.call.name, step.call.arguments, dict(step.result))
        for step in replay(scenario, calls).steps
    )
    return Conversation(scenario.name, DOMAIN, transcript=spoken, tool_calls=seen)


def answering(conversation: Conversation, text: str) -> Conversation:
    return replace(conversation, transcript=(Utterance("agent", text, 0.0, 0.0, 3),))


def test_no_agent_line_of_ours_has_one_as_written() -> None:
    names = scenarios_of(DOMAIN)
    found = {name: misspoken(scenario, held(scenario)) for name in names
             if (scenario := scenario_named(name))}  # fmt: skip
    assert found == dict.fromkeys(names, ())
    assert len(names) == 50


def test_every_kind_of_identifier_is_known() -> None:
    scenario = scenario_named("eva_airline__irrops_cancellation")
    known = identifiers_of(scenario, held(scenario))
    seat, ticket = {"11C"}, {i for i in known.spelled if i.isdigit() and len(i) == 13}
    assert ticket
    assert {"B5TKD9", "LQ274", "PAX001", "HOTEL-B5TKD9", "MEAL-B5TKD9-PAX0"} | seat <= known.spelled
    assert known.unspoken >= {"FL_LQ274_20260307"}
    assert all(name.startswith("FL_") for name in known.unspoken)
    assert not any(name.startswith("FL_") for name in known.spelled)
    assert known.spelled >= set(scenario_airports(scenario))


def scenario_airports(scenario: Scenario) -> set[str]:
    expected = scenario.expected_scenario_db
    assert expected is not None
    return {journey["origin"] for journey in expected["journeys"].values()}


@pytest.mark.parametrize(
    ("text", "identifier"),
    [
        ("You are on LQ522.", "LQ522"),
        ("Your seat is 21A.", "21A"),  # assigned in the call
        ("I found no trip under H7QMV5.", "H7QMV5"),  # misheard: only the call has it
        ("It goes from MSP.", "MSP"),
        ("That is FL_LQ522_20261104.", "FL_LQ522_20261104"),
    ],
)
def test_one_as_written_is_found(text: str, identifier: str) -> None:
    scenario = scenario_named(DATE_CHANGE)
    call = held(scenario)
    misheard = {"confirmation_number": "H7QMV5"}
    call = replace(call, tool_calls=(*call.tool_calls, ToolCallSeen(1, "find", misheard)))
    [found] = misspoken(scenario, answering(call, text)) or [None]
    assert found is not None
    assert (found.turn, found.identifier, found.text) == (3, identifier, text)


def test_the_caller_may_say_what_it_likes() -> None:
    scenario = scenario_named(DATE_CHANGE)
    call = held(scenario)
    line = Utterance("user", "My code is H7QMV4.", 0.0, 0.0, 2)
    assert misspoken(scenario, replace(call, transcript=(line,))) == ()


def test_a_call_without_any_database_still_knows_the_scenario_s() -> None:
    scenario = scenario_named(DATE_CHANGE)
    silent = Conversation(scenario.name, DOMAIN)
    assert misspoken(scenario, answering(silent, "Flight LQ522.")) != ()


def test_domains_without_identifiers_have_no_figure() -> None:
    [name, *_] = scenarios_of("restaurant")
    scenario = scenario_named(name)
    assert misspoken(scenario, answering(Conversation(name, "restaurant"), "R2D2")) is None


def test_no_key_is_both() -> None:
    assert not SPELLED & UNSPOKEN
