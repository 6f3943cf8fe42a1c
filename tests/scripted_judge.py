"""A judge that says what a test tells it to: an OpenAI-compatible chat endpoint on this machine.

    with scripted_judge(reply=lambda request: {"score": 0.4, "reason": "rude"}) as url:
        run("--judge-url", url, "--judge-model", "scripted", ...)
    assert len(url.requests) == 1

It is served from threads of the test's own process; a pytest in a process of its own reaches it.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Request = dict[str, Any]
"""The JSON body of one request, and its headers under the key `headers`."""


@dataclass(frozen=True)
class Answer:
    """An answer in full, for what a model's text alone cannot say.

    Attributes:
        content: The message's `content`: text, or whatever a broken endpoint sends.
        finish: Its `finish_reason`.
        message: More keys of the message, such as `refusal` or `reasoning_content`.
        usage: Token counts; None leaves them out.
        status: HTTP status; the body of any other than 200 is `body`.
        headers: More headers.
        body: Sent as it is in place of a completion.
        delay: Seconds before anything is sent.
        hang_up: Close the connection without an answer.
    """

    content: Any = None
    finish: str | None = "stop"
    message: Mapping[str, Any] = field(default_factory=dict)
    usage: Mapping[str, int] | None = field(
        default_factory=lambda: {"prompt_tokens": 1000, "completion_tokens": 50}
    )
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    delay: float = 0.0
    hang_up: bool = False


Reply = Callable[[Request], "Mapping[str, Any] | str | Answer"]


class JudgeUrl(str):
    """The endpoint's address, as `--judge-url` takes it.

    Attributes:
        requests: Every request so far.
    """

    __slots__ = ("requests",)
    requests: list[Request]


def approve(request: Request) -> dict[str, Any]:
    """A verdict that passes: score 1.0, every assertion of the request met."""
    return verdict(1.0, "All is well.", [True] * count_assertions(request))


def verdict(
    score: Any, reason: str = "So it is.", passed: list[bool] | None = None
) -> dict[str, Any]:
    """A verdict in the shape that is asked for; `passed` are the verdicts about assertions."""
    found: dict[str, Any] = {"score": score, "reason": reason}
    if passed:
        found["nl_assertion_verdicts"] = [
            {"index": index, "passed": each, "reason": f"reason {index}"}
            for index, each in enumerate(passed, 1)
        ]
    return found


def evidence(request: Request) -> str:
    """What the judge was given to read: the first user message."""
    return str(next(m["content"] for m in request["messages"] if m["role"] == "user"))


def count_assertions(request: Request) -> int:
    """How many assertions the judge was asked about."""
    found = re.search(r"<nl_assertions>\n(.*?)\n</nl_assertions>", evidence(request), re.DOTALL)
    return len(found[1].splitlines()) if found else 0


def in_turn(*replies: Mapping[str, Any] | str | Answer) -> Reply:
    """One reply after the other; the last one again and again."""
    lock = threading.Lock()
    left = list(replies)

    def reply(request: Request) -> Mapping[str, Any] | str | Answer:
        with lock:
            return left.pop(0) if len(left) > 1 else left[0]

    return reply


@contextmanager
def scripted_judge(reply: Reply = approve) -> Iterator[JudgeUrl]:
    """Serve a judge meanwhile.

    Args:
        reply: Gives the answer to a request: a verdict, the model's raw text, or an `Answer`. It
            is called from several threads.
    """
    requests: list[Request] = []

    class Handler(_Handler):
        def answer(self, request: Request) -> Answer:
            requests.append(request)
            given = reply(request)
            if isinstance(given, Answer):
                return given
            return Answer(given if isinstance(given, str) else json.dumps(given))

    server = _Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        url = JudgeUrl(f"http://127.0.0.1:{server.server_port}/v1/chat/completions")
        url.requests = requests
        yield url
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that gave up is no error of ours."""


class _Handler(BaseHTTPRequestHandler):
    def answer(self, request: Request) -> Answer:
        raise NotImplementedError

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = self.answer({**json.loads(body), "headers": headers, "path": self.path})
        time.sleep(answer.delay)
        if answer.hang_up:
            self.close_connection = True
            return
        data = (_completion(answer) if answer.body is None else answer.body).encode()
        self.send_response(answer.status)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Length": str(len(data)),
            **answer.headers,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: Any) -> None:
        """Quiet."""


def _completion(answer: Answer) -> str:
    message = {"role": "assistant", "content": answer.content, **answer.message}
    choice = {"index": 0, "finish_reason": answer.finish, "message": message}
    completion = {"object": "chat.completion", "model": "scripted", "choices": [choice]}
    return json.dumps(completion if answer.usage is None else {**completion, "usage": answer.usage})
