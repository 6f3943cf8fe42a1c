"""Which tool call wrote what differs, and which refused call would have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_voiceeval.call.result import ToolCallSeen
    from pytest_voiceeval.scoring.db_diff import Change

RecordKey = tuple[str, str | None]
"""A table and the key of a record in it; None is the table as a whole."""

_TELLING: Final = 4  # letters of a text that is looked for inside another


@dataclass(frozen=True)
class Writers:
    """Which call last wrote what differs.

    Attributes:
        by_call: Calls in the order of the changes, each with the records in which it was the last
            to write something that differs.
        unwritten: Records that no call wrote.
        reported: Whether the bot says what its calls write; else a call that names a record's key
            is taken for its writer.
    """

    by_call: tuple[tuple[ToolCallSeen, tuple[RecordKey, ...]], ...]
    unwritten: tuple[RecordKey, ...]
    reported: bool


def record_of(change: Change) -> RecordKey:
    """The record a change lies in."""
    table, *rest = change.path or ("",)
    return str(table), str(rest[0]) if rest else None


def find_writers(changes: Sequence[Change], calls: Sequence[ToolCallSeen]) -> Writers:
    """Find the calls that last wrote what differs, or else the records in which it lies.

    The agent's calls come before the caller's, whose tools usually have a database of their own.
    """
    reported = any(call.writes for call in calls) or not any(call.record for call in calls)
    concerns = _wrote if reported else _naming(calls)
    # the last one counts, and sorting keeps the order of the calls
    ranked = sorted(calls, key=lambda call: (call.side == "agent", call.record is not None))
    by_call: dict[int, tuple[ToolCallSeen, dict[RecordKey, None]]] = {}
    unwritten: dict[RecordKey, None] = {}
    for change in changes:
        if not change.path:
            continue
        record = record_of(change)
        writer = _writer_of(change, ranked, concerns)
        if writer is None:
            unwritten[record] = None
        else:
            by_call.setdefault(id(writer), (writer, {}))[1][record] = None
    pairs = tuple((call, tuple(records)) for call, records in by_call.values())
    return Writers(pairs, tuple(unwritten), reported)


def _writer_of(
    change: Change,
    calls: Sequence[ToolCallSeen],
    concerns: Callable[[ToolCallSeen, RecordKey], bool],
) -> ToolCallSeen | None:
    """The last call that set what differs; if none is known, the last about its record."""
    known = [call for call in calls if _set(call, change)]
    found = known or [call for call in calls if concerns(call, record_of(change))]
    return found[-1] if found else None


def _set(call: ToolCallSeen, change: Change) -> bool:
    """Whether the call changed just what differs, or something it lies in, or inside of it."""
    steps = change.steps
    return any(field[: len(steps)] == steps[: len(field)] for field in call.fields)


def _wrote(call: ToolCallSeen, record: RecordKey) -> bool:
    """Whether the call wrote the record; None for a key is the table as a whole."""
    table, key = record
    return any(t == table and (key is None or k is None or k == key) for t, k in call.writes)


def _naming(calls: Sequence[ToolCallSeen]) -> Callable[[ToolCallSeen, RecordKey], bool]:
    texts = {id(call): _texts_in(call.arguments) for call in calls}
    return lambda call, record: record[1] in texts[id(call)]


def is_refused(call: ToolCallSeen) -> bool:
    """Whether the tool answered with an error: a `status` that says so, or an `error`."""
    result = call.result
    if not isinstance(result, Mapping):
        return False
    return result.get("status") == "error" or bool(result.get("error"))


def came_to_nothing(call: ToolCallSeen) -> bool:
    """Whether the call was refused or had no answer when the conversation was read."""
    return is_refused(call) or not call.finished


def failures_about(changes: Sequence[Change], calls: Sequence[ToolCallSeen]) -> list[ToolCallSeen]:
    """Calls of the agent that came to nothing, concern what differs and were not made good later.

    A call concerns what differs if it names a record, an element or a text in it.
    """
    about = _texts_about(changes)
    found = []
    for position, call in enumerate(calls):
        if call.side != "agent" or not came_to_nothing(call):
            continue
        touched = _named_by(call, about)
        made_good = any(_repeats(call, later, about) >= touched for later in calls[position + 1 :])
        if touched and not made_good:
            found.append(call)
    return found


def _named_by(call: ToolCallSeen, about: set[str]) -> set[str]:
    if call.arguments is None:
        raw = call.malformed or ""
        return {text for text in about if len(text) >= _TELLING and text in raw}
    return _texts_in(call.arguments) & about


def _repeats(call: ToolCallSeen, later: ToolCallSeen, about: set[str]) -> set[str]:
    """What a later call of the same tool names, if it succeeded."""
    success = later.name == call.name and not came_to_nothing(later)
    return _named_by(later, about) if success else set()


def _texts_about(changes: Sequence[Change]) -> set[str]:
    """Keys and identities on the way to what differs, and the texts in values that differ."""
    found: set[str] = set()
    for change in changes:
        found.update(change.steps[1:])
        found.update(map(str, change.path[1:]))
        found |= _texts_in(change.expected) | _texts_in(change.actual)
    return found


def _texts_in(value: Any) -> set[str]:
    """All texts inside a value; numbers and single letters are no sign of a connection."""
    found: set[str] = set()
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            found |= {item} if len(item) > 1 else set()
        elif isinstance(item, Mapping):
            todo.extend(item.values())
        elif isinstance(item, list | tuple):
            todo.extend(item)
    return found
