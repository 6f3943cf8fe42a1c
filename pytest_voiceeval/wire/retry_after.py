"""How long a provider asks to wait, in the ways in which providers say it."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds a provider asks to wait, None if it does not say or says nonsense.

    Args:
        headers: Of its answer, names in any case.
        now: The time at which a date in them is looked at; None means the present.
    """
    given = {name.lower(): value.strip() for name, value in headers.items()}
    milliseconds = _number(given.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = given.get("retry-after", "")
    seconds = _number(text)
    return seconds if seconds is not None else _until(text, now or datetime.now(UTC))


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if value >= 0 and math.isfinite(value) else None


def _until(text: str, now: datetime) -> float | None:
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, IndexError, TypeError, OverflowError):
        return None
    return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - now).total_seconds())
