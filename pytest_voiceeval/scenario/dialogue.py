"""Reference dialogues: who says what, and which tools the agent calls in which turn."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any, NoReturn

from pytest_voiceeval.scenario.plain_dialogue import dialogue_from_calls
from pytest_voiceeval.scenario.turns import (
    ENDING_CALLS,
    Dialogue,
    DialogueError,
    DialogueTurn,
    ToolCall,
    check_dialogue,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "ENDING_CALLS",
    "Dialogue",
    "DialogueError",
    "DialogueTurn",
    "ToolCall",
    "check_dialogue",
    "dialogue_from_calls",
    "parse_calls",
    "parse_dialogue",
]


def parse_dialogue(data: Any, where: str) -> Dialogue:
    """Read a dialogue from JSON: `[{"role", "text", "calls": [{"name", "arguments"}]}, ...]`.

    Args:
        data: the decoded JSON.
        where: what to call it in errors, such as a file with a line.

    Raises:
        DialogueError: a shape that is not the documented one, turns that do not alternate, calls
            of a caller who says nothing, or anything after a call that ends the conversation.
    """
    if not isinstance(data, list) or not data:
        raise DialogueError(f"{where}: a dialogue is a list of turns, got {_kind(data)}")
    dialogue = tuple(_turn(item, f"{where}, turn {n}") for n, item in enumerate(data, 1))
    check_dialogue(dialogue, where)
    return dialogue


def parse_calls(data: Any, where: str) -> tuple[ToolCall, ...]:
    """Read calls from JSON: `[{"name", "arguments"}, ...]`.

    Raises:
        DialogueError: another shape; the text names `where` and the call.
    """
    if not isinstance(data, list):
        raise DialogueError(f"{where}: expected a list of calls, got {_kind(data)}")
    return tuple(_call(item, f"{where}, call {n}") for n, item in enumerate(data, 1))


def _turn(item: Any, where: str) -> DialogueTurn:
    _check_keys(item, {"role", "text", "calls"}, where)
    role, text = item.get("role"), item.get("text", "")
    if role not in ("agent", "user"):
        _fail(where, f"'role' must be 'agent' or 'user', got {role!r}")
    if not isinstance(text, str):
        _fail(where, f"'text' must be a text, got {_kind(text)}")
    calls = parse_calls(item.get("calls", []), where)
    if not text.strip() and not calls:
        _fail(where, "has neither text nor calls")
    return DialogueTurn(role, text, calls)


def _call(item: Any, where: str) -> ToolCall:
    _check_keys(item, {"name", "arguments"}, where)
    name, arguments = item.get("name"), item.get("arguments", {})
    if not isinstance(name, str) or not name:
        _fail(where, f"'name' must be the name of a function, got {name!r}")
    if not isinstance(arguments, dict):
        _fail(where, f"'arguments' of {name} must be an object, got {_kind(arguments)}")
    return ToolCall(name, arguments)


def _check_keys(item: Any, known: Iterable[str], where: str) -> None:
    if not isinstance(item, dict):
        _fail(where, f"must be an object, got {_kind(item)}")
    for key in item:
        if key not in known:
            close = difflib.get_close_matches(str(key), list(known), n=1)
            hint = f", did you mean {close[0]!r}?" if close else ""
            _fail(where, f"unknown key {key!r}{hint}; known are {', '.join(sorted(known))}")


def _kind(value: Any) -> str:
    return "an empty list" if value == [] else f"{type(value).__name__} {str(value)[:40]!r}"


def _fail(where: str, problem: str) -> NoReturn:
    raise DialogueError(f"{where}: {problem}")
