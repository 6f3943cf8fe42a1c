"""The set-up of a call, against a scripted bot on a real socket."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_voiceeval.call.errors import (
    AgentUnreachable,
    ScenarioInvalid,
    SetupFailed,
)
from pytest_voiceeval.call.result import EndReason, ProcessExit


def lines(conversation: Any) -> list[tuple[str, str]]:
    return [(utterance.role, utterance.text) for utterance in conversation.transcript]


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
        (
            {"state": {"db": {1, 2}}},
            "cannot set up its agent side: StateError: the state cannot be compared: at db",
        ),
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
