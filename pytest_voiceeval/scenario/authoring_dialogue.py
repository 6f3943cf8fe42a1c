"""Dialogues written like a screenplay.

    A: Good morning, how can I help?
    C: I have to move my trip.
    > get_reservation
    A: I found it, flight {LQ512}.

`A:` the agent speaks, `C:` the caller; `>` a call of the agent's next turn. A line without a mark
goes on with the line above. The last turn ends the call unless one of its calls does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_voiceeval.scenario.authoring_words import speak
from pytest_voiceeval.scenario.turns import ENDING_CALLS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    ReadCall = Callable[[str], dict[str, Any]]

_ROLES = {"A:": "agent", "C:": "user"}
_CALL = ">"
_END = {"name": "end_conversation", "arguments": {}}


def read_script(text: str, read_call: ReadCall) -> list[dict[str, Any]]:
    """Read a screenplay into turns as records hold them.

    Args:
        text: the screenplay.
        read_call: reads what stands after a `>`.

    Raises:
        ValueError: a line cannot be read, or a call is not followed by a turn of the agent.
    """
    turns: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    for number, (mark, content) in _entries(text):
        try:
            if mark == _CALL:
                calls.append(read_call(content))
                continue
            turns.append(_turn(_ROLES[mark], speak(content), calls))
        except ValueError as error:
            raise ValueError(f"dialogue, line {number}: {error}") from None
        calls = []
    if calls:
        raise ValueError(f"dialogue: after {calls[-1]['name']} the agent has to say something")
    _end(turns)
    return turns


def calls_in(text: str) -> list[str]:
    """The calls of a screenplay as they are written, without their marks."""
    return [content for _, (mark, content) in _entries(text) if mark == _CALL]


def _entries(text: str) -> Iterator[tuple[int, tuple[str, str]]]:
    """Give mark and content of each entry, with the number of its first line."""
    entries: list[tuple[int, str, list[str]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        mark, _, content = line.strip().partition(" ")
        if mark in _ROLES or mark == _CALL:
            entries.append((number, mark, [content.strip()]))
        elif line.strip() and not entries:
            raise ValueError(f"dialogue, line {number}: a line begins with A:, C: or >")
        elif line.strip():
            entries[-1][2].append(line.strip())
    return ((number, (mark, " ".join(lines))) for number, mark, lines in entries)


def _turn(role: str, text: str, calls: list[dict[str, Any]]) -> dict[str, Any]:
    if calls and role == "user":
        raise ValueError(f"{calls[-1]['name']} stands before a turn of the caller")
    turn: dict[str, Any] = {"role": role, "text": text}
    return {**turn, "calls": calls} if calls else turn


def _end(turns: list[dict[str, Any]]) -> None:
    if not turns or turns[-1]["role"] != "agent":
        raise ValueError("dialogue: the agent has the last word")
    calls = turns[-1].get("calls", [])
    if not calls or calls[-1]["name"] not in ENDING_CALLS:
        turns[-1]["calls"] = [*calls, _END]
