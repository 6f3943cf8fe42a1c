"""Wall-clock times of what was measured in seconds since the kickoff."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_voiceeval.call.result import Conversation


def wall_clock(conversation: Conversation, seconds: float) -> str:
    """ISO 8601 time of a moment of the call, empty for a call that never began."""
    at = moment(conversation, seconds)
    return "" if at is None else at.isoformat()


def moment(conversation: Conversation, seconds: float) -> datetime | None:
    """The moment itself, in UTC; None for a call that never began."""
    if not conversation.started_at:
        return None
    started = datetime.fromisoformat(conversation.started_at)
    return started.astimezone(UTC) + timedelta(seconds=seconds)
