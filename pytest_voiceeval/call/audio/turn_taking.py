"""A score for how an agent takes its turns, by the curve of EVA 0.1.3. Informational: no gate.

Each answer to the caller scores 0 to 1 by its latency; an interruption scores by how much it
disturbs. The greeting does not count.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

PLAIN = ((-500.0, 0.0), (500.0, 1.0), (2000.0, 1.0), (5000.0, 0.0))
WITH_TOOL = ((-500.0, 0.0), (500.0, 1.0), (4000.0, 1.0), (7000.0, 0.0))
"""Latency in ms from the end of the caller's speech to the start of the agent's, and its score."""
MOST_OVERLAP = 2000.0
MOST_YIELD = 2000.0
EARLY, LATE, LATE_WITH_TOOL = 200.0, 4000.0, 6000.0


@dataclass(frozen=True, slots=True)
class TurnTaking:
    """What one exchange showed; milliseconds.

    Attributes:
        latency: From the caller's last sound to the agent's answer; None if none began afresh.
        tool: The agent called a tool in it.
        barge_ins: How often the agent began while the caller spoke.
        overlap: How long both then spoke at once.
        yielded: How long the agent spoke on when the caller began; None if it did not.
    """

    latency: float | None
    tool: bool = False
    barge_ins: int = 0
    overlap: float = 0.0
    yielded: float | None = None


def curve(latency: float, *, tool: bool) -> float:
    """Score of a latency in ms, 0 to 1."""
    points = WITH_TOOL if tool else PLAIN
    if latency <= points[0][0] or latency >= points[-1][0]:
        return 0.0
    for (x0, y0), (x1, y1) in pairwise(points):
        if latency <= x1:
            return y0 + (y1 - y0) * (latency - x0) / (x1 - x0)
    return 0.0  # pragma: no cover - the last point was looked at


def score(turn: TurnTaking) -> float | None:
    """Score of one exchange, None if nobody took a turn in it."""
    found = []
    if turn.barge_ins:
        found.append(0.5 * (1 - turn.overlap / MOST_OVERLAP))
        found.append(0.5 * (1 - (turn.barge_ins - 1) / 2))
    if turn.latency is not None:
        found.append(curve(turn.latency, tool=turn.tool))
    if turn.yielded is not None:
        found.append(1 - turn.yielded / MOST_YIELD)
    return max(0.0, min(found)) if found else None


def timing_word(turn: TurnTaking) -> str:
    """`early`, `on time` or `late`; `interrupts`, or `no answer`."""
    if turn.barge_ins:
        return "interrupts"
    if turn.latency is None:
        return "no answer"
    if turn.latency < EARLY:
        return "early"
    return "late" if turn.latency > (LATE_WITH_TOOL if turn.tool else LATE) else "on time"


def mean_score(turns: Sequence[TurnTaking]) -> float | None:
    """Score of a call: the mean of its exchanges, None if there are none."""
    scores = [found for turn in turns if (found := score(turn)) is not None]
    return sum(scores) / len(scores) if scores else None
