"""Plain spoken lines around given calls, for calls that nobody wrote a dialogue for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_voiceeval.scenario.prompts import spell_out
from pytest_voiceeval.scenario.turns import (
    ENDING_CALLS,
    Dialogue,
    DialogueTurn,
    ToolCall,
    check_dialogue,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_GREETING = "Hello, thank you for calling. How can I help you today?"
_OPENING = "Hi, I need some help, please."
_NOTHING_TO_DO = "I have checked, and there is nothing I need to change. Anything else I can do?"
_AGREES = ("Yes, please go ahead.", "That sounds good, please carry on.", "Great, go on, please.")
_REPORTS = (
    "All right, that is taken care of. Shall I go on?",
    "That is done as well. Shall I continue?",
    "Done. Shall I take the next step?",
)
_LAST_REPORT = "That is everything taken care of. Is there anything else I can do for you?"
_NOTHING_ELSE = "No, that is all. Thank you for your help."
_GOODBYE = "You are welcome. Thank you for calling, and goodbye."
_HANDS_OVER = "I will hand you over to a colleague now. Goodbye."

_CALLS_A_TURN = 2
_IDENTIFIER = re.compile(r"(?=.*[A-Z0-9])[A-Z0-9._@#*+/:-]+")


def dialogue_from_calls(
    calls: Sequence[ToolCall],
    *,
    authentication: Sequence[ToolCall] = (),
    opening: str = _OPENING,
    where: str = "calls",
) -> Dialogue:
    """Wrap calls into a phone call that reads naturally and ends properly.

    Args:
        calls: what the agent does, in order. One that ends the call may only be the last;
            without one, `end_conversation` is added.
        authentication: calls with which the agent looks the caller up first. The caller says
            their arguments aloud, identifiers spelled.
        opening: the caller's first sentence.
        where: what to call the calls in errors.

    Returns:
        Strictly alternating turns, at least three of them the agent's, one or two calls in each.

    Raises:
        DialogueError: something follows a call that ends the conversation.
    """
    work, ending = _split_ending(calls)
    turns = [_agent(_GREETING), _user(opening)]
    turns += _identify(authentication)
    turns += _work(work)
    goodbye = _GOODBYE if ending.name == "end_conversation" else _HANDS_OVER
    dialogue = (*turns, _agent(goodbye, ending))
    check_dialogue(dialogue, where)
    return dialogue


def _split_ending(calls: Sequence[ToolCall]) -> tuple[Sequence[ToolCall], ToolCall]:
    if calls and calls[-1].name in ENDING_CALLS:
        return calls[:-1], calls[-1]
    return calls, ToolCall("end_conversation")


def _identify(authentication: Sequence[ToolCall]) -> Iterator[DialogueTurn]:
    if not authentication:
        return
    facts = {key: value for call in authentication for key, value in call.arguments.items()}
    names = {key: key.replace("_", " ") for key in facts}
    yield _agent(f"Of course. Could you give me your {_enumerate(list(names.values()))}, please?")
    told = [f"my {names[key]} is {_aloud(value)}" for key, value in facts.items()]
    yield _user(f"Sure, {_enumerate(told)}.")
    yield _agent("Thank you, I have found you. Shall I go ahead?", *authentication)
    yield _user("Yes, please go ahead with what I need.")


def _work(calls: Sequence[ToolCall]) -> Iterator[DialogueTurn]:
    """Yield the turns of the work itself, the last of them asking for anything else."""
    if not calls:
        yield _agent(_NOTHING_TO_DO)
        yield _user(_NOTHING_ELSE)
        return
    steps = [calls[i : i + _CALLS_A_TURN] for i in range(0, len(calls), _CALLS_A_TURN)]
    for number, step in enumerate(steps[:-1]):
        yield _agent(_REPORTS[number % len(_REPORTS)], *step)
        yield _user(_AGREES[number % len(_AGREES)])
    yield _agent(_LAST_REPORT, *steps[-1])
    yield _user(_NOTHING_ELSE)


def _enumerate(items: Sequence[str]) -> str:
    if not items:
        return "details"
    return " and ".join(filter(None, (", ".join(items[:-1]), items[-1])))


def _aloud(value: object) -> str:
    text = str(value)
    return spell_out(text) if _IDENTIFIER.fullmatch(text) else text


def _agent(text: str, *calls: ToolCall) -> DialogueTurn:
    return DialogueTurn("agent", text, calls)


def _user(text: str) -> DialogueTurn:
    return DialogueTurn("user", text)
