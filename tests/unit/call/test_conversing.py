"""Turns, the caller's part and cancellation, against a scripted bot on a real socket."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Any

import pytest

from pytest_voiceeval.call.errors import (
    AgentUnreachable,
    BotKilled,
    CallerFailed,
    CallError,
    ProtocolFailed,
    ScenarioInvalid,
    SetupFailed,
)
from pytest_voiceeval.call.result import EndReason, Tokens
from pytest_voiceeval.wire.frames import AudioFrame

VOICE = AudioFrame(b"\1\2" * 960, 24000, 1)


def lines(conversation: Any) -> list[tuple[str, str]]:
    return [(utterance.role, utterance.text) for utterance in conversation.transcript]


# -- turns


async def test_a_conversation_with_its_measurements(kit: Any) -> None:
    async def work(bot: Any, heard: str) -> None:
        await bot.send("bot-interrupted", "bot-llm-started", "llm-function-call-started")
        await bot.send("bot-llm-stopped")
        usage = {"tokens": [{"prompt_tokens": 10, "completion_tokens": 2}]}
        await bot.send(("metrics", usage))
        await bot.send(("llm-function-call-in-progress", {"tool_call_id": "c1"}))
        record = {"action_type": "refund", "amount": 5}
        await bot.send(
            (
                "server-message",
                {"type": "action-applied", "action": record, "writes": [["refunds", "R1"]]},
            )
        )
        await bot.send(("llm-function-call-stopped", {"tool_call_id": "c1"}))
        await bot.send("bot-llm-started", ("bot-llm-text", {"text": "Refunded."}))
        await bot.send("bot-llm-stopped", ("metrics", usage))

    function = {"name": "refund", "arguments": '{"amount": 5}'}
    context = [
        {"role": "user", "content": "Hello"},
        {"role": "user", "content": "Refund me"},
        {"role": "assistant", "tool_calls": [{"id": "c1", "function": function}]},
        {"role": "tool", "tool_call_id": "c1", "content": '{"status": "success"}'},
    ]
    bot = kit.Bot(
        kit.saying("Welcome to the shop."),
        work,
        kit.leaving("Bye now."),
        get_context_history={"context": str(context)},
        get_scenario_summary={"actions": [{"action_type": "refund"}], "db_hash": "f" * 64},
    )
    caller = kit.Lines("Refund me", "Thanks")
    async with kit.serving(bot):
        conversation = await kit.hold(bot, caller)
    assert (conversation.end_reason, conversation.end_detail) == (
        EndReason.EXIT,
        "The task is finished.",
    )
    assert lines(conversation) == [
        ("agent", "Welcome to the shop."),
        ("user", "Refund me"),
        ("agent", "Refunded."),
        ("user", "Thanks"),
        ("agent", "Bye now."),
    ]
    assert [u.turn for u in conversation.transcript] == [1, 2, 2, 3, 3]
    starts = [u.start for u in conversation.transcript]
    assert starts == sorted(starts)
    assert all(0 <= u.start <= u.end < 5 for u in conversation.transcript)
    (call,) = conversation.tool_calls
    assert (call.turn, call.name, call.arguments) == (2, "refund", {"amount": 5})
    assert (call.result, call.writes) == ({"status": "success"}, (("refunds", "R1"),))
    assert conversation.agent.tokens == Tokens(2, 20, 4)
    assert conversation.agent.actions == ({"action_type": "refund"},)
    assert conversation.agent.db_hash == "f" * 64
    assert conversation.agent_turns == 3
    assert [entry.turn for entry in conversation.latencies] == [1, 2, 3]
    for entry in conversation.latencies:
        assert entry.first_text is not None
        assert 0 < entry.first_text <= entry.turn_end < 2
    assert conversation.warnings == ()
    assert caller.log == ["start", "close"]


async def test_the_caller_sees_the_transcript_so_far(kit: Any) -> None:
    bot = kit.Bot(kit.saying("One."), kit.leaving("Two."))
    caller = kit.Lines("And?")
    async with kit.serving(bot):
        await kit.hold(bot, caller)
    (heard,) = caller.heard
    assert [(u.role, u.text, u.partial) for u in heard] == [("agent", "One.", False)]


async def test_a_bot_that_speaks_is_not_interrupted(kit: Any) -> None:
    async def speak(bot: Any, heard: str) -> None:
        await bot.speak("Hello there.")
        await asyncio.sleep(0.02)
        await bot.send(VOICE, "bot-started-speaking")
        await asyncio.sleep(0.2)
        await bot.send(("bot-tts-text", {"text": "Hello there."}), "bot-stopped-speaking")
        spoken.append(time.monotonic())

    spoken: list[float] = []
    bot = kit.Bot(speak, kit.leaving(), configure_output=LookupError("unknown"))
    async with kit.serving(bot):
        conversation = await kit.hold(bot, kit.Lines("Yes."))
    said_at = conversation.latencies[0].turn_end
    assert said_at > 0.2
    assert conversation.transcript[0].text == "Hello there."


async def test_a_bot_that_shows_only_speech_works_too(kit: Any) -> None:
    def spoken(text: str) -> Any:
        async def reply(bot: Any, heard: str) -> None:
            await bot.send("bot-started-speaking", ("bot-tts-text", {"text": text}))
            await asyncio.sleep(0.05)
            await bot.send("bot-stopped-speaking")
            if text == "Bye.":
                await bot.exit()

        return reply

    bot = kit.Bot(spoken("Hi."), spoken("Bye."), configure_output=LookupError("unknown"))
    async with kit.serving(bot):
        conversation = await kit.hold(bot, kit.Lines("Yes."))
    assert lines(conversation) == [("agent", "Hi."), ("user", "Yes."), ("agent", "Bye.")]
    assert conversation.agent_turns == 2
    assert conversation.agent.tokens is None


async def test_speech_without_words_is_an_error_that_says_what_is_missing(kit: Any) -> None:
    async def mumble(bot: Any, heard: str) -> None:
        await bot.send("bot-started-speaking", VOICE, "bot-stopped-speaking")

    bot = kit.Bot(mumble)
    async with kit.serving(bot):
        with pytest.raises(ProtocolFailed, match="sent no words of it: a text call needs"):
            await kit.hold(bot)


async def test_an_agent_that_goes_on_while_the_caller_thinks_is_heard_out(kit: Any) -> None:
    async def afterthought(bot: Any, heard: str) -> None:
        await bot.speak("First.")
        await asyncio.sleep(0.1)
        await bot.send("bot-llm-started")
        await asyncio.sleep(0.2)
        await bot.send(("bot-llm-text", {"text": "Second."}), "bot-llm-stopped")

    bot = kit.Bot(afterthought, kit.leaving())
    async with kit.serving(bot):
        conversation = await kit.hold(bot, kit.Lines("Yes.", think=0.2))
    assert lines(conversation)[0] == ("agent", "First. Second.")
    assert not conversation.transcript[0].partial


# -- the caller


async def test_an_empty_answer_is_asked_again_and_never_sent(kit: Any) -> None:
    bot = kit.Bot(kit.saying("Hi."), kit.leaving())
    caller = kit.Lines("  ", "Yes.")
    async with kit.serving(bot):
        conversation = await kit.hold(bot, caller)
    assert bot.said == ["Hello", "Yes."]
    assert len(caller.heard) == 2
    assert conversation.end_reason is EndReason.EXIT


@pytest.mark.parametrize(
    ("answers", "think", "says"),
    [
        (["", " \n"], 0.0, "the simulated caller answered twice with no words at all"),
        ([ValueError("model down")], 0.0, "simulated caller failed (ValueError: model down)"),
        ([ValueError()], 0.0, "simulated caller failed (ValueError: )"),
        (["late"], 2.0, "simulated caller was not through after 0.5 s (caller) while replying"),
    ],
)
async def test_a_caller_that_fails_is_named(
    kit: Any, answers: list[Any], think: float, says: str
) -> None:
    bot = kit.Bot(kit.saying("Hi."))
    caller = kit.Lines(*answers, think=think)
    async with kit.serving(bot):
        with pytest.raises(CallerFailed) as caught:
            await kit.hold(bot, caller)
    assert says in str(caught.value)
    assert caught.value.conversation is not None
    assert lines(caught.value.conversation) == [("agent", "Hi.")]
    assert caller.log == ["start", "close"]
    assert bot.open == 0


async def test_a_caller_that_repeats_itself_is_noted(kit: Any) -> None:
    bot = kit.Bot(kit.saying("Hi."), kit.saying("What?"), kit.leaving())
    async with kit.serving(bot):
        conversation = await kit.hold(bot, kit.Lines("Book it.", "book it."))
    assert conversation.warnings == ("the caller repeated in turn 3 its words of turn 2",)


async def test_a_caller_that_cannot_close_is_only_noted(kit: Any) -> None:
    class Stuck(kit.Lines):  # type: ignore[misc, name-defined]
        async def close(self) -> None:
            raise OSError("stuck")

    bot = kit.Bot(kit.leaving())
    async with kit.serving(bot):
        conversation = await kit.hold(bot, Stuck())
    assert conversation.warnings == ("the simulated caller failed (OSError: stuck) while closing",)


# -- leaving nothing behind


@pytest.mark.parametrize("at", [0.02, 0.1, 0.3])
async def test_cancelling_closes_every_connection(kit: Any, at: float) -> None:
    bot = kit.Bot(kit.saying("Hi."))
    caller = kit.Lines("x", think=5.0)
    limits = replace(kit.limits, caller=30.0, turn_silence=30.0)
    async with kit.serving(bot):
        task = asyncio.create_task(kit.hold(bot, caller, limits=limits))
        await asyncio.sleep(at)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        for _ in range(100):
            if not bot.open:
                break
            await asyncio.sleep(0.01)
        assert bot.open == 0
    assert caller.log in ([], ["start", "close"])


async def test_no_task_outlives_a_call(kit: Any) -> None:
    bot = kit.Bot(kit.saying("Hi."), kit.leaving())
    async with kit.serving(bot):
        await kit.hold(bot, kit.Lines("x"))
        for _ in range(100):
            if not bot.open:
                break
            await asyncio.sleep(0.01)
        names = {task.get_name() for task in asyncio.all_tasks()}
    assert not any(name.startswith("read ") for name in names)


def test_every_error_of_a_call_is_a_call_error() -> None:
    kinds = (
        AgentUnreachable,
        BotKilled,
        CallerFailed,
        ProtocolFailed,
        ScenarioInvalid,
        SetupFailed,
    )
    assert all(issubclass(kind, CallError) for kind in kinds)
