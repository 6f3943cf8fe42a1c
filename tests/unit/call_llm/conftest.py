"""A caller on a scripted provider, and the bot and scenario of the call tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from pytest_voiceeval.call import chat_client
from pytest_voiceeval.call.caller_model import CallerModel
from pytest_voiceeval.call.chat_client import ChatClient
from pytest_voiceeval.call.llm_caller import LLMCaller
from pytest_voiceeval.call.result import Utterance
from tests.unit.call.conftest import FakeScenario
from tests.unit.call.conftest import kit as kit  # noqa: PLC0414 - a fixture
from tests.unit.call_llm.provider import Provider, serving

PROMPT = (
    "You are Kim Lee. You want to send back order ORD-8815 (spelled out as O, R, D, dash, eight, "
    "eight, one, five) and get 40 dollars for it."
)


class CallerScenario(FakeScenario):
    """A scenario whose caller has a prompt."""

    def get_user_prompt(self) -> str:
        return PROMPT


def talk(*lines: str) -> list[Utterance]:
    """A transcript: the agent's line, the caller's, and so on."""
    roles = ("agent", "user")
    return [
        Utterance(roles[n % 2], text, float(n), float(n), n // 2 + 1)  # type: ignore[arg-type]
        for n, text in enumerate(lines)
    ]


GREETING = talk("Good morning, this is the shop. How can I help?")


@pytest.fixture(autouse=True)
def quick_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_client, "FIRST_BACKOFF", 0.001)
    monkeypatch.setattr(chat_client, "LONGEST_BACKOFF", 0.01)
    monkeypatch.setattr(chat_client, "JITTER", 0.001)


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


@pytest.fixture
def serve(stack: AsyncExitStack) -> Callable[..., Any]:
    async def serve(*answers: Any) -> Provider:
        return await stack.enter_async_context(serving(Provider(*answers)))

    return serve


@pytest.fixture
def client(stack: AsyncExitStack, serve: Any) -> Callable[..., Any]:
    """A client of a provider with given answers."""

    async def make(*answers: Any, **settings: Any) -> tuple[ChatClient, Provider]:
        provider = await serve(*answers)
        environ = settings.pop("environ", None)
        model = CallerModel(url=settings.pop("url", provider.url), model="test-model", **settings)
        return await stack.enter_async_context(ChatClient(model, environ=environ)), provider

    return make


@pytest.fixture
def caller(stack: AsyncExitStack, serve: Any) -> Callable[..., Any]:
    """A started caller of a provider with given answers."""

    async def make(*answers: Any, scenario: Any = None, **settings: Any) -> Any:
        provider = await serve(*answers)
        model = CallerModel(url=provider.url, model="test-model", **settings)
        llm_caller = LLMCaller(scenario or CallerScenario(), model)
        await llm_caller.start()
        stack.push_async_callback(llm_caller.close)
        return llm_caller, provider

    return make
