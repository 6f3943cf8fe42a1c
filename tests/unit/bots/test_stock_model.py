"""The stock bot's model service: what passes is tried again, and faults are told without keys."""

from __future__ import annotations

import json
import warnings
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from loguru import logger
from openai import AsyncOpenAI, DefaultAsyncHttpxClient

from pytest_voiceeval.bots.stock_config import ModelConfig
from tests.unit.call_llm.provider import (
    Provider,
    Say,
    error,
    raw,
    reset,
    serving,
    status,
    streamed_error,
)

with warnings.catch_warnings():
    # Pipecat uses what Python 3.13 no longer has
    warnings.simplefilter("ignore", DeprecationWarning)
    from pipecat.processors.aggregators.llm_context import LLMContext
    from pipecat.services.openai.llm import OpenAILLMService

    from pytest_voiceeval.bots import stock_model
    from pytest_voiceeval.bots.stock_model import ATTEMPTS, ModelService, fault_of

KEY = "ag-9c1f-planted-8f0e1d2c3b4a"
IN_QUERY = "qr-6b3e-planted-99aa88bb77cc"


@pytest.fixture(autouse=True)
def quick_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FIRST_BACKOFF", "LONGEST_BACKOFF", "JITTER"):
        monkeypatch.setattr(stock_model, name, 0.001)


class Told:
    """What the client of the bot is told."""

    def __init__(self) -> None:
        self.errors: list[Mapping[str, Any]] = []

    async def send_error(self, data: Mapping[str, Any]) -> None:
        self.errors.append(data)

    @property
    def last(self) -> Mapping[str, Any]:
        return self.errors[-1]


@asynccontextmanager
async def service(*answers: Any) -> AsyncIterator[tuple[ModelService, Told, Provider]]:
    async with serving(Provider(*answers)) as provider:
        model = ModelConfig(f"{provider.url}?api_key={IN_QUERY}", "m", KEY)
        client = AsyncOpenAI(
            api_key=KEY,
            base_url=model.url_for("s"),
            default_query=model.query,
            http_client=DefaultAsyncHttpxClient(trust_env=False, follow_redirects=False),
        )
        told = Told()
        async with client:
            yield (
                ModelService(client, model, told, settings=OpenAILLMService.Settings(model="m")),
                told,
                provider,
            )


async def words_of(asked: ModelService) -> str:
    """What the model answers; a fault is told the way Pipecat tells it."""
    context = LLMContext([{"role": "user", "content": "Hello"}])
    words = ""
    try:
        async for chunk in await asked.get_chat_completions(context):
            words += chunk.choices[0].delta.content or "" if chunk.choices else ""
    except Exception as fault:  # noqa: BLE001 - as Pipecat does
        await asked.push_error("Error during completion", exception=fault)
    return words


CALL = ("cancel", {"code": "N4WZ8C", "parts": [1, 2]})


def events(*data: Any) -> Any:
    """A stream of these events, None for none, and nothing that ends it."""
    lines = [each if isinstance(each, str) else json.dumps(each) for each in data if each]
    return raw("".join(f"data: {line}\n\n" for line in lines).encode(), "text/event-stream")


BUSY = error(503, "Overloaded", Retry_After="0")


async def test_key_and_query_go_with_each_request() -> None:
    async with service(BUSY, Say("Good morning.")) as (asked, told, provider):
        assert await words_of(asked) == "Good morning."
    assert [r.headers["authorization"] for r in provider.requests] == [f"Bearer {KEY}"] * 2
    assert {r.path for r in provider.requests} == {f"/v1/chat/completions?api_key={IN_QUERY}"}
    [retry] = told.errors
    assert retry["fatal"] is False
    assert "HTTP 503: Overloaded; asked again after 0.0 s" in retry["error"]


@pytest.mark.parametrize(
    ("answer", "requests", "said"),
    [
        pytest.param(BUSY, ATTEMPTS, "answered HTTP 503: Overloaded", id="busy for ever"),
        pytest.param(error(429, "Slow down"), ATTEMPTS, "HTTP 429: Slow down", id="too many"),
        pytest.param(error(429, "insufficient_quota"), 1, "insufficient_quota", id="no credit"),
        pytest.param(error(429, "x", Retry_After="3600"), 1, "HTTP 429: x", id="in an hour"),
        pytest.param(error(401, "No such key"), 1, "HTTP 401: No such key", id="no such key"),
        pytest.param(error(404, "No such model"), 1, "HTTP 404: No such model", id="no such model"),
        pytest.param(status(307, "", Location="http://127.0.0.2:9/"), 1, "HTTP 307", id="redirect"),
        pytest.param(status(400, {"detail": "too long"}), 1, "HTTP 400: too long", id="detail"),
        pytest.param(status(500, "<h1>Oops</h1>"), ATTEMPTS, "HTTP 500: Oops", id="a page"),
        pytest.param(reset, ATTEMPTS, "broke off (ReadError", id="reset"),
        pytest.param(
            raw(b"<html>", "text/html; charset=utf-8"), 1, "answered with a web page", id="a site"
        ),
        pytest.param(raw(b"{}"), 1, "one piece, not a stream (application/json)", id="no stream"),
        pytest.param(streamed_error("Boom", 502), 1, "broke off with an error: Boom", id="broken"),
        pytest.param(Say("One two three four", cut_after=2), 1, "broke off (ReadError", id="cut"),
        pytest.param(
            Say(calls=(CALL,), cut_after=3), ATTEMPTS, "broke off (ReadError", id="cut, no words"
        ),
        pytest.param(
            Say(calls=(CALL,), finish=None), ATTEMPTS, "before the end of its answer", id="no end"
        ),
        pytest.param(
            status(429, {"error": {"message": "Spent", "code": "insufficient_quota"}}),
            1,
            "HTTP 429: Spent",
            id="no credit, by its code",
        ),
        pytest.param(
            raw(b'{"error": {"message": "No such model", "code": 400}}'),
            1,
            "answered with an error: No such model",
            id="an error with status 200",
        ),
        pytest.param(
            events({"object": "error", "message": "Too long", "code": 400}),
            1,
            "broke off with an error: Too long",
            id="an error as vLLM sends it",
        ),
        pytest.param(
            status(400, [{"error": {"message": "Bad", "code": 400}}]), 1, "HTTP 400: Bad", id="list"
        ),
        pytest.param(status(422, {"detail": [{"msg": "No"}]}), 1, "HTTP 422: No", id="FastAPI"),
        pytest.param(events(None), ATTEMPTS, "before the end of its answer", id="no event"),
        pytest.param(events("{"), ATTEMPTS, "a chunk that is not JSON", id="no JSON"),
        pytest.param(events([1]), ATTEMPTS, "not those of a completion", id="no object"),
        pytest.param(
            events({"choices": "none"}), ATTEMPTS, "not those of a completion", id="no choices"
        ),
    ],
)
async def test_what_does_not_pass_is_a_fatal_error(answer: Any, requests: int, said: str) -> None:
    async with service(answer) as (asked, told, provider):
        await words_of(asked)
    assert len(provider.requests) == requests
    assert [data["fatal"] for data in told.errors] == [False] * (requests - 1) + [True]
    assert said in told.last["error"]
    assert told.last["error"].startswith(f"the endpoint {provider.url}?api_key=*** ")


@pytest.mark.parametrize(
    ("answer", "endpoint"),
    [
        (error(401, "x"), {"status": 401, "spent": False}),
        (reset, {"status": None, "spent": True}),
        (streamed_error("Boom", 502), {"status": 502, "spent": True}),
    ],
    ids=["401", "reset", "in the stream"],
)
async def test_whose_fault_it_is_can_be_told(answer: Any, endpoint: dict[str, Any]) -> None:
    async with service(answer) as (asked, told, _):
        await words_of(asked)
    assert told.last["model_endpoint"] == endpoint


async def calls_of(asked: ModelService) -> list[tuple[int, str, Any]]:
    """Number, name and arguments of the calls that Pipecat reads; each has an id of its own."""
    context = LLMContext([{"role": "user", "content": "Hello"}])
    chunks = [chunk async for chunk in await asked.get_chat_completions(context)]
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    read = [delta.tool_calls[0] for delta in deltas if delta.tool_calls]
    assert len({call.id for call in read if call.id}) == len(read)
    return [(call.index, call.function.name, json.loads(call.function.arguments)) for call in read]


@pytest.mark.parametrize("shape", ["pieces", "whole", "same-index", "no-index"])
async def test_calls_reach_pipecat_whatever_their_shape(shape: str) -> None:
    two = (CALL, ("seat", {"row": 4}))
    async with service(Say("One moment.", calls=two, call_shape=shape)) as (asked, told, _):
        assert await calls_of(asked) == [(0, *CALL), (1, "seat", {"row": 4})]
    assert told.errors == []


async def test_a_key_in_the_answer_is_masked_between_any_two_pieces() -> None:
    said = f"I have {KEY} and {KEY[:-1]}x, {IN_QUERY} and {KEY[:6]}."
    deltas = [{"content": letter} for letter in said]
    deltas.append({"tool_calls": [{"function": {"name": KEY, "arguments": {"key": IN_QUERY}}}]})
    chunks = [{"choices": [{"delta": delta, "finish_reason": None}]} for delta in deltas]
    end = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
    async with service(events(*chunks, end)) as (asked, _, _):
        assert await words_of(asked) == f"I have *** and ***x, *** and {KEY[:6]}."
        assert await calls_of(asked) == [(0, "***", {"key": "***"})]


async def test_what_a_model_thinks_aloud_is_not_said() -> None:
    deltas = ["<thi", "nk>Who is that?</th", "ink>\n", "\nGood ", "morning."]
    chunks = [{"choices": [{"delta": {"content": text}, "finish_reason": None}]} for text in deltas]
    end = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
    async with service(events(*chunks, end)) as (asked, _, _):
        assert await words_of(asked) == "Good morning."


async def test_several_calls_in_one_chunk() -> None:
    made = [{"index": 0, "function": {"name": n, "arguments": {"x": n}}} for n in "ab"]
    first, second = ({**call, "id": f"id_{n}"} for n, call in enumerate(made))
    chunk = {"choices": [{"delta": {"tool_calls": [first, second]}, "finish_reason": "stop"}]}
    async with service(events(chunk)) as (asked, _, _):
        assert await calls_of(asked) == [(0, "a", {"x": "a"}), (1, "b", {"x": "b"})]


async def test_a_call_without_an_id_gets_one() -> None:
    call = {"function": {"name": "a", "arguments": ""}}
    chunk = {"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}
    async with service(events(chunk)) as (asked, _, _):
        assert await calls_of(asked) == [(0, "a", {})]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Say(calls=(("seat", '{"row": '),)), "calls seat with arguments that are no JSON object"),
        (Say(calls=(("seat", "[4]"),)), "calls seat with arguments that are no JSON object"),
        (Say(calls=(("seat", '{"row'),), finish="length"), "its token limit"),
        (Say("word " * 30_000, words_a_chunk=9_999), "longer than 100000 characters"),
    ],
    ids=["half", "a list", "token limit", "no end of it"],
)
async def test_what_the_model_does_wrong_is_no_fault_of_its_endpoint(
    answer: Any, said: str
) -> None:
    async with service(answer) as (asked, told, provider):
        await words_of(asked)
    assert len(provider.requests) == 1
    assert said in told.last["error"]
    assert told.last["fatal"] is True
    assert "model_endpoint" not in told.last


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Say(""), "answered with no words and no calls"),
        (Say("", finish="content_filter"), "ended the answer by its content filter"),
        (Say("I would", finish="length"), "ended the answer at its token limit"),
    ],
    ids=["empty", "filtered", "token limit"],
)
async def test_an_answer_that_lacks_something_is_noted(answer: Any, said: str) -> None:
    async with service(answer) as (asked, told, _):
        await words_of(asked)
    [note] = told.errors
    assert said in note["error"]
    assert (note["fatal"], "model_endpoint" in note) == (False, False)


async def test_nothing_to_say_after_the_end_is_as_it_should_be() -> None:
    ending = {"id": "1", "type": "function", "function": {"name": "end_conversation"}}
    said: list[Any] = [
        {"role": "assistant", "tool_calls": [ending]},
        {"role": "tool", "tool_call_id": "1", "content": "{}"},
    ]
    async with service(Say("")) as (asked, told, _):
        async for _ in await asked.get_chat_completions(LLMContext(said)):
            pass
    assert told.errors == []


@pytest.mark.parametrize(
    ("usage", "counted"), [((100, 10), True), ((0, 0), False), ((100, -1), False)]
)
async def test_counts_that_are_none_are_not_counted(usage: Any, counted: bool) -> None:
    async with service(Say("Hello.", usage=usage)) as (asked, _, _):
        context = LLMContext([{"role": "user", "content": "Hello"}])
        found = [c.usage async for c in await asked.get_chat_completions(context) if c.usage]
    assert bool(found) is counted


ECHO = f"You sent {KEY} to /v1?api_key={IN_QUERY}"


@pytest.mark.parametrize(
    "answer",
    [
        error(401, ECHO),
        status(500, f"<b>{ECHO}</b>"),
        streamed_error(ECHO),
        error(400, "x" * 150 + ECHO),
    ],
    ids=["error", "page", "stream", "cut"],
)
async def test_keys_are_told_to_nobody(answer: Any) -> None:
    logged: list[str] = []
    sink = logger.add(lambda message: logged.append(str(message)), level="TRACE", diagnose=False)
    try:
        async with service(answer) as (asked, told, _):
            await words_of(asked)
    finally:
        logger.remove(sink)
    shown = json.dumps([dict(data) for data in told.errors]) + repr(asked) + "".join(logged)
    assert "the endpoint" in shown
    for secret in (KEY, IN_QUERY):
        assert secret[:12] not in shown
        assert secret[-10:] not in shown


def test_faults_of_ours_are_not_the_endpoints() -> None:
    assert fault_of(ValueError("x")) is None
