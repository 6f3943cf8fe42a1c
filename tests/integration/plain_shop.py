"""A shop: agents that know RTVI and nothing of ours, and the HTTP service their tools work on."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

from pytest_voiceeval.wire import rtvi
from pytest_voiceeval.wire.frames import MessageFrame, decode, encode
from pytest_voiceeval.wire.rtvi import Envelope


class PlainShop:
    """Its tenants' stock, and its agents, which sell apples until three are left.

    Attributes:
        tenants: Stock by tenant; an agent takes the last part of its URL's path for it.
        talks: The tenant of every conversation, in the order of their first words.
        most_at_once: Conversations under way at the same time, at most.
        url: Of the HTTP service.
    """

    def __init__(self) -> None:
        self.tenants: dict[str, Any] = {}
        self.talks: list[str] = []
        self.most_at_once = 0
        self.url = ""
        self._now = 0
        self._lock = threading.Lock()

    @contextmanager
    def agent(self) -> Iterator[str]:
        """Serve one agent; the value is its address, without a path."""
        with serve(self._talk, "127.0.0.1", 0, close_timeout=1) as server:
            thread = threading.Thread(target=server.serve_forever, daemon=True)
            thread.start()
            yield f"ws://127.0.0.1:{server.socket.getsockname()[1]}"
            server.shutdown()
            thread.join()

    @contextmanager
    def service(self) -> Iterator[None]:
        """Serve the stock over HTTP while the context lasts."""
        with ThreadingHTTPServer(("127.0.0.1", 0), self._handler()) as server:
            thread = threading.Thread(target=server.serve_forever, daemon=True)
            thread.start()
            self.url = f"http://127.0.0.1:{server.server_port}"
            yield
            server.shutdown()
            thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        shop = self

        class Handler(BaseHTTPRequestHandler):
            def do_PUT(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                shop.tenants[self._tenant] = json.loads(body)
                self._answer({})

            def do_GET(self) -> None:
                self._answer(shop.tenants[self._tenant])

            @property
            def _tenant(self) -> str:
                return self.path.rpartition("/")[2]

            def _answer(self, value: Any) -> None:
                body = json.dumps(value).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_arguments: object) -> None:
                pass

        return Handler

    def _talk(self, socket: ServerConnection) -> None:
        assert socket.request is not None
        tenant = socket.request.path.rpartition("/")[2]
        turns = 0
        try:
            for data in socket:
                assert isinstance(data, bytes)
                frame = decode(data)
                assert isinstance(frame, MessageFrame)
                message = rtvi.parse(frame.data)
                if message.type == "client-ready":
                    _send(socket, Envelope("bot-ready", {"version": "1.1.0"}, message.id))
                elif message.type == "send-text":
                    self._begin(tenant, turns)
                    turns += 1
                    if self._answer(socket, tenant, message.data["content"]):
                        return
        except ConnectionClosed:
            pass
        finally:
            if turns:
                with self._lock:
                    self._now -= 1

    def _begin(self, tenant: str, turns: int) -> None:
        if turns:
            return
        with self._lock:
            self.talks.append(tenant)
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)

    def _answer(self, socket: ServerConnection, tenant: str, heard: str) -> bool:
        """Answer, and sell an apple a turn; the connection is closed once it is through."""
        time.sleep(0.1)
        stock = self.tenants[tenant]["stock"]["apple"]
        stock["count"] = max(3, stock["count"] - 1)
        words = {"text": f"I have {stock['count']} apples."}
        for message in ("bot-llm-started", ("bot-llm-text", words), "bot-llm-stopped"):
            _send(socket, Envelope(message) if isinstance(message, str) else Envelope(*message))
        return "Bye" in heard


def _send(socket: ServerConnection, message: Envelope) -> None:
    socket.send(encode(MessageFrame(rtvi.dump(message))))
