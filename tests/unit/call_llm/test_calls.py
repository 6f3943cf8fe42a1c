"""Whole calls: a model as the caller against a bot on a socket. The caller's known faults."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pytest_voiceeval.call.caller_model import CallerModel
from pytest_voiceeval.call.errors import CallerFailed
from pytest_voiceeval.call.limits import CallLimits
from pytest_voiceeval.call.llm_caller import LLMCaller
from pytest_voiceeval.call.result import Conversation, EndReason, Tokens
from tests.unit.call_llm.conftest import CallerScenario
from tests.unit.call_llm.provider import Provider, Rule, Say, error, hang_up, reset

END = hang_up("Thank you, goodbye.", reason="goal_met")


@pytest.fixture
def hold(kit: Any, serve: Any) -> Any:
    """Hold a call between a bot and a model with given answers."""

    async def hold(bot: Any, *answers: Any, **settings: Any) -> tuple[Conversation, Provider]:
        provider = await serve(*answers)
        model = CallerModel(provider.url, "test-model", **settings)
        llm_caller = LLMCaller(CallerScenario(), model)
        async with kit.serving(bot):
            call = await kit.hold(bot, llm_caller, scenario=CallerScenario())
        return call, provider

    return hold


async def test_a_call_until_the_caller_hangs_up(kit: Any, hold: Any) -> None:
    bot = kit.Bot(kit.saying("The shop, hello."), kit.saying("Which one?"), kit.saying("Bye."))
    call, provider = await hold(bot, Say("I want to send something back."), END)
    assert bot.said == ["Hello", "I want to send something back.", "Thank you, goodbye."]
    assert (call.end_reason, call.end_detail) == (
        EndReason.CALLER_HANGUP,
        "the caller hung up: goal_met",
    )
    assert call.user is not None
    assert call.user.tokens == Tokens(2, 200, 20)
    assert len(provider.requests) == 2


async def test_an_agent_that_ends_the_call_after_the_last_words_ended_it(
    kit: Any, hold: Any
) -> None:
    bot = kit.Bot(kit.saying("The shop, hello."), kit.leaving("Goodbye."))
    call, _ = await hold(bot, END)
    assert call.end_reason is EndReason.EXIT


async def test_confirmation_and_end_in_one_message(kit: Any, hold: Any) -> None:
    """US-01: the words are delivered, and the write they cause is awaited and read."""

    async def write(bot: Any, heard: str) -> None:
        await asyncio.sleep(0.2)
        bot.answers["get_scenario_summary"] = {"actions": [{"name": heard}], "db_hash": None}
        await bot.speak("It is done. Anything else?")

    bot = kit.Bot(kit.saying("Shall I send it back?"), write, kit.leaving())
    call, _ = await hold(bot, Say("Yes, go ahead. ###STOP###"), Say("No, thanks. ###STOP###"))
    assert bot.said == ["Hello", "Yes, go ahead.", "No, thanks."]
    assert call.agent.actions == ({"name": "Yes, go ahead."},)
    assert call.end_reason is EndReason.EXIT


async def test_goodbye_in_a_sentence(kit: Any, hold: Any) -> None:
    """US-03: the call goes on."""
    bot = kit.Bot(kit.saying("The shop, hello."), kit.saying("We have sales."), kit.saying("Bye."))
    call, _ = await hold(bot, Say("Say goodbye to high prices, they say. Goodbye, I say!"), END)
    assert call.agent_turns == 3


async def test_a_repeated_opening_is_flagged(kit: Any, hold: Any) -> None:
    """US-05: it reaches the agent, whose duplicate record is in its state, and is said."""
    records: list[Any] = []

    async def record(bot: Any, heard: str) -> None:
        records.append({"name": "create", "text": heard})
        bot.answers["get_scenario_summary"] = {"actions": records, "db_hash": None}
        await bot.speak("I have noted it.")

    opening = "I would like to send back a broken lamp."
    bot = kit.Bot(kit.saying("Hello."), record, record, kit.saying("Bye."))
    call, _ = await hold(bot, Say(opening), Say(opening), END)
    assert len(call.agent.actions or ()) == 2
    assert (
        "the caller's model, once: said again what it had said before: " + repr(opening)
        in call.warnings
    )


@pytest.mark.parametrize("empty", ["", "  \n ", "<think>Hm.</think>", "*sighs*"])
async def test_one_empty_answer(kit: Any, hold: Any, empty: str) -> None:
    """US-07 and US-09: it is asked again, and the agent never receives an empty text."""
    bot = kit.Bot(kit.saying("Hello."), kit.saying("Which one?"), kit.saying("Bye."))
    call, _ = await hold(bot, Say("A return."), Say(empty), Say("The lamp."), END)
    assert bot.said == ["Hello", "A return.", "The lamp.", "Thank you, goodbye."]
    assert call.end_reason is EndReason.CALLER_HANGUP


async def test_two_empty_answers_are_the_simulators_fault(kit: Any, hold: Any) -> None:
    """US-07, US-09 and US-12: the error names the caller, and the agent heard nothing of it."""
    bot = kit.Bot(kit.saying("Hello."), kit.saying("Which one?"))
    with pytest.raises(CallerFailed, match="simulated caller answered with no words") as raised:
        await hold(bot, Say("A return."), Say(""), Say(" "))
    assert bot.said == ["Hello", "A return."]
    assert raised.value.code == "caller_failed"
    assert raised.value.conversation.end_reason is None
    assert [u.text for u in raised.value.conversation.transcript][-1] == "Which one?"


async def test_a_provider_that_is_gone_is_the_simulators_fault(kit: Any, hold: Any) -> None:
    """US-12."""
    bot = kit.Bot(kit.saying("Hello."))
    with pytest.raises(CallerFailed, match=r"^the simulated caller's model did not answer: http"):
        await hold(bot, reset, attempts=2)


async def test_an_identifier_out_of_nowhere(kit: Any, hold: Any) -> None:
    """US-14: the report shows it, so that a failure can be laid at the caller's door."""
    bot = kit.Bot(kit.saying("Which order?"), kit.saying("I find none. I have S, nine, zero, one."))
    answers = (
        Say("It is O, R, D, dash, nine, nine, one, seven."),
        Say("Then O, R, D, dash, eight, eight, one, five, or your S901?"),
        END,
    )
    call, _ = await hold(bot, *answers)
    [warning] = call.warnings
    assert warning == (
        "the caller's model, once: said an identifier that neither its scenario nor the agent had "
        "named: 'ORD9917'"
    )


async def test_an_agent_that_ends_the_call_meanwhile(kit: Any, hold: Any) -> None:
    async def leave(bot: Any, heard: str) -> None:
        await bot.speak("Hello.")
        await asyncio.sleep(0.1)
        await bot.exit()

    call, provider = await hold(kit.Bot(leave), Say("Hi.", wait=5.0))
    assert call.end_reason is EndReason.EXIT
    assert call.user is not None
    assert call.user.tokens is None
    assert len(provider.requests) == 1


async def test_many_calls_at_once_do_not_wait_for_each_other(kit: Any, serve: Any) -> None:
    def answer(request: Any) -> Say:
        turns = sum(message["role"] == "assistant" for message in request.messages)
        return Say("And then?", wait=0.2) if turns < 3 else END

    provider = await serve(Rule(answer))
    model = CallerModel(provider.url, "m")

    async def call() -> Conversation:
        async with kit.serving(kit.Bot(kit.saying("Yes."))) as bot:
            scenario = CallerScenario()
            result: Conversation = await kit.hold(
                bot, LLMCaller(scenario, model), scenario=scenario, limits=CallLimits()
            )
            return result

    begin = asyncio.get_running_loop().time()
    calls = await asyncio.gather(*(call() for _ in range(20)))
    assert {found.agent_turns for found in calls} == {5}
    assert asyncio.get_running_loop().time() - begin < 20 * 0.6


async def test_what_a_broken_call_has_cost_is_kept(kit: Any, hold: Any) -> None:
    bot = kit.Bot(kit.saying("Hello."), kit.saying("Which one?"))
    with pytest.raises(CallerFailed) as raised:
        await hold(bot, Say("A return."), error(401, "No such key"))
    assert raised.value.conversation.user.tokens == Tokens(1, 100, 10)


async def test_a_caller_that_was_never_asked_has_no_side(kit: Any, hold: Any) -> None:
    bot = kit.Bot(kit.saying("Hello."))
    with pytest.raises(CallerFailed) as raised:
        await hold(bot, error(401, "No such key"))
    assert raised.value.conversation.user is None
