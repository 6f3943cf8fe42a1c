"""The judge's part of a failure's text: score, reason, and each statement with its verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_voiceeval.report.characters import columns, one_line
from pytest_voiceeval.report.layout import WIDTH, Lines, Section, count, wrap

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_voiceeval.call.judgement import Judgement
    from pytest_voiceeval.call.result import CallResult

REASON_LINES = 4


def judge_sections(result: CallResult) -> list[Section]:
    """Nothing about a judge that was not asked, or that found nothing wrong."""
    judgement = result.judgement
    if judgement is None or judgement.error is not None or judgement.passed:
        return []
    verdicts = sorted(judgement.assertions, key=lambda verdict: verdict["passed"] is True)
    return [
        Section(
            (_title(judgement), *wrap(one_line(judgement.reason), lead="  ", limit=REASON_LINES)),
            () if judgement.broken else tuple(map(_statement, verdicts)),
        )
    ]


def _title(judgement: Judgement) -> str:
    if judgement.score is None:
        return "the judge was not asked:"
    score = f"{show_score(judgement.score)} of {judgement.threshold:g}"
    title = f"the judge: score {score} ({one_line(str(judgement.settings.get('model')))})"
    return f"{title}:" if columns(title) < WIDTH else f"the judge: score {score}:"


def _statement(verdict: Mapping[str, Any]) -> Lines:
    found = "true" if verdict["passed"] is True else "not true"
    reason = one_line(str(verdict["reason"])) or "no reason given"
    text = f"{verdict['index']}. {found}: {one_line(str(verdict['assertion']))} - {reason}"
    return wrap(text, lead="  ", indent=4, limit=3)


def judge_clauses(judgement: Judgement | None) -> dict[str, str]:
    """Why the call failed, by signal of the judge."""
    if judgement is None:
        return {
            "nl_assertion": "the judge found a statement about the call untrue",
            "judge_passed": "the judge's score is below the threshold",
        }
    if judgement.broken:
        why = f"no call to judge: {judgement.broken}"
        return {"nl_assertion": why, "judge_passed": why}
    untrue, total = len(judgement.untrue), len(judgement.assertions)
    score = "unknown" if judgement.score is None else show_score(judgement.score)
    return {
        "nl_assertion": f"the judge: {untrue} of {count(total, 'statement')} not true",
        "judge_passed": f"the judge's score {score} is below {judgement.threshold:g}",
    }


def show_score(score: float) -> str:
    """As many digits as a person wants to see, and never rounded up to a better one."""
    return f"{int(score * 1000 + 1e-9) / 1000:g}" if score < 1 else "1"
