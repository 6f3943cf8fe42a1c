"""Answers in every shape providers give them, and every way they fail to."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest

from pytest_voiceeval.call.caller_stats import Handled
from pytest_voiceeval.call.chat_client import ChatClient
from pytest_voiceeval.call.chat_faults import ChatError
from pytest_voiceeval.call.chat_reply import ChatReply
from pytest_voiceeval.call.result import Tokens
from tests.unit.call_llm.provider import (
    Say,
    error,
    never,
    raw,
    replace,
    reset,
    status,
    streamed_error,
)

TOOLS = [{"type": "function", "function": {"name": "hang_up", "parameters": {}}}]
WORDS = "Ich möchte „ORD-8815“ zurückgeben — bitte. 😀"


async def ask(client: ChatClient, tools: Any = TOOLS) -> ChatReply:
    def compose(takes_tools: bool) -> list[dict[str, Any]]:
        return [{"role": "system", "content": "tools" if takes_tools else "no tools"}]

    return await client.ask(compose, tools)


# -- answers


@pytest.mark.parametrize("split", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
async def test_a_stream_may_be_split_between_any_two_bytes(
    client: Any, split: int, newline: str
) -> None:
    answer = Say(
        WORDS,
        calls=(("hang_up", {"reason": "goal_met", "last_words": "Tschüß."}),),
        split=split,
        newline=newline,
        comment=": OPENROUTER PROCESSING",
    )
    asked, _ = await client(answer)
    reply = await ask(asked)
    assert reply.text == WORDS
    [call] = reply.calls
    assert (call.name, json.loads(call.arguments)["last_words"]) == ("hang_up", "Tschüß.")
    assert asked.meter.tokens == Tokens(1, 100, 10)


CALLS = (("hang_up", {"reason": "goal_met"}), ("dance", {"steps": 3}))


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(Say(calls=CALLS), id="in pieces"),
        pytest.param(Say(calls=CALLS, call_shape="whole"), id="each in one piece"),
        pytest.param(Say(calls=CALLS, call_shape="same-index"), id="all under one index"),
        pytest.param(Say(calls=CALLS, call_shape="no-index"), id="without index"),
        pytest.param(Say(calls=CALLS, whole=True), id="not streamed"),
        pytest.param(Say(calls=CALLS, done=False), id="no DONE at the end"),
        pytest.param(Say(calls=CALLS, finish=None), id="no finish reason"),
    ],
)
async def test_tool_calls_come_in_many_shapes(client: Any, answer: Say) -> None:
    asked, _ = await client(answer)
    reply = await ask(asked)
    assert [(call.name, json.loads(call.arguments)) for call in reply.calls] == list(CALLS)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        pytest.param({"content": [{"type": "text", "text": "Hi."}]}, "Hi.", id="a list of parts"),
        pytest.param({"content": None}, "", id="null"),
        pytest.param({"content": "Hi.", "reasoning_content": "hm"}, "Hi.", id="thinking apart"),
    ],
)
async def test_contents_that_are_no_plain_text(client: Any, body: Any, text: str) -> None:
    completion = {"choices": [{"message": body, "finish_reason": "stop"}], "usage": None}
    asked, _ = await client(raw(json.dumps(completion).encode()))
    assert (await ask(asked)).text == text
    assert asked.stats.counts == {Handled.NOT_STREAMED: 1}


async def test_an_event_stream_without_its_last_newline(client: Any) -> None:
    chunk = {"choices": [{"delta": {"content": "Hi."}, "finish_reason": "stop"}]}
    asked, _ = await client(raw(f"data: {json.dumps(chunk)}".encode(), "text/event-stream"))
    assert (await ask(asked)).text == "Hi."


@pytest.mark.parametrize("kind", ["text/plain", "application/json", "application/octet-stream"])
async def test_an_event_stream_by_another_name(client: Any, kind: str) -> None:
    chunk = {"choices": [{"delta": {"content": "Hi."}, "finish_reason": None}]}
    text = f": hello\n\ndata: {json.dumps(chunk)}\n\ndata: [DONE]\n\n"
    asked, provider = await client(raw(text.encode(), kind))
    assert (await ask(asked)).text == "Hi."
    assert len(provider.requests) == 1
    assert not asked.stats.counts


async def test_a_refusal_kept_apart(client: Any) -> None:
    asked, _ = await client(Say(extra={"refusal": "I will not."}))
    assert (await ask(asked)).refusal == "I will not."


async def test_what_is_sent(client: Any) -> None:
    asked, provider = await client(
        Say("Hi."), temperature=0.0, seed=7, max_tokens=50, api_key_env="K", environ={"K": " k-1 "}
    )
    await ask(asked)
    [request] = provider.requests
    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    assert request.headers["authorization"] == "Bearer k-1"
    assert request.body == {
        "model": "test-model",
        "messages": [{"role": "system", "content": "tools"}],
        "tools": TOOLS,
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.0,
        "seed": 7,
        "max_tokens": 50,
    }


async def test_without_a_key_none_is_sent(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody")
    asked, provider = await client(Say("Hi."))
    await ask(asked)
    assert "authorization" not in provider.request.headers


async def test_the_full_address_of_the_method_is_taken_too(client: Any, serve: Any) -> None:
    provider = await serve(Say("Hi."))
    asked, _ = await client(Say(""), url=f"{provider.url}/chat/completions?api-version=1")
    await ask(asked)
    assert provider.request.path == "/v1/chat/completions?api-version=1"


# -- token counts


@pytest.mark.parametrize(
    "usage",
    [None, (0, 0)],
    ids=["absent", "filled with zeros"],
)
async def test_absent_usage_is_unknown_and_never_0(client: Any, usage: Any) -> None:
    asked, _ = await client(Say("Hi."), Say("Hi.", usage=usage))
    await ask(asked)
    assert asked.meter.tokens == Tokens(1, 100, 10)
    await ask(asked)
    assert asked.meter.tokens is None
    assert asked.meter.note == (
        "the caller's tokens and cost are unknown: 1 of 2 answers of its model came without token "
        "counts; the other 1 add up to 100 + 10 tokens"
    )


async def test_nothing_asked_is_unknown_too(client: Any) -> None:
    asked, _ = await client(Say())
    assert asked.meter.tokens is None
    assert asked.meter.note is None


async def test_an_answer_that_broke_off_makes_the_sum_unknown(client: Any) -> None:
    asked, _ = await client(Say("One two three four five six seven", cut_after=2), Say("Hi."))
    assert (await ask(asked)).text == "Hi."
    assert (asked.meter.answers, asked.meter.unknown) == (2, 1)


async def test_a_refused_request_costs_nothing(client: Any) -> None:
    asked, _ = await client(error(429, "slow down"), Say("Hi."))
    await ask(asked)
    assert asked.meter.tokens == Tokens(1, 100, 10)


# -- faults that pass


PASSING = {
    "429": (error(429, "slow down"), Handled.RATE_LIMITED),
    "500": (error(500, "oops"), Handled.SERVER_ERROR),
    "502 page": (status(502, "<html><title>Bad Gateway</title></html>"), Handled.SERVER_ERROR),
    "503": (status(503), Handled.SERVER_ERROR),
    "529": (error(529, "Overloaded"), Handled.SERVER_ERROR),
    "reset": (reset, Handled.DISCONNECTED),
    "cut off": (Say("One two three four five", cut_after=1), Handled.DISCONNECTED),
    "no end": (Say("One two three", finish=None, done=False), Handled.BROKEN_ANSWER),
    "no JSON": (raw(b"{'choices'"), Handled.BROKEN_ANSWER),
    "no JSON in the stream": (raw(b"data: {oops\n\n", "text/event-stream"), Handled.BROKEN_ANSWER),
    "a list": (raw(b"[1, 2]"), Handled.BROKEN_ANSWER),
    "no choices": (raw(b'{"id": "x"}'), Handled.BROKEN_ANSWER),
    "error in the stream": (streamed_error("upstream", 502), Handled.SERVER_ERROR),
    "limit in the stream": (streamed_error("slow down", 429), Handled.RATE_LIMITED),
    "named in the stream": (streamed_error("Overloaded", "overloaded_error"), Handled.SERVER_ERROR),
    "error with status 200": (
        raw(b'{"object": "error", "message": "internal server_error", "code": 500}'),
        Handled.SERVER_ERROR,
    ),
    "first token late": (Say("Hi.", wait=5.0), Handled.TIMED_OUT),
    "stalls in the middle": (Say("One two three four", between=5.0), Handled.TIMED_OUT),
    "never": (never, Handled.TIMED_OUT),
}


@pytest.mark.parametrize("name", PASSING)
async def test_what_passes_is_tried_again_and_counted(client: Any, name: str) -> None:
    fault, handled = PASSING[name]
    asked, provider = await client(fault, fault, Say("Hi."), timeout=0.3)
    assert (await ask(asked)).text == "Hi."
    assert len(provider.requests) == 3
    assert asked.stats.counts[handled] == 2


async def test_a_slow_first_token_within_the_limit_is_waited_for(client: Any) -> None:
    asked, _ = await client(Say("Hi.", wait=0.5), timeout=2.0)
    assert (await ask(asked)).text == "Hi."
    assert not asked.stats.counts


async def test_retry_after_is_honoured(client: Any) -> None:
    asked, _ = await client(error(429, "slow down", Retry_After="0.4"), Say("Hi."))
    begin = time.monotonic()
    await ask(asked)
    assert 0.4 <= time.monotonic() - begin < 2


async def test_more_than_the_patience_is_not_waited_for(client: Any) -> None:
    asked, provider = await client(error(429, "slow down", Retry_After="3600"), patience=5.0)
    with pytest.raises(ChatError) as raised:
        await ask(asked)
    assert len(provider.requests) == 1
    assert str(raised.value) == (
        f"{provider.url} (model 'test-model'): HTTP 429: slow down; fewer calls at once or "
        "--caller-rpm keep below a provider's limit (given up after 1 attempt in 0.0 s; it asked "
        "to wait 3600 s)"
    )


async def test_it_is_not_tried_for_ever(client: Any) -> None:
    asked, provider = await client(error(503, "busy"), attempts=3)
    with pytest.raises(ChatError, match=r"HTTP 503: busy \(given up after 3 attempts in 0"):
        await ask(asked)
    assert len(provider.requests) == 3
    assert asked.stats.counts == {Handled.SERVER_ERROR: 2}


async def test_patience_ends_everything(client: Any) -> None:
    asked, _ = await client(never, timeout=60, patience=0.3)
    with pytest.raises(ChatError, match=r"no answer within 0.3 s, all attempts together \(patien"):
        await ask(asked)
    assert asked.meter.unknown == 1


async def test_nobody_listens(client: Any) -> None:
    asked, _ = await client(Say(), url="http://127.0.0.1:9/v1", attempts=2)
    with pytest.raises(ChatError, match=r"no connection \(ClientConnectorError: Cannot connect"):
        await ask(asked)
    assert asked.meter.answers == 0


# -- faults that do not


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        pytest.param(
            error(401, "Incorrect API key"),
            "HTTP 401: Incorrect API key; check the key in the environment variable of "
            "--caller-api-key-name",
            id="wrong key",
        ),
        pytest.param(
            error(429, "You exceeded your current quota", "insufficient_quota"),
            "HTTP 429: You exceeded your current quota; the account has no credit",
            id="no credit",
        ),
        pytest.param(
            error(402, "Insufficient credits"),
            "HTTP 402: Insufficient credits; the account has no credit",
            id="no credits",
        ),
        pytest.param(
            status(403, {"error": {"message": "billing is off"}}),
            "HTTP 403: billing is off; the account has no credit",
            id="no billing",
        ),
        pytest.param(
            status(404, {"detail": "Not Found"}),
            "HTTP 404: Not Found; check --caller-url (the base, such as http://HOST/v1) and "
            "--caller-model",
            id="no such path",
        ),
        pytest.param(
            status(400, {"object": "error", "message": "context too long", "code": 400}),
            "HTTP 400: context too long",
            id="as vLLM says it",
        ),
        pytest.param(
            status(400, {"error": "model is asleep"}), "HTTP 400: model is asleep", id="as Ollama"
        ),
        pytest.param(
            status(400, [{"error": {"code": 400, "message": "API key not valid"}}]),
            "HTTP 400: API key not valid",
            id="as Gemini",
        ),
        pytest.param(
            status(307, "", Location="http://elsewhere.example/?key=k"),
            "HTTP 307; it points elsewhere, where keys are not sent: give the final address",
            id="redirected",
        ),
        pytest.param(
            raw(b"<!DOCTYPE html><html><body>Welcome</body></html>", "text/html"),
            "the endpoint answered with a web page; check --caller-url (the base of the API, such "
            "as http://HOST/v1): <!DOCTYPE html><html><body>Welcome</body></html>",
            id="a web page",
        ),
        pytest.param(
            streamed_error("no such model", "model_not_found"),
            "the endpoint answered with an error: no such model",
            id="error in the stream",
        ),
    ],
)
async def test_what_does_not_pass_is_not_tried_again(client: Any, fault: Any, message: str) -> None:
    asked, provider = await client(fault)
    with pytest.raises(ChatError) as raised:
        await ask(asked)
    assert str(raised.value) == f"{provider.url} (model 'test-model'): {message}"
    assert len(provider.requests) == 1


async def test_an_endless_answer_is_cut(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_voiceeval.call.chat_answer.MAX_ANSWER", 1000)
    asked, _ = await client(Say("word " * 2000))
    with pytest.raises(ChatError, match="longer than 1000 bytes"):
        await ask(asked)


async def test_a_key_is_masked_in_an_answer_unless_it_is_a_word(client: Any) -> None:
    for key, shown in (("sk-planted-0123456789", "***"), ("ollama", "ollama")):
        said = Say(f"It is {key}.", calls=((key, {"reason": key}),))
        asked, _ = await client(said, api_key_env="KEY", environ={"KEY": key})
        reply = await ask(asked)
        assert (reply.text, reply.calls[0].name) == (f"It is {shown}.", shown)
        assert "planted" not in repr(reply)


@pytest.mark.parametrize("key", ["sk-planted-\nx", "sk-planted-\u00e9"])
async def test_a_key_that_no_header_can_carry(client: Any, key: str) -> None:
    with pytest.raises(ChatError, match=r"KEY, .* holds a line break or another") as raised:
        await client(Say(), api_key_env="KEY", environ={"KEY": key})
    assert "planted" not in str(raised.value)


async def test_a_key_that_is_not_set(client: Any) -> None:
    with pytest.raises(ChatError, match=r"the environment variable NO_KEY, .* is not set or empty"):
        await client(Say(), api_key_env="NO_KEY", environ={"NO_KEY": "  "})


# -- leaving


async def test_cancelling_ends_the_request(client: Any) -> None:
    asked, _ = await client(never)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await ask(asked)
    assert (asked.meter.answers, asked.meter.tokens) == (1, None)


async def test_one_connection_serves_a_whole_call(client: Any) -> None:
    asked, provider = await client(replace(Say("Hi."), usage=None))
    for _ in range(5):
        await ask(asked)
    assert provider.connections == 1


async def test_what_happens_after_the_end_of_an_answer_does_not_matter(client: Any) -> None:
    pieces_with_done = 5
    asked, provider = await client(Say("Hi.", cut_after=pieces_with_done))
    assert [(await ask(asked)).text for _ in range(2)] == ["Hi.", "Hi."]
    assert len(provider.requests) == 2
