"""The files of one call, under the names the reference harness gave them.

A call that broke off leaves everything that was measured of it, under the same names.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_voiceeval.call.errors import JudgeUnusable
from pytest_voiceeval.call.prediction import prediction_of
from pytest_voiceeval.report.bridge_log import bridge_log
from pytest_voiceeval.report.conversation_log import conversation_log, seglst
from pytest_voiceeval.report.database_text import DIFF_FILE, USER_DIFF_FILE
from pytest_voiceeval.report.files import write_json, write_text
from pytest_voiceeval.report.metrics import metrics_of, transcript_of, unscored_metrics
from pytest_voiceeval.report.trace import read_trace

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_voiceeval.call.database import Database
    from pytest_voiceeval.call.judgement import Judgement
    from pytest_voiceeval.call.result import CallResult, Conversation, SideRecord
    from pytest_voiceeval.scenario.model import Scenario


def write_call(folder: Path, scenario: Scenario, result: CallResult) -> CallResult:
    """Write everything about a scored call into `folder`, which exists.

    Returns:
        The result with its folder, and a warning for whatever of the bot's own could not be used.
    """
    trace = read_trace(folder)
    warnings = (*result.warnings, trace.warning) if trace.warning else result.warnings
    result = replace(result, artifacts=folder, warnings=warnings)
    write_json(folder / "metrics.json", metrics_of(result, str(folder), trace))
    write_json(folder / "final_agent_response.json", result.prediction)
    if result.db_diff is not None and result.changes:
        write_json(folder / DIFF_FILE, result.db_diff)
    if result.db is not None:
        write_json(folder / "final_scenario_db.json", result.db)
    if result.user_database is not None:
        _write_user_database(folder, result.user_database, result.conversation.user)
    _write_judgement(folder, result.judgement)
    # the hash of what the agent sent counts more than the one it reported
    agent = replace(result.conversation.agent, db_hash=result.db_hash)
    _write_measured(folder, replace(result.conversation, agent=agent, warnings=warnings))
    _write_scenario(folder, scenario)
    return result


def write_unscored(
    folder: Path, scenario: Scenario, conversation: Conversation, error: Exception
) -> None:
    """Write what was measured of a call that has no verdict, into `folder`, which exists."""
    trace = read_trace(folder)
    if trace.warning:
        conversation = replace(conversation, warnings=(*conversation.warnings, trace.warning))
    metrics = unscored_metrics(conversation, str(folder), error, trace)
    write_json(folder / "metrics.json", metrics)
    if conversation.agent.actions is not None or conversation.final_responses:
        write_json(folder / "final_agent_response.json", prediction_of(conversation))
    if conversation.agent.db is not None:
        write_json(folder / "final_scenario_db.json", conversation.agent.db)
    if isinstance(error, JudgeUnusable):
        _write_judgement(folder, error.judgement)
    _write_measured(folder, conversation, f"{type(error).__name__}: {error}")
    try:
        _write_scenario(folder, scenario)
    except Exception as problem:  # noqa: BLE001 - foreign code, and what was measured is on disk
        write_text(folder / "scenario_config.error.txt", f"{type(problem).__name__}: {problem}\n")


def _write_user_database(folder: Path, found: Database, user: SideRecord | None) -> None:
    """What the caller's database came to, where the scenario expects one."""
    if found.diff is not None and found.changes:
        write_json(folder / USER_DIFF_FILE, found.diff)
    if user is not None and user.db is not None:
        write_json(folder / "final_user_db.json", user.db)


def _write_judgement(folder: Path, judgement: Judgement | None) -> None:
    if judgement is not None:
        write_json(folder / "judge_result.json", judgement.record)


def _write_measured(folder: Path, conversation: Conversation, error: str | None = None) -> None:
    write_json(folder / "transcript.json", transcript_of(conversation))
    write_text(folder / "conversation_log.txt", conversation_log(conversation))
    if conversation.transcript:
        write_json(folder / "conversation_log.seglst.json", seglst(conversation))
    write_text(folder / "bridge_log.txt", bridge_log(conversation, error))
    _write_hashes(folder, conversation)
    _write_context(folder / "bot_logs_agent", conversation.agent)
    if conversation.user is not None:
        _write_context(folder / "bot_logs_user", conversation.user)


def _write_hashes(folder: Path, conversation: Conversation) -> None:
    user = conversation.user
    hashes = {
        "db_hash": conversation.agent.db_hash,
        "user_db_hash": None if user is None else user.db_hash,
    }
    lines = [f"{name}: {value}\n" for name, value in hashes.items() if value is not None]
    if lines:
        write_text(folder / "final_scenario_db_hash.txt", "".join(lines))


def _write_context(folder: Path, side: SideRecord) -> None:
    if side.context is not None:
        folder.mkdir(exist_ok=True)
        write_json(folder / "llm_context.json", side.context)


def _write_scenario(folder: Path, scenario: Scenario) -> None:
    """Write `scenario_config/`, which appears when it is complete."""
    unfinished = folder / ".scenario_config"
    try:
        scenario.save(unfinished)
        unfinished.rename(folder / "scenario_config")
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
