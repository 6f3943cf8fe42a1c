"""Percentiles by linear interpolation between order statistics: Hyndman and Fan's type 7.

It is what numpy, R and spreadsheets do by default. `n` belongs to every percentile: the P95 of
three values is nearly their largest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

INTERPOLATION = "linear (Hyndman-Fan type 7)"


def percentile(ordered: Sequence[float], percent: float) -> float:
    """The value below which `percent` of the others lie.

    Args:
        ordered: At least one value, in ascending order.
        percent: 0 to 100.
    """
    place = (len(ordered) - 1) * percent / 100
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


@dataclass(frozen=True, slots=True)
class Distribution:
    """Some values in figures, in their unit."""

    n: int
    mean: float
    min: float
    p50: float
    p90: float
    p95: float
    p99: float
    max: float


def distribution(values: Sequence[float]) -> Distribution | None:
    """The figures of these values, None if there are none."""
    if not values:
        return None
    ordered = sorted(values)
    p50, p90, p95, p99 = (percentile(ordered, percent) for percent in (50, 90, 95, 99))
    mean = math.fsum(ordered) / len(ordered)
    return Distribution(len(ordered), mean, ordered[0], p50, p90, p95, p99, ordered[-1])
