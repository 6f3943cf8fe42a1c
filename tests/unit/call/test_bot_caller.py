"""A caller that is a bot: driven over the wire, never taken for the agent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_voiceeval.call.bot_caller import NUDGE, BotCaller
from pytest_voiceeval.call.errors import BotKilled, CallerFailed
from pytest_voiceeval.call.result import EndReason, ProcessExit, Tokens


def lines(conversation: Any) -> list[tuple[str, str]]:
    return [(utterance.role, utterance.text) for utterance in conversation.transcript]


async def hold(kit: Any, agent: Any, user: Any, **plan: Any) -> Any:
    scenario = plan.pop("scenario", None) or kit.Scenario()
    probe = plan.pop("user_exit", None)
    limits = plan.pop("user_limits", kit.limits)
    async with kit.serving(agent), kit.serving(user):
        single = plan.get("single_connection", False)
        caller = BotCaller(user.url, scenario, limits, single_connection=single, process_exit=probe)
        return await kit.hold(agent, caller, scenario=scenario, **plan)


async def test_two_bots_talk_to_each_other(kit: Any) -> None:
    agent = kit.Bot(kit.saying("How can I help?"), kit.leaving("Done, bye."))
    user = kit.Bot(kit.saying("Refund me."))
    conversation = await hold(kit, agent, user)
    assert conversation.end_reason is EndReason.EXIT
    assert lines(conversation) == [
        ("agent", "How can I help?"),
        ("user", "Refund me."),
        ("agent", "Done, bye."),
    ]
    assert user.said == ["How can I help?"]
    assert agent.said == ["Hello", "Refund me."]


async def test_the_user_bot_is_set_up_after_the_agent_with_its_own_half(kit: Any) -> None:
    agent, user = kit.Bot(kit.leaving()), kit.Bot(kit.saying("x"))
    order: list[str] = []
    for name, bot in (("agent", agent), ("user", user)):
        bot.answers["apply_initialization"] = lambda _, name=name: (
            order.append(name) or {"success": True}
        )
    action = {"side": "user", "func_name": "f", "arguments": {}}
    scenario = kit.Scenario(state={"n": 1}, initialization_actions=[action])
    await hold(kit, agent, user, scenario=scenario)
    assert order == ["agent", "user"]
    assert user.arguments("update_system_prompt")["prompt"] == "You are the caller."
    assert user.arguments("update_system_prompt")["tools"] == "{}"
    assert user.arguments("apply_initialization") == {
        "domain": "shop",
        "shared_state_init": '{"n": 1, "side": "user"}',
        "actions": [action],
    }
    assert agent.arguments("apply_initialization")["actions"] == []


async def test_both_sides_are_read_out(kit: Any) -> None:
    async def talk(bot: Any, heard: str) -> None:
        await bot.send(("metrics", {"tokens": [{"prompt_tokens": 5, "completion_tokens": 1}]}))
        await bot.speak("Refund me.")

    function = {"name": "pay", "arguments": "{}"}
    call = {"role": "assistant", "tool_calls": [{"id": "u1", "function": function}]}
    user = kit.Bot(
        talk,
        get_scenario_summary={"actions": [{"name": "pay"}], "db_hash": "b" * 64, "db": {"u": {}}},
        get_context_history={"context": [{"role": "user", "content": "Hi"}, call]},
    )
    agent = kit.Bot(kit.saying("Hi"), kit.leaving())
    conversation = await hold(
        kit, agent, user, scenario=kit.Scenario(db_state_assertions=[{"side": "user"}])
    )
    assert conversation.user.actions == ({"name": "pay"},)
    assert conversation.user.db_hash == "b" * 64
    assert conversation.user.db == {"u": {}}
    assert conversation.user.tokens == Tokens(1, 5, 1)
    assert conversation.agent.tokens is None
    assert [(c.side, c.name) for c in conversation.tool_calls] == [("user", "pay")]


async def test_a_user_bot_that_exits_hangs_up_after_its_last_words(kit: Any) -> None:
    agent = kit.Bot(kit.saying("Anything else?"), kit.saying("Goodbye."))
    user = kit.Bot(kit.leaving("No, bye."))
    conversation = await hold(kit, agent, user)
    assert conversation.end_reason is EndReason.CALLER_HANGUP
    assert "the caller's bot ended the call" in conversation.end_detail
    assert lines(conversation)[1:] == [("user", "No, bye."), ("agent", "Goodbye.")]


async def test_a_user_bot_that_says_nothing_is_nudged_once(kit: Any) -> None:
    async def empty(bot: Any, heard: str) -> None:
        await bot.send("bot-started-speaking", "bot-stopped-speaking")

    agent = kit.Bot(kit.saying("Hi."), kit.leaving())
    user = kit.Bot(empty, kit.saying("Sorry, yes."))
    conversation = await hold(kit, agent, user)
    assert user.said == ["Hi.", NUDGE]
    assert agent.said == ["Hello", "Sorry, yes."]
    assert conversation.end_reason is EndReason.EXIT


async def test_each_agent_turn_is_delivered_once(kit: Any) -> None:
    agent = kit.Bot(kit.saying("One."), kit.saying("Two."), kit.leaving("Three."))
    user = kit.Bot(kit.saying("a"), kit.saying("b"))
    await hold(kit, agent, user)
    assert user.said == ["One.", "Two."]


async def broken_off(bot: Any, heard: str) -> None:
    await bot.hang_up(1001)


async def dropped(bot: Any, heard: str) -> None:
    bot.drop()


async def fatal(bot: Any, heard: str) -> None:
    await bot.send(("error", {"error": "quota", "fatal": True}))


async def silent(bot: Any, heard: str) -> None:
    pass


async def garbage(bot: Any, heard: str) -> None:
    await bot.send(*[b"\xff\xff"] * 4)


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (broken_off, "the caller's bot failed: user at"),
        (dropped, "1006"),
        (fatal, "the caller's bot reported a fatal error: quota"),
        (silent, "no sign of the caller's bot for 0.3 s (turn_silence)"),
        (garbage, "the caller's bot failed: user at"),
    ],
)
async def test_a_user_bot_that_fails_is_never_the_agents_fault(
    kit: Any, reply: Any, says: str
) -> None:
    agent, user = kit.Bot(kit.saying("Hi.")), kit.Bot(reply)
    with pytest.raises(CallerFailed) as caught:
        await hold(kit, agent, user, user_limits=replace(kit.limits, turn_silence=0.3))
    assert says in str(caught.value)
    assert caught.value.conversation is not None
    assert lines(caught.value.conversation) == [("agent", "Hi.")]
    assert agent.open == user.open == 0


@pytest.mark.parametrize(
    ("exit_", "error", "says"),
    [
        (ProcessExit(2, None, ("Boom",)), CallerFailed, "exited with code 2; its log ends: Boom"),
        (ProcessExit(None, 9), BotKilled, "the caller's bot was killed during the call"),
    ],
)
async def test_how_the_user_bots_process_ended(
    kit: Any, exit_: ProcessExit, error: type[Exception], says: str
) -> None:
    async def probe() -> ProcessExit:
        return exit_

    with pytest.raises(error, match=says):
        await hold(kit, kit.Bot(kit.saying("Hi.")), kit.Bot(dropped), user_exit=probe)


@pytest.mark.parametrize(
    "answers", [{"reset": False}, {"apply_initialization": {"success": False, "errors": ["no"]}}]
)
async def test_a_user_bot_that_refuses_the_set_up(kit: Any, answers: dict[str, Any]) -> None:
    agent, user = kit.Bot(kit.saying("Hi.")), kit.Bot(kit.saying("x"), **answers)
    with pytest.raises(CallerFailed, match="the caller's bot answered"):
        await hold(kit, agent, user)
    assert agent.said == []


async def test_a_user_bot_that_is_not_there(kit: Any) -> None:
    agent, user = kit.Bot(kit.saying("Hi.")), kit.Bot(kit.saying("x"))
    async with kit.serving(user):
        pass
    async with kit.serving(agent):
        caller = BotCaller(user.url, kit.Scenario(), kit.limits)
        with pytest.raises(CallerFailed, match="the caller's bot failed: user at"):
            await kit.hold(agent, caller)


async def test_a_user_bot_gone_at_the_end_costs_only_its_read_out(kit: Any) -> None:
    agent, user = kit.Bot(kit.saying("Hi."), kit.leaving()), kit.Bot(kit.saying("x"))

    def leave(arguments: Any) -> Any:
        user.drop()
        return kit.no_reply

    user.answers["get_context_history"] = leave
    conversation = await hold(kit, agent, user)
    assert conversation.end_reason is EndReason.EXIT
    assert conversation.user.actions is None
    assert "reading the caller's state" in conversation.warnings[0]


async def test_one_connection_a_side_when_asked(kit: Any) -> None:
    agent, user = kit.Bot(kit.saying("Hi."), kit.leaving()), kit.Bot(kit.saying("x"))
    await hold(kit, agent, user, single_connection=True)
    assert (agent.connections, user.connections) == (1, 1)
