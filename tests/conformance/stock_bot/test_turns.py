"""What a client sees of a turn, and what the model is sent."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.conformance.stock_bot.conftest import Bot, FakeModel, Model, Reply

PIPECAT = tuple(map(int, version("pipecat-ai").split(".")[:2]))
TOOLS = {"tools": '{"EndConversationTool": {}, "SendRTVIMessageTool": {}}'}
EXIT = {"text": "<exit>The task is finished.</exit>"}


async def test_plain_turn(bot: Bot, model: FakeModel, session: str, echo: Model) -> None:
    model.models[session] = echo
    async with bot.talk(session) as talk:
        await talk.request("update_system_prompt", {"prompt": "p"})
        seen = await talk.turn("hello")
    kinds = [e.type for e in seen if e.type not in ("metrics", "bot-interrupted", "user-input")]
    assert kinds == [
        "user-llm-text",
        "bot-llm-started",
        *["bot-llm-text"] * 3,
        "bot-transcription",
        "bot-llm-stopped",
    ]
    assert seen.text == "You said hello."
    (tokens,) = [data["tokens"] for data in seen.of_type("metrics") if "tokens" in data]
    assert tokens == [{"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}]


@pytest.mark.skipif(PIPECAT < (1, 13), reason="a bot without a voice has no bot-output")
async def test_what_it_puts_out(bot: Bot, model: FakeModel, session: str, echo: Model) -> None:
    model.models[session] = echo
    async with bot.talk(session) as talk:
        seen = await talk.turn("hello", last="bot-output")
    assert [e.type for e in seen[-2:]] == ["bot-llm-stopped", "bot-output"]
    assert seen[-1].data["text"] == "You said hello."


async def test_request_to_the_model(bot: Bot, model: FakeModel, session: str, echo: Model) -> None:
    model.models[session] = echo
    async with bot.talk(session) as talk:
        await talk.request("update_system_prompt", {"prompt": "p"})
        await talk.turn("hello")
    (request,) = model.requests[session]
    assert request["messages"] == [
        {"role": "system", "content": "p"},
        {"role": "user", "content": "hello"},
    ]
    assert (request["model"], request["seed"]) == ("m1", 7)
    assert not {"temperature", "top_p", "max_completion_tokens", "tools"} & request.keys()


def two_calls(messages: list[dict[str, Any]]) -> Reply:
    if messages[-1]["role"] == "tool":
        return ["Bye."]
    return [("no_such_tool", '{"a": 1}'), ("send_rtvi_message", '{"message": "hi"}')]


async def test_tool_turn(bot: Bot, model: FakeModel, session: str) -> None:
    model.models[session] = two_calls
    async with bot.talk(session) as talk:
        await talk.request("update_system_prompt", {"prompt": "p", **TOOLS})
        seen = await talk.turn("go")
    in_progress = seen.of_type("llm-function-call-in-progress")
    assert [(data["function_name"], data["arguments"]) for data in in_progress] == [
        ("no_such_tool", {"a": 1}),
        ("send_rtvi_message", {"message": "hi"}),
    ]
    stopped = seen.of_type("llm-function-call-stopped")
    assert [(data["function_name"], data["cancelled"]) for data in stopped] == [
        ("no_such_tool", False),
        ("send_rtvi_message", False),
    ]
    assert stopped[0]["result"]["error_type"] == "unknown_tool"
    assert stopped[0]["result"]["available_tools"] == ["end_conversation", "send_rtvi_message"]
    assert stopped[1]["result"]["success"] is True
    assert len(seen.of_type("llm-function-call-started")) == 2
    assert [data["text"] for data in seen.of_type("server-message")] == ["hi"]


async def test_the_model_is_asked_once_after_all_calls_of_a_reply(
    bot: Bot, model: FakeModel, session: str
) -> None:
    model.models[session] = two_calls
    async with bot.talk(session) as talk:
        await talk.request("update_system_prompt", {"prompt": "p", **TOOLS})
        seen = await talk.turn("go")
    assert len(seen.of_type("bot-llm-started")) == len(seen.of_type("bot-llm-stopped")) == 2
    (_, second) = model.requests[session]
    results = [m for m in second["messages"] if m["role"] == "tool"]
    assert [m["tool_call_id"] for m in results] == ["call0", "call1"]
    assert "IN_PROGRESS" not in str(results)


async def test_text_and_call_in_one_reply(bot: Bot, model: FakeModel, session: str) -> None:
    model.models[session] = lambda messages: (
        [] if messages[-1]["role"] == "tool" else ["Goodbye.", ("end_conversation", "{}")]
    )
    async with bot.talk(session) as talk:
        await talk.request("update_system_prompt", {"prompt": "p", **TOOLS})
        seen = await talk.turn("go", last="llm-function-call-stopped")
        history = await talk.request("get_context_history")
    assert seen.text == "Goodbye."
    messages = json.loads(history["context"])
    assert [m["role"] for m in messages] == ["system", "user", "assistant", "assistant", "tool"]
    assert messages[2]["content"] == "Goodbye."


async def test_the_model_is_not_asked_again_after_the_call_was_ended(
    bot: Bot, model: FakeModel, session: str
) -> None:
    model.models[session] = lambda _messages: ["Goodbye.", ("end_conversation", "{}")]
    async with bot.talk(session) as talk:
        await talk.request("update_system_prompt", {"prompt": "p", **TOOLS})
        seen = await talk.turn("go", last="llm-function-call-stopped")
        await talk.request("get_context_history")
    assert seen.of_type("server-message") == [EXIT]
    assert len(model.requests[session]) == 1


async def test_a_new_prompt_stops_the_reply_under_way(
    bot: Bot, model: FakeModel, session: str, echo: Model
) -> None:
    model.models[session] = model.hang
    async with bot.talk(session) as talk:
        await talk.turn("hello", last="bot-llm-started")
        await talk.request("update_system_prompt", {"prompt": "new"})
        model.models[session] = echo
        await talk.turn("again")
        messages = await talk.history("You said again.")
    assert [message["content"] for message in messages] == ["new", "again", "You said again."]


async def test_reset_goes_back_to_the_prompt(
    bot: Bot, model: FakeModel, session: str, echo: Model
) -> None:
    model.models[session] = echo
    async with bot.talk(session) as talk:
        await talk.request("update_system_prompt", {"prompt": "p"})
        await talk.request("apply_initialization", {"shared_state_init": '{"db": {"x": 1}}'})
        await talk.turn("hello")
        assert await talk.request("reset") is True
        history = await talk.request("get_context_history")
        summary = await talk.request("get_scenario_summary", {"include_db": True})
    assert json.loads(history["context"]) == [{"role": "system", "content": "p"}]
    assert summary["db"] == {"x": 1}
