"""One screen about a call that did not pass: what differs, which call wrote it, who said what.

Plain lines of at most `WIDTH` columns, the same on a terminal and in JUnit. At most `HEAD_LINES`
lines come before the transcript; what was cut is counted and the folder that has it is named.
"""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

from pytest_voiceeval.call.result import AGENT_FAULTS
from pytest_voiceeval.scoring.describe import describe_pair, describe_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_voiceeval.call.result import CallResult, Conversation, ToolCallSeen, Utterance
    from pytest_voiceeval.scoring.db_diff import Change

WIDTH = 80
HEAD_LINES = 24
TRANSCRIPT_TURNS = 8
CHANGES_SHOWN = 8
CALLS_SHOWN = 3
ACTIONS_SHOWN = 4
LOG_LINES = 4

# JUnit is XML: control characters an agent may say would make the file unreadable
_UNPRINTABLE = re.compile(r"[^\x09\x0a\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(result: CallResult, *, nodeid: str, artifacts: str | None = None) -> str:
    """The whole failure text of one call."""
    head = [
        *_verdict(result),
        *process_log(result.conversation),
        *_database(result),
        *_writers(result),
        *_actions(result),
        *_assertions(result),
    ]
    lines = [*_cut(head, HEAD_LINES, artifacts), *transcript(result.transcript)]
    lines += footer(nodeid, artifacts)
    return clean("\n".join(lines))


def clean(text: str) -> str:
    """Replace what XML cannot carry, so that one text serves terminal and JUnit alike."""
    return _UNPRINTABLE.sub("\ufffd", text)


def _verdict(result: CallResult) -> list[str]:
    lines = wrap(f"{', '.join(result.why_failed)}: {summary(result)}", indent=2)
    turns = f"{result.agent_turns} agent turn{'' if result.agent_turns == 1 else 's'}"
    lines += wrap(f"ended: {result.end_reason} after {turns}, {result.duration:.1f} s", indent=2)
    for word, wanted in (("failed", False), ("passed", True)):
        names = [str(name) for name, value in result.signals.items() if value is wanted]
        if names:
            lines += wrap(f"{word}: {', '.join(names)}", indent=2)
    return lines


def summary(result: CallResult) -> str:
    """One sentence on the first thing that went wrong."""
    if result.end_reason in AGENT_FAULTS:
        return result.end_detail.partition("\n")[0]
    if result.stalled:
        return f"only {result.model_runs} turns of the agent (see --min-agent-turns)"
    changed = len(result.changes or ())
    sentences = {
        "db_state_match": "the final database differs"
        + (f" in {_count(changed, 'place')}" if changed else ""),
        "is_action_match": f"{_count(len(result.action_differences), 'action')} not as referenced",
        "db_state_assertion": "a predicate about the final database does not hold",
        "clean_exit": f"the agent did not end the call: {result.end_detail}",
    }
    failed = set(map(str, result.breakdown["failed"]))
    return next((said for name, said in sentences.items() if name in failed), "not successful")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def process_log(conversation: Conversation) -> list[str]:
    """How the agent's process ended, if it did, and the last lines of its log."""
    exit_ = conversation.process_exit
    if exit_ is None:
        return []
    how = f"exit code {exit_.code}" if exit_.signal is None else f"signal {exit_.signal}"
    lines = ["", f"the agent's process ended with {how}; the last lines of its log:"]
    for line in exit_.log_tail[-LOG_LINES:]:
        lines += wrap(f"  {line}", indent=4, limit=2)
    return lines


def _database(result: CallResult) -> list[str]:
    if result.expected_hash is None or result.db_hash == result.expected_hash:
        return []
    if result.changes is None:
        return [
            "",
            "database: differs, and the bot did not send its content",
            f"  expected {result.expected_hash}",
            f"  actual   {result.db_hash or 'none reported'}",
        ]
    lines = ["", "database (expected → actual):"]
    for change in result.changes[:CHANGES_SHOWN]:
        lines += _change_lines(change)
    more = len(result.changes) - CHANGES_SHOWN
    return [*lines, *([f"  … {more} more"] if more > 0 else [])]


def _change_lines(change: Change) -> list[str]:
    where = place_of(change)
    expected, actual = describe_pair(change.expected, change.actual)
    if change.kind == "added":
        expected = "absent"
    elif change.kind == "removed":
        actual = "absent"
    line = f"  {where}: {expected} → {actual}"
    if len(line) <= WIDTH:
        return [line]
    return [*wrap(f"  {where}:", indent=4), _clip(f"      {expected}"), _clip(f"    → {actual}")]


def place_of(change: Change) -> str:
    """`table / record / field`, with the field's own path inside the record."""
    table, *rest = (str(part) for part in change.path[:2])
    head = ".".join([table, *rest])
    if not change.where.startswith(head):
        return change.where
    field = change.where.removeprefix(head).removeprefix(".")
    return " / ".join([table, *rest, *([field] if field else [])])


def _writers(result: CallResult) -> list[str]:
    calls = writers_of(result)
    if not calls:
        return []
    lines = ["", "last written by:"]
    for call in calls[:CALLS_SHOWN]:
        lines += _call_lines(call)
    more = len(calls) - CALLS_SHOWN
    return [*lines, *([f"  … {more} more calls"] if more > 0 else [])]


def _call_lines(call: ToolCallSeen) -> list[str]:
    arguments = ", ".join(
        f"{name}={describe_value(value)}" for name, value in (call.arguments or {}).items()
    )
    return wrap(f"  turn {call.turn}: {call.name}({arguments})", indent=10, limit=3)


def writers_of(result: CallResult) -> list[ToolCallSeen]:
    """The tool calls that last wrote the records that differ, newest first, each once.

    What the bot reports as written decides; for a bot that does not report it, the last call
    that names the record's key.
    """
    found: dict[int, ToolCallSeen] = {}
    for change in result.changes or ():
        call = _last_writer(result.tool_calls, change.path)
        if call is not None:
            found[id(call)] = call
    order = {id(call): position for position, call in enumerate(result.tool_calls)}
    return sorted(found.values(), key=lambda call: -order[id(call)])


def _last_writer(calls: Sequence[ToolCallSeen], path: Sequence[str | int]) -> ToolCallSeen | None:
    record = tuple(str(part) for part in path[:2])
    reported = [call for call in calls if record in {tuple(map(str, w)) for w in call.writes}]
    if reported:
        return reported[-1]
    if any(call.writes for call in calls):
        return None
    naming = [call for call in calls if record[-1] in map(str, (call.arguments or {}).values())]
    return naming[-1] if naming else None


def _actions(result: CallResult) -> list[str]:
    differences = result.action_differences
    if not differences:
        return []
    lines = ["", "actions (reference → recorded):"]
    for difference in differences[:ACTIONS_SHOWN]:
        lines += wrap(f"  {difference.describe()}", indent=4, limit=3)
    more = len(differences) - ACTIONS_SHOWN
    return [*lines, *([f"  … {more} more"] if more > 0 else [])]


def _assertions(result: CallResult) -> list[str]:
    failed = [verdict for verdict in result.assertion_verdicts if not verdict["passed"]]
    lines = ["", "database predicates:"] if failed else []
    for verdict in failed:
        said = verdict["error"] or (
            f"expected {describe_value(verdict['expected'])}, "
            f"got {describe_value(verdict['actual'])}"
        )
        note = f" - {verdict['message']}" if verdict.get("message") else ""
        lines += wrap(f"  {verdict['func_name']}: {said}{note}", indent=4, limit=3)
    return lines


def transcript(utterances: Sequence[Utterance]) -> list[str]:
    """The last turns, each with its time and speaker."""
    if not utterances:
        return ["", "transcript: nobody said anything"]
    shown = utterances[-TRANSCRIPT_TURNS:]
    skipped = len(utterances) - len(shown)
    title = f"transcript (last {len(shown)} of {len(utterances)} turns):"
    lines = ["", title if skipped else "transcript:"]
    for utterance in shown:
        speaker = "caller" if utterance.role == "user" else utterance.role
        cut = " [cut off]" if utterance.partial else ""
        lines += wrap(
            f"  {utterance.start:6.2f}s {speaker:<6} {utterance.text}{cut}", indent=17, limit=4
        )
    return lines


def footer(nodeid: str, artifacts: str | None) -> list[str]:
    """Where the files are, and the command that runs just this item."""
    lines = [""]
    if artifacts:
        lines += wrap(f"artifacts: {artifacts}", indent=2)
    return [*lines, f"rerun: pytest '{nodeid}'"]


def _cut(lines: list[str], limit: int, artifacts: str | None) -> list[str]:
    if len(lines) <= limit:
        return lines
    where = f", all in {artifacts}" if artifacts else ""
    return [*lines[: limit - 1], _clip(f"… {len(lines) - limit + 1} more lines{where}")]


def wrap(text: str, *, indent: int, limit: int | None = None) -> list[str]:
    """Fill to `WIDTH` columns; keep the text's own indent, indent what follows by `indent`."""
    lead = text[: len(text) - len(text.lstrip())]
    lines = textwrap.wrap(
        text.strip(),
        WIDTH,
        initial_indent=lead,
        subsequent_indent=" " * indent,
        max_lines=limit,
        placeholder=" …",
        break_long_words=True,
        break_on_hyphens=False,
    )
    return lines or [lead.rstrip()]


def _clip(line: str) -> str:
    return line if len(line) <= WIDTH else line[: WIDTH - 1] + "…"


def one_line(parts: Iterable[str]) -> str:
    """Join texts into one line for a summary or an attribute."""
    return clean(" ".join(" ".join(parts).split()))
