"""Reads what an endpoint answered with status 200: a stream of chunks, one object, or neither."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.call.caller_stats import CallerStats, Handled
from pytest_voiceeval.call.chat_faults import ChatError, body_fault, cut, is_page
from pytest_voiceeval.call.chat_reply import ChatReply, ReplyBuilder, ReplyError, parse_completion
from pytest_voiceeval.call.chat_stream import EventReader

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from aiohttp import ClientResponse

END_DEADLINE = 0.5
"""Seconds for the end of a stream whose answer is complete."""
MAX_ANSWER = 4 * 1024 * 1024
"""Bytes of an answer."""

_DONE = "[DONE]"
_EVENTS = ("data:", "event:", ":")
"""How a stream of events begins."""


async def read_answer(response: ClientResponse, stats: CallerStats, *, streamed: bool) -> ChatReply:
    """Read the answer to its end.

    Args:
        response: With its body still to be read.
        stats: Takes the count of what had to be handled.
        streamed: A stream was asked for.

    Raises:
        ChatError: There is none, or none that can be read.
    """
    try:
        if response.content_type == "text/event-stream":
            return await _streamed(response)
        text = await read_text(response)
        if text.startswith(_EVENTS):
            # a stream all the same, whatever its server calls it
            return _whole_stream(text)
        if streamed:
            stats.note(Handled.NOT_STREAMED)
        return _whole(text)
    except ReplyError as error:
        if error.body is not None:
            raise body_fault(error.body, str(error)) from None
        raise _unreadable(str(error)) from None


def _whole(text: str) -> ChatReply:
    if is_page(text):
        raise ChatError(
            "the endpoint answered with a web page; check --caller-url (the base of the API, "
            f"such as http://HOST/v1): {cut(text)[:80]}"
        )
    return parse_completion(_parsed(text))


def _whole_stream(text: str) -> ChatReply:
    builder, reader = ReplyBuilder(), EventReader()
    events = [*reader.feed(text.encode()), *reader.end()]
    done = any(_took_last(event, builder) for event in events)
    return _complete(builder, done=done)


async def _streamed(response: ClientResponse) -> ChatReply:
    builder = ReplyBuilder()
    done = False
    async with aclosing(_events(response)) as events:
        async for event in events:
            done = _took_last(event, builder)
            if done:
                break
    if done:
        await _drain(response)
    return _complete(builder, done=done)


def _took_last(event: str, builder: ReplyBuilder) -> bool:
    """Take an event; whether it says that there are no more."""
    if event.strip() == _DONE:
        return True
    if event.strip():
        builder.add(_parsed(event))
    return False


def _complete(builder: ReplyBuilder, *, done: bool) -> ChatReply:
    if not done and builder.finish is None:
        raise _unreadable("the answer broke off before its end")
    return builder.finished()


async def _drain(response: ClientResponse) -> None:
    """Read to the end of the body, after which the connection can be used again."""
    import aiohttp

    with suppress(TimeoutError, aiohttp.ClientError):
        async with asyncio.timeout(END_DEADLINE):
            async for _ in response.content.iter_any():
                pass


async def _events(response: ClientResponse) -> AsyncGenerator[str, None]:
    reader = EventReader()
    async for received in _pieces(response):
        for event in reader.feed(received):
            yield event
    for event in reader.end():
        yield event


async def _pieces(response: ClientResponse) -> AsyncIterator[bytes]:
    total = 0
    async for received in response.content.iter_any():
        total += len(received)
        if total > MAX_ANSWER:
            raise ChatError(f"the answer is longer than {MAX_ANSWER} bytes", started=True)
        yield received


async def read_text(response: ClientResponse) -> str:
    """The body as text.

    Raises:
        ChatError: It is too long.
    """
    body = b"".join([piece async for piece in _pieces(response)])
    return body.decode("utf-8", "replace")


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise _unreadable(f"the answer is not JSON: {cut(text)[:80]!r}") from None


def _unreadable(text: str) -> ChatError:
    return ChatError(text, handled=Handled.BROKEN_ANSWER, started=True)
