"""The stock bot's WebSocket server: `/ws/{session}`, and `/ws` for one shared session."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import uvicorn
from fastapi import FastAPI, WebSocket, WebSocketDisconnect
from loguru import logger
from openai import AsyncOpenAI, DefaultAsyncHttpxClient

from pytest_voiceeval.bots.endpoint import BotStartError
from pytest_voiceeval.bots.stock_pipeline import Session, serve_connection
from pytest_voiceeval.bots.stock_sessions import (
    SessionBusyError,
    SessionStore,
    TooManySessionsError,
)
from pytest_voiceeval.wire.urls import is_loopback

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from pytest_voiceeval.bots.stock_config import BotConfig

DEFAULT_SESSION = "default"
MAX_SESSION_ID = 200
TRY_AGAIN_LATER = 1013
POLICY_VIOLATION = 1008
MAX_CLOSE_REASON = 120
"""Characters; the protocol allows 123 bytes."""

CLOSE_DEADLINE = 1
"""Seconds open connections have to close when the bot is told to end."""


def build_app(config: BotConfig) -> FastAPI:
    """The ASGI application of a stock bot.

    Args:
        config: The bot's configuration.
    """
    client = AsyncOpenAI(
        api_key=config.model.api_key,
        base_url=config.model.url_for(DEFAULT_SESSION),
        default_query=config.model.query,
        http_client=DefaultAsyncHttpxClient(
            # a model on this machine is not behind the proxy that the environment may name
            trust_env=not is_loopback(config.model.url),
            # keys are sent to the given address only, wherever it points
            follow_redirects=False,
        ),
    )
    store = SessionStore(
        lambda id_: Session.open(id_, config), ttl=config.session_ttl, limit=config.max_sessions
    )

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        async with client:
            yield

    async def connect(websocket: WebSocket) -> None:
        await websocket.accept()
        id_ = websocket.path_params.get("session", DEFAULT_SESSION)
        if len(id_) > MAX_SESSION_ID:
            await websocket.close(
                POLICY_VIOLATION, f"session ids have up to {MAX_SESSION_ID} characters"
            )
            return
        try:
            async with store.lease(id_) as session:
                await serve_connection(websocket, session, config, client)
        except (SessionBusyError, TooManySessionsError) as busy:
            logger.warning(f"refused a client: {busy}")
            with suppress(WebSocketDisconnect):  # it did not wait for the answer
                await websocket.close(TRY_AGAIN_LATER, str(busy)[:MAX_CLOSE_REASON])

    app = FastAPI(openapi_url=None, lifespan=lifespan)
    app.add_api_websocket_route("/ws", connect)
    app.add_api_websocket_route("/ws/{session}", connect)
    return app


def _server_config(app: FastAPI) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_config=None,
        log_level="warning",
        lifespan="on",
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=CLOSE_DEADLINE,
    )


class _Server(uvicorn.Server):
    """Says where it listens once it does."""

    def __init__(self, app: FastAPI, config: BotConfig) -> None:
        super().__init__(_server_config(app))
        self._bot = config

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and sockets:
            print(ready_line(self._bot, sockets[0].getsockname()[1]), flush=True)


def ready_line(config: BotConfig, port: int) -> str:
    """The line on stdout that tells a harness the bot is ready."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(config.host, config.host)  # noqa: S104
    address = f"[{host}]" if ":" in host else host
    url = f"ws://{address}:{port}/ws/{{session}}"
    ready = {"event": "ready", "url": url, "port": port, "pid": os.getpid(), "role": config.role}
    return json.dumps(ready)


def open_socket(host: str, port: int) -> socket.socket:
    """Bind and listen, so that the port is known before anyone asks.

    Raises:
        OSError: The address cannot be used.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Naming the protocol matters: without it asyncio does not recognise the connections as TCP,
    # leaves Nagle's algorithm on, and every turn takes 40 ms longer.
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen()
    except OSError:
        sock.close()
        raise
    return sock


async def serve(config: BotConfig, sock: socket.socket) -> None:
    """Serve until SIGTERM or SIGINT.

    Args:
        config: The bot's configuration.
        sock: A listening socket.
    """
    # uvicorn raises the signals it handled once more when it is done; they would kill the
    # process where it is to exit with 0.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    await _Server(build_app(config), config).serve([sock])


class _Guest(uvicorn.Server):
    """A server in somebody else's process, whose signals and output are not its own."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def serving(config: BotConfig, listener: Any) -> AsyncIterator[None]:
    """Serve on the running loop while the context lasts.

    Args:
        config: The bot's configuration.
        listener: A socket that listens, or what the loop takes for one.
    """
    server = _Guest(_server_config(build_app(config)))
    task = asyncio.create_task(server.serve([listener]), name=f"stock {config.role} bot")
    try:
        while not (server.started or task.done()):  # noqa: ASYNC110 - no event to wait for
            await asyncio.sleep(0.001)
        if not server.started:
            task.result()
            raise BotStartError(f"the stock {config.role} bot did not start; see its log")
        yield
    finally:
        server.should_exit = True
        await asyncio.wait({task})
    task.result()
