"""How long a provider asks to wait."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from pytest_voiceeval.wire.retry_after import retry_after

NOW = datetime(2026, 6, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "1.5"}, 1.5),
        ({"RETRY-AFTER": " 0 "}, 0.0),
        ({"retry-after": "Mon, 01 Jun 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Mon, 01 Jun 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "90"}, 0.25),
        *(
            ({"retry-after": text}, None)
            for text in ("", "soon", "-1", "nan", "inf", "1e999", "Mon, 99 Jun", "0 0 0 0 0 0")
        ),
    ],
    ids=str,
)
def test_what_providers_say(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds
