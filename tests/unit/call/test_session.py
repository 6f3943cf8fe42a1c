"""Whole calls against a scripted bot on a real socket."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Any

import pytest

from pytest_voiceeval.call.caller import HangUp
from pytest_voiceeval.call.errors import (
    AgentUnreachable,
    BotKilled,
    CallerFailed,
    CallError,
    ProtocolFailed,
    ScenarioInvalid,
    SetupFailed,
    StateUnreadable,
)
from pytest_voiceeval.call.result import EndReason, ProcessExit, Tokens
from pytest_voiceeval.scoring.db_hash import get_dict_hash
from pytest_voiceeval.wire.frames import AudioFrame

VOICE = AudioFrame(b"\1\2" * 960, 24000, 1)


def lines(conversation: Any) -> list[tuple[str, str]]:
    return [(utterance.role, utterance.text) for utterance in conversation.transcript]


# -- set-up


async def test_the_set_up_as_the_agent_sees_it(kit: Any) -> None:
    bot = kit.Bot(kit.leaving())
    scenario = kit.Scenario(
        state={"db": {"t": {}}},
        initialization_actions=[
            {"side": "agent", "func_name": "a", "arguments": {"x": 1}},
            {"side": "user", "func_name": "b", "arguments": {}},
        ],
    )
    async with kit.serving(bot):
        await kit.hold(bot, scenario=scenario)
    first = ["reset", "update_system_prompt", "apply_initialization", "configure_output"]
    second = ["send-text", "get_context_history", "get_scenario_summary"]
    assert (bot.requests(connection=1), bot.requests(connection=2)) == (first, second)
    assert bot.connections == 2
    assert bot.arguments("update_system_prompt") == {
        "prompt": "You are the agent.",
        "tools": '{"EndConversationTool": {}}',
        "add_suffix": False,
        "tool_domain": "shop",
    }
    assert bot.arguments("apply_initialization") == {
        "domain": "shop",
        "shared_state_init": '{"db": {"t": {}}, "side": "agent"}',
        "actions": [{"side": "agent", "func_name": "a", "arguments": {"x": 1}}],
    }
    assert bot.arguments("configure_output") == {"audio": False}
    assert bot.arguments("send-text") == {
        "content": "Hello",
        "options": {"run_immediately": True, "audio_response": False},
    }
    assert bot.arguments("get_scenario_summary") == {"include_db": False}


async def test_one_connection_for_everything_when_asked(kit: Any) -> None:
    bot = kit.Bot(kit.leaving())

    async def chatter(bot: Any, number: int) -> None:
        await bot.send("bot-llm-started", ("bot-llm-text", {"text": "Before!"}), "bot-llm-stopped")

    bot.on_connect = chatter
    async with kit.serving(bot):
        conversation = await kit.hold(bot, single_connection=True)
    assert bot.connections == 1
    assert lines(conversation) == [("agent", "Goodbye.")], "set-up chatter is not a turn"


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        ({"reset": False}, "the agent answered 'reset' with false"),
        ({"update_system_prompt": False}, "the agent answered 'update_system_prompt' with false"),
        (
            {"update_system_prompt": RuntimeError("KeyError: NoSuchTool")},
            "'update_system_prompt' was refused: KeyError: NoSuchTool",
        ),
        (
            {"apply_initialization": {"success": False, "errors": ["no db", "no file"]}},
            "'apply_initialization' with a failure: no db; no file",
        ),
        (
            {"apply_initialization": {"success": False}},
            "'apply_initialization' with a failure: no reason given",
        ),
        ({"apply_initialization": object}, "no reply to 'apply_initialization' within 0.5 s"),
    ],
)
async def test_a_set_up_that_fails_is_an_error_in_the_bots_words(
    kit: Any, answers: dict[str, Any], says: str
) -> None:
    if answers.get("apply_initialization") is object:
        answers = {"apply_initialization": kit.no_reply}
    bot = kit.Bot(kit.leaving(), **answers)
    caller = kit.Lines()
    async with kit.serving(bot):
        with pytest.raises(SetupFailed) as caught:
            await kit.hold(bot, caller)
    assert says in str(caught.value)
    assert caught.value.conversation is not None
    assert caught.value.conversation.end_reason is None
    assert bot.said == []
    assert caller.log == [], "a caller is not started for an agent that cannot be set up"


@pytest.mark.parametrize("answer", ["refuses", "ignores", "declines"])
async def test_a_bot_need_not_know_how_to_keep_silent(kit: Any, answer: str) -> None:
    given = {"refuses": LookupError("unknown"), "ignores": kit.no_reply, "declines": False}[answer]
    bot = kit.Bot(kit.leaving(), configure_output=given)
    async with kit.serving(bot):
        conversation = await kit.hold(bot)
    assert conversation.end_reason is EndReason.EXIT


async def test_nobody_listening_is_an_unreachable_agent(kit: Any) -> None:
    bot = kit.Bot(kit.leaving())
    async with kit.serving(bot):
        pass
    with pytest.raises(AgentUnreachable, match="the agent cannot be reached"):
        await kit.hold(bot)


async def test_a_busy_agent_is_tried_again(kit: Any) -> None:
    bot = kit.Bot(kit.leaving())
    bot.refuse_connection = 2
    async with kit.serving(bot):
        conversation = await kit.hold(bot)
    assert conversation.end_reason is EndReason.EXIT
    assert bot.connections == 3


async def test_a_process_that_died_before_the_talk_is_named(kit: Any) -> None:
    async def died() -> ProcessExit:
        return ProcessExit(3, None, ("ImportError: nope",))

    bot = kit.Bot(kit.leaving(), reset=kit.no_reply)
    async with kit.serving(bot):
        with pytest.raises(
            SetupFailed, match="exited with code 3; its log ends: ImportError: nope"
        ):
            await kit.hold(bot, process_exit=died)


@pytest.mark.parametrize(
    ("scenario", "says"),
    [
        (
            {"initialization_actions": [{"side": "judge", "func_name": "f"}]},
            "initialization action 'f' has an unknown side 'judge'",
        ),
        ({"state": {"db": {1, 2}}}, "cannot set up its agent side: TypeError"),
        ({"expected_scenario_db": {"t": float("nan")}}, "has no usable expected database"),
    ],
)
async def test_a_broken_scenario_is_named_before_anything_is_sent(
    kit: Any, scenario: dict[str, Any], says: str
) -> None:
    bot = kit.Bot(kit.leaving())
    async with kit.serving(bot):
        with pytest.raises(ScenarioInvalid, match="scenario 'shop__return'") as caught:
            await kit.hold(bot, scenario=kit.Scenario(**scenario))
    assert says in str(caught.value)
    assert bot.received == []


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


# -- ends


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


async def test_the_time_limit_ends_the_call_and_keeps_what_was_begun(kit: Any) -> None:
    async def ramble(bot: Any, heard: str) -> None:
        await bot.send("bot-llm-started")
        while True:
            await bot.send(("bot-llm-text", {"text": "and "}))
            await asyncio.sleep(0.02)

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
    bot = kit.Bot(kit.saying("Hi."))
    limits = replace(kit.limits, max_duration=None, caller=5.0)
    async with kit.serving(bot):
        conversation = await kit.hold(
            bot, kit.Lines("x", think=3.0), scenario=kit.Scenario(max_duration=0.3), limits=limits
        )
    assert conversation.end_reason is EndReason.TIMEOUT


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
        (["late"], 2.0, "the simulated caller was not through after 0.5 s"),
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


# -- read-outs


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
        conversation = await kit.hold(bot, scenario=kit.Scenario(expected_scenario_db={}))
    context, summary = conversation.warnings
    assert "no reply to 'get_context_history' within 0.4 s" in context
    assert "no reply to 'get_scenario_summary' within 0.4 s" in summary
    assert (conversation.agent.context, conversation.agent.actions) == (None, None)


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
