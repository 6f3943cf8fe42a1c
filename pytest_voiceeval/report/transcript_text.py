"""The last turns of a call: who said what when, and the tool calls between."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain, groupby
from typing import TYPE_CHECKING

from pytest_voiceeval.call.result import EndReason
from pytest_voiceeval.report.calls_text import call_text, outcome
from pytest_voiceeval.report.characters import columns, one_line
from pytest_voiceeval.report.layout import WIDTH, Lines, count, wrap

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_voiceeval.call.result import Conversation, ToolCallSeen, Utterance

TURNS_SHOWN = 8
LINES_SHOWN = 28
WORDS_LIMIT = 4  # lines of one turn
CALLS_IN_A_ROW = 6  # of more, the first and the last are shown

_TEXT_COLUMN = 17
_CLOSING = re.compile(r"(?i)end|exit|hang|transfer|terminate|goodbye")
_CALL_LEAD = " " * 10 + "· "


@dataclass(frozen=True)
class _Entry:
    lines: Lines
    spoken: bool


def transcript_lines(conversation: Conversation) -> list[str]:
    """The last turns and calls that fit into `LINES_SHOWN` lines, below a title."""
    total = len(conversation.transcript)
    entries = list(_entries(conversation))
    if not entries:
        return ["", "transcript: nobody said anything"]
    shown = _last(entries)
    spoken = sum(entry.spoken for entry in shown)
    if total == 0:
        title = "transcript: nobody said anything"
    elif len(shown) == len(entries):
        title = "transcript:"
    else:
        title = f"transcript (last {count(spoken, 'turn')} of {total}):"
    return ["", title, *chain.from_iterable(entry.lines for entry in shown)]


def _last(entries: Sequence[_Entry]) -> list[_Entry]:
    kept: list[_Entry] = []
    for entry in reversed(entries):
        turns = sum(e.spoken for e in kept) + entry.spoken
        lines = sum(len(e.lines) for e in kept) + len(entry.lines)
        if kept and (turns > TURNS_SHOWN or lines > LINES_SHOWN):
            break
        kept.insert(0, entry)
    while not kept[0].spoken and any(e.spoken for e in kept) and len(kept) < len(entries):
        # calls whose turn begins above the part shown say nothing by themselves
        kept.pop(0)
    return kept


def _entries(conversation: Conversation) -> Iterator[_Entry]:
    """Words and calls in the order in which they happened, as far as that is known.

    Within a turn: the caller's words, the agent's calls, its words, then the calls with which the
    caller prepares its next words. The call that ends the conversation comes after the words.
    """
    calls, closing = _without_closing(conversation)
    said = conversation.transcript
    for turn in sorted({*(each.turn for each in said), *(call.turn for call in calls)}):
        yield from _words(said, turn, "user")
        yield from _calls(calls, turn, "agent")
        yield from _words(said, turn, "agent")
        yield from _calls(calls, turn, "user")
    yield from (_Entry((_call_line(call),), spoken=False) for call in closing)


def _without_closing(
    conversation: Conversation,
) -> tuple[Sequence[ToolCallSeen], Sequence[ToolCallSeen]]:
    calls = conversation.tool_calls
    if conversation.end_reason is not EndReason.EXIT or not calls or calls[-1].side != "agent":
        return calls, ()
    last_turn = max((each.turn for each in conversation.transcript), default=0)
    closing = calls[-1].turn >= last_turn and _CLOSING.search(calls[-1].name)
    return (calls[:-1], calls[-1:]) if closing else (calls, ())


def _words(said: Sequence[Utterance], turn: int, role: str) -> Iterator[_Entry]:
    for utterance in said:
        if utterance.turn == turn and utterance.role == role:
            yield _Entry(_utterance_lines(utterance), spoken=True)


def _utterance_lines(utterance: Utterance) -> Lines:
    speaker = "caller" if utterance.role == "user" else utterance.role
    lead = f"  {utterance.start:6.2f}s {speaker:<6} "
    cut = " [cut off]" if utterance.partial else ""
    return wrap(
        f"{one_line(utterance.text)}{cut}", lead=lead, indent=_TEXT_COLUMN, limit=WORDS_LIMIT
    )


def _calls(calls: Sequence[ToolCallSeen], turn: int, side: str) -> Iterator[_Entry]:
    lines = [_call_line(call) for call in calls if call.turn == turn and call.side == side]
    counted = [(line, len(list(same))) for line, same in groupby(lines)]
    texts = [f"{line} (x{n})" if n > 1 else line for line, n in counted]
    if len(texts) > CALLS_IN_A_ROW:
        half = CALLS_IN_A_ROW // 2
        between = f"{_CALL_LEAD}… {len(texts) - 2 * half} more calls …"
        texts = [*texts[:half], between, *texts[-half:]]
    yield from (_Entry((text,), spoken=False) for text in texts)


def _call_line(call: ToolCallSeen) -> str:
    came_of_it = f" → {outcome(call)}"
    whose = "caller: " if call.side == "user" else ""
    room = WIDTH - columns(_CALL_LEAD + whose + came_of_it) - 5  # room to count repetitions
    return f"{_CALL_LEAD}{whose}{call_text(call, room)}{came_of_it}"
