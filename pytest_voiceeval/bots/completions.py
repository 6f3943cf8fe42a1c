"""OpenAI's chat-completions format: requests checked, replies written out."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_voiceeval.bots.script_player import Reply

CHARS_PER_TOKEN = 4
"""Token counts are estimates: characters of the JSON text divided by this, rounded up."""
PIECES = 3
"""A streamed text comes in about so many pieces."""

Json = dict[str, Any]


class ApiError(Exception):
    """An error that the model's client is told.

    Attributes:
        status: HTTP status.
        body: the error in OpenAI's shape.
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        kind = "server_error" if status >= 500 else "invalid_request_error"
        self.body: Json = {"error": {"message": message, "type": kind, "param": None, "code": code}}


def parse_request(body: bytes) -> Json:
    """Read a chat-completions request.

    Returns:
        The request; `messages` is a list of objects with a text `role`.

    Raises:
        ApiError: 400, naming what is wrong.
    """
    try:
        request = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise _malformed(f"the body is not JSON: {error}") from None
    if not isinstance(request, dict):
        raise _malformed("the body must be a JSON object")
    messages = request.get("messages")
    if not isinstance(messages, list) or not messages:
        raise _malformed("'messages' must be a list with at least one message")
    for index, message in enumerate(messages):
        _check_message(message, f"messages[{index}]")
    return request


def _check_message(message: Any, where: str) -> None:
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        raise _malformed(f"{where} must be an object with a text 'role'")
    if not isinstance(message.get("tool_calls") or [], list):
        raise _malformed(f"{where}: 'tool_calls' must be a list")


def _malformed(message: str) -> ApiError:
    return ApiError(400, "malformed_request", message)


def wants_usage(request: Mapping[str, Any]) -> bool:
    """Whether a streaming client asked for token counts."""
    options = request.get("stream_options")
    return isinstance(options, dict) and bool(options.get("include_usage"))


def usage(request: Mapping[str, Any], reply: Reply) -> Json:
    """Estimate the token counts of an answer, the same for the same request."""
    prompt = _tokens(json.dumps([request["messages"], request.get("tools") or []]))
    said = reply.text + "".join(call.name + _arguments(call) for call in reply.calls)
    completion = _tokens(said)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }


def _tokens(text: str) -> int:
    return math.ceil(len(text) / CHARS_PER_TOKEN)


def _arguments(call: Any) -> str:
    return json.dumps(dict(call.arguments), ensure_ascii=False)


def tool_calls(reply: Reply) -> list[Json]:
    """Give the calls of a reply; an id tells turn and position, so it is the same each time."""
    return [
        {
            "id": f"call_{reply.turn}_{reply.step + position}",
            "type": "function",
            "function": {"name": call.name, "arguments": _arguments(call)},
        }
        for position, call in enumerate(reply.calls)
    ]


def completion(request: Mapping[str, Any], reply: Reply, created: int) -> Json:
    """Write a reply as one object, for clients that do not stream."""
    message: Json = {"role": "assistant", "content": reply.text or None}
    if reply.calls:
        message["tool_calls"] = tool_calls(reply)
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(reply)}
    head = _head(request, reply, created, "chat.completion")
    return head | {"choices": [choice], "usage": usage(request, reply)}


def chunks(request: Mapping[str, Any], reply: Reply, created: int) -> Iterator[Json]:
    """Write a reply as a stream: role, text in pieces, calls, the end, token counts if wanted."""
    head = _head(request, reply, created, "chat.completion.chunk")
    with_usage = wants_usage(request)
    if with_usage:
        head["usage"] = None
    for delta in _deltas(reply):
        yield head | {"choices": [_choice(delta, None)]}
    yield head | {"choices": [_choice({}, _finish(reply))]}
    if with_usage:
        yield head | {"choices": [], "usage": usage(request, reply)}


def _deltas(reply: Reply) -> Iterator[Json]:
    yield {"role": "assistant", "content": ""}
    for piece in _pieces(reply.text):
        yield {"content": piece}
    for index, call in enumerate(tool_calls(reply)):
        function = call["function"]
        named = call | {"index": index, "function": function | {"arguments": ""}}
        yield {"tool_calls": [named]}
        arguments = {"arguments": function["arguments"]}
        yield {"tool_calls": [{"index": index, "function": arguments}]}


def _pieces(text: str) -> Iterator[str]:
    """Cut a text between words."""
    words = text.split(" ")
    size = math.ceil(len(words) / PIECES)
    for start in range(0, len(words) if text else 0, size):
        piece = " ".join(words[start : start + size])
        yield piece if start + size >= len(words) else piece + " "


def _choice(delta: Json, finish: str | None) -> Json:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}


def _finish(reply: Reply) -> str:
    return "tool_calls" if reply.calls else "stop"


def _head(request: Mapping[str, Any], reply: Reply, created: int, kind: str) -> Json:
    return {
        "id": f"chatcmpl-{reply.turn}-{reply.step}",
        "object": kind,
        "created": created,
        "model": str(request.get("model") or "scripted"),
    }
