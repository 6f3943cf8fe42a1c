"""What a scripted model says next: a pure function of the conversation so far.

Nothing is remembered between requests, so a retry, an interruption or a lost answer cannot put the
script out of step: the same messages always get the same reply.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pytest_voiceeval.scenario.dialogue import ENDING_CALLS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_voiceeval.scenario.dialogue import Dialogue, DialogueTurn, ToolCall

AGENT_CLOSING = "Thank you for calling. Goodbye."
"""What the agent says when its script is over and it is still asked."""
USER_CLOSING = "Thank you, goodbye."
"""What the caller says when its script is over."""


@dataclass(frozen=True)
class Script:
    """A conversation to play one side of.

    Attributes:
        dialogue: both sides' turns.
        role: the side to play.
        delay: seconds before each answer.
        hang_at_turn: number (from 0) of the turn of this side from which on no answer comes.
    """

    dialogue: Dialogue
    role: Literal["agent", "user"] = "agent"
    delay: float = 0.0
    hang_at_turn: int | None = None

    @property
    def turns(self) -> tuple[DialogueTurn, ...]:
        """The turns of the side that is played."""
        return tuple(turn for turn in self.dialogue if turn.role == self.role)


@dataclass(frozen=True)
class Reply:
    """One answer of the model.

    Attributes:
        turn: number of the turn it belongs to, from 0.
        step: number of tool calls made in this turn before it.
        text: words to say.
        calls: tools to call.
    """

    turn: int
    step: int
    text: str = ""
    calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True)
class Position:
    """Where a conversation stands: the turn to answer, and the tool calls already made in it."""

    turn: int
    step: int


def position_of(messages: Sequence[Mapping[str, Any]]) -> Position:
    """Find the turn that is to be answered.

    Args:
        messages: chat messages as an OpenAI-compatible request holds them. User messages in a row
            are one turn of the other side: the answer in between was lost or never came.

    Returns:
        The number of user turns before the last one, and the tool calls made since.
    """
    turns = step = 0
    last = ""
    for message in messages:
        role = message["role"]
        if role == "user":
            turns += last != "user"
            step = 0
        elif role == "assistant":
            step += len(message.get("tool_calls") or ())
        if role in ("user", "assistant", "tool"):
            last = role
    return Position(max(0, turns - 1), step)


def next_reply(messages: Sequence[Mapping[str, Any]], script: Script) -> Reply:
    """Give the scripted model's answer.

    In a turn the calls come first, each as an answer of its own, then the text. The last turn of
    the agent is different: text and the call that ends the conversation are one answer. Results of
    calls are not looked at. Asked again after the ending call, the model has nothing to add (an
    empty answer); when the other side goes on past the end, it repeats a closing line.

    Args:
        messages: chat messages as an OpenAI-compatible request holds them.
        script: the conversation to play.
    """
    at = position_of(messages)
    turns = script.turns
    if at.turn >= len(turns):
        return _closing(at, script)
    turn, is_last = turns[at.turn], at.turn == len(turns) - 1
    before, ending = _split(turn, is_last=is_last)
    if at.step < len(before):
        return Reply(at.turn, at.step, calls=(before[at.step],))
    if ending and at.step > len(before):
        return Reply(at.turn, at.step)
    return Reply(at.turn, at.step, turn.text, ending)


def _split(
    turn: DialogueTurn, *, is_last: bool
) -> tuple[tuple[ToolCall, ...], tuple[ToolCall, ...]]:
    """Part the calls of a turn into those before its text and the one that goes with it."""
    if is_last and turn.calls and turn.calls[-1].name in ENDING_CALLS:
        return turn.calls[:-1], turn.calls[-1:]
    return turn.calls, ()


def _closing(at: Position, script: Script) -> Reply:
    text = AGENT_CLOSING if script.role == "agent" else USER_CLOSING
    return Reply(at.turn, at.step, text)
