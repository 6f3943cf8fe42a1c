"""`metrics.json`: one call in the keys that readers of the reference harness know.

Where its format wants a number and none was measured (`token_usage`, `latency_stats`), the number
is 0 and a key beside it says so (`token_usage_reported`, `count`). Everything else that is unknown
is null or absent.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.call.result import EndReason
from pytest_voiceeval.report.clock import wall_clock
from pytest_voiceeval.report.conversation_log import stop_reason
from pytest_voiceeval.report.data_used import data_figures
from pytest_voiceeval.report.judge_figures import judge_metrics
from pytest_voiceeval.report.results_file import cost_figures, error_of
from pytest_voiceeval.report.sound import first_audio_ms, sound_metrics
from pytest_voiceeval.report.spelling_text import spelling_figures
from pytest_voiceeval.scoring.signals import NOT_APPLICABLE, SuccessSignal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_voiceeval.call.result import CallResult, Conversation, Utterance
    from pytest_voiceeval.report.trace import Trace


def metrics_of(result: CallResult, directory: str, trace: Trace | None = None) -> dict[str, Any]:
    """The content of `metrics.json`; optional keys are absent, as in the reference."""
    metrics: dict[str, Any] = {
        **_measured(result.conversation, directory),
        "clean_exit": result.end_reason is EndReason.EXIT,
        "is_action_match": _or_not_applicable(result.signals.get(SuccessSignal.ACTION_MATCH)),
        "success_breakdown": {key: [str(s) for s in v] for key, v in result.breakdown.items()},
        "is_successful": _or_not_applicable(result.passed),
        "warnings": list(result.warnings),
    }
    if result.stalled:
        metrics["insufficient_agent_turns"] = True
    if result.expected_hash is not None:
        metrics["db_state_expected_hash"] = result.expected_hash
        metrics["db_state_match"] = result.db_hash == result.expected_hash
        metrics["db_state_actual_hash"] = result.db_hash
    metrics |= user_database_figures(result)
    if result.assertion_verdicts:
        verdicts = [dict(verdict) for verdict in result.assertion_verdicts]
        metrics["db_state_assertion_verdicts"] = verdicts
        metrics["db_state_assertion_pass_rate"] = _rate([v["passed"] for v in verdicts])
    metrics |= judge_metrics(result.judgement) | spelling_figures(result.misspoken)
    if result.task_passed is not None:
        metrics["is_task_successful"] = result.task_passed
    if trace is not None and trace.present:
        metrics["trace_metrics"] = trace.content
    return metrics


def unscored_metrics(
    conversation: Conversation, directory: str, error: Exception, trace: Trace | None = None
) -> dict[str, Any]:
    """What was measured of a call that has no verdict: the same keys, verdicts null."""
    metrics = {
        **_measured(conversation, directory),
        "clean_exit": None,
        "is_action_match": None,
        "is_successful": None,
        "error": error_of(error),
        "warnings": list(conversation.warnings),
    }
    if trace is not None and trace.present:
        metrics["trace_metrics"] = trace.content
    return metrics


def _measured(conversation: Conversation, directory: str) -> dict[str, Any]:
    """The figures of a conversation, scored or not."""
    latencies = _latencies(conversation)
    reason = conversation.end_reason
    began = bool(conversation.started_at)
    return {
        "total_turns": len(conversation.transcript),
        "duration_seconds": conversation.duration if began or reason else None,
        "turns": [_turn(conversation, utterance) for utterance in conversation.transcript],
        "latency_stats": latency_stats([entry["latency_ms"] for entry in latencies]),
        "latencies": latencies,
        "greeting_latency_ms": _greeting_latency(conversation),
        "scenario_name": conversation.scenario,
        "scenario_directory": directory,
        "scenario_duration": conversation.elapsed,
        **data_figures(conversation.data),
        "stop_reason": stop_reason(reason),
        "end_reason": None if reason is None else str(reason),
        "end_detail": conversation.end_detail,
        "agent_turns": conversation.agent_turns,
        "model_runs": conversation.agent.model_runs or None,
        "token_usage": _token_usage(conversation),
        "token_usage_reported": _token_usage_reported(conversation),
        **cost_figures(conversation.cost),
        **sound_metrics(conversation),
    }


def user_database_figures(result: CallResult) -> dict[str, Any]:
    """What is known of the caller's database; nothing where the scenario expects none."""
    found = result.user_database
    if found is None:
        return {}
    return {
        "user_db_state_match": found.matches,
        "user_db_state_expected_hash": found.expected_hash,
        "user_db_state_actual_hash": found.actual_hash,
    }


def transcript_of(conversation: Conversation) -> list[dict[str, Any]]:
    """The utterances with all that is known of them."""
    return [
        {
            **_turn(conversation, utterance),
            "turn": utterance.turn,
            "start": utterance.start,
            "end": utterance.end,
            "partial": utterance.partial,
        }
        for utterance in conversation.transcript
    ]


def latency_stats(values: Sequence[float]) -> dict[str, float]:
    """Count, mean and the reference's percentiles, in milliseconds; all 0 when empty."""
    ordered = sorted(values)
    if not ordered:
        return dict.fromkeys(("count", "mean_ms", "p50_ms", "p95_ms", "min_ms", "max_ms"), 0)
    count = len(ordered)
    return {
        "count": count,
        "mean_ms": math.fsum(ordered) / count,
        "p50_ms": ordered[count // 2],
        "p95_ms": ordered[int(count * 0.95)],
        "min_ms": ordered[0],
        "max_ms": ordered[-1],
    }


def caller_latencies(conversation: Conversation) -> list[float]:
    """Milliseconds from each line of the caller to the first word of the answer."""
    return [entry["latency_ms"] for entry in _latencies(conversation)]


def _turn(conversation: Conversation, utterance: Utterance) -> dict[str, Any]:
    return {
        "timestamp": wall_clock(conversation, utterance.end),
        "role": utterance.role,
        "text": utterance.text,
    }


def _latencies(conversation: Conversation) -> list[dict[str, Any]]:
    """Answers to the caller only: what answers the harness's kickoff is the greeting."""
    said = {
        (utterance.role, utterance.turn): utterance.text for utterance in conversation.transcript
    }
    return [
        {
            "user_transcript": said["user", latency.turn],
            "agent_transcript": said.get(("agent", latency.turn), ""),
            "latency_ms": latency.first_text * 1000,
        }
        for latency in conversation.latencies
        if latency.first_text is not None and ("user", latency.turn) in said
    ]


def _greeting_latency(conversation: Conversation) -> float | None:
    """Milliseconds from the kickoff to the agent's first word, or sound."""
    if conversation.sound is not None:
        return first_audio_ms(conversation)
    first = next((latency for latency in conversation.latencies if latency.turn == 1), None)
    return None if first is None or first.first_text is None else first.first_text * 1000


def _token_usage(conversation: Conversation) -> dict[str, dict[str, int]]:
    user = conversation.user
    usage: dict[str, dict[str, int]] = {}
    sides = (("agent", conversation.agent.tokens), ("user", user.tokens if user else None))
    for side, tokens in sides:
        usage[side] = {
            "n_calls": tokens.calls if tokens else 0,
            "prompt": tokens.prompt if tokens else 0,
            "completion": tokens.completion if tokens else 0,
        }
    return usage


def _token_usage_reported(conversation: Conversation) -> dict[str, bool]:
    user = conversation.user
    return {
        "agent": conversation.agent.tokens is not None,
        "user": user is not None and user.tokens is not None,
    }


def _or_not_applicable(verdict: bool | None) -> bool | str:
    return NOT_APPLICABLE if verdict is None else verdict


def _rate(verdicts: Sequence[bool]) -> float:
    return sum(verdicts) / len(verdicts)
