"""One screen about a call that could not be held or scored: the cause, and what was heard of it."""

from __future__ import annotations

from pytest_voiceeval.report.failure_text import clean, footer, transcript, wrap


def render_error(error: Exception, *, nodeid: str, artifacts: str) -> str:
    """The cause in words, the transcript until then, and where the rest lies."""
    code = getattr(error, "code", type(error).__name__)
    lines = [f"{nodeid}: not measured ({code})"]
    for paragraph in (str(error) or type(error).__name__).splitlines():
        lines += wrap(f"  {paragraph}", indent=2)
    conversation = getattr(error, "conversation", None)
    if conversation is not None:
        lines += _process(conversation) + transcript(conversation.transcript)
    return clean("\n".join([*lines, *footer(nodeid, artifacts)]))


def _process(conversation: object) -> list[str]:
    exit_ = getattr(conversation, "process_exit", None)
    if exit_ is None or not exit_.log_tail:
        return []
    lines = ["", "last lines of the agent's log:"]
    for line in exit_.log_tail[-8:]:
        lines += wrap(f"  {line}", indent=4, limit=2)
    return lines
