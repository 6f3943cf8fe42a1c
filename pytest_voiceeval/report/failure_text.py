"""One screen about a call that did not pass: what differs, which call wrote it, who said what.

Plain lines of at most `WIDTH` columns, the same on a terminal and in JUnit. At most `HEAD_LINES`
lines come before the transcript; what was cut is counted and the file that has it is named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_voiceeval.report.actions_text import action_sections, predicate_sections
from pytest_voiceeval.report.calls_text import recorded_sections, writers_sections
from pytest_voiceeval.report.characters import clean
from pytest_voiceeval.report.database_text import (
    database_sections,
    in_telling_order,
    user_database_sections,
)
from pytest_voiceeval.report.judge_text import judge_sections
from pytest_voiceeval.report.layout import WIDTH, Section, fit
from pytest_voiceeval.report.rerun import rerun_lines
from pytest_voiceeval.report.sound import latency_sections
from pytest_voiceeval.report.spelling_text import spelling_notes
from pytest_voiceeval.report.transcript_text import transcript_lines
from pytest_voiceeval.report.verdict_text import log_sections, notes_sections, verdict_section

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_voiceeval.call.result import CallResult

HEAD_LINES = 24

__all__ = ["HEAD_LINES", "WIDTH", "footer", "render"]


def render(
    result: CallResult,
    *,
    nodeid: str,
    artifacts: str | None = None,
    options: Sequence[str] = (),
) -> str:
    """The whole failure text of one call.

    Args:
        result: The call.
        nodeid: Its pytest item, as it is typed on the command line.
        artifacts: Folder of the call's files, as a reader would type it.
        options: Command-line arguments that the command for a rerun repeats.
    """
    lines = fit(_sections(result, artifacts), HEAD_LINES)
    lines += transcript_lines(result.conversation)
    lines += footer(nodeid, artifacts, options)
    return clean("\n".join(lines))


def _sections(result: CallResult, artifacts: str | None) -> list[Section]:
    """What decided comes first; what differs and does not count is a hint, and comes last."""
    changes = in_telling_order(result.changes or (), result.tool_calls)
    database = database_sections(result, changes, artifacts)
    if database and result.changes is None:
        database += recorded_sections(result)
    database += writers_sections(result, changes)
    database += user_database_sections(result, artifacts)
    by_signal = {
        "db_state_match": database,
        "is_action_match": action_sections(result),
        "db_state_assertion": predicate_sections(result),
        _judged_by(result): judge_sections(result),
    }
    failed = [name for name in by_signal if name in result.breakdown["failed"]]
    ordered = [*failed, *(name for name in by_signal if name not in failed)]
    return [
        verdict_section(result),
        *log_sections(result.conversation),
        *latency_sections(result),
        *(section for name in ordered for section in by_signal[name]),
        *notes_sections([*result.warnings, *spelling_notes(result.misspoken)]),
    ]


def _judged_by(result: CallResult) -> str:
    """The signal of the judge that failed the call, if one did."""
    names = ("nl_assertion", "judge_passed")
    return next((name for name in names if name in result.breakdown["failed"]), names[0])


def footer(nodeid: str, artifacts: str | None, options: Sequence[str] = ()) -> list[str]:
    """Where the files are, and the command that runs just this item."""
    # a path is not broken, so that it can be copied
    return [
        "",
        *([f"artifacts: {artifacts}"] if artifacts else []),
        *rerun_lines(nodeid, options),
    ]
