"""Tool calls in words: what was called with what, what came of it, and which records it wrote."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_voiceeval.report.characters import columns, one_line
from pytest_voiceeval.report.layout import WIDTH, Lines, Section, clip, count, join_units, wrap
from pytest_voiceeval.report.values import argument_values, arguments, call_form
from pytest_voiceeval.report.writers import failures_about, find_writers, is_refused
from pytest_voiceeval.scoring.describe import describe_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_voiceeval.call.result import CallResult, ToolCallSeen
    from pytest_voiceeval.report.writers import RecordKey, Writers
    from pytest_voiceeval.scoring.db_diff import Change

FAILURES_SHOWN = 2
_PIPECATS_WORDS = re.compile(
    r"The function `.*` (?:failed and returned no result|is not currently available)\.", re.DOTALL
)
"""The result of a function that raised or that there is none of."""
RECORDS_NAMED = 2  # of one table; more are counted


def call_text(call: ToolCallSeen, room: int) -> str:
    """`name(argument=value, …)` in at most `room` columns; without the names if they do not fit."""
    name = one_line(call.name) or "unnamed"
    full = call_form(name, _arguments_of(call), 10**6)
    if columns(full) <= room or call.arguments is None:
        return clip(full, room)
    return call_form(name, argument_values(call.arguments), room)


def call_lines(call: ToolCallSeen, *, lead: str, limit: int) -> Lines:
    """The call with its arguments, lines broken only between them."""
    name = one_line(call.name) or "unnamed"
    parts = [clip(part, WIDTH - columns(lead) - 2) for part in _arguments_of(call)] or [""]
    parts[0] = f"{name}({parts[0]}"
    parts[-1] += ")"
    return join_units(parts, glue=", ", lead=lead, indent=columns(lead), limit=limit)


def _arguments_of(call: ToolCallSeen) -> list[str]:
    if call.arguments is None:
        return [f"malformed: {one_line(call.malformed or '')}"]
    return arguments(call.arguments)


def outcome(call: ToolCallSeen) -> str:
    """What came of the call in a word or two: `ok`, `error not_bookable`, `never finished`."""
    if not call.finished:
        return "never finished"
    refusal = refusal_of(call)
    if refusal is not None:
        return clip(f"error {refusal[0]}".rstrip(), 40)
    if call.result is None:
        return "recorded" if call.record is not None else "no result known"
    return "failed" if _PIPECATS_WORDS.fullmatch(str(call.result)) else "ok"


def refusal_of(call: ToolCallSeen) -> tuple[str, str] | None:
    """Kind and message of the error a tool answered with, None if it did not."""
    if not is_refused(call):
        return None
    result = call.result
    kind = result.get("error_type") or ""
    message = result.get("message") or result.get("error") or ""
    return one_line(str(kind)), one_line(str(message))


def when(call: ToolCallSeen) -> str:
    """`turn 7`, and whose call it was if not the agent's."""
    return f"turn {call.turn}" + (" (caller)" if call.side == "user" else "")


def writers_sections(result: CallResult, changes: Sequence[Change]) -> list[Section]:
    """Who wrote the records that differ, which of them nobody wrote, and what came to nothing."""
    if not changes:
        return []
    writers = find_writers(changes, result.tool_calls)
    nobody = _nobody(writers, lead="  " if writers.by_call else "")
    failed = failures_about(changes, result.tool_calls)[-FAILURES_SHOWN:]
    failures = tuple(line for call in failed for line in _failure_lines(call))
    if not writers.by_call:
        return [Section((*nobody, *failures))] if nobody or failures else []
    several = len(writers.by_call) + len(writers.unwritten) > 1
    verb = "wrote" if writers.reported else "names"
    items = [
        _writer_lines(call, f"{verb} {records_text(records)}" if several else "")
        for call, records in writers.by_call
    ]
    title = f"last {'written' if writers.reported else 'named'} by:"
    return [Section((title,), tuple(items), tail=(*nobody, *failures))]


def _nobody(writers: Writers, *, lead: str) -> Lines:
    if not writers.unwritten:
        return ()
    verb = "wrote" if writers.reported else "names"
    names = _record_names(writers.unwritten)
    return join_units(
        [f"no call {verb} {names[0]}", *names[1:]], glue=", ", lead=lead, indent=4, limit=2
    )


def _writer_lines(call: ToolCallSeen, what: str) -> Lines:
    lead = f"  {when(call)}: "
    *lines, last = call_lines(call, lead=lead, limit=3)
    if not what:
        return (*lines, last)
    if columns(f"{last} {what}") <= WIDTH:
        return (*lines, f"{last} {what}")
    return (*lines, last, *wrap(what, lead=" " * columns(lead), indent=columns(lead) + 2, limit=2))


def _failure_lines(call: ToolCallSeen) -> Lines:
    lead = f"  {when(call)}: "
    said = call_text(call, WIDTH - columns(lead))
    return wrap(f"{said} {_came_of(call)}", lead=lead, indent=columns(lead), limit=3)


def _came_of(call: ToolCallSeen) -> str:
    refusal = refusal_of(call)
    if refusal is None:
        return "never finished"
    kind, message = refusal
    return f"was refused: {f'{kind} ({message})' if kind and message else kind or message}"


def records_text(records: Sequence[RecordKey]) -> str:
    """`reservations / N4WZ8C, journeys (4 records)`."""
    return ", ".join(_record_names(records))


def _record_names(records: Sequence[RecordKey]) -> list[str]:
    by_table: dict[str, list[str | None]] = {}
    for table, key in records:
        by_table.setdefault(table, []).append(key)
    return [name for table, keys in by_table.items() for name in _names_in(table, keys)]


def _names_in(table: str, keys: Sequence[str | None]) -> list[str]:
    name = clip(describe_key(table), 40)
    if len(keys) > RECORDS_NAMED:
        return [f"{name} ({count(len(keys), 'record')})"]
    return [name if key is None else f"{name} / {clip(describe_key(key), 40)}" for key in keys]


def recorded_sections(result: CallResult) -> list[Section]:
    """The calls whose actions were recorded, for a database whose content is not known."""
    calls = [call for call in result.tool_calls if call.record is not None]
    if not calls:
        known = result.conversation.agent.actions is not None
        return [Section(("no action was recorded",))] if known else []
    lines = [clip(f"  {when(call)}: {call_text(call, WIDTH - 12)}") for call in calls]
    return [Section(("actions recorded:",), tuple((line,) for line in lines), keep=2)]
