"""One screen about a call that could not be held or scored: the cause, and what was heard of it."""

from __future__ import annotations

from pytest_voiceeval.report.failure_text import (
    clean,
    footer,
    process_log,
    transcript,
    wrap,
)


def render_error(error: Exception, *, nodeid: str, artifacts: str) -> str:
    """The cause in words, the transcript until then, and where the rest lies."""
    code = getattr(error, "code", type(error).__name__)
    first, *rest = (str(error) or type(error).__name__).splitlines()
    lines = wrap(f"{code}: {first}", indent=2)
    for paragraph in rest:
        lines += wrap(f"  {paragraph}", indent=4)
    conversation = getattr(error, "conversation", None)
    if conversation is not None:
        lines += process_log(conversation) + transcript(conversation.transcript)
    return clean("\n".join([*lines, *footer(nodeid, artifacts)]))
