"""What a reference dialogue is made of, and the rules every one of them keeps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NoReturn

if TYPE_CHECKING:
    from collections.abc import Mapping

ENDING_CALLS = frozenset({"end_conversation", "transfer_to_agent"})
"""Functions after which a call is over; nothing can follow them."""


class DialogueError(ValueError):
    """A reference dialogue or list of calls that cannot be played; the text says where."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool by the name of its function, such as `rebook_flight`."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DialogueTurn:
    """What one side does before the other has its turn.

    It makes its calls one after another and then speaks; in the last turn the agent speaks first,
    because the call that ends the conversation is the last thing it can do. Most callers have no
    tools, so that only the agent's turns hold calls.
    """

    role: Literal["agent", "user"]
    text: str = ""
    calls: tuple[ToolCall, ...] = ()


Dialogue = tuple[DialogueTurn, ...]
"""Turns of both sides in strict alternation; the agent has the first and the last one."""


def check_dialogue(dialogue: Dialogue, where: str) -> None:
    """Refuse a dialogue that could not happen.

    Raises:
        DialogueError: see `parse_dialogue`.
    """
    for number, turn in enumerate(dialogue, 1):
        expected = "agent" if number % 2 else "user"
        if turn.role != expected:
            _fail(f"{where}, turn {number}", f"is the {expected}'s, not the {turn.role}'s")
        if turn.role == "user" and turn.calls and not turn.text.strip():
            _fail(f"{where}, turn {number}", "the caller must also say something")
    if len(dialogue) % 2 == 0:
        _fail(where, "the agent must have the last turn, in which it ends the call")
    _check_ending(dialogue, where)


def _check_ending(dialogue: Dialogue, where: str) -> None:
    last = len(dialogue)
    for number, turn in enumerate(dialogue, 1):
        allowed = turn.calls[:-1] if number == last else turn.calls
        ended = next((call.name for call in allowed if call.name in ENDING_CALLS), None)
        if ended:
            _fail(f"{where}, turn {number}", f"{ended} ends the call, so it must come last of all")


def _fail(where: str, problem: str) -> NoReturn:
    raise DialogueError(f"{where}: {problem}")
