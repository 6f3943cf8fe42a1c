"""`metrics.json`: one call in the keys that readers of the reference harness know."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.call.result import CallResult, Conversation, EndReason, Utterance

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NOT_APPLICABLE = "N/A"


def metrics_of(result: CallResult, directory: str) -> dict[str, Any]:
    """The content of `metrics.json`; optional keys are absent, as in the reference."""
    conversation = result.conversation
    metrics: dict[str, Any] = {
        **transcript_metrics(conversation),
        "scenario_name": result.scenario,
        "scenario_directory": directory,
        "scenario_duration": result.duration,
        "stop_reason": stop_reason(result.end_reason),
        "end_reason": str(result.end_reason),
        "end_detail": result.end_detail,
        "clean_exit": result.end_reason is EndReason.EXIT,
        "is_action_match": _or_not_applicable(result.signals.get(_signal("is_action_match"))),
        "token_usage": _token_usage(result),
        "success_breakdown": {key: [str(s) for s in v] for key, v in result.breakdown.items()},
        "is_successful": _or_not_applicable(result.passed),
        "warnings": list(result.warnings),
    }
    if result.stalled:
        metrics["insufficient_agent_turns"] = True
    if result.expected_hash is not None:
        metrics["db_state_expected_hash"] = result.expected_hash
        metrics["db_state_match"] = result.signals.get(_signal("db_state_match"))
        metrics["db_state_actual_hash"] = result.db_hash
    if result.assertion_verdicts:
        verdicts = [dict(verdict) for verdict in result.assertion_verdicts]
        metrics["db_state_assertion_verdicts"] = verdicts
        metrics["db_state_assertion_pass_rate"] = _rate([v["passed"] for v in verdicts])
    if result.task_passed is not None:
        metrics["is_task_successful"] = result.task_passed
    return metrics


def transcript_metrics(conversation: Conversation) -> dict[str, Any]:
    """Turns and latencies of a conversation, scored or not."""
    latencies = _latencies(conversation)
    return {
        "total_turns": len(conversation.transcript),
        "duration_seconds": conversation.duration,
        "turns": [_turn(conversation, utterance) for utterance in conversation.transcript],
        "latency_stats": latency_stats([entry["latency_ms"] for entry in latencies]),
        "latencies": latencies,
    }


def stop_reason(reason: EndReason) -> str:
    """The reference's two words for how a call ended."""
    return "[EXIT]" if reason is EndReason.EXIT else "[TIMEOUT]"


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


def _turn(conversation: Conversation, utterance: Utterance) -> dict[str, Any]:
    return {
        "timestamp": _timestamp(conversation.started_at, utterance.end),
        "role": utterance.role,
        "text": utterance.text,
    }


def _timestamp(started_at: str, seconds: float) -> str:
    if not started_at:
        return ""
    return (datetime.fromisoformat(started_at) + timedelta(seconds=seconds)).isoformat()


def _latencies(conversation: Conversation) -> list[dict[str, Any]]:
    """Text latency: from our message to the first text of the agent's turn."""
    said = {
        (utterance.role, utterance.turn): utterance.text for utterance in conversation.transcript
    }
    return [
        {
            "user_transcript": said.get(("user", latency.turn), ""),
            "agent_transcript": said.get(("agent", latency.turn), ""),
            "latency_ms": latency.first_text * 1000,
        }
        for latency in conversation.latencies
        if latency.first_text is not None
    ]


def _token_usage(result: CallResult) -> dict[str, Mapping[str, int]]:
    sides: tuple[Any, ...] = ("agent", "user")
    usage: dict[str, Mapping[str, int]] = {}
    for side in sides:
        tokens = result.tokens.get(side)
        usage[side] = {
            "n_calls": tokens.calls if tokens else 0,
            "prompt": tokens.prompt if tokens else 0,
            "completion": tokens.completion if tokens else 0,
        }
    return usage


def _or_not_applicable(verdict: bool | None) -> bool | str:
    return NOT_APPLICABLE if verdict is None else verdict


def _rate(verdicts: Sequence[bool]) -> float:
    return sum(verdicts) / len(verdicts)


def _signal(name: str) -> Any:
    from pytest_voiceeval.scoring.signals import SuccessSignal

    return SuccessSignal(name)
