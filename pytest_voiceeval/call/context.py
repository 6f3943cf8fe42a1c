"""A bot's context history: read as data, never evaluated, and searched for its tool calls."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MAX_JSON = 64 * 2**20
"""Characters of a history in JSON that are read."""
MAX_LITERAL = 4 * 2**20
"""The same for a Python literal, whose parser takes about 100 times its size in memory."""

_PLACEHOLDER = "IN_PROGRESS"
"""What stands in a tool message until the tool has answered."""

Message = dict[str, Any]


class ContextUnreadable(ValueError):
    """The history is neither JSON nor a Python literal of messages."""


def parse_context(reply: Any) -> tuple[Message, ...]:
    """Return the messages in a ``get_context_history`` reply.

    Args:
        reply: ``{"context": messages}``; messages are a list, or text holding one as JSON or,
            as the reference's bots send it, as a Python literal.

    Raises:
        ContextUnreadable: The reply has another shape, cannot be parsed, or is too big.
    """
    if not isinstance(reply, Mapping) or "context" not in reply:
        raise ContextUnreadable(f"expected an object with 'context', got {_brief(reply)}")
    messages = reply["context"]
    if isinstance(messages, str):
        messages = _parse_text(messages)
    if not isinstance(messages, list) or not all(isinstance(m, dict) for m in messages):
        raise ContextUnreadable(f"expected a list of message objects, got {_brief(messages)}")
    return tuple(messages)


def _parse_text(text: str) -> Any:
    if len(text) > MAX_JSON:
        raise ContextUnreadable(f"{len(text):,} characters are more than the {MAX_JSON:,} read")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _parse_literal(text)


def _parse_literal(text: str) -> Any:
    if len(text) > MAX_LITERAL:
        raise ContextUnreadable(
            f"{len(text):,} characters of Python literal are more than the {MAX_LITERAL:,} read; "
            "let the bot send JSON"
        )
    try:
        # literals only: names, calls and operators are refused by the parser itself
        return _as_json(ast.literal_eval(text.strip()))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise ContextUnreadable(
            f"neither JSON nor a Python literal ({type(error).__name__}): {_brief(text)}"
        ) from None


def _as_json(value: Any) -> Any:
    """A literal in the types of JSON: what it cannot hold is kept as its text."""
    if isinstance(value, dict):
        return {str(key): _as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_as_json(item) for item in value]
    return value if value is None or isinstance(value, str | int | float | bool) else repr(value)


def _brief(value: Any) -> str:
    text = value if isinstance(value, str) else f"{type(value).__name__} {value!r}"
    return text if len(text) <= 80 else f"{text[:80]}…"


@dataclass(frozen=True)
class ContextCall:
    """One tool call of the context, with the number of user messages before it as its turn."""

    id: str
    turn: int
    name: str
    arguments: Mapping[str, Any] | None
    malformed: str | None
    result: Any
    finished: bool


def tool_calls_of(messages: Sequence[Mapping[str, Any]]) -> tuple[ContextCall, ...]:
    """Return the calls of an OpenAI-format context in order, each id once, with its last result."""
    results = _results_of(messages)
    calls: dict[str, ContextCall] = {}
    turn = 0
    for position, message in enumerate(messages):
        turn += message.get("role") == "user"
        for index, call in enumerate(_calls_in(message)):
            identity = str(call.get("id") or f"call {position}.{index}")
            calls.setdefault(identity, _call(identity, max(turn, 1), call, results))
    return tuple(calls.values())


def _calls_in(message: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    calls = message.get("tool_calls")
    if message.get("role") == "assistant" and isinstance(calls, list):
        yield from (call for call in calls if isinstance(call, Mapping))


def _call(
    identity: str, turn: int, call: Mapping[str, Any], results: Mapping[str, Any]
) -> ContextCall:
    function = call.get("function")
    function = function if isinstance(function, Mapping) else {}
    arguments, malformed = read_arguments(function.get("arguments"))
    return ContextCall(
        id=identity,
        turn=turn,
        name=str(function.get("name") or ""),
        arguments=arguments,
        malformed=malformed,
        result=results.get(identity),
        finished=identity in results,
    )


def read_arguments(value: Any) -> tuple[Mapping[str, Any] | None, str | None]:
    """Return ``(arguments, None)``, or ``(None, raw text)`` for what is no JSON object.

    Cut-off JSON stays malformed: nothing is repaired into a plausible call.
    """
    if value is None or value == "":
        return {}, None
    if isinstance(value, Mapping):
        return value, None
    try:
        parsed = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return None, str(value)
    return (parsed, None) if isinstance(parsed, dict) else (None, str(value))


def _results_of(messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Tool results by call id; a placeholder is no result and never replaces one."""
    results: dict[str, Any] = {}
    for message in messages:
        content = message.get("content")
        if message.get("role") == "tool" and content != _PLACEHOLDER:
            results[str(message.get("tool_call_id"))] = read_result(content)
    return results


def read_result(content: Any) -> Any:
    """A tool result as data when it is JSON, else as it is."""
    if not isinstance(content, str):
        return content
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return content
