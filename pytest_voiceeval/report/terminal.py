"""The summary at the end of a run: a dozen lines of 80 columns at most, one with `-q`.

Nothing is printed while calls go on: pytest's own progress says how far a run is, and a line of
ours between its dots would help nobody in the log of a CI job.
"""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.report.aggregate import Rate, concurrency, spans, totals, wall_time
from pytest_voiceeval.report.cost_text import cost_parts
from pytest_voiceeval.report.layout import count
from pytest_voiceeval.report.sound import pooled_latency

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_voiceeval.report.aggregate import Line, Totals

WIDTH = 80
SLOWEST = 3
_LABEL = 10
_TIE = "\u00a0"  # where a line must not end


def summary(lines: Sequence[Line], folder: str) -> list[str]:
    """The lines below the title, for the calls of one run.

    Args:
        lines: Of `results.jsonl`, this run's only.
        folder: Where the results are, as shown to the user.
    """
    found = totals(lines)
    signals = [f"{name} {rate(r)}" for name, r in found.signals.items()]
    domains = [f"{name} {rate(r)}" for name, r in found.domains.items()]
    return [
        *_fill("calls", _calls(found), most=2),
        *_fill("signals", signals, most=3),
        *_fill("domains", domains, most=2),
        *_times(lines),
        *_latency(lines),
        *_fill("cost", cost_parts(lines), most=2),
        *_held_back(lines),
        f"voiceeval: results in {folder}",
    ]


def short_summary(lines: Sequence[Line], folder: str) -> str:
    """The one line of a quiet run."""
    success = totals(lines).success
    said = f"{success.passed} of {success.total} passed{_unscored(success)}"
    return f"voiceeval: {said}; results in {folder}"


def rate(of: Rate) -> str:
    """`3 of 4 (75 %)`; a rate that is not whole is never shown as 100 %."""
    percent = math.floor(of.percent) if of.percent > 99 else round(of.percent)
    return f"{of.passed} of {of.total} ({percent} %{_unscored(of)})"


def _unscored(of: Rate) -> str:
    return f", {of.unscored} not scored" if of.unscored else ""


def _calls(found: Totals) -> list[str]:
    words = {
        "passed": "passed",
        "failed": "failed",
        "skipped": "skipped",
        "error": "not scored (error)",
    }
    counts = [f"{found.outcomes[key]} {word}" for key, word in words.items() if found.outcomes[key]]
    counts += [f"{found.stalled} stalled"] if found.stalled else []
    counts += [f"{found.unreported} cut off or not reported"] if found.unreported else []
    return [f"{found.calls} in all", *counts]


def _times(lines: Iterable[Line]) -> list[str]:
    began = [line for line in lines if isinstance(line.get("duration"), int | float)]
    calls = spans(began)
    if not calls:
        return []
    most = concurrency(calls)
    at_once = "one at a time" if most == 1 else f"up to {most} at once"
    wall = f"{_seconds(wall_time(calls))} from the first kickoff to the last end"
    shown = _fill("time", [wall, at_once], most=1)
    if len(began) > 1:
        slowest = sorted(began, key=lambda line: -line["duration"])[:SLOWEST]
        shown += _fill(
            "slowest", [f"{_seconds(c['duration'])} {_item(c)}" for c in slowest], most=2
        )
    return shown


def _latency(lines: Sequence[Line]) -> list[str]:
    """How long the agent took to answer, where that could be heard."""
    found = pooled_latency(lines)
    if found is None:
        return []
    shown = (("P50", found.p50), ("P90", found.p90), ("P95", found.p95), ("P99", found.p99))
    figures = [f"{name} {value:.0f} ms" for name, value in shown]
    return _fill("latency", [*figures, count(found.n, "answer")], most=2)


def _held_back(lines: Iterable[Line]) -> list[str]:
    """Why calls did not run ahead of their items, although there was room for them."""
    reasons = Counter(str(line["held_back"]) for line in lines if line.get("held_back"))
    counts = [f"{count} held back, {reason}" for reason, count in reasons.most_common()]
    return _fill("in turn", counts, most=2)


def _item(line: Mapping[str, Any]) -> str:
    return str(line.get("nodeid") or line.get("scenario"))


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if value < 100 else f"{value / 60:.1f} min"


def _fill(label: str, parts: Sequence[str], *, most: int) -> list[str]:
    """`label: part, part, …` in a few lines, no part torn; what does not fit is counted."""
    for shown in range(len(parts), 0, -1):
        rest = len(parts) - shown
        kept = [*parts[:shown], *([f"… {rest} more"] if rest else [])]
        lines = _wrap(label, [part.replace(" ", _TIE) for part in kept])
        if len(lines) <= most or shown == 1:
            return [line.replace(_TIE, " ") for line in lines[:most]]
    return []


def _wrap(label: str, parts: Sequence[str]) -> list[str]:
    return textwrap.wrap(
        ", ".join(parts),
        WIDTH,
        initial_indent=f"{label + ':':<{_LABEL}}",
        subsequent_indent=" " * _LABEL,
        break_on_hyphens=False,
    )
