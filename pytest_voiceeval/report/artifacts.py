"""The files of one call, under the names the reference harness gave them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.report.metrics import metrics_of, transcript_metrics

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_voiceeval.call.result import CallResult, Conversation, SideRecord
    from pytest_voiceeval.scenario.model import Scenario


def write_call(folder: Path, scenario: Scenario, result: CallResult) -> None:
    """Write everything about a scored call into `folder`."""
    write_conversation(folder, scenario, result.conversation)
    _write_json(folder / "metrics.json", metrics_of(result, str(folder)))
    _write_json(folder / "final_agent_response.json", result.prediction)
    hashes = {"db_hash": result.db_hash}
    if result.conversation.user is not None:
        hashes["user_db_hash"] = result.conversation.user.db_hash
    lines = [f"{name}: {value}\n" for name, value in hashes.items() if value is not None]
    if lines:
        (folder / "final_scenario_db_hash.txt").write_text("".join(lines), encoding="utf-8")
    if result.db_diff is not None and result.changes:
        _write_json(folder / "db_diff.json", result.db_diff)
    if result.db is not None:
        _write_json(folder / "final_scenario_db.json", result.db)


def write_conversation(folder: Path, scenario: Scenario, conversation: Conversation) -> None:
    """Write what was measured of a call, scored or not."""
    scenario.save(folder / "scenario_config")
    _write_json(folder / "transcript.json", transcript_metrics(conversation)["turns"])
    _write_context(folder / "bot_logs_agent", conversation.agent)
    if conversation.user is not None:
        _write_context(folder / "bot_logs_user", conversation.user)


def _write_context(folder: Path, side: SideRecord) -> None:
    if side.context is not None:
        folder.mkdir(exist_ok=True)
        _write_json(folder / "llm_context.json", side.context)


def _write_json(path: Path, value: Any) -> None:
    # lone surrogates in what an agent said must not cost the whole file
    text = json.dumps(value, indent=2, ensure_ascii=False, default=str)
    path.write_text(text + "\n", encoding="utf-8", errors="backslashreplace")
