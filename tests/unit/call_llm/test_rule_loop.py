"""The loop without a script: a caller's model and an agent's model that follow rules.

Each sees the messages and tools of its requests and nothing else: neither the reference answer, nor
the scenario, nor the other side's prompt. They meet over the real wire, through the stock bot.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from pytest_voiceeval.bots.process import start_bot, stock_bot_command
from pytest_voiceeval.bots.script_player import Script
from pytest_voiceeval.bots.scripted_model import serve_scripted_model
from pytest_voiceeval.call.caller_model import CallerModel
from pytest_voiceeval.call.llm_caller import LLMCaller
from pytest_voiceeval.call.result import CallResult, EndReason
from pytest_voiceeval.call.score import score
from pytest_voiceeval.call.session import AgentLink, CallPlan, run_call
from pytest_voiceeval.packs import load_pack
from pytest_voiceeval.scenario.model import Scenario
from pytest_voiceeval.scenario.registry import get_eval_scenario
from tests.unit.call_llm import rule_agent
from tests.unit.call_llm.provider import Provider, Request, Rule, error, serving
from tests.unit.call_llm.rule_caller import caller
from tests.unit.call_llm.rule_model import _answer, model

SEEDS = (
    "voluntary_date_change",
    "irrops_cancellation",
    "missed_flight_standby",
    "cancellation_refund",
    "escalation_edge_case",
)
Results = Mapping[str, CallResult]


def scenario_of(name: str) -> Scenario:
    load_pack("eva_airline")
    scenario = get_eval_scenario(f"eva_airline__{name}")
    assert scenario is not None
    return scenario


async def hold(name: str, agent_url: str, caller_url: str) -> CallResult:
    scenario = scenario_of(name)
    playing = LLMCaller(scenario, CallerModel(caller_url, "rules"))
    url = agent_url.replace("{session}", name)
    call = await run_call(CallPlan(scenario, AgentLink(url), playing))
    return await asyncio.to_thread(score, scenario, call)


async def hold_all(log: Path, callers: Provider, names: tuple[str, ...] = SEEDS) -> Results:
    """One call of each scenario, all at once, through one stock bot."""
    async with serving(model(rule_agent.agent)) as agents, serving(callers):
        command = stock_bot_command("agent", llm_url=agents.url, log_path=log)
        async with start_bot(command) as bot:
            calls = (hold(name, bot.url, callers.url) for name in names)
            return dict(zip(names, await asyncio.gather(*calls), strict=True))


@pytest.fixture(scope="module")
def callers() -> Provider:
    return model(caller)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory, callers: Provider) -> Results:
    log = tmp_path_factory.mktemp("bots") / "agent.log"
    return asyncio.run(hold_all(log, callers))


def told(result: CallResult) -> str:
    """A call for people, should a test fail."""
    lines = [f"{u.role}: {u.text}" for u in result.transcript]
    calls = [f"{c.name}({c.arguments})" for c in result.tool_calls]
    return "\n".join(["", *lines, *calls, str(result.changes), result.end_detail])


def of_caller(result: CallResult) -> list[str]:
    return [warning for warning in result.warnings if "caller" in warning]


@pytest.mark.parametrize("name", SEEDS)
def test_the_loop_completes(name: str, results: Results) -> None:
    result = results[name]
    assert result.passed, told(result)
    assert result.end_reason is EndReason.EXIT
    assert result.changes in {None, ()}


@pytest.mark.parametrize("name", SEEDS)
def test_nothing_had_to_be_handled_and_the_cost_is_known(name: str, results: Results) -> None:
    result = results[name]
    assert of_caller(result) == []
    assert result.tokens["user"] is not None
    assert result.tokens["agent"] is not None
    said = [u for u in result.transcript if u.role == "user"]
    assert result.tokens["user"].calls == len(said)


def test_no_model_saw_what_it_must_not(callers: Provider, results: Results) -> None:
    gold = [scenario_of(name).expected_scenario_db for name in SEEDS]
    assert all(gold)
    seats = [
        result.tool_calls[-2].result["seat_assigned"]
        for result in results.values()
        if result.tool_calls[-2].name == "assign_seat"
    ]
    shown = "\n".join(str(request.body) for request in callers.requests)
    assert seats
    assert not any(seat in shown for seat in seats)
    assert "get_reservation" not in shown
    assert "FL_LQ" not in shown


def test_the_agent_does_what_the_rules_say(results: Results) -> None:
    names = {
        name: [call.name for call in results[name].tool_calls if call.record] for name in SEEDS
    }
    assert names == {
        "voluntary_date_change": ["rebook_flight", "assign_seat"],
        "irrops_cancellation": [
            "rebook_flight",
            "assign_seat",
            "issue_meal_voucher",
            "issue_hotel_voucher",
        ],
        "missed_flight_standby": ["rebook_flight", "assign_seat", "add_to_standby"],
        "cancellation_refund": ["cancel_reservation"] * 2 + ["process_refund"] * 2,
        "escalation_edge_case": [],
    }


def test_a_caller_without_tools_completes_it_too(tmp_path: Path) -> None:
    def refuse(request: Request) -> Any:
        if "tools" in request.body:
            return error(400, "rules:latest does not support tools")
        return _answer(caller, request)

    name = "cancellation_refund"
    found = asyncio.run(hold_all(tmp_path / "agent.log", Provider(Rule(refuse)), (name,)))
    assert found[name].passed, told(found[name])
    assert of_caller(found[name]) == [
        "the caller's model, once: asked for an end marker because its endpoint takes no tools",
        "the caller's model, once: ended the call in plain text instead of by the tool: goal_met",
    ]


async def test_a_careless_agent_is_found_out(tmp_path: Path) -> None:
    """The caller's side alone proves nothing: an agent that gives in fails."""

    def generous(prompt: str, tools: frozenset[str]) -> Any:
        return rule_agent.agent(prompt.replace("| $75 | $75 |", "| $0 | $0 |"), tools)

    name = "voluntary_date_change"
    async with AsyncExitStack() as stack:
        agents = await stack.enter_async_context(serving(model(generous)))
        callers = await stack.enter_async_context(serving(model(caller)))
        command = stock_bot_command("agent", llm_url=agents.url, log_path=tmp_path / "agent.log")
        bot = await stack.enter_async_context(start_bot(command))
        result = await hold(name, bot.url, callers.url)
    assert result.passed is False
    assert result.why_failed == ("db_state_match",)


async def test_the_caller_against_an_agent_that_plays_a_script(tmp_path: Path) -> None:
    hold_one: Callable[..., Any] = hold
    async with AsyncExitStack() as stack:
        scripts = await stack.enter_async_context(serve_scripted_model())
        callers = await stack.enter_async_context(serving(model(caller)))
        for name in SEEDS:
            scripts.play(name, Script(scenario_of(name).reference_dialogue or ()))
        command = stock_bot_command(
            "agent", llm_url=scripts.url("{session}"), log_path=tmp_path / "agent.log"
        )
        bot = await stack.enter_async_context(start_bot(command))
        found = await asyncio.gather(*(hold_one(name, bot.url, callers.url) for name in SEEDS))
    assert [result.signals["db_state_match"] for result in found] == [True] * 5
