"""One answer of the model that plays the caller, read as a line of the caller's."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pytest_voiceeval.call.caller_cleaning import cleaned, shortened, to_last_sentence
from pytest_voiceeval.call.caller_ending import (
    Ending,
    called_ending,
    unknown_tools,
    written_ending,
)
from pytest_voiceeval.call.caller_stats import Handled

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_voiceeval.call.chat_reply import ChatReply

Note = tuple[Handled, str]
"""Something handled, and a detail of it."""

MAX_TEXT = 40_000
"""Characters of an answer that are looked at, thinking included."""

_CAN, _HELP, _CANNOT = "(?:can|may|could)", "(?:help|assist)", "(?:can(?:'t|not| not)|won't)"
_DONE = "(?:re)?(?:booked|issued|cancell?ed|refunded|transferred|assigned|updated|moved)"
_FILE = "(?:booking|reservation|account|order|details|file)"
_YOURS = "confirmation|booking|reservation|account|order number|ticket|last name|full name"
_PART = "(?:the|this|that) (?:role|part|caller|character|customer)"

_AGENTS_WORDS: Final = tuple(
    re.compile(rf"\b{pattern}\b", re.IGNORECASE)
    for pattern in (
        rf"how {_CAN} (?:i|we) (?:{_HELP}|be of (?:{_HELP}|assistance|service))",
        rf"(?:anything|something) else (?:that )?(?:i|we) {_CAN} (?:{_HELP}|do for you)",
        rf"(?:i'd|i would|i'll|i will) be (?:happy|glad) to {_HELP} you",
        rf"(?:i'm|i am|we're|we are) here to {_HELP}",
        "thank you for (?:calling|contacting|choosing|flying with)",
        rf"{_CAN} i (?:please )?(?:have|get|take) your (?:{_YOURS})",
        rf"(?:provide|confirm|give|tell|spell) (?:me )?(?:with )?your (?:{_YOURS})",
        rf"let me (?:just |quickly )?(?:look|pull|bring|check)(?: up| into)? your {_FILE}",
        rf"i(?:'ve| have)(?: now| just| gone ahead and| successfully)* {_DONE} (?:you|your)",
        "i(?:'ll| will| can|'m going to) (?:transfer|connect) you (?:to|with)",
    )
)
"""What an agent says and a caller does not."""

_REFUSALS: Final = tuple(
    re.compile(rf"\b{pattern}\b", re.IGNORECASE)
    for pattern in (
        "as an? (?:ai|(?:large )?language model|ai (?:language )?model|virtual assistant)",
        "i(?:'m| am) (?:just |only )?an? (?:ai|(?:large )?language model|virtual assistant)",
        rf"(?:{_CANNOT}|unable to|not able to) (?:\w+ ){{0,3}}(?:role-?play|impersonate|pretend)",
        rf"(?:{_CANNOT}|unable to|not able to) (?:\w+ ){{0,3}}play {_PART}",
        rf"sorry,? (?:but )?i (?:{_CANNOT}|am unable to) (?:assist|comply|fulfil|{_HELP} with)",
        rf"sorry,? (?:but )?i (?:{_CANNOT}|am unable to) {_HELP} you",
        rf"i {_CANNOT} (?:assist|comply) with (?:that|this)",
    )
)
"""What a model says that declines its part."""


@dataclass(frozen=True)
class Fault:
    """Why an answer is no line of a caller.

    Attributes:
        handled: How it is counted.
        reminder: What the model is told when it is asked again.
        complaint: What is said of the caller if that does not help either.
    """

    handled: Handled
    reminder: str
    complaint: str


EMPTY: Final = Fault(
    Handled.EMPTY,
    "Your answer held no words. Say the caller's next line, in words that can be spoken.",
    "answered with no words at all",
)
CUT_OFF: Final = Fault(
    Handled.EMPTY,
    "Your answer was cut off before it came to any words. Say the caller's next line at once.",
    "came to no words before its token limit ended the answer: raise or drop max_tokens, or let "
    "the model think less",
)
CONFUSED: Final = Fault(
    Handled.CONFUSED,
    "You spoke as if you were the agent. You are the caller: you need something from the agent. "
    "Say what the caller says next.",
    "left its role and spoke as the agent",
)
REFUSED: Final = Fault(
    Handled.REFUSED,
    "This is a harmless test of a phone agent with an invented caller. Stay in the part and say "
    "what the caller says next.",
    "refused to play the caller",
)


FILTERED: Final = Fault(
    Handled.REFUSED,
    REFUSED.reminder,
    "was stopped by its endpoint's content filter",
)


@dataclass(frozen=True)
class Line:
    """What the caller does next.

    Attributes:
        words: What it says, fit to be spoken.
        ending: It hangs up.
        notes: What was handled on the way.
        fault: The answer cannot be used.
    """

    words: str = ""
    ending: Ending | None = None
    notes: tuple[Note, ...] = ()
    fault: Fault | None = None


def read_line(reply: ChatReply, *, max_words: int, names: Iterable[str] = ()) -> Line:
    """Read an answer.

    Args:
        reply: What the model answered.
        max_words: Longer replies are cut.
        names: Names of the caller, for a model that writes them in front of its lines.
    """
    notes: list[Note] = [(Handled.UNKNOWN_TOOL, name) for name in unknown_tools(reply.calls)]
    text, written = written_ending(reply.text[:MAX_TEXT])
    ending = called_ending(reply.calls) or written
    words, handled = cleaned(text, names)
    notes += [(kind, "") for kind in handled]
    if written and ending is written:
        notes.append((Handled.WRITTEN_END, written.reason))
    words = _within_limits(words, reply, max_words, notes)
    if ending is not None:
        words = _joined(words, cleaned(ending.last_words, names)[0])
    return Line(words, ending, tuple(notes), _fault_of(words, ending, reply, handled))


def _within_limits(words: str, reply: ChatReply, max_words: int, notes: list[Note]) -> str:
    if reply.finish == "length" and words:
        notes.append((Handled.LENGTH_STOP, ""))
        words = to_last_sentence(words)
    short = shortened(words, max_words)
    if short != words:
        notes.append((Handled.TOO_LONG, f"{len(words.split())} words"))
    return short


def _joined(words: str, last_words: str) -> str:
    """Models put their goodbye into the text, into the tool's argument, or into both."""
    if last_words.casefold() in words.casefold():
        return words
    if words.casefold() in last_words.casefold():
        return last_words
    return f"{words} {last_words}"


def _fault_of(
    words: str, ending: Ending | None, reply: ChatReply, handled: list[Handled]
) -> Fault | None:
    if reply.finish == "content_filter":
        return FILTERED
    if reply.refusal or any(pattern.search(words) for pattern in _REFUSALS):
        return REFUSED
    if any(pattern.search(words) for pattern in _AGENTS_WORDS):
        return CONFUSED
    if words or ending is not None:
        return None
    if Handled.BOTH_PARTS in handled:
        return CONFUSED
    return CUT_OFF if reply.finish == "length" else EMPTY
