"""`results.jsonl`: one line per call, appended when the call ends. See docs/results.md.

Every process of a run writes its own file; several runs may use one folder at the same time. Lines
are never mixed: each is written in one piece, under a lock, and never after half a line.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.call.errors import JudgeUnusable, OwnVerdict
from pytest_voiceeval.report.files import json_text, locked
from pytest_voiceeval.report.judge_figures import judge_line
from pytest_voiceeval.report.sound import sound_line
from pytest_voiceeval.report.spelling_text import spelling_figures

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from pytest_voiceeval.call.database import Database
    from pytest_voiceeval.call.prices import Cost
    from pytest_voiceeval.call.result import CallResult, Conversation, SideRecord

SCHEMA_VERSION = 1
RESULTS_FILE = "results.jsonl"

# JSON allows them inside a text, but many a reader of lines takes them for the end of one
_LINE_ENDS = {ord(char): f"\\u{ord(char):04x}" for char in "\x85\u2028\u2029"}

Line = dict[str, Any]


def scored_line(result: CallResult) -> Line:
    """What is known of a call that was scored."""
    outcome = {True: "passed", False: "failed", None: "skipped"}[result.passed]
    return {
        **conversation_line(result.conversation),
        "outcome": outcome,
        "reasons": list(result.why_failed),
        "signals": {str(name): verdict for name, verdict in result.signals.items()},
        "stalled": result.stalled,
        "db_hash": result.db_hash,
        "expected_hash": result.expected_hash,
        "db_changes": None if result.changes is None else len(result.changes),
        **_user_database(result.user_database),
        **judge_line(result.judgement),
        **spelling_figures(result.misspoken),
        "warnings": list(result.warnings),
    }


def _user_database(found: Database | None) -> Line:
    """What the caller's database came to; nothing where the scenario expects none."""
    if found is None:
        return {}
    return {
        "user_db_hash": found.actual_hash,
        "expected_user_hash": found.expected_hash,
        "user_db_changes": None if found.changes is None else len(found.changes),
    }


def error_line(scenario: str, domain: str, error: Exception) -> Line:
    """What is known of a call that could not be scored: nothing measured is lost."""
    conversation = getattr(error, "conversation", None)
    line: Line = {}
    if conversation is not None:
        line = {**conversation_line(conversation), "warnings": list(conversation.warnings)}
    known = {"scenario": scenario, "domain": domain, **line}
    if isinstance(error, OwnVerdict):
        return {**known, "outcome": error.outcome, "reasons": [str(error)], "signals": {}}
    if isinstance(error, JudgeUnusable):
        # everything but the judge's verdict is known; it counts nowhere all the same
        known |= {"signals": error.signals, **judge_line(error.judgement)}
    return {**known, "outcome": "error", "error": error_of(error)}


def error_of(error: Exception) -> dict[str, str]:
    """Why a call has no verdict: a stable code, the type, and the text for people."""
    return {
        "code": str(getattr(error, "code", "internal")),
        "type": type(error).__name__,
        "message": str(error) or type(error).__name__,
    }


def conversation_line(conversation: Conversation) -> Line:
    """The figures of a conversation, scored or not."""
    reason = conversation.end_reason
    began = bool(conversation.started_at)
    return {
        "scenario": conversation.scenario,
        "domain": conversation.domain,
        "started_at": conversation.started_at or None,
        "duration": round(conversation.duration, 6) if began else None,
        "elapsed": round(conversation.elapsed, 6),
        "end_reason": None if reason is None else str(reason),
        "end_detail": conversation.end_detail,
        "agent_turns": conversation.agent_turns,
        "model_runs": conversation.agent.model_runs,
        "tokens": {
            "agent": _tokens(conversation.agent),
            "user": None if conversation.user is None else _tokens(conversation.user),
        },
        **cost_figures(conversation.cost),
        **sound_line(conversation),
    }


def cost_figures(cost: Cost | None) -> Line:
    """Which models of the user's spoke, and dollars by side; what is unknown is null."""
    if cost is None:
        return {}
    return {
        "models": {side: cost.models.get(side) for side in cost.sides},
        "cost": {side: dollars and round(dollars, 9) for side, dollars in _sums(cost)},
        "prices_of": None if cost.as_of is None else cost.as_of.isoformat(),
    }


def _sums(cost: Cost) -> list[tuple[str, float | None]]:
    return [*cost.sides.items(), ("total", cost.total)]


def append(folder: Path, worker: str, line: Mapping[str, Any]) -> None:
    """Add one line to this process's own file."""
    _write(worker_file(folder, worker), [{"schema_version": SCHEMA_VERSION, **line}])


def worker_file(folder: Path, worker: str) -> Path:
    """The file one process writes: `results.jsonl`, or a part of it under xdist."""
    return folder / (RESULTS_FILE if not worker else f"results.{worker}.jsonl")


def merge(folder: Path) -> None:
    """Move the lines of all workers into `results.jsonl`, in the order of their start.

    Parts that an earlier run left behind, because it was killed, are moved too.
    """
    for part in sorted(folder.glob("results.*.jsonl")):
        with locked(part) as file:
            lines = sorted(_parse(file), key=_position)
            if lines:
                _write(folder / RESULTS_FILE, lines)
            part.unlink()


def read(folder: Path) -> list[Line]:
    """All calls of a folder, merged or not, by their start; calls that never began come last."""
    found: dict[str, Line] = {}
    for path in sorted(folder.glob("results*.jsonl")):
        with path.open("rb") as file:
            # a merge cut short leaves a line in two files
            found |= {json_text(line): line for line in _parse(file)}
    return sorted(found.values(), key=_position)


def _position(line: Line) -> tuple[bool, str]:
    return line.get("started_at") is None, str(line.get("started_at"))


def _write(path: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    text = "".join(json_text(line).translate(_LINE_ENDS) + "\n" for line in lines)
    data = text.encode("utf-8", "backslashreplace")
    with locked(path) as file:
        end = file.seek(0, os.SEEK_END)
        if end and os.pread(file.fileno(), 1, end - 1) != b"\n":
            # a process killed while it wrote left half a line
            data = b"\n" + data
        file.write(data)
        file.flush()


def _parse(file: Any) -> Iterator[Line]:
    for data in file:
        try:
            line = json.loads(data)
        except ValueError:
            # half a line: the others stay readable
            continue
        if isinstance(line, dict):
            yield line


def _tokens(side: SideRecord) -> dict[str, int] | None:
    tokens = side.tokens
    if tokens is None:
        return None
    counted = {"calls": tokens.calls, "prompt": tokens.prompt, "completion": tokens.completion}
    return counted | ({"uncounted": side.uncounted_runs} if side.uncounted_runs else {})
