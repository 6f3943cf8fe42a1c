"""`all_summary.txt`: what the calls of a folder come to, for people, in the reference's order.

Rates follow the rules of :mod:`~pytest_voiceeval.report.aggregate`; those of predicates and of
assertions are per predicate and per assertion. What nobody measured is said to be unknown.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.report.aggregate import Rate, spans, totals, wall_time
from pytest_voiceeval.report.cost_text import cost_parts
from pytest_voiceeval.report.data_used import Labels, data_of, domain_of, shown_data
from pytest_voiceeval.report.files import one_line
from pytest_voiceeval.report.metrics import latency_stats
from pytest_voiceeval.report.sound import pooled_latency
from pytest_voiceeval.report.spelling_text import COUNT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

LINE = "=" * 80
_SUCCESS = {"passed": "True", "failed": "False", "skipped": "N/A"}
_SIGNALS = {
    "Action-list match": "is_action_match",
    "DB-State match": "db_state_match",
    "Judge passed": "judge_passed",
    "Clean exit": "clean_exit",
}
_PARTS = {
    "DB-State-Assertion pass": ("db_state_assertion_verdicts", "predicates"),
    "NL-Assertion pass": ("nl_assertion_verdicts", "assertions"),
}


@dataclass(frozen=True)
class Call:
    """One line of `results.jsonl`, and the `metrics.json` it points to if there is one."""

    line: Mapping[str, Any]
    metrics: Mapping[str, Any] | None

    @property
    def name(self) -> str:
        """Full name of the scenario."""
        return str(self.line.get("scenario"))

    @property
    def outcome(self) -> str:
        """passed, failed, skipped or error."""
        return str(self.line.get("outcome"))

    def get(self, key: str) -> Any:
        """A figure of the metrics, None if it is not there."""
        return (self.metrics or {}).get(key)

    @property
    def counts(self) -> bool:
        """Whether its signals count in the rates of signals."""
        return self.outcome != "error" and not self.line.get("stalled")


def summary_text(calls: Sequence[Call]) -> str:
    """The whole text."""
    blocks = [
        _head(calls),
        *(_call(call) for call in calls),
        _overall_latency(calls),
        _stalled(calls),
        _errors(calls),
        _rates(calls),
        _tokens(calls),
        _cost(calls),
        _domains(calls),
    ]
    return "\n".join("\n".join(block) + "\n" for block in map(list, blocks) if block)


def _head(calls: Sequence[Call]) -> Iterator[str]:
    seconds = math.fsum(call.get("scenario_duration") or 0.0 for call in calls)
    turns = sum(call.get("total_turns") or 0 for call in calls)
    yield from ("EVALUATION SUMMARY", LINE)
    yield f"Total Scenarios: {len(calls)}"
    yield f"Total Duration: {seconds / 60:.1f}mins"
    yield f"Wall Time: {_wall(calls) / 60:.1f}mins (first kickoff to last end)"
    yield f"Total Turns: {turns}"
    yield from _data(calls)


def _data(calls: Sequence[Call]) -> Iterator[str]:
    """On which data the calls were held, where their domain tells."""
    told = {(domain_of(call.line), data_of(call.line)): None for call in calls}
    known = [f"{domain} {shown_data(data)}" for domain, data in told if any(data)]
    if known:
        yield f"Data: {', '.join(known)}"
    for warning in Labels(call.line for call in calls).warnings():
        yield f"WARNING: {warning}"


def _wall(calls: Iterable[Call]) -> float:
    """Seconds the runs into this folder took, without the time between them."""
    by_run: dict[Any, list[Mapping[str, Any]]] = {}
    for call in calls:
        by_run.setdefault(call.line.get("run"), []).append(call.line)
    return math.fsum(wall_time(spans(lines)) for lines in by_run.values())


# -- one call


def _call(call: Call) -> Iterator[str]:
    yield f"====== {call.name} ======:"
    if call.outcome == "error":
        yield f"  Success: not scored ({_why(call)})"
    else:
        yield f"  Success: {_SUCCESS.get(call.outcome, call.outcome)}"
        yield f"  Task Success (excl. clean_exit): {_task(call)}"
        yield from _call_signals(call)
    yield f"  Turns: {_known(call.get('total_turns'))}"
    if call.line.get("stalled"):
        yield "  [COUNTED AS FAILURE: fewer agent turns than --min-agent-turns]"
    yield from _call_times(call)
    values = [entry["latency_ms"] for entry in call.get("latencies") or ()]
    yield from (f"  {line}" for line in _latency("Latency", values))
    yield from (f"  {line}" for line in _heard("Latency from the sound", [call]))


def _call_signals(call: Call) -> Iterator[str]:
    signals = call.line.get("signals") or {}
    for name, verdict in signals.items():
        if verdict is not None:
            yield f"  {name}: {verdict}"
    score = call.get("judge_score")
    if score is not None:
        yield f"  judge_score: {score}"
    if call.get(COUNT):
        yield f"  {COUNT}: {call.get(COUNT)}"
    failed = (call.get("success_breakdown") or {}).get("failed")
    if failed:
        yield f"  Failed signals: {', '.join(failed)}"


def _call_times(call: Call) -> Iterator[str]:
    seconds, turns = call.get("duration_seconds"), call.get("total_turns")
    if not seconds:
        yield "  Duration: unknown"
        return
    yield f"  Duration: {seconds:.1f}s"
    yield f"  Turns per minute: {turns * 60 / seconds:.1f}"


def _why(call: Call) -> str:
    error = call.line.get("error") or {}
    first = str(error.get("message", "")).partition("\n")[0]
    return f"error {error.get('code')}: {one_line(first)[:200]}"


def _task(call: Call) -> str:
    if call.metrics is None:
        return "unknown"
    return str(call.metrics.get("is_task_successful", "N/A"))


def _known(value: Any) -> str:
    return "unknown" if value is None else str(value)


# -- all calls


def _pooled(calls: Iterable[Call]) -> list[float]:
    return [entry["latency_ms"] for call in calls for entry in call.get("latencies") or ()]


def _latency(title: str, values: Sequence[float]) -> Iterator[str]:
    if not values:
        yield f"{title}: not measured"
        return
    stats = latency_stats(values)
    figures = ", ".join(f"{key[:-3]}={stats[key]:.1f}ms" for key in stats if key != "count")
    yield f"{title} (n={len(values)}): {figures}"


def _overall_latency(calls: Sequence[Call]) -> Iterator[str]:
    yield from _latency("Overall latency", _pooled(calls))
    yield from _heard("Overall latency from the sound", calls)


def _heard(title: str, calls: Iterable[Call]) -> Iterator[str]:
    """Of calls with sound: by what was heard, where the reference goes by events."""
    found = pooled_latency(call.line for call in calls)
    if found is None:
        return
    figures = {**asdict(found)}
    del figures["n"]
    shown = ", ".join(f"{name}={value:.1f}ms" for name, value in figures.items())
    yield f"{title} (n={found.n}): {shown}"


def _stalled(calls: Iterable[Call]) -> Iterator[str]:
    stalled = [call for call in calls if call.line.get("stalled")]
    if stalled:
        yield f"WARNING: {len(stalled)} stalled scenario(s) counted as failures. Run them again:"
        yield from map(_rerun, stalled)


def _errors(calls: Sequence[Call]) -> Iterator[str]:
    errors = [call for call in calls if call.outcome == "error"]
    if errors:
        count = f"{len(errors)} of {len(calls)} scenario(s)"
        yield f"WARNING: {count} ended in an error and have no verdict. Run them again:"
        yield from map(_rerun, errors)


def _rerun(call: Call) -> str:
    again = " --edition upstream" if call.line.get("edition") == "upstream" else ""
    return f"  pytest '{call.line.get('nodeid') or call.name}'{again}"


def _rates(calls: Sequence[Call]) -> Iterator[str]:
    success = totals(call.line for call in calls).success
    if not success.total:
        yield "Overall Success Rate: N/A (no scenarios had any applicable signal)"
    else:
        rule = "strict conjunction across all applicable signals"
        yield f"Overall Success Rate: {_rate(success, 'scenarios', rule)}"
    task = _task_rate(calls, success.unscored)
    if task.total:
        yield f"Task Success Rate (excl. clean_exit): {_rate(task, 'scenarios')}"
    lines = [f"  {title}: {figure}" for title, figure in _signal_rates(calls)]
    yield from ["", "Per-signal pass rates:", *lines] if lines else ()


def _signal_rates(calls: Sequence[Call]) -> Iterator[tuple[str, str]]:
    found = totals(call.line for call in calls).signals
    for title, key in _SIGNALS.items():
        if key in found:
            yield title, _rate(found[key], "scenarios")
    for title, (key, noun) in _PARTS.items():
        parts = _parts(calls, key)
        if parts.total:
            yield title, _rate(parts, noun)
    scores = [s for c in calls if c.counts and isinstance(s := c.get("judge_score"), int | float)]
    unusable = sum(bool((call.line.get("judge") or {}).get("error")) for call in calls)
    if scores or unusable:
        mean = f"{math.fsum(scores) / len(scores):.3f}" if scores else "unknown"
        errors = f"; {unusable} more without a verdict: judge unusable" if unusable else ""
        yield "Judge score mean", f"{mean} (n={len(scores)}{errors})"


def _parts(calls: Iterable[Call], key: str) -> Rate:
    """Verdicts of parts of a signal, each of which counts."""
    verdicts = [
        verdict.get("passed") is True
        for call in calls
        if call.counts
        for verdict in call.get(key) or ()
    ]
    return Rate(sum(verdicts), len(verdicts))


def _task_rate(calls: Iterable[Call], unscored: int) -> Rate:
    verdicts = [v for call in calls if isinstance(v := call.get("is_task_successful"), bool)]
    return Rate(sum(verdicts), len(verdicts) + unscored, unscored)


def _rate(of: Rate, noun: str, rule: str = "") -> str:
    unscored = f"; {of.unscored} not scored: error" if of.unscored else ""
    note = f" — {rule}" if rule else ""
    return f"{of.percent:.2f}% ({of.passed}/{of.total} {noun}{note}{unscored})"


def _tokens(calls: Iterable[Call]) -> Iterator[str]:
    sums = {
        side: [_token_sum(calls, side, key) for key in ("n_calls", "prompt", "completion")]
        for side in ("agent", "user")
    }
    if not any(counts[0] for counts in sums.values()):
        return
    yield "Token Usage:"
    for side, counts in sums.items():
        yield f"  {side}: {_tokens_line(counts)}"
    both = [sum(column) for column in zip(*sums.values(), strict=True)]
    yield f"  Run total: {_tokens_line(both)}"


def _token_sum(calls: Iterable[Call], side: str, key: str) -> int:
    usages = ((call.get("token_usage") or {}).get(side) or {} for call in calls)
    return sum(usage.get(key) or 0 for usage in usages)


def _tokens_line(counts: Sequence[int]) -> str:
    n_calls, prompt, completion = counts
    total = prompt + completion
    return f"{n_calls} call(s), prompt={prompt}, completion={completion}, total={total}"


def _cost(calls: Iterable[Call]) -> Iterator[str]:
    parts = cost_parts([call.line for call in calls])
    if parts:
        yield f"Cost: {', '.join(parts)}"


def _domains(calls: Sequence[Call]) -> Iterator[str]:
    """Tables by domain, when there is more than one."""
    labels = Labels(call.line for call in calls)
    names = list(totals(call.line for call in calls).domains)
    if len(names) < 2:
        return
    yield "Per-domain rates:"
    for name in names:
        of_domain = [call for call in calls if labels.of(call.line) == name]
        found = totals(call.line for call in of_domain)
        yield f"  {name}: success {_rate(found.success, 'scenarios')}"
        yield from (f"    {title}: {figure}" for title, figure in _signal_rates(of_domain))
