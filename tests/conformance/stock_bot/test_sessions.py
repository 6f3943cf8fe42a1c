"""What a session keeps, and from whom."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from pytest_voiceeval.scoring.db_hash import get_dict_hash
from pytest_voiceeval.wire.errors import BotBusy, RequestRefused

if TYPE_CHECKING:
    from tests.conformance.stock_bot.conftest import Bot, FakeModel

INIT = {"shared_state_init": '{"db": {"x": 1}}'}


async def test_outlives_its_connections(bot: Bot, model: FakeModel, session: str) -> None:
    model.models[session] = lambda messages: (
        [("end_conversation", "{}")] if messages[-1]["content"] == "end" else ["Yes."]
    )
    init = {"domain": "d", "shared_state_init": '{"db_path": "db.json", "actions": [{"x": 1}]}'}
    prompt = {"prompt": "p", "tools": '{"EndConversationTool": {}}'}
    async with bot.talk(session) as talk:
        assert await talk.request("reset") is True
        assert await talk.request("update_system_prompt", prompt) is True
        assert await talk.request("apply_initialization", init) == {"success": True, "errors": []}
        assert await talk.request("configure_output", {"audio": False}) is True
    async with bot.talk(session) as talk:
        await talk.turn("hello")
        await talk.history("Yes.")
    async with bot.talk(session) as talk:
        seen = await talk.turn("end", last="server-message")
        history = await talk.request("get_context_history")
        summary = await talk.request("get_scenario_summary", {"include_db": True})
    assert seen[-1].data == {"text": "<exit>The task is finished.</exit>"}
    messages = json.loads(history["context"])
    assert [m["role"] for m in messages[:4]] == ["system", "user", "assistant", "user"]
    db = {"flights": {"F1": {"seats": 3}}}
    assert summary == {"actions": [{"x": 1}], "db_hash": get_dict_hash(db), "db": db}


async def test_do_not_mix(bot: Bot, session: str) -> None:
    async with bot.talk(session) as one, bot.talk(f"{session}-2") as two:
        await one.request("apply_initialization", INIT)
        assert (await one.request("get_scenario_summary"))["db_hash"]
        assert (await two.request("get_scenario_summary"))["db_hash"] is None


async def test_take_one_client_at_a_time(bot: Bot, session: str) -> None:
    async with bot.talk(session) as first:
        with pytest.raises(BotBusy, match="already has a connected client"):
            await bot.talk(session).__aenter__()
        assert await first.request("reset") is True


async def test_reconnecting_at_once_is_not_refused(bot: Bot, session: str) -> None:
    for _ in range(10):
        async with bot.talk(session):
            pass


async def test_path_without_a_session_is_the_default_one(bot: Bot) -> None:
    async with bot.talk(None) as talk:
        await talk.request("apply_initialization", INIT)
    async with bot.talk("default") as talk:
        assert (await talk.request("get_scenario_summary"))["db_hash"]


@pytest.mark.parametrize(
    ("type_", "arguments", "cause"),
    [
        ("update_system_prompt", {"prompt": ""}, "`prompt` must be a text that is not empty"),
        (
            "update_system_prompt",
            {"prompt": "p", "tools": '{"Nope": {}}', "tool_domain": "default"},
            "tool 'Nope' of domain 'default': UnknownToolError: no tool 'Nope'",
        ),
        ("configure_output", {"audio": True}, "this bot has no voice"),
        ("get_scenario_summary", {}, "StateError: .*x"),
        ("nonsense", {}, "unknown message type: nonsense"),
    ],
    ids=["no-prompt", "unknown-tool", "voice", "no-hash", "unknown-type"],
)
async def test_refusals_tell_why(
    bot: Bot, session: str, type_: str, arguments: Any, cause: str
) -> None:
    async with bot.talk(session) as talk:
        await talk.request("apply_initialization", {"shared_state_init": '{"db": {"x": NaN}}'})
        with pytest.raises(RequestRefused, match=cause):
            await talk.request(type_, arguments)
