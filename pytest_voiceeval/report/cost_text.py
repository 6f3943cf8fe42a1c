"""What the models of a run cost, in words; nothing about runs in which only scripts spoke."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.call.prices import show_cost

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_voiceeval.report.aggregate import Line

NOT_STARTED = "cost_limit"
_WORDS = {"user": "caller"}


def cost_parts(lines: Sequence[Line]) -> list[str]:
    """The run's cost in a few phrases, for lines of `results.jsonl`, whatever became of the calls.

    A cost of which any part is unknown is never given as a sum: the phrases say of how many calls
    it is unknown, and what the others cost.
    """
    if not any(_models(line) for line in lines):
        return []
    costs = [_cost(line) for line in lines]
    known = [cost for cost in costs if isinstance(cost.get("total"), int | float)]
    unknown = len(costs) - len(known)
    spent = show_cost(math.fsum(cost["total"] for cost in known))
    parts = [f"{spent} in all", *_by_side(known)]
    if unknown:
        others = [f"{spent} for the others"] if known else []
        parts = [f"unknown for {unknown} of {len(costs)} calls", *others]
    return [*parts, *_unlisted(lines), *_days(lines), *_not_started(lines)]


def _models(line: Line) -> list[str]:
    return [str(model) for model in (line.get("models") or {}).values() if model]


def _cost(line: Line) -> Mapping[str, Any]:
    """A call that was cut off has spent something that nobody knows; one never begun, nothing."""
    cut_off = line.get("outcome") == "cancelled"
    return line.get("cost") or {"total": None if cut_off else 0.0}


def _by_side(costs: Sequence[Mapping[str, Any]]) -> list[str]:
    sums: dict[str, float] = {}
    for cost in costs:
        for side, dollars in cost.items():
            if side != "total":
                sums[side] = sums.get(side, 0.0) + dollars
    spenders = {side: dollars for side, dollars in sums.items() if dollars}
    if len(spenders) < 2:
        return []
    return [f"{_WORDS.get(side, side)} {show_cost(sum_)}" for side, sum_ in spenders.items()]


def _unlisted(lines: Sequence[Line]) -> list[str]:
    """Models whose tokens are known, so that only their price is not."""
    models = {
        str(model): None
        for line in lines
        for side, model in (line.get("models") or {}).items()
        if model and _counted(line, side) and _cost(line).get(side) is None
    }
    return [f"no price of {model} (--price-table)" for model in models]


def _counted(line: Line, side: str) -> bool:
    tokens = (line.get("tokens") or {}).get(side) or {}
    return bool(tokens) and not tokens.get("uncounted")


def _days(lines: Sequence[Line]) -> list[str]:
    days = [str(line["prices_of"]) for line in lines if line.get("prices_of")]
    return [f"prices of {min(days)}"] if days else []


def _not_started(lines: Sequence[Line]) -> list[str]:
    refused = sum((line.get("error") or {}).get("code") == NOT_STARTED for line in lines)
    return [f"{refused} not started (--max-cost)"] if refused else []
