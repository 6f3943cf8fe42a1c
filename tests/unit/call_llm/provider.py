"""An OpenAI-compatible endpoint on a real socket that answers as a test wants, faults included.

HTTP by hand, so that a body can be cut between any two bytes and a connection broken at any point.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Request:
    """What a client sent."""

    method: str
    path: str
    headers: dict[str, str]
    body: Json

    @property
    def messages(self) -> list[Json]:
        messages: list[Json] = self.body["messages"]
        return messages

    @property
    def system(self) -> str:
        return str(self.messages[0]["content"])

    @property
    def last(self) -> str:
        return str(self.messages[-1]["content"])


Write = Callable[["Wire", Request], Awaitable[None]]


@dataclass
class Wire:
    """One client's connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def head(self, status: int, headers: Mapping[str, str]) -> None:
        lines = [f"HTTP/1.1 {status} Status", *(f"{k}: {v}" for k, v in headers.items())]
        await self.send("\r\n".join([*lines, "", ""]).encode())

    async def whole(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        await self.head(status, {"Content-Length": str(len(body)), **headers})
        await self.send(body)

    async def piece(self, data: bytes) -> None:
        await self.send(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        await asyncio.sleep(0)

    def break_off(self) -> None:
        """Reset the connection, as a crashed server does."""
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


@dataclass(frozen=True)
class Say:
    """An answer with status 200, in the form the client asked for.

    Attributes:
        text: Words of the model.
        calls: Functions it calls: name and arguments, as text or object.
        finish: Its finish reason; None sends none.
        usage: Token counts; None sends none, and does not even when asked to.
        split: Bytes in each piece of the stream; 0 sends an event in each.
        words_a_chunk: Words in each chunk of the text.
        wait: Seconds before the first byte of the answer.
        between: Seconds between two chunks.
        newline: End of a line in the stream.
        comment: Sent before each event.
        done: Whether the stream ends with ``[DONE]``.
        cut_after: Pieces after which the connection breaks.
        whole: One object although a stream was asked for.
        extra: More fields of the message.
        call_id: Beginning of the calls' ids.
        call_shape: How calls are streamed: ``pieces``, ``whole``, ``same-index``, ``no-index``.
    """

    text: str = ""
    calls: tuple[tuple[str, Any], ...] = ()
    finish: str | None = "stop"
    usage: tuple[int, int] | None = (100, 10)
    split: int = 0
    words_a_chunk: int = 3
    wait: float = 0.0
    between: float = 0.0
    newline: str = "\n"
    comment: str = ""
    done: bool = True
    cut_after: int | None = None
    whole: bool = False
    extra: Json = field(default_factory=dict)
    call_id: str = "call"
    call_shape: str = "pieces"

    async def __call__(self, wire: Wire, request: Request) -> None:
        await asyncio.sleep(self.wait)
        if request.body.get("stream") and not self.whole:
            await self._stream(wire, request)
        else:
            body = json.dumps(self.completion()).encode()
            await wire.whole(200, body, {"Content-Type": "application/json"})

    def completion(self) -> Json:
        message: Json = {"role": "assistant", "content": self.text or None, **self.extra}
        if self.calls:
            message["tool_calls"] = [
                {
                    "id": f"{self.call_id}_{n}",
                    "type": "function",
                    "function": {"name": name, "arguments": _text(arguments)},
                }
                for n, (name, arguments) in enumerate(self.calls)
            ]
        choice = {"index": 0, "message": message, "finish_reason": self.finish}
        return {"id": "c", "object": "chat.completion", "choices": [choice], **self._usage()}

    def _usage(self) -> Json:
        if self.usage is None:
            return {}
        prompt, completion = self.usage
        counts = {"prompt_tokens": prompt, "completion_tokens": completion}
        return {"usage": counts | {"total_tokens": prompt + completion}}

    async def _stream(self, wire: Wire, request: Request) -> None:
        await wire.head(200, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"})
        with_usage = bool((request.body.get("stream_options") or {}).get("include_usage"))
        for number, piece in enumerate(self._pieces(with_usage=with_usage)):
            if number == self.cut_after:
                wire.break_off()
                return
            await wire.piece(piece)
            await asyncio.sleep(self.between)
        await wire.send(b"0\r\n\r\n")

    def _pieces(self, *, with_usage: bool) -> Iterable[bytes]:
        events = [self._event(json.dumps(c, ensure_ascii=False)) for c in self._chunks(with_usage)]
        events += [self._event("[DONE]")] if self.done else []
        if not self.split:
            return events
        everything = b"".join(events)
        return [everything[at : at + self.split] for at in range(0, len(everything), self.split)]

    def _event(self, data: str) -> bytes:
        comment = self.comment + self.newline if self.comment else ""
        return f"{comment}data: {data}{self.newline}{self.newline}".encode()

    def _chunks(self, with_usage: bool) -> Iterable[Json]:
        deltas: list[Json] = [{"role": "assistant", "content": ""}]
        words = self.text.split(" ")
        for at in range(0, len(words) if self.text else 0, self.words_a_chunk):
            piece = " ".join(words[at : at + self.words_a_chunk])
            deltas.append({"content": piece if at == 0 else " " + piece})
        deltas += [{key: value} for key, value in self.extra.items()]
        deltas += [{"tool_calls": calls} for calls in self._call_deltas()]
        for delta in deltas:
            yield {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        if self.finish is not None:
            yield {"choices": [{"index": 0, "delta": {}, "finish_reason": self.finish}]}
        if with_usage and self.usage is not None:
            yield {"choices": [], **self._usage()}

    def _call_deltas(self) -> Iterable[list[Json]]:
        for n, (name, arguments) in enumerate(self.calls):
            call: Json = {"index": n, "id": f"{self.call_id}_{n}", "type": "function"}
            text = _text(arguments)
            if self.call_shape == "pieces":
                yield [call | {"function": {"name": name, "arguments": ""}}]
                for at in range(0, len(text), 5):
                    yield [{"index": n, "function": {"arguments": text[at : at + 5]}}]
                continue
            if self.call_shape == "same-index":
                call["index"] = 0
            if self.call_shape == "no-index":
                del call["index"]
            yield [call | {"function": {"name": name, "arguments": arguments}}]


def _text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def hang_up(text: str = "", **arguments: Any) -> Say:
    """The model calls the tool that ends the call."""
    return Say(text, calls=(("hang_up", arguments),), finish="tool_calls")


def status(code: int, body: Any = None, **headers: str) -> Write:
    """An answer with another status; header names are written with underscores."""
    kind = "text/html" if isinstance(body, str) else "application/json"
    data = body.encode() if isinstance(body, str) else json.dumps(body or {}).encode()
    names = {name.replace("_", "-"): value for name, value in headers.items()}

    async def write(wire: Wire, request: Request) -> None:
        await wire.whole(code, data, {"Content-Type": kind, **names})

    return write


def error(code: int, message: str, kind: str = "error", **headers: str) -> Write:
    """An error as OpenAI sends it."""
    return status(code, {"error": {"message": message, "type": kind, "code": None}}, **headers)


def raw(data: bytes, content_type: str = "application/json") -> Write:
    """Status 200 and any body."""

    async def write(wire: Wire, request: Request) -> None:
        await wire.whole(200, data, {"Content-Type": content_type})

    return write


async def reset(wire: Wire, request: Request) -> None:
    """The connection breaks before there is an answer."""
    wire.break_off()


async def never(wire: Wire, request: Request) -> None:
    """No answer comes."""
    await wire.reader.read()


def streamed_error(message: str, code: Any = None) -> Write:
    """Status 200, a few words, then an error in the stream, as OpenRouter sends it."""

    async def write(wire: Wire, request: Request) -> None:
        chunk = {"choices": [{"index": 0, "delta": {"content": "Well"}, "finish_reason": None}]}
        fault = {"error": {"message": message, "code": code}}
        text = "".join(f"data: {json.dumps(event)}\n\n" for event in (chunk, fault))
        await wire.whole(200, text.encode(), {"Content-Type": "text/event-stream"})

    return write


class Provider:
    """Answers the first, second... request by the first, second... answer; the last is repeated.

    Args:
        answers: Each a :class:`Say`, another writer, or a function from the request to one.

    Attributes:
        requests: What came so far.
        url: Base URL of the API.
    """

    def __init__(self, *answers: Any) -> None:
        self.answers = answers
        self.requests: list[Request] = []
        self.url = ""
        self.connections = 0

    @property
    def request(self) -> Request:
        """The last request."""
        return self.requests[-1]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        wire = Wire(reader, writer)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                while True:
                    request = await _read_request(reader)
                    self.requests.append(request)
                    await self._answer(request)(wire, request)
        finally:
            writer.close()

    def _answer(self, request: Request) -> Write:
        answer = self.answers[min(len(self.requests), len(self.answers)) - 1]
        return answer.answer(request) if isinstance(answer, Rule) else answer  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Rule:
    """An answer that depends on the request."""

    answer: Callable[[Request], Write]


async def _read_request(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.strip().split("\r\n")
    headers = {k.strip().lower(): v.strip() for k, _, v in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    method, path, _ = first.split(" ")
    return Request(method, path, headers, json.loads(body or b"{}"))


@asynccontextmanager
async def serving(provider: Provider) -> AsyncIterator[Provider]:
    """Listen on loopback while the context lasts."""
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with suppress(asyncio.CancelledError):
            await provider.serve(reader, writer)
        tasks.discard(task)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    provider.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield provider
    finally:
        server.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


__all__ = [
    "Provider",
    "Request",
    "Rule",
    "Say",
    "Wire",
    "error",
    "hang_up",
    "never",
    "raw",
    "replace",
    "reset",
    "serving",
    "status",
    "streamed_error",
]
