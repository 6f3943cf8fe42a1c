"""What is read from the agent after the talk, against a scripted bot on a real socket."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Any

import pytest

from pytest_voiceeval.call.errors import (
    BotKilled,
    ProtocolFailed,
    StateUnreadable,
)
from pytest_voiceeval.call.result import EndReason, ProcessExit
from pytest_voiceeval.scoring.db_hash import get_dict_hash


async def test_the_database_is_pulled_only_when_the_hash_differs(kit: Any) -> None:
    expected = {"orders": {"1": {"state": "returned"}}}
    actual = {"orders": {"1": {"state": "open"}}}

    def summary(db: Any) -> Any:
        def answer(arguments: dict[str, Any]) -> dict[str, Any]:
            reply = {"actions": [], "db_hash": get_dict_hash(db)}
            return {**reply, "db": db} if arguments["include_db"] else reply

        return answer

    for db, pulls in ((expected, [False]), (actual, [False, True])):
        bot = kit.Bot(kit.leaving(), get_scenario_summary=summary(db))
        async with kit.serving(bot):
            conversation = await kit.hold(bot, scenario=kit.Scenario(expected_scenario_db=expected))
        asked = [d["include_db"] for _, name, d in bot.received if name == "get_scenario_summary"]
        assert asked == pulls
        assert conversation.expected_hash == get_dict_hash(expected)
        assert conversation.agent.db == (None if db is expected else actual)


async def test_predicates_ask_for_the_database_at_once(kit: Any) -> None:
    bot = kit.Bot(
        kit.leaving(), get_scenario_summary={"actions": [], "db_hash": "x", "db": {"t": {}}}
    )
    async with kit.serving(bot):
        conversation = await kit.hold(bot, scenario=kit.Scenario(db_state_assertions=[{}]))
    assert bot.arguments("get_scenario_summary") == {"include_db": True}
    assert conversation.agent.db == {"t": {}}


async def test_a_state_the_agent_cannot_tell_is_an_error_when_it_is_needed(kit: Any) -> None:
    error = RuntimeError("StateError: NaN at orders.1.price")
    bot = kit.Bot(kit.leaving(), get_scenario_summary=error)
    async with kit.serving(bot):
        with pytest.raises(StateUnreadable, match=r"NaN at orders\.1\.price") as caught:
            await kit.hold(bot, scenario=kit.Scenario(expected_scenario_db={}))
        assert caught.value.conversation is not None
        assert caught.value.conversation.end_reason is EndReason.EXIT
        conversation = await kit.hold(bot)
    assert conversation.agent.actions is None
    assert "NaN at orders.1.price" in conversation.warnings[0]


@pytest.mark.parametrize("needed", [True, False])
async def test_a_summary_that_is_none_counts_like_a_refusal(kit: Any, needed: bool) -> None:
    bot = kit.Bot(kit.leaving(), get_scenario_summary="oops")
    scenario = kit.Scenario(reference_answer={"actions": [{}]} if needed else None)
    async with kit.serving(bot):
        if needed:
            with pytest.raises(StateUnreadable, match="summary is 'oops', expected an object"):
                await kit.hold(bot, scenario=scenario)
        else:
            conversation = await kit.hold(bot, scenario=scenario)
            assert "expected an object" in conversation.warnings[0]


async def test_missing_read_outs_are_noted(kit: Any) -> None:
    bot = kit.Bot(
        kit.leaving(), get_context_history=kit.no_reply, get_scenario_summary=kit.no_reply
    )
    async with kit.serving(bot):
        conversation = await kit.hold(bot)
    context, summary = conversation.warnings
    assert "no reply to 'get_context_history' within 0.4 s" in context
    assert "no reply to 'get_scenario_summary' within 0.4 s" in summary
    assert (conversation.agent.context, conversation.agent.actions) == (None, None)


async def test_a_state_the_verdict_needs_must_be_told(kit: Any) -> None:
    bot = kit.Bot(kit.leaving(), get_scenario_summary=kit.no_reply)
    async with kit.serving(bot):
        with pytest.raises(StateUnreadable, match="no reply to 'get_scenario_summary'"):
            await kit.hold(bot, scenario=kit.Scenario(expected_scenario_db={}))


@pytest.mark.parametrize(
    ("context", "says"),
    [
        (RuntimeError("nope"), "was refused: nope"),
        ({"context": "__import__('os')"}, "the agent's context history cannot be read"),
        ({"context": [1]}, "expected a list of message objects"),
    ],
)
async def test_an_unreadable_context_is_never_fatal(kit: Any, context: Any, says: str) -> None:
    bot = kit.Bot(kit.leaving(), get_context_history=context)
    async with kit.serving(bot):
        conversation = await kit.hold(bot)
    assert conversation.agent.context is None
    assert says in conversation.warnings[0]


async def test_odd_summaries_are_read_as_far_as_they_go(kit: Any) -> None:
    bot = kit.Bot(kit.leaving(), get_scenario_summary={"actions": [1, {"a": 1}], "db_hash": 5})
    async with kit.serving(bot):
        conversation = await kit.hold(bot)
        bot.answers["get_scenario_summary"] = {"actions": "none"}
        second = await kit.hold(bot)
    assert conversation.agent.actions == ({"a": 1},)
    assert conversation.agent.db_hash is None
    assert "entries that are no objects" in conversation.warnings[0]
    assert "'actions' of the summary is 'none'" in second.warnings[0]


@pytest.mark.parametrize("ends", [True, False])
async def test_calls_in_progress_at_the_end_are_waited_for_within_bounds(
    kit: Any, ends: bool
) -> None:
    async def reply(bot: Any, heard: str) -> None:
        await bot.speak("One moment.")
        await bot.send(("llm-function-call-in-progress", {"tool_call_id": "c"}))
        await asyncio.sleep(0.45)
        if ends:
            await bot.send(("llm-function-call-stopped", {"tool_call_id": "c"}))

    bot = kit.Bot(reply)
    before = time.monotonic()
    async with kit.serving(bot):
        conversation = await kit.hold(bot, limits=replace(kit.limits, max_duration=0.3))
    assert conversation.end_reason is EndReason.TIMEOUT
    unfinished = "1 function call(s) unfinished 0.4 s after the end (tool_wait)"
    assert (unfinished in conversation.warnings) is not ends
    assert time.monotonic() - before < 3


async def test_pushed_results_are_collected(kit: Any) -> None:
    async def reply(bot: Any, heard: str) -> None:
        payload = "<final_response>{}</final_response>"
        await bot.send(("server-message", {"text": payload}))
        await bot.speak("Done.")
        await bot.exit()

    bot = kit.Bot(reply)
    async with kit.serving(bot):
        conversation = await kit.hold(bot)
    assert conversation.final_responses == ("{}",)


async def test_a_connection_lost_while_reading_is_opened_once_more(kit: Any) -> None:
    def leave_once(arguments: Any) -> Any:
        bot.answers["get_context_history"] = {"context": "[{'role': 'user'}]"}
        bot.drop()
        return kit.no_reply

    bot = kit.Bot(kit.leaving(), get_context_history=leave_once)
    async with kit.serving(bot):
        conversation = await kit.hold(bot)
    assert bot.connections == 3
    assert conversation.agent.context == ({"role": "user"},)
    assert conversation.agent.actions == ()


async def test_garbage_while_reading_is_a_broken_protocol(kit: Any) -> None:
    async def reply(bot: Any, heard: str) -> None:
        await bot.speak("Bye.")
        await bot.exit()
        await asyncio.sleep(0.2)
        await bot.send(*[b"\xff\xff"] * 4)

    bot = kit.Bot(reply, get_context_history=kit.no_reply)
    async with kit.serving(bot):
        with pytest.raises(ProtocolFailed, match="the agent broke the protocol") as caught:
            await kit.hold(bot)
    assert caught.value.conversation is not None
    assert caught.value.conversation.end_reason is EndReason.EXIT


async def test_an_agent_killed_while_it_is_read_out_is_an_error(kit: Any) -> None:
    def die(arguments: Any) -> Any:
        dead.append(ProcessExit(None, 15))
        bot.refuse_connection = 3
        bot.drop()
        return kit.no_reply

    async def probe() -> ProcessExit | None:
        return dead[0] if dead else None

    dead: list[ProcessExit] = []
    bot = kit.Bot(kit.leaving(), get_context_history=die)
    bot.refuse_forever = True
    async with kit.serving(bot):
        with pytest.raises(BotKilled, match="ended by SIGTERM"):
            await kit.hold(bot, process_exit=probe, limits=replace(kit.limits, connect=0.5))


async def test_an_agent_that_says_it_has_no_voice_is_not_waited_for(kit: Any) -> None:
    bot = kit.Bot(
        kit.saying("Hi."), kit.leaving(), configure_output=LookupError("unknown message type")
    )
    bot.ready_data = {"version": "2.2.0", "capabilities": {"audio_out": False}}
    limits = replace(kit.limits, speech_onset=5.0)
    async with kit.serving(bot):
        conversation = await kit.hold(bot, kit.Lines("Yes."), limits=limits)
    assert conversation.duration < 3
