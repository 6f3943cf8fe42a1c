"""From calls to rates. A rate always knows of how many calls it speaks.

Figures of a call count where the reference harness counts them: a signal wherever it was computed,
whether or not it decides there; stalled calls as failures, but not in the rates of signals; calls
nothing applied to nowhere. Calls without a verdict (errors) count in no signal, and in the rates of
success as not passed: a run of one pass and nine errors has passed 1 of 10.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.report.data_used import Labels
from pytest_voiceeval.scoring.signals import SuccessSignal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Line = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Rate:
    """How many of how many.

    Attributes:
        passed: Those that did.
        total: Those that count, unscored ones included.
        unscored: Those of them that have no verdict.
    """

    passed: int
    total: int
    unscored: int = 0

    @property
    def percent(self) -> float:
        """Of all that count, 0 to 100."""
        return 100 * self.passed / self.total if self.total else 0.0


@dataclass(frozen=True)
class Totals:
    """What a set of calls comes to.

    Attributes:
        outcomes: Calls by outcome: passed, failed, skipped, error.
        success: Calls that passed.
        domains: The same by domain, and by its data where it was called on different ones.
        signals: Calls by signal.
        stalled: Calls with fewer agent turns than asked for.
        unreported: Calls that ran ahead of their items and were never reported, or were cut off;
            they count nowhere else.
    """

    outcomes: Counter[str]
    success: Rate
    domains: Mapping[str, Rate]
    signals: Mapping[str, Rate]
    stalled: int = 0
    unreported: int = 0

    @property
    def calls(self) -> int:
        """All that count."""
        return self.outcomes.total()


@dataclass
class _Bucket:
    verdicts: list[bool] = field(default_factory=list)
    unscored: int = 0

    def rate(self) -> Rate:
        total = len(self.verdicts) + self.unscored
        return Rate(sum(self.verdicts), total, self.unscored)


def totals(lines: Iterable[Line]) -> Totals:
    """Count the lines of `results.jsonl`."""
    outcomes: Counter[str] = Counter()
    success = _Bucket()
    domains: dict[str, _Bucket] = {}
    signals = {str(signal): _Bucket() for signal in SuccessSignal}
    every = list(lines)
    counted = [line for line in every if was_reported(line)]
    labels = Labels(counted)
    stalled = 0
    for line in counted:
        outcomes[str(line.get("outcome"))] += 1
        stalled += bool(line.get("stalled"))
        for bucket in (success, domains.setdefault(labels.of(line), _Bucket())):
            _count(bucket, line)
        for name, verdict in _computed(line):
            signals.setdefault(name, _Bucket()).verdicts.append(verdict)
    return Totals(
        outcomes=outcomes,
        success=success.rate(),
        domains={name: bucket.rate() for name, bucket in domains.items()},
        signals={name: bucket.rate() for name, bucket in signals.items() if bucket.verdicts},
        stalled=stalled,
        unreported=len(every) - len(counted),
    )


def was_reported(line: Line) -> bool:
    """Whether pytest got to the item of a call; of a run cut short, some calls are ahead of it."""
    return line.get("reported") is not False


def _count(bucket: _Bucket, line: Line) -> None:
    match line.get("outcome"):
        case "passed" | "failed" as outcome:
            bucket.verdicts.append(outcome == "passed")
        case "error":
            bucket.unscored += 1


def _computed(line: Line) -> Iterator[tuple[str, bool]]:
    """The signals of a call that count."""
    if line.get("stalled") or line.get("outcome") == "error":
        return
    for name, verdict in (line.get("signals") or {}).items():
        if isinstance(verdict, bool):
            yield name, verdict


def latest(lines: Sequence[Line]) -> list[Line]:
    """Leave out calls of items that a later run into the same folder called again.

    All calls of one item in one run stay: repetitions and reruns are calls like any other.
    """
    last_run: dict[Any, Any] = {}
    for line in lines:
        last_run[_item(line)] = max(last_run.get(_item(line), ""), _run(line))
    return [line for line in lines if _run(line) == last_run[_item(line)]]


def _item(line: Line) -> Any:
    return line.get("nodeid") or line.get("scenario")


def _run(line: Line) -> str:
    # run ids begin with the time of the run, so that their order is that of the runs
    return str(line.get("run") or "")


# -- time


@dataclass(frozen=True, slots=True)
class Span:
    """When a call took place, seconds since the epoch."""

    start: float
    end: float


def spans(lines: Iterable[Line]) -> list[Span]:
    """The conversations that began, from kickoff to end."""
    return [span for line in lines if (span := _span(line)) is not None]


def _span(line: Line) -> Span | None:
    # on the virtual clock it was over sooner than it says
    began, duration = line.get("started_at"), line.get("real_seconds", line.get("duration"))
    if not isinstance(began, str) or not isinstance(duration, int | float):
        return None
    start = datetime.fromisoformat(began).timestamp()
    return Span(start, start + duration)


def wall_time(calls: Sequence[Span]) -> float:
    """Seconds from the first kickoff to the last end."""
    return max(c.end for c in calls) - min(c.start for c in calls) if calls else 0.0


def concurrency(calls: Iterable[Span]) -> int:
    """The most conversations that went on at one moment."""
    # at equal times an end comes before a start: one after the other is not at once
    edges = sorted((at, step) for c in calls for at, step in ((c.start, 1), (c.end, -1)))
    going = most = 0
    for _, step in edges:
        going += step
        most = max(most, going)
    return most
