"""The loop without a script: a caller's model and an agent's model that follow rules.

Each sees the messages and tools of its requests and nothing else: neither the reference answer, nor
the scenario, nor the other side's prompt. They meet over the real wire, through the stock bot.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from pytest_voiceeval.bots.process import start_bot, stock_bot_command
from pytest_voiceeval.bots.script_player import Script, next_reply
from pytest_voiceeval.call.caller_model import CallerModel
from pytest_voiceeval.call.llm_caller import LLMCaller
from pytest_voiceeval.call.result import CallResult, EndReason
from pytest_voiceeval.call.score import score
from pytest_voiceeval.call.session import AgentLink, CallPlan, run_call
from pytest_voiceeval.packs import load_pack
from pytest_voiceeval.scenario.model import Scenario
from pytest_voiceeval.scenario.registry import get_eval_scenario
from tests.unit.call_llm.provider import Provider, Request, Rule, Say, error, serving
from tests.unit.call_llm.rule_agent import agent, careless_agent
from tests.unit.call_llm.rule_caller import caller
from tests.unit.call_llm.rule_model import answer_by

SEEDS = (
    "voluntary_date_change",
    "irrops_cancellation",
    "missed_flight_standby",
    "cancellation_refund",
    "escalation_edge_case",
)
CALLS = (
    *(("rules", "rules", name) for name in SEEDS),
    ("rules", "no-tools", "cancellation_refund"),
    ("careless", "rules", "escalation_edge_case"),
    ("script", "rules", "cancellation_refund"),
)
"""Agent, caller, scenario."""

Results = Mapping[tuple[str, str, str], CallResult]


@functools.cache
def scenario_of(name: str) -> Scenario:
    load_pack("eva_airline")
    scenario = get_eval_scenario(f"eva_airline__{name}")
    assert scenario is not None
    return scenario


def agents_answer(request: Request) -> Any:
    """Of several agents, the one that the path of the request names."""
    kind, name, _ = request.path.split("/")[1].split(".")
    if kind == "script":
        script = Script(scenario_of(name).reference_dialogue or ())
        reply = next_reply(request.messages, script)
        calls = tuple((call.name, dict(call.arguments)) for call in reply.calls)
        return Say(reply.text, calls=calls, call_id=f"call_{reply.turn}_{reply.step}")
    return answer_by(careless_agent if kind == "careless" else agent, request)


def callers_answer(request: Request) -> Any:
    if "/no-tools/" in request.path and "tools" in request.body:
        return error(400, "rules:latest does not support tools")
    return answer_by(caller, request)


async def hold(bot_url: str, callers_url: str, names: tuple[str, str, str]) -> CallResult:
    of_agent, of_caller, name = names
    scenario = scenario_of(name)
    model = CallerModel(callers_url.replace("/v1", f"/{of_caller}/v1"), "rules")
    link = AgentLink(bot_url.replace("{session}", f"{of_agent}.{name}.{of_caller}"))
    call = await run_call(CallPlan(scenario, link, LLMCaller(scenario, model)))
    return await asyncio.to_thread(score, scenario, call)


async def hold_all(log: Path, callers: Provider) -> Results:
    """All calls at once, through one stock bot."""
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(serving(callers))
        agents = await stack.enter_async_context(serving(Provider(Rule(agents_answer))))
        url = agents.url.replace("/v1", "/{session}/v1")
        bot = await stack.enter_async_context(
            start_bot(stock_bot_command("agent", llm_url=url, log_path=log))
        )
        found = await asyncio.gather(*(hold(bot.url, callers.url, names) for names in CALLS))
        return dict(zip(CALLS, found, strict=True))


@pytest.fixture(scope="module")
def callers() -> Provider:
    return Provider(Rule(callers_answer))


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
    result = results["rules", "rules", name]
    assert result.passed, told(result)
    assert result.end_reason is EndReason.EXIT
    assert result.changes in {None, ()}


@pytest.mark.parametrize("name", SEEDS)
def test_nothing_had_to_be_handled_and_the_tokens_are_known(name: str, results: Results) -> None:
    result = results["rules", "rules", name]
    assert of_caller(result) == []
    assert result.tokens["agent"] is not None
    assert result.tokens["user"] is not None
    said = [u for u in result.transcript if u.role == "user"]
    assert result.tokens["user"].calls == len(said)


def test_the_agent_does_what_the_rules_say(results: Results) -> None:
    names = {
        name: [call.name for call in results["rules", "rules", name].tool_calls if call.record]
        for name in SEEDS
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


def test_the_callers_model_saw_its_own_side_only(callers: Provider, results: Results) -> None:
    assert results
    shown = "\n".join(str(request.body) for request in callers.requests)
    for name in ("get_reservation", "FL_LQ", "PAX001", "available_seats", "end_conversation"):
        assert name not in shown


def test_a_caller_without_tools_completes_it_too(results: Results) -> None:
    result = results["rules", "no-tools", "cancellation_refund"]
    assert result.passed, told(result)
    assert of_caller(result) == [
        "the caller's model, once: asked for an end marker because its endpoint takes no tools",
        "the caller's model, once: ended the call in plain text instead of by the tool: goal_met",
    ]


def test_an_agent_that_breaks_a_rule_fails(results: Results) -> None:
    result = results["careless", "rules", "escalation_edge_case"]
    assert result.passed is False, told(result)
    assert result.why_failed == ("db_state_match",)
    assert [call.name for call in result.tool_calls if call.record] == ["issue_meal_voucher"]


def test_the_caller_against_an_agent_that_plays_a_script(results: Results) -> None:
    result = results["script", "rules", "cancellation_refund"]
    assert result.passed, told(result)
