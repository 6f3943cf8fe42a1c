"""The line about costs in the summaries."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_voiceeval.report.cost_text import cost_parts
from pytest_voiceeval.report.terminal import summary

TOKENS = {"calls": 1, "prompt": 10, "completion": 5}


def line(agent: float | None = 0.5, user: float | None = 0.0, **more: Any) -> dict[str, Any]:
    total = None if agent is None or user is None else agent + user
    known: dict[str, Any] = {
        "scenario": "d__s",
        "outcome": "passed",
        "models": {"agent": "m", "user": None},
        "tokens": {"agent": TOKENS, "user": None},
        "cost": {"agent": agent, "user": user, "total": total},
        "prices_of": None if agent is None else "2026-11-30",
    }
    return known | more


NOTHING = {"scenario": "d__s"}
NOT_STARTED = {**NOTHING, "outcome": "error", "error": {"code": "cost_limit"}}
CUT_OFF = {**NOTHING, "outcome": "cancelled"}


@pytest.mark.parametrize(
    ("lines", "parts"),
    [
        pytest.param([NOTHING], [], id="calls without models"),
        pytest.param(
            [line(0.0, models={"agent": None, "user": None}), CUT_OFF], [], id="scripts only"
        ),
        pytest.param([line(), line()], ["$1.00 in all", "prices of 2026-11-30"], id="one side"),
        pytest.param(
            [line(0.5, 0.0125)],
            ["$0.5125 in all", "agent $0.5000", "caller $0.0125", "prices of 2026-11-30"],
            id="both sides",
        ),
        pytest.param(
            [line(), line(None)],
            [
                "unknown for 1 of 2 calls",
                "$0.5000 for the others",
                "no price of m (--price-table)",
                "prices of 2026-11-30",
            ],
            id="one without a price",
        ),
        pytest.param(
            [line(None, tokens={"agent": TOKENS | {"uncounted": 1}, "user": None})],
            ["unknown for 1 of 1 calls"],
            id="answers without counts",
        ),
        pytest.param(
            [line(), CUT_OFF],
            ["unknown for 1 of 2 calls", "$0.5000 for the others", "prices of 2026-11-30"],
            id="one cut off",
        ),
        pytest.param(
            [line(), NOT_STARTED, NOT_STARTED],
            ["$0.5000 in all", "prices of 2026-11-30", "2 not started (--max-cost)"],
            id="a limit",
        ),
        pytest.param(
            [line(0.0)], ["$0.0000 in all", "prices of 2026-11-30"], id="a model that costs nothing"
        ),
    ],
)
def test_the_phrases(lines: list[dict[str, Any]], parts: list[str]) -> None:
    assert cost_parts(lines) == parts


def test_the_summary_has_a_line_of_it() -> None:
    assert "cost:     $0.5000 in all, prices of 2026-11-30" in summary([line()], "out")
