"""One screen about a call that could not be held or scored: the cause, and what was heard of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_voiceeval.call.errors import JudgeUnusable, OwnVerdict
from pytest_voiceeval.report.characters import clean
from pytest_voiceeval.report.failure_text import HEAD_LINES, footer
from pytest_voiceeval.report.layout import ELLIPSIS, Lines, Section, count, fit, wrap
from pytest_voiceeval.report.transcript_text import transcript_lines
from pytest_voiceeval.report.verdict_text import log_sections, notes_sections, without_log

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_voiceeval.call.result import Conversation

MESSAGE_LINES = 10
FIRST_LINES = 4
"""Of a longer message; the others are its last ones, because a log ends with what went wrong."""


def render_error(
    error: Exception, *, nodeid: str, artifacts: str | None, options: Sequence[str] = ()
) -> str:
    """The cause in words, the transcript until then, and where the rest lies.

    Args:
        error: Why there is no verdict; a `CallError` brings its code and the conversation.
        nodeid: The pytest item, as it is typed on the command line.
        artifacts: Folder of the call's files, as a reader would type it.
        options: Command-line arguments that the command for a rerun repeats.
    """
    conversation: Conversation | None = getattr(error, "conversation", None)
    sections = [Section((*_cause(error, conversation), *_progress(error, conversation)))]
    lines = fit([*sections, *_measured(conversation)], HEAD_LINES)
    if conversation is not None and conversation.started_at:
        lines += transcript_lines(conversation)
    return clean("\n".join([*lines, *footer(nodeid, artifacts, options)]))


def _cause(error: Exception, conversation: Conversation | None) -> list[str]:
    code = getattr(error, "code", type(error).__name__)
    text = without_log(str(error), conversation) or type(error).__name__
    first, *rest = text.splitlines()
    # a text that begins with the code in words needs no code before it
    lead = "" if first.startswith(f"{code.replace('_', ' ')}:") else f"{code}: "
    lines = list(wrap(f"{lead}{first}", limit=MESSAGE_LINES))
    for paragraph in rest:
        lines += wrap(paragraph, lead="  ", indent=4)
    if len(lines) <= MESSAGE_LINES:
        return lines
    last = MESSAGE_LINES - FIRST_LINES - 1
    return [*lines[:FIRST_LINES], f"  {ELLIPSIS}", *lines[-last:]]


def _progress(error: Exception, conversation: Conversation | None) -> list[str]:
    """How far the call came: an error says nothing about the agent."""
    if isinstance(error, JudgeUnusable) and conversation is not None:
        return [*_known(error), _ended(conversation)]
    if conversation is None and getattr(error, "under_way", False):
        return ["not measured: the call broke off"]
    if conversation is None or not conversation.started_at:
        return ["not measured: the call never began"]
    if isinstance(error, OwnVerdict):
        return [_ended(conversation)]
    turns = count(conversation.agent_turns, "agent turn")
    return [f"not measured: the call broke off after {turns}, {conversation.duration:.1f} s"]


def _known(error: JudgeUnusable) -> Lines:
    """The verdicts that need no judge."""
    words = {True: "passed", False: "failed"}
    parts = [f"{name} {words[v]}" for name, v in error.signals.items() if v is not None]
    return wrap(f"not judged; without the judge: {', '.join(parts) or 'nothing is known'}")


def _ended(conversation: Conversation) -> str:
    turns = count(conversation.agent_turns, "agent turn")
    return f"ended: {conversation.end_reason} after {turns}, {conversation.duration:.1f} s"


def _measured(conversation: Conversation | None) -> list[Section]:
    if conversation is None:
        return []
    return [*log_sections(conversation), *notes_sections(conversation.warnings)]
