from __future__ import annotations

import asyncio
import http.client
import json
import logging
import math
import signal
import threading
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import SplitResult, urlsplit

import pytest
from openai import APITimeoutError, AsyncOpenAI, BadRequestError, NotFoundError

from pytest_voiceeval.bots import scripted_model
from pytest_voiceeval.bots.script_player import AGENT_CLOSING, Script
from pytest_voiceeval.bots.scripted_model import ScriptedModel, serve_scripted_model
from pytest_voiceeval.scenario.dialogue import DialogueTurn, ToolCall

SEAT = ToolCall("assign_seat", {"seat_preference": "window", "note": "Zoë"})
END = ToolCall("end_conversation", {})
DIALOGUE = (
    DialogueTurn("agent", "Hello,  how can I help you, dear Zoë?\nTell me."),
    DialogueTurn("user", "A window seat."),
    DialogueTurn("agent", "Done. Anything else?", (SEAT,)),
    DialogueTurn("user", "No."),
    DialogueTurn("agent", "Goodbye.", (END,)),
)
HELLO = {"role": "user", "content": "Hello"}
ASKED = [HELLO, {"role": "assistant", "content": "x"}, {"role": "user", "content": "A seat"}]


@pytest.fixture
async def model() -> AsyncIterator[ScriptedModel]:
    async with serve_scripted_model() as served:
        served.play("s1", Script(DIALOGUE))
        yield served


@pytest.fixture
async def client(model: ScriptedModel) -> AsyncIterator[AsyncOpenAI]:
    async with make_client(model) as opened:
        yield opened


def make_client(model: ScriptedModel, session: str = "s1", **kwargs: Any) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=model.url(session), api_key="unused", **{"max_retries": 0} | kwargs)


async def stream(client: AsyncOpenAI, messages: list[Any], **kwargs: Any) -> list[Any]:
    chunks = await client.chat.completions.create(
        model="scripted", messages=messages, stream=True, **kwargs
    )
    return [chunk async for chunk in chunks]


async def test_an_answer_with_text(client: AsyncOpenAI) -> None:
    answer = await client.chat.completions.create(model="gpt-x", messages=[HELLO])
    (choice,) = answer.choices
    assert choice.message.content == DIALOGUE[0].text
    assert choice.message.tool_calls is None
    assert choice.finish_reason == "stop"
    assert answer.model == "gpt-x"
    assert answer.usage is not None
    assert answer.usage.prompt_tokens == math.ceil(len(json.dumps([[HELLO], []])) / 4)
    assert answer.usage.completion_tokens == math.ceil(len(DIALOGUE[0].text) / 4)
    assert answer.usage.total_tokens == (
        answer.usage.prompt_tokens + answer.usage.completion_tokens
    )


async def test_an_answer_with_a_call(client: AsyncOpenAI) -> None:
    answer = await client.chat.completions.create(model="scripted", messages=ASKED)
    (choice,) = answer.choices
    assert choice.message.content is None
    (call,) = choice.message.tool_calls or ()
    assert (call.id, call.type, call.function.name) == ("call_1_0", "function", "assign_seat")
    assert json.loads(call.function.arguments) == dict(SEAT.arguments)
    assert choice.finish_reason == "tool_calls"


async def test_a_streamed_text(client: AsyncOpenAI) -> None:
    chunks = await stream(client, [HELLO])
    deltas = [chunk.choices[0].delta for chunk in chunks]
    assert deltas[0].role == "assistant"
    pieces = [delta.content for delta in deltas if delta.content]
    assert len(pieces) > 1
    assert "".join(pieces) == DIALOGUE[0].text
    assert [chunk.choices[0].finish_reason for chunk in chunks][-2:] == [None, "stop"]
    assert all(chunk.usage is None for chunk in chunks)


async def test_a_streamed_call(client: AsyncOpenAI) -> None:
    chunks = await stream(client, ASKED, stream_options={"include_usage": True})
    calls = [call for c in chunks for choice in c.choices for call in choice.delta.tool_calls or ()]
    assert [(c.index, c.id, c.function.name) for c in calls] == [
        (0, "call_1_0", "assign_seat"),
        (0, None, None),
    ]
    assert json.loads("".join(c.function.arguments for c in calls)) == dict(SEAT.arguments)
    assert chunks[-2].choices[0].finish_reason == "tool_calls"
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens > 0


async def test_the_last_words_come_with_the_call_that_ends(client: AsyncOpenAI) -> None:
    messages = [*ASKED, {"role": "assistant", "content": "y"}, {"role": "user", "content": "No."}]
    chunks = await stream(client, messages)
    deltas = [chunk.choices[0].delta for chunk in chunks]
    assert "".join(delta.content or "" for delta in deltas) == "Goodbye."
    names = [c.function.name for d in deltas for c in d.tool_calls or () if c.function.name]
    assert names == ["end_conversation"]


async def test_a_tool_that_was_not_offered_is_called_all_the_same(client: AsyncOpenAI) -> None:
    tool = {"type": "function", "function": {"name": "other", "parameters": {"type": "object"}}}
    answer = await client.chat.completions.create(model="m", messages=ASKED, tools=[tool])
    assert answer.choices[0].message.tool_calls[0].function.name == "assign_seat"


async def test_the_openai_clients_own_stream_helper_assembles_it(client: AsyncOpenAI) -> None:
    async with client.chat.completions.stream(model="scripted", messages=ASKED) as events:
        final = await events.get_final_completion()
    (call,) = final.choices[0].message.tool_calls or ()
    assert json.loads(call.function.arguments) == dict(SEAT.arguments)


async def test_models_are_listed(client: AsyncOpenAI) -> None:
    assert [listed.id async for listed in client.models.list()] == ["scripted"]


async def test_sessions_are_kept_apart(model: ScriptedModel) -> None:
    model.play("a/b ?c", Script((DialogueTurn("agent", "Other."),)))
    async with make_client(model, "a/b ?c") as client:
        answer = await client.chat.completions.create(model="m", messages=[HELLO])
    assert answer.choices[0].message.content == "Other."
    assert len(model.journal("a/b ?c")) == 1
    assert model.journal("s1") == ()


def test_the_url_of_a_template_keeps_its_placeholder() -> None:
    model = ScriptedModel("http://127.0.0.1:1")
    assert model.url("{session}") == "http://127.0.0.1:1/{session}/v1"
    assert model.url("a b") == "http://127.0.0.1:1/a%20b/v1"


async def test_an_unknown_session_is_named(model: ScriptedModel, client: AsyncOpenAI) -> None:
    model.forget("s1")
    model.forget("never played")
    with pytest.raises(NotFoundError) as caught:
        await client.chat.completions.create(model="m", messages=[HELLO])
    assert caught.value.code == "unknown_session"
    assert "the scripted model has no session 's1'" in caught.value.message


@pytest.mark.parametrize(
    ("messages", "problem"),
    [
        ([], "'messages' must be a list with at least one message"),
        ("hello", "'messages' must be a list"),
        ([{"content": "x"}], "messages[0] must be an object with a text 'role'"),
        ([HELLO, "x"], "messages[1] must be an object"),
        ([{"role": "assistant", "tool_calls": 7}], "messages[0]: 'tool_calls' must be a list"),
    ],
)
async def test_a_malformed_request_is_explained(
    client: AsyncOpenAI, messages: Any, problem: str
) -> None:
    with pytest.raises(BadRequestError) as caught:
        await client.chat.completions.create(model="m", messages=messages)
    assert problem in caught.value.message


def post(url: str, body: bytes | None) -> tuple[int, dict[str, Any]]:
    request = urllib.request.Request(url, data=body)
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


@pytest.mark.parametrize(
    ("path", "body", "status", "text"),
    [
        ("/s1/v1/chat/completions", b"{not json", 400, "the body is not JSON"),
        ("/s1/v1/chat/completions", b"[" * 100_000, 400, "the body is not JSON"),
        ("/s1/v1/chat/completions", b"[1]", 400, "the body must be a JSON object"),
        ("/s1/v1/chat/completions", None, 405, "takes POST, not GET"),
        ("/s1/v1/models", b"{}", 405, "takes GET, not POST"),
        ("/s1/v1/embeddings", b"{}", 404, "no such path: /s1/v1/embeddings"),
        ("/nobody/v1/models", None, 404, "no session 'nobody'"),
    ],
)
async def test_other_bad_requests(
    model: ScriptedModel, path: str, body: bytes | None, status: int, text: str
) -> None:
    got, error = await asyncio.to_thread(post, model.base_url + path, body)
    assert got == status
    assert text in error["error"]["message"]
    assert set(error["error"]) == {"message", "type", "param", "code"}


async def test_a_request_above_the_limit_is_refused(
    model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripted_model, "MAX_BODY", 1000)
    url = model.url("s1") + "/chat/completions"
    status, error = await asyncio.to_thread(post, url, b" " * 5000)
    assert (status, error["error"]["code"]) == (413, "too_large")


async def test_requests_are_kept_in_a_bounded_journal(
    model: ScriptedModel, client: AsyncOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripted_model, "JOURNAL_LENGTH", 2)
    model.play("s1", Script(DIALOGUE))
    for messages in ([HELLO], ASKED, [HELLO]):
        await client.chat.completions.create(model="m", messages=messages)
    first, second = model.journal("s1")
    assert first.request["messages"] == ASKED
    assert (first.reply.calls, second.reply.text) == ((SEAT,), DIALOGUE[0].text)


async def test_a_delay(model: ScriptedModel, client: AsyncOpenAI) -> None:
    model.play("s1", Script(DIALOGUE, delay=0.2))
    begun = time.monotonic()
    await client.chat.completions.create(model="m", messages=[HELLO])
    assert 0.19 < time.monotonic() - begun < 5


async def test_hangs_from_a_turn_on(model: ScriptedModel) -> None:
    model.play("s1", Script(DIALOGUE, hang_at_turn=1))
    async with make_client(model, timeout=0.3) as client:
        answer = await client.chat.completions.create(model="m", messages=[HELLO])
        assert answer.choices[0].message.content
        for messages in (ASKED, [*ASKED, {"role": "assistant", "content": "y"}, HELLO]):
            with pytest.raises(APITimeoutError):
                await client.chat.completions.create(model="m", messages=messages)
    assert [entry.reply.turn for entry in model.journal("s1")] == [0, 1, 2]


async def test_closes_in_time_and_quietly_with_a_hanging_request(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    async with serve_scripted_model() as model:
        model.play("s1", Script(DIALOGUE, hang_at_turn=0))
        client = make_client(model)
        request = asyncio.create_task(client.chat.completions.create(model="m", messages=[HELLO]))
        while not model.journal("s1"):  # noqa: ASYNC110 - the model tells nobody
            await asyncio.sleep(0.01)
        begun = time.monotonic()
    assert time.monotonic() - begun < 1.5
    with pytest.raises(Exception, match="the scripted model is closing"):
        await request
    await client.close()
    assert caplog.records == []


async def test_nothing_listens_after_it_closed() -> None:
    async with serve_scripted_model() as model:
        url = model.url("s1")
    with pytest.raises(urllib.error.URLError, match="refused"):
        await asyncio.to_thread(post, url + "/models", None)


async def test_leaves_signals_and_loggers_alone() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    access = logging.getLogger("uvicorn.access")
    kept = list(access.handlers), access.propagate, access.level
    async with serve_scripted_model():
        assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
        assert (access.handlers, access.propagate, access.level) == kept


def test_serves_outside_the_main_thread() -> None:
    answers: list[str | None] = []

    async def run() -> None:
        async with serve_scripted_model() as model:
            model.play("s1", Script(DIALOGUE[:1]))
            async with make_client(model) as client:
                messages = [*ASKED]
                answer = await client.chat.completions.create(model="m", messages=messages)
                answers.append(answer.choices[0].message.content)

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    thread.join(20)
    assert answers == [AGENT_CLOSING]


async def test_small_answers_are_not_held_back(model: ScriptedModel) -> None:
    """Without TCP_NODELAY each answer waits for the client's delayed ACK, 40 ms."""
    times = await asyncio.to_thread(time_requests, urlsplit(model.url("s1")), 10)
    assert min(times[2:]) < 0.035


def time_requests(url: SplitResult, count: int) -> list[float]:
    connection = http.client.HTTPConnection(url.netloc, timeout=10)
    body = json.dumps({"messages": [HELLO]}).encode()
    times = []
    for _ in range(count):
        begun = time.monotonic()
        connection.request("POST", f"{url.path}/chat/completions", body)
        connection.getresponse().read()
        times.append(time.monotonic() - begun)
    connection.close()
    return times


async def test_fifty_sessions_at_once(model: ScriptedModel, client: AsyncOpenAI) -> None:
    async def ask(number: int) -> str | None:
        session = f"n{number}"
        model.play(session, Script((DialogueTurn("agent", f"I am {number}."),), delay=0.1))
        own = client.with_options(base_url=model.url(session))
        answer = await own.chat.completions.create(model="m", messages=[HELLO])
        return answer.choices[0].message.content

    answers = await asyncio.gather(*(ask(number) for number in range(50)))
    assert answers == [f"I am {number}." for number in range(50)]
