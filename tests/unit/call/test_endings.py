"""How calls end, against a scripted bot on a real socket."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Any

import pytest

from pytest_voiceeval.call.caller import HangUp
from pytest_voiceeval.call.errors import (
    BotKilled,
    ProtocolFailed,
)
from pytest_voiceeval.call.result import EndReason, ProcessExit


def lines(conversation: Any) -> list[tuple[str, str]]:
    return [(utterance.role, utterance.text) for utterance in conversation.transcript]


async def test_last_words_after_the_exit_are_in_the_transcript(kit: Any) -> None:
    async def reply(bot: Any, heard: str) -> None:
        await bot.exit()
        await bot.send("bot-llm-started")
        await asyncio.sleep(0.2)
        await bot.send(("bot-llm-text", {"text": "Farewell."}), "bot-llm-stopped")

    bot = kit.Bot(reply)
    async with kit.serving(bot):
        conversation = await kit.hold(bot)
    assert conversation.end_reason is EndReason.EXIT
    assert lines(conversation) == [("agent", "Farewell.")]


async def test_an_exit_while_the_caller_thinks_ends_the_call_at_once(kit: Any) -> None:
    async def reply(bot: Any, heard: str) -> None:
        await bot.speak("Bye.")
        await asyncio.sleep(0.1)
        await bot.exit()

    bot = kit.Bot(reply)
    limits = replace(kit.limits, caller=10.0)
    before = time.monotonic()
    async with kit.serving(bot):
        conversation = await kit.hold(bot, kit.Lines("late", think=5.0), limits=limits)
    assert conversation.end_reason is EndReason.EXIT
    assert bot.said == ["Hello"]
    assert time.monotonic() - before < 3


async def test_a_connection_closed_after_the_exit_is_still_an_exit(kit: Any) -> None:
    async def reply(bot: Any, heard: str) -> None:
        await bot.speak("Bye.")
        await bot.exit()
        await bot.hang_up()

    bot = kit.Bot(reply, get_scenario_summary={"actions": [{"a": 1}], "db_hash": None})
    async with kit.serving(bot):
        conversation = await kit.hold(bot)
    assert conversation.end_reason is EndReason.EXIT
    assert bot.connections == 3
    assert conversation.agent.actions == ({"a": 1},)
    assert any("was read on a new one" in warning for warning in conversation.warnings)


async def test_nothing_is_read_on_a_new_connection_from_a_bot_that_keeps_nothing(kit: Any) -> None:
    async def reply(bot: Any, heard: str) -> None:
        await bot.speak("Bye.")
        await bot.hang_up()

    bot = kit.Bot(reply)
    async with kit.serving(bot):
        conversation = await kit.hold(bot, single_connection=True)
    assert conversation.end_reason is EndReason.AGENT_GONE
    assert bot.connections == 1
    assert conversation.agent.actions is None
    assert "the agent's state was not read: its connection is lost" in conversation.warnings


@pytest.mark.parametrize("clean", [True, False], ids=["close frame", "dropped"])
async def test_an_agent_that_leaves_in_the_middle_is_gone(kit: Any, clean: bool) -> None:
    async def reply(bot: Any, heard: str) -> None:
        await bot.send("bot-llm-started", ("bot-llm-text", {"text": "I was ab"}))
        await asyncio.sleep(0.05)
        if clean:
            await bot.hang_up(1001)
        else:
            bot.drop()

    bot = kit.Bot(reply)
    async with kit.serving(bot):
        conversation = await kit.hold(bot)
    assert conversation.end_reason is EndReason.AGENT_GONE
    assert ("1001" if clean else "1006") in conversation.end_detail
    (utterance,) = conversation.transcript
    assert (utterance.text, utterance.partial) == ("I was ab", True)
    assert conversation.agent_turns == 0


def dying(exit_: ProcessExit) -> Any:
    async def reply(bot: Any, heard: str) -> None:
        await bot.speak("I will now")
        bot.drop()

    looks = [None, None, exit_]

    async def probe() -> ProcessExit | None:
        return looks.pop(0) if len(looks) > 1 else looks[0]

    return reply, probe


async def test_a_process_that_ended_by_itself_is_the_agents_fault(kit: Any) -> None:
    reply, probe = dying(ProcessExit(7, None, ("Traceback", "ValueError: boom")))
    bot = kit.Bot(reply)
    async with kit.serving(bot):
        conversation = await kit.hold(bot, process_exit=probe)
    assert conversation.end_reason is EndReason.AGENT_GONE
    assert (
        "exited with code 7; its log ends: Traceback / ValueError: boom" in conversation.end_detail
    )
    assert conversation.process_exit == ProcessExit(7, None, ("Traceback", "ValueError: boom"))
    assert bot.connections == 2, "a dead process is not connected to again"


async def test_a_process_killed_by_somebody_else_is_an_error(kit: Any) -> None:
    reply, probe = dying(ProcessExit(None, 9))
    bot = kit.Bot(reply)
    async with kit.serving(bot):
        with pytest.raises(BotKilled, match="ended by SIGKILL") as caught:
            await kit.hold(bot, process_exit=probe)
    assert caught.value.conversation is not None
    assert caught.value.conversation.transcript[0].text == "I will now"


@pytest.mark.parametrize(
    "reply",
    ["nothing at all", "a run that never ends", "a run without words", "a call in progress"],
)
async def test_an_agent_without_a_sign_is_silent(kit: Any, reply: str) -> None:
    events: dict[str, list[Any]] = {
        "nothing at all": [],
        "a run that never ends": ["bot-llm-started", ("bot-llm-text", {"text": "Well"})],
        "a run without words": ["bot-llm-started", "bot-llm-stopped"],
        "a call in progress": [
            "bot-llm-started",
            "bot-llm-stopped",
            ("llm-function-call-in-progress", {"tool_call_id": "c"}),
        ],
    }

    async def answer(bot: Any, heard: str) -> None:
        await bot.send(("error", {"error": "hiccup", "fatal": False}), *events[reply])

    bot = kit.Bot(answer)
    async with kit.serving(bot):
        conversation = await kit.hold(bot)
    assert conversation.end_reason is EndReason.AGENT_SILENT
    assert "no sign of the agent for 0.5 s (turn_silence) in turn 1" in conversation.end_detail
    assert "its last reported error: hiccup" in conversation.end_detail
    assert ("function call was in progress" in conversation.end_detail) == ("call" in reply)
    assert conversation.agent.actions == (), "a silent agent is still read out"


async def test_a_fatal_error_ends_the_call_with_the_agents_words(kit: Any) -> None:
    async def reply(bot: Any, heard: str) -> None:
        await bot.send(("error", {"error": "context too long", "fatal": True}))

    bot = kit.Bot(reply)
    async with kit.serving(bot):
        conversation = await kit.hold(bot)
    assert (conversation.end_reason, conversation.end_detail) == (
        EndReason.AGENT_ERROR,
        "context too long",
    )


async def test_an_error_that_is_not_fatal_is_noted_and_the_call_goes_on(kit: Any) -> None:
    async def reply(bot: Any, heard: str) -> None:
        await bot.send(("error", {"error": "rate limit", "fatal": False}))
        await bot.speak("Hi.")

    bot = kit.Bot(reply, kit.leaving())
    async with kit.serving(bot):
        conversation = await kit.hold(bot, kit.Lines("Go on."))
    assert conversation.end_reason is EndReason.EXIT
    assert conversation.warnings == ("the agent reported an error: rate limit",)


async def test_the_caller_hangs_up(kit: Any) -> None:
    bot = kit.Bot(kit.saying("Hi."))
    async with kit.serving(bot):
        conversation = await kit.hold(bot, kit.Lines(HangUp("bored")))
    assert (conversation.end_reason, conversation.end_detail) == (
        EndReason.CALLER_HANGUP,
        "bored",
    )
    assert bot.said == ["Hello"]


async def test_last_words_are_delivered_and_acted_upon_before_the_state_is_read(kit: Any) -> None:
    written: list[str] = []

    async def write(bot: Any, heard: str) -> None:
        await bot.send("bot-llm-started", "bot-llm-stopped")
        await bot.send(("llm-function-call-in-progress", {"tool_call_id": "c"}))
        await asyncio.sleep(0.2)
        written.append(heard)
        await bot.send(("llm-function-call-stopped", {"tool_call_id": "c"}))
        await bot.send("bot-llm-started", ("bot-llm-text", {"text": "Done."}), "bot-llm-stopped")

    def summary(arguments: Any) -> dict[str, Any]:
        return {"actions": [{"wrote": text} for text in written], "db_hash": None}

    bot = kit.Bot(kit.saying("Shall I?"), write, get_scenario_summary=summary)
    async with kit.serving(bot):
        conversation = await kit.hold(bot, kit.Lines(HangUp("done", "Yes, go ahead.")))
    assert conversation.end_reason is EndReason.CALLER_HANGUP
    assert conversation.agent.actions == ({"wrote": "Yes, go ahead."},)
    assert lines(conversation)[-2:] == [("user", "Yes, go ahead."), ("agent", "Done.")]


async def test_an_exit_in_answer_to_the_last_words_is_an_exit(kit: Any) -> None:
    bot = kit.Bot(kit.saying("Shall I?"), kit.leaving())
    async with kit.serving(bot):
        conversation = await kit.hold(bot, kit.Lines(HangUp("done", "Yes, bye.")))
    assert conversation.end_reason is EndReason.EXIT


async def test_the_answer_to_the_last_words_is_awaited_within_bounds(kit: Any) -> None:
    async def nothing(bot: Any, heard: str) -> None:
        pass

    bot = kit.Bot(kit.saying("Shall I?"), nothing)
    async with kit.serving(bot):
        conversation = await kit.hold(bot, kit.Lines(HangUp("done", "Yes.")))
    assert conversation.end_reason is EndReason.CALLER_HANGUP
    assert "did not finish its answer to the last words in 0.5 s" in conversation.end_detail


async def ramble(bot: Any, heard: str) -> None:
    await bot.send("bot-llm-started")
    while True:
        await bot.send(("bot-llm-text", {"text": "and "}))
        await asyncio.sleep(0.02)


async def test_the_time_limit_ends_the_call_and_keeps_what_was_begun(kit: Any) -> None:
    bot = kit.Bot(ramble)
    async with kit.serving(bot):
        conversation = await kit.hold(bot, limits=replace(kit.limits, max_duration=0.4))
    assert conversation.end_reason is EndReason.TIMEOUT
    assert conversation.end_detail == "the conversation reached 0.4 s (max_duration)"
    assert 0.4 <= conversation.duration < 1.0
    (utterance,) = conversation.transcript
    assert utterance.partial
    assert utterance.text.startswith("and and")
    assert conversation.agent_turns == 0


async def test_the_scenarios_own_duration_holds_without_ours(kit: Any) -> None:
    bot = kit.Bot(ramble)
    limits = replace(kit.limits, max_duration=None)
    async with kit.serving(bot):
        conversation = await kit.hold(bot, scenario=kit.Scenario(max_duration=0.3), limits=limits)
    assert conversation.end_reason is EndReason.TIMEOUT


async def test_the_time_a_caller_thinks_is_not_the_agents(kit: Any) -> None:
    bot = kit.Bot(kit.saying("Hi."), kit.leaving())
    limits = replace(kit.limits, max_duration=0.5, caller=5.0)
    async with kit.serving(bot):
        conversation = await kit.hold(bot, kit.Lines("x", think=0.8), limits=limits)
    assert conversation.end_reason is EndReason.EXIT


async def test_the_turn_limit_ends_the_call(kit: Any) -> None:
    bot = kit.Bot(kit.saying("Hi."))
    async with kit.serving(bot):
        conversation = await kit.hold(
            bot, kit.Lines(*"abcdef"), limits=replace(kit.limits, max_turns=3)
        )
    assert conversation.end_reason is EndReason.TURN_LIMIT
    assert conversation.end_detail == "3 agent turns (max_turns)"
    assert conversation.agent_turns == 3


async def test_garbage_is_a_broken_protocol_not_an_agent_at_fault(kit: Any) -> None:
    async def garbage(bot: Any, heard: str) -> None:
        await bot.speak("Hi.")
        await bot.send(*[b"\xff\xff\xff"] * 5)

    bot = kit.Bot(garbage)
    async with kit.serving(bot):
        with pytest.raises(ProtocolFailed, match="the agent broke the protocol") as caught:
            await kit.hold(bot, kit.Lines("x", think=0.3))
    assert caught.value.conversation is not None
    assert lines(caught.value.conversation) == [("agent", "Hi.")]


async def test_an_agent_that_takes_no_text_is_named(kit: Any) -> None:
    async def refuse(bot: Any, heard: str) -> None:
        identity = refused.pop()
        await bot.send(("error-response", {"error": "Unsupported type send-text"}, identity))

    refused: list[str] = []
    bot = kit.Bot(refuse)
    receive = bot._receive

    async def noting(number: int, message: Any) -> None:
        refused.append(message.id)
        await receive(number, message)

    bot._receive = noting
    async with kit.serving(bot):
        with pytest.raises(ProtocolFailed, match="Unsupported type send-text"):
            await kit.hold(bot)
