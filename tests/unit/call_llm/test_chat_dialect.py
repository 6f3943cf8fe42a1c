"""Parameters that an endpoint refuses are left out, and that is counted."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_voiceeval.call.caller_model import CallerModel
from pytest_voiceeval.call.caller_stats import Handled
from pytest_voiceeval.call.chat_client import ChatClient
from pytest_voiceeval.call.chat_faults import ChatError
from tests.unit.call_llm.provider import Rule, Say, error
from tests.unit.call_llm.test_chat_client import ask


def refusing(name: str, code: int, message: str) -> Rule:
    """Refuses requests that hold a parameter."""
    return Rule(lambda request: error(code, message) if name in request.body else Say("Hi."))


@pytest.mark.parametrize(
    ("name", "code", "message", "handled"),
    [
        ("tools", 400, "stablelm2:latest does not support tools", Handled.TOOLS_REFUSED),
        (
            "tools",
            400,
            '"auto" tool choice requires --enable-auto-tool-choice to be set',
            Handled.TOOLS_REFUSED,
        ),
        ("tools", 404, "No endpoints found that support tool use.", Handled.TOOLS_REFUSED),
        ("seed", 400, "Unsupported parameter: 'seed'", Handled.PARAMETER_REFUSED),
        ("temperature", 400, "'temperature' does not support 0", Handled.PARAMETER_REFUSED),
        ("stream_options", 422, "extra fields: stream_options", Handled.PARAMETER_REFUSED),
        ("max_tokens", 400, "max_tokens is not known", Handled.PARAMETER_REFUSED),
    ],
)
async def test_a_refused_parameter_is_left_out(
    client: Any, name: str, code: int, message: str, handled: Handled
) -> None:
    asked, provider = await client(
        refusing(name, code, message), seed=1, temperature=0.0, max_tokens=9
    )
    assert (await ask(asked)).text == "Hi."
    assert (await ask(asked)).text == "Hi."
    assert len(provider.requests) == 3
    assert asked.stats.counts == {handled: 1}
    assert provider.request.system == ("no tools" if name == "tools" else "tools")


async def test_the_new_name_of_the_token_limit(client: Any) -> None:
    message = "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    asked, provider = await client(refusing("max_tokens", 400, message), max_tokens=9)
    await ask(asked)
    assert provider.request.body["max_completion_tokens"] == 9
    assert asked.stats.warnings() == (
        "the caller's model, once: asked without a parameter that its endpoint refuses: max_tokens",
    )


async def test_an_endpoint_that_does_not_stream(client: Any) -> None:
    asked, provider = await client(refusing("stream", 400, "stream is not supported"))
    await ask(asked)
    assert "stream_options" not in provider.request.body
    assert asked.stats.counts == {Handled.PARAMETER_REFUSED: 1}


async def test_a_refusal_that_names_nothing_we_sent_is_an_error(client: Any) -> None:
    asked, _ = await client(error(400, "messages must alternate"))
    with pytest.raises(ChatError, match="messages must alternate"):
        await ask(asked)


async def test_what_one_client_learned_the_next_may_know(client: Any) -> None:
    asked, provider = await client(refusing("tools", 400, "no tools here"))
    await ask(asked)
    model = CallerModel(provider.url, "test-model")
    async with ChatClient(model, dialect=asked.dialect) as another:
        await ask(another)
    assert len(provider.requests) == 3
    assert not another.stats.counts
