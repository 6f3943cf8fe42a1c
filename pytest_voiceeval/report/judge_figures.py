"""What the LLM judge said, in the keys of the files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_voiceeval.call.judgement import Judgement


def judge_metrics(judgement: Judgement | None) -> dict[str, Any]:
    """For `metrics.json`: the keys of the reference harness, absent where there is no verdict."""
    if judgement is None or judgement.error is not None:
        return {}
    metrics: dict[str, Any] = {"judge_passed": judgement.reached}
    if judgement.score is not None:
        metrics["judge_score"] = judgement.score
    if judgement.assertions:
        passed = [verdict["passed"] is True for verdict in judgement.assertions]
        metrics["nl_assertion_verdicts"] = [dict(verdict) for verdict in judgement.assertions]
        metrics["nl_assertion_pass_rate"] = sum(passed) / len(passed)
    return metrics


def judge_line(judgement: Judgement | None) -> dict[str, Any]:
    """For `results.jsonl`: which judge it was, how it was asked, and what it said."""
    if judgement is None:
        return {}
    total = len(judgement.assertions)
    record = judgement.record
    known = {
        **judgement.settings,
        "score": judgement.score,
        "passed": judgement.reached,
        "reason": judgement.reason,
        "assertions": {"passed": total - len(judgement.untrue), "total": total} if total else None,
        "attempts": len(record.get("attempts") or ()),
        "usage": record.get("usage"),
        "cost": record.get("cost"),
        "error": None if judgement.error is None else dict(judgement.error),
    }
    return {"judge": known}
