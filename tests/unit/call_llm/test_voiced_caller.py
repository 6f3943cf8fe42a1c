"""The model's caller in a call with sound: what its bot asks and is told, and what is counted."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import aiohttp
import pytest

from pytest_voiceeval.bots.scripted_model import ScriptedModel, serve_scripted_model
from pytest_voiceeval.call.audio.ending import Endings
from pytest_voiceeval.call.caller import HangUp, Say
from pytest_voiceeval.call.caller_model import CallerModel
from pytest_voiceeval.call.caller_prompt import ROLE_CONTRACT
from pytest_voiceeval.call.ending import Ended
from pytest_voiceeval.call.errors import CallerFailed
from pytest_voiceeval.call.limits import CallLimits
from pytest_voiceeval.call.llm_caller import LLMCaller
from pytest_voiceeval.call.result import EndReason
from pytest_voiceeval.call.voiced_caller import VoicedCaller, as_heard
from pytest_voiceeval.plugin.model_caller import speaking
from tests.unit.call_llm.conftest import PROMPT, CallerScenario
from tests.unit.call_llm.provider import Provider, error, hang_up
from tests.unit.call_llm.provider import Say as Answer

Json = dict[str, Any]
GREETED: list[Json] = [
    {"role": "system", "content": "anything"},
    {"role": "user", "content": "Good morning, this is the shop."},
]


@pytest.fixture
def voiced(stack: AsyncExitStack, serve: Any, kit: Any) -> Callable[..., Any]:
    """A started caller, the bot that speaks for it, and the provider of its model."""

    async def make(*answers: Any, **settings: Any) -> tuple[VoicedCaller, Any, Provider]:
        provider = await serve(*answers)
        bot = await stack.enter_async_context(kit.serving(kit.Bot()))
        model = CallerModel(url=provider.url, model="test-model", **settings)
        scenario = CallerScenario()
        caller = VoicedCaller(bot.url, scenario, kit.limits, mind=LLMCaller(scenario, model))
        stack.push_async_callback(caller.close)
        await caller.start()
        return caller, bot, provider

    return make


def test_what_a_bot_heard_and_said_is_the_talk() -> None:
    parts = [{"type": "text", "text": "Your code,"}, {"type": "text", "text": "please."}]
    talk = as_heard(
        [
            *GREETED,
            {"role": "assistant", "content": "Hello."},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
            {"role": "tool", "content": "{}"},
            {"role": "user", "content": parts},
            {"role": "user", "content": " "},
        ]
    )
    assert [(said.role, said.text) for said in talk] == [
        ("agent", "Good morning, this is the shop."),
        ("user", "Hello."),
        ("agent", "Your code, please."),
    ]


async def test_the_bot_gets_the_callers_part_and_one_tool(voiced: Any) -> None:
    _, bot, _ = await voiced(Answer("Hi."))
    told = bot.arguments("update_system_prompt")
    assert told["prompt"].startswith(PROMPT)
    assert ROLE_CONTRACT in told["prompt"]
    assert json.loads(told["tools"]) == {"EndConversationTool": {}}


async def test_thoughts_and_stage_directions_are_not_spoken_and_are_counted(voiced: Any) -> None:
    litter = "<think>Who am I?</think>Caller: *sighs* **Hello**, I have an order."
    caller, _, provider = await voiced(Answer(litter), temperature=0.5, seed=7, max_tokens=90)
    assert await caller.think(GREETED) == Say("Hello, I have an order.")
    body = provider.request.body
    assert (body["temperature"], body["seed"], body["max_tokens"]) == (0.5, 7, 90)
    assert [m["role"] for m in body["messages"]] == ["system", "user"]
    side = caller.so_far()
    assert any("thinking was left out" in text for text in side.warnings)
    assert side.record.tokens is not None
    assert (side.record.tokens.prompt, side.record.tokens.completion) == (100, 10)


async def test_a_caller_that_hung_up_is_asked_no_more(voiced: Any) -> None:
    caller, _, provider = await voiced(hang_up(reason="refused", last_words="Goodbye then."))
    said = await caller.think(GREETED)
    assert said == HangUp("the caller hung up: refused", "Goodbye then.")
    assert caller.why_left("The task is finished.") == "the caller hung up: refused"
    assert await caller.think(GREETED) is None
    assert len(provider.requests) == 1


async def test_a_model_that_plays_the_agent_is_the_error_of_the_call(voiced: Any) -> None:
    caller, _, provider = await voiced(Answer("How can I help you today?"))
    with pytest.raises(CallerFailed, match="left its role and spoke as the agent") as caught:
        await caller.think(GREETED)
    assert caller.failure("the endpoint answered HTTP 400") is caught.value
    assert await caller.think(GREETED) is None
    assert len(provider.requests) == 2


async def test_a_bug_is_named_as_the_callers(voiced: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: Any) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(LLMCaller, "reply", broken)
    caller, _, _ = await voiced(Answer("Hi."))
    with pytest.raises(CallerFailed, match=r"\(ZeroDivisionError: oh\) while replying"):
        await caller.think(GREETED)


async def test_a_key_that_is_not_there_starts_no_call(voiced: Any) -> None:
    with pytest.raises(CallerFailed, match="NO_SUCH_KEY"):
        await voiced(Answer("Hi."), api_key_env="NO_SUCH_KEY")


async def test_an_answer_that_the_bot_no_longer_waits_for_is_paid_for(voiced: Any) -> None:
    caller, _, _ = await voiced(Answer("Hello there.", wait=0.3), Answer("Yes?"))
    asked = asyncio.create_task(caller.think(GREETED))
    await asyncio.sleep(0.05)
    asked.cancel()
    assert await caller.think(GREETED) == Say("Yes?")
    side = await caller.read_out(include_db=False)
    assert side.record.tokens is not None
    assert side.record.tokens.calls == 2
    assert side.record.context[0]["role"] == "system"
    assert await caller.think(GREETED) is None, "the call is over"


async def test_its_thinking_is_known(voiced: Any) -> None:
    caller, _, _ = await voiced(Answer("Hello there.", wait=0.2))
    assert caller.thinking_time(time.monotonic()) == 0
    asked = asyncio.create_task(caller.think(GREETED))
    await asyncio.sleep(0.1)
    now = time.monotonic()
    assert caller.at_work_until(now) == now
    assert caller.thinking_time(now) > 0
    await asked
    later = time.monotonic() + 100
    assert caller.at_work_until(later) < later - 99
    assert 0.15 < caller.thinking_time(later) < 90


# -- the bot's side


@pytest.fixture
async def endpoint() -> AsyncIterator[ScriptedModel]:
    async with serve_scripted_model() as model:
        yield model


@asynccontextmanager
async def asking(endpoint: ScriptedModel, **body: Any) -> AsyncIterator[tuple[int, Json]]:
    """Ask as the bot does, in one piece."""
    url = f"{endpoint.url('s')}/chat/completions"
    async with (
        aiohttp.ClientSession() as http,
        http.post(url, json={"messages": GREETED, **body}) as response,
    ):
        yield response.status, await response.json()


async def test_its_words_and_its_end_reach_the_bot(voiced: Any, endpoint: ScriptedModel) -> None:
    caller, _, _ = await voiced(Answer("Hello."), hang_up("Thanks, goodbye.", reason="goal_met"))
    messages = []
    with speaking(endpoint, "s", caller):
        for _ in range(3):
            async with asking(endpoint) as (status, body):
                assert status == 200
                messages.append(body["choices"][0]["message"])
    first, second, third = messages
    assert first == {"role": "assistant", "content": "Hello."}
    assert second["content"] == "Thanks, goodbye."
    assert [call["function"]["name"] for call in second["tool_calls"]] == ["end_conversation"]
    assert third == {"role": "assistant", "content": None}
    async with asking(endpoint) as (status, _):
        assert status == 404, "the call is over"


async def test_a_failure_reaches_the_bot_as_one_that_does_not_pass(
    voiced: Any, endpoint: ScriptedModel
) -> None:
    caller, _, _ = await voiced(error(401, "bad key"))
    with speaking(endpoint, "s", caller):
        async with asking(endpoint) as (status, body):
            assert (status, body["error"]["code"]) == (400, "caller_failed")
            assert "bad key" in body["error"]["message"]


# -- the end of the call


class Talk:
    """The agent spoke last, a minute ago."""

    completed = 0

    def __init__(self) -> None:
        self.exits: dict[str, tuple[float, str]] = {}

    def last_heard(self, side: str) -> float | None:
        return {"agent": 10.0, "user": 5.0}[side]

    def worked_at(self, side: str) -> float | None:
        return None

    def speaking(self, side: str) -> bool:
        return False

    def speaking_since(self, side: str) -> float | None:
        return None

    busy = speaking


class Mind:
    """A caller that has thought since the agent's last word."""

    def __init__(self, until: float) -> None:
        self.until = until

    def at_work_until(self, now: float) -> float:
        return min(now, self.until)

    def thinking_time(self, now: float) -> float:
        return self.at_work_until(now) - 10.0

    def why_left(self, words: str) -> str:
        return words


@pytest.mark.parametrize(
    ("until", "now", "reason"),
    [
        pytest.param(10.0, 41.0, EndReason.BOTH_SILENT, id="it thinks nothing"),
        pytest.param(90.0, 41.0, None, id="it thinks"),
        pytest.param(90.0, 119.0, None, id="it has just thought, beyond the limit of the call"),
        pytest.param(90.0, 121.0, EndReason.BOTH_SILENT, id="it thought long ago"),
        pytest.param(20.0, 111.0, EndReason.TIMEOUT, id="time beside its thinking"),
    ],
)
def test_a_caller_that_thinks_is_not_silent_and_not_at_the_agents_cost(
    until: float, now: float, reason: EndReason | None
) -> None:
    endings = Endings(
        Talk(),  # type: ignore[arg-type]
        Mind(until),
        CallLimits(both_silent=30.0),
        max_duration=100.0,
        began=0.0,
        audible=lambda _: False,
        why_silent=str,
    )
    endings.kickoff = 1.0
    ended = endings.check(now)
    assert (ended and ended.reason) == reason
    assert ended is None or isinstance(ended, Ended)
