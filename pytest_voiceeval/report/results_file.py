"""`results.jsonl`: one line per call, appended when the call ends. See docs/results.md."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from pytest_voiceeval.call.result import CallResult, Conversation

SCHEMA_VERSION = 1
RESULTS_FILE = "results.jsonl"


def scored_line(result: CallResult) -> dict[str, Any]:
    """What is known of a call that was scored."""
    outcome = {True: "passed", False: "failed", None: "skipped"}[result.passed]
    return {
        **conversation_line(result.conversation),
        "outcome": outcome,
        "reasons": list(result.why_failed),
        "signals": {str(name): verdict for name, verdict in result.signals.items()},
        "stalled": result.stalled,
        "model_runs": result.model_runs,
        "tokens": {side: _tokens(tokens) for side, tokens in result.tokens.items()},
        "db_hash": result.db_hash,
        "expected_hash": result.expected_hash,
        "db_changes": None if result.changes is None else len(result.changes),
        "warnings": list(result.warnings),
    }


def error_line(scenario: str, domain: str, error: Exception) -> dict[str, Any]:
    """What is known of a call that could not be scored: nothing measured is lost."""
    conversation = getattr(error, "conversation", None)
    line = conversation_line(conversation) if conversation is not None else {}
    return {
        "scenario": scenario,
        "domain": domain,
        **line,
        "outcome": "error",
        "error": {
            "code": getattr(error, "code", "internal"),
            "type": type(error).__name__,
            "message": str(error) or type(error).__name__,
        },
    }


def conversation_line(conversation: Conversation) -> dict[str, Any]:
    """The figures of a conversation, scored or not."""
    reason = conversation.end_reason
    return {
        "scenario": conversation.scenario,
        "domain": conversation.domain,
        "started_at": conversation.started_at or None,
        "duration": round(conversation.duration, 6),
        "end_reason": None if reason is None else str(reason),
        "end_detail": conversation.end_detail,
        "agent_turns": conversation.agent_turns,
    }


def append(folder: Path, worker: str, line: Mapping[str, Any]) -> None:
    """Add one line to this worker's own file, in a single write."""
    text = json.dumps({"schema_version": SCHEMA_VERSION, **line}, ensure_ascii=False, default=str)
    data = (text + "\n").encode("utf-8", "backslashreplace")
    descriptor = os.open(worker_file(folder, worker), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(descriptor, data)
    finally:
        os.close(descriptor)


def worker_file(folder: Path, worker: str) -> Path:
    """The file one process writes: `results.jsonl`, or a part of it under xdist."""
    return folder / (RESULTS_FILE if not worker else f"results.{worker}.jsonl")


def merge(folder: Path) -> None:
    """Move the lines of all workers into `results.jsonl`, in the order of their start."""
    parts = sorted(folder.glob("results.*.jsonl"))
    if not parts:
        return
    lines = [line for part in parts for line in _lines(part)]
    lines.sort(key=lambda line: (line.get("started_at") or "", line.get("nodeid") or ""))
    whole = folder / RESULTS_FILE
    with whole.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    for part in parts:
        part.unlink()


def _lines(path: Path) -> Iterable[dict[str, Any]]:
    for text in path.read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(text)
        except ValueError:
            # a worker killed while it wrote leaves half a line; the others stay readable
            continue


def _tokens(tokens: Any) -> dict[str, int] | None:
    if tokens is None:
        return None
    return {"calls": tokens.calls, "prompt": tokens.prompt, "completion": tokens.completion}
