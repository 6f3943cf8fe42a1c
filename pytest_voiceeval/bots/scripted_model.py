"""A model that follows scripts, behind an OpenAI-compatible endpoint in this process.

Each session has a base URL of its own, `http://127.0.0.1:PORT/<session>/v1`, so a bot's ordinary
OpenAI client plays the script of its call without knowing about it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import time
from collections import deque
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from pytest_voiceeval.bots.completions import ApiError, chunks, completion, parse_request
from pytest_voiceeval.bots.endpoint import SESSION_FIELD, BotStartError
from pytest_voiceeval.bots.script_player import Reply, Script, next_reply

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator

    from uvicorn import Server

    Message = dict[str, Any]
    Mind = Callable[[list[Message]], Coroutine[Any, Any, Reply]]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]

T = TypeVar("T")

MODEL_NAME = "scripted"
JOURNAL_LENGTH = 64
"""Requests kept per session; the oldest go first."""
MAX_BODY = 32 * 1024 * 1024
"""Bytes of a request."""
START_DEADLINE = 10.0
"""Seconds for the endpoint to listen."""
GRACEFUL_STOP = 2
"""Seconds an answer under way has when the endpoint closes."""

_CHAT = "/v1/chat/completions"
_MODELS = "/v1/models"


@dataclass(frozen=True)
class JournalEntry:
    """A request and what was answered.

    Attributes:
        request: the body as the client sent it.
        reply: the answer; with a script that hangs here it was never sent.
    """

    request: dict[str, Any]
    reply: Reply


@dataclass
class _Session:
    script: Script | Mind
    journal: deque[JournalEntry] = field(default_factory=lambda: deque(maxlen=JOURNAL_LENGTH))


class ScriptedModel:
    """The scripts that are being played, and the ASGI application that plays them."""

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url
        self._sessions: dict[str, _Session] = {}
        self._closing = asyncio.Event()

    def play(self, session: str, script: Script) -> None:
        """Answer a session's requests by a script; replaces an earlier one."""
        self._sessions[session] = _Session(script)

    def attend(self, session: str, mind: Mind) -> None:
        """Answer a session's requests by what `mind` makes of their messages.

        A client that leaves cancels it. An `ApiError` it raises is the answer.
        """
        self._sessions[session] = _Session(mind)

    def forget(self, session: str) -> None:
        """Drop a session; its requests are answered 404 from now on."""
        self._sessions.pop(session, None)

    def url(self, session: str) -> str:
        """Give a session's base URL; `{session}` gives a template for a bot of many calls."""
        name = session if session == SESSION_FIELD else quote(session, safe="")
        return f"{self.base_url}/{name}/v1"

    def journal(self, session: str) -> tuple[JournalEntry, ...]:
        """Give the last requests of a session, oldest first; none for an unknown session."""
        found = self._sessions.get(session)
        return tuple(found.journal) if found else ()

    def close(self) -> None:
        """Answer requests that are kept waiting, now and later, with an error."""
        self._closing.set()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one HTTP request (ASGI)."""
        try:
            await self._route(scope, receive, send)
        except ApiError as error:
            await _send_json(send, error.status, error.body)

    async def _route(self, scope: Message, receive: Receive, send: Send) -> None:
        method, path = scope["method"], str(scope["path"])
        if path.endswith(_CHAT):
            _expect("POST", method, path)
            await self._chat(_session_of(path, _CHAT), receive, send)
        elif path.endswith(_MODELS):
            _expect("GET", method, path)
            self._find(_session_of(path, _MODELS))
            model = {"id": MODEL_NAME, "object": "model", "created": 0, "owned_by": "voiceeval"}
            await _send_json(send, 200, {"object": "list", "data": [model]})
        else:
            raise ApiError(404, "unknown_path", f"no such path: {path}")

    def _find(self, session: str) -> _Session:
        found = self._sessions.get(session)
        if found is None:
            message = f"the scripted model has no session {session!r}: its call is over or unknown"
            raise ApiError(404, "unknown_session", message)
        return found

    async def _chat(self, name: str, receive: Receive, send: Send) -> None:
        session = self._find(name)
        request = parse_request(await _read_body(receive))
        script = session.script
        if isinstance(script, Script):
            reply = next_reply(request["messages"], script)
            session.journal.append(JournalEntry(request, reply))
            await self._keep_waiting(reply, script, receive)
        else:
            reply = await self._unless_left(script(request["messages"]), receive)
            session.journal.append(JournalEntry(request, reply))
        created = int(time.time())
        if request.get("stream"):
            await _send_stream(send, chunks(request, reply, created))
        else:
            await _send_json(send, 200, completion(request, reply, created))

    async def _keep_waiting(self, reply: Reply, script: Script, receive: Receive) -> None:
        """Let the script's delay pass; where it hangs, only the end of either side ends it."""
        hangs = script.hang_at_turn is not None and reply.turn >= script.hang_at_turn
        if hangs or script.delay > 0:
            await self._unless_left(_pass(None if hangs else script.delay), receive)

    async def _unless_left(self, work: Coroutine[Any, Any, T], receive: Receive) -> T:
        """Do some work; the end of either side cancels it."""
        task = asyncio.ensure_future(work)
        ends = {asyncio.ensure_future(receive()), asyncio.ensure_future(self._closing.wait())}
        try:
            await asyncio.wait({task, *ends}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in (task, *ends):
                each.cancel()
        if task.cancelled() or not task.done():
            raise ApiError(503, "closing", "the scripted model is closing, or its client left")
        return task.result()


async def _pass(seconds: float | None) -> None:
    """Let so much time pass; None for ever."""
    if seconds is None:
        await asyncio.Event().wait()
    else:
        await asyncio.sleep(seconds)


def _expect(wanted: str, method: str, path: str) -> None:
    if method != wanted:
        raise ApiError(405, "wrong_method", f"{path} takes {wanted}, not {method}")


def _session_of(path: str, ending: str) -> str:
    return path.removesuffix(ending).removeprefix("/")


async def _read_body(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ApiError(499, "client_left", "the client left before its request was complete")
        body += message.get("body", b"")
        if len(body) > MAX_BODY:
            raise ApiError(413, "too_large", f"the request is larger than {MAX_BODY} bytes")
        if not message.get("more_body"):
            return bytes(body)


async def _send_json(send: Send, status: int, body: Message) -> None:
    await _start_response(send, status, b"application/json")
    data = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
    await send({"type": "http.response.body", "body": data})


async def _send_stream(send: Send, events: Iterator[Message]) -> None:
    """Send the events of an answer, all of which are known, in one piece."""
    await _start_response(send, 200, b"text/event-stream; charset=utf-8")
    texts = [json.dumps(event, ensure_ascii=False) for event in events]
    body = "".join(f"data: {text}\n\n" for text in [*texts, "[DONE]"])
    await send({"type": "http.response.body", "body": body.encode("utf-8", "replace")})


async def _start_response(send: Send, status: int, content_type: bytes) -> None:
    headers = [(b"content-type", content_type), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": status, "headers": headers})


@asynccontextmanager
async def serve_scripted_model(listener: Any = None) -> AsyncIterator[ScriptedModel]:
    """Serve a scripted model on loopback, on the running loop, while the context lasts.

    Args:
        listener: A bound socket, by default one of its own.

    Raises:
        BotStartError: the endpoint does not listen within its deadline.
    """
    listener = _any_port() if listener is None else listener
    model = ScriptedModel(f"http://127.0.0.1:{listener.getsockname()[1]}")
    server = _make_server(model)
    serving = asyncio.create_task(server.serve(sockets=[listener]), name="scripted model")
    try:
        await _until_listening(server, serving)
        yield model
    finally:
        model.close()
        server.should_exit = True
        await asyncio.wait({serving})
        listener.close()
    serving.result()


def _any_port() -> socket.socket:
    # With the protocol named: asyncio sends small pieces at once (TCP_NODELAY) only then.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    return listener


async def _until_listening(server: Server, serving: asyncio.Task[None]) -> None:
    try:
        async with asyncio.timeout(START_DEADLINE):
            while not (server.started or serving.done()):  # noqa: ASYNC110 - no event to wait for
                await asyncio.sleep(0.002)
    except TimeoutError:
        msg = f"scripted model: not listening after {START_DEADLINE:g} s (model start)"
        raise BotStartError(msg) from None
    if not server.started:
        serving.result()
        raise BotStartError("scripted model: its server did not start (model start)")


def _make_server(app: ScriptedModel) -> Server:
    from uvicorn import Config, Server

    class InProcessServer(Server):
        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield  # signals belong to the process we are a guest in

    with _access_logger_kept():
        config = Config(
            app,
            http="h11",
            ws="none",
            lifespan="off",
            access_log=False,
            log_config=None,
            timeout_graceful_shutdown=GRACEFUL_STOP,
        )
    return InProcessServer(config)


@contextmanager
def _access_logger_kept() -> Iterator[None]:
    """Undo what uvicorn does to a logger that other servers in this process may use."""
    logger = logging.getLogger("uvicorn.access")
    kept = logger.handlers, logger.propagate
    try:
        yield
    finally:
        logger.handlers, logger.propagate = kept
