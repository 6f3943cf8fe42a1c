"""The figures of a call as properties of its test report: JUnit, pytest-html and others show them.

A figure that was not measured has no property.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_voiceeval.report.data_used import data_figures
from pytest_voiceeval.report.metrics import caller_latencies, latency_stats
from pytest_voiceeval.report.results_file import error_of
from pytest_voiceeval.report.sound import sound_figures
from pytest_voiceeval.report.spelling_text import COUNT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pytest_voiceeval.call.database import Database
    from pytest_voiceeval.call.judgement import Judgement
    from pytest_voiceeval.call.prices import Cost
    from pytest_voiceeval.call.result import CallResult, Conversation

Figure = bool | int | float | str
PREFIX = "voiceeval."


def figures(result: CallResult) -> list[tuple[str, Figure]]:
    """Everything known of a scored call, as `(name, value)` pairs."""
    return _named(
        {
            **{str(name): verdict for name, verdict in result.signals.items()},
            "is_successful": result.passed,
            "is_task_successful": result.task_passed,
            **_judge(result.judgement),
            "stalled": result.stalled,
            **_measured(result.conversation),
            "db_changes": None if result.changes is None else len(result.changes),
            "user_db_changes": _places(result.user_database),
            "action_differences": len(result.action_differences),
            COUNT: None if result.misspoken is None else len(result.misspoken),
            "warnings": len(result.warnings),
            "artifacts": _folder(result.artifacts),
        }
    )


def error_figures(
    scenario: str, error: Exception, artifacts: Path | None = None
) -> list[tuple[str, Figure]]:
    """What is known of a call that has no verdict."""
    conversation = getattr(error, "conversation", None)
    measured = {} if conversation is None else _measured(conversation)
    known = {**measured, "scenario": scenario, "error": error_of(error)["code"]}
    return _named({**known, "artifacts": _folder(artifacts)})


def _places(found: Database | None) -> int | None:
    """Differing places of the caller's database, None where none is expected or known."""
    return None if found is None or found.changes is None else len(found.changes)


def _judge(judgement: Judgement | None) -> dict[str, Figure | None]:
    if judgement is None:
        return {}
    return {"judge_score": judgement.score, "judge_model": judgement.settings.get("model")}


def _named(values: Mapping[str, Figure | None]) -> list[tuple[str, Figure]]:
    return [(PREFIX + name, value) for name, value in values.items() if value is not None]


def _folder(artifacts: Path | None) -> str | None:
    """The call's folder inside the run's, so that it holds when the results are moved."""
    return None if artifacts is None else artifacts.name


def _measured(conversation: Conversation) -> dict[str, Figure | None]:
    began = bool(conversation.started_at)
    reason = conversation.end_reason
    return {
        "scenario": conversation.scenario,
        "domain": conversation.domain,
        **data_figures(conversation.data),
        "end_reason": None if reason is None else str(reason),
        "agent_turns": conversation.agent_turns,
        "total_turns": len(conversation.transcript),
        "model_runs": conversation.agent.model_runs or None,
        "tool_calls": len(conversation.tool_calls),
        "duration": round(conversation.duration, 3) if began else None,
        **dict(_latency(conversation)),
        **dict(sound_figures(conversation)),
        **dict(_tokens(conversation)),
        **dict(_cost(conversation.cost)),
    }


def _latency(conversation: Conversation) -> Iterator[tuple[str, Figure]]:
    stats = latency_stats(caller_latencies(conversation))
    if stats["count"]:
        for name, value in stats.items():
            yield f"latency_{name}", value if name == "count" else round(value, 1)


def _cost(cost: Cost | None) -> Iterator[tuple[str, Figure]]:
    """Of calls with models of the user's only: a script costs nothing, and a bot tells nothing."""
    if cost is None or not cost.models:
        return
    for side, model in cost.models.items():
        yield f"{side}_model", model
    for side, dollars in (*cost.sides.items(), ("", cost.total)):
        name = f"{side}_cost" if side else "cost"
        yield name, "unknown" if dollars is None else round(dollars, 6)


def _tokens(conversation: Conversation) -> Iterator[tuple[str, Figure]]:
    for side, record in (("agent", conversation.agent), ("user", conversation.user)):
        tokens = None if record is None else record.tokens
        if tokens is not None:
            yield f"{side}_model_calls", tokens.calls
            yield f"{side}_tokens_prompt", tokens.prompt
            yield f"{side}_tokens_completion", tokens.completion
