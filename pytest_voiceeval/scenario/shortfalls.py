"""How the end of a replay departs from what a scenario expects, in words for its author."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_voiceeval.scoring.assertions import evaluate_db_state_assertion
from pytest_voiceeval.scoring.changes import list_changes
from pytest_voiceeval.scoring.delivery import delivered, without_empty
from pytest_voiceeval.scoring.describe import describe_pair, describe_value
from pytest_voiceeval.scoring.explain import explain_match
from pytest_voiceeval.scoring.signals import SuccessSignal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pytest_voiceeval.scenario.replay import Replay
    from pytest_voiceeval.scenario.verdicts import ReplayVerdict
    from pytest_voiceeval.scoring.changes import Change
    from pytest_voiceeval.scoring.explain import ActionDifference

_SHOWN = 3
_ROOM = 80


def shortfalls(verdict: ReplayVerdict, outcome: Replay) -> Iterator[str]:
    """Yield what is not as expected, the first few differences of each signal that decides."""
    scenario, signals = verdict.scenario, verdict.signals
    if SuccessSignal.DB_STATE_MATCH in signals:
        ends = (
            ("agent", scenario.expected_scenario_db, outcome.db),
            ("caller", scenario.expected_user_db, outcome.user_db),
        )
        for side, expected, database in ends:
            if expected is not None:
                changes = map(_change, list_changes(expected, database))
                yield from _first(f"the {side}'s database: {text}" for text in changes)
    if SuccessSignal.ACTION_MATCH in signals and (reference := verdict.reference):
        found = without_empty(delivered(outcome.actions, outcome.handed_in))
        differences = explain_match(reference, found, **verdict.flags)
        blocking = [each for each in differences if each.blocking]
        yield from _first(text for each in blocking for text in _difference(each))
    if SuccessSignal.DB_STATE_ASSERTION in signals:
        for assertion in scenario.db_state_assertions or ():
            said = evaluate_db_state_assertion(
                scenario.domain, assertion, outcome.db, outcome.user_db
            )
            if not said["passed"]:
                yield f"{said['func_name']}: {said['error'] or _instead(said)}"


def _instead(said: Any) -> str:
    return "expected {}, got {}".format(*describe_pair(said["expected"], said["actual"], _ROOM))


def _first(texts: Iterable[str]) -> Iterator[str]:
    every = list(texts)
    yield from every[:_SHOWN]
    if len(every) > _SHOWN:
        yield f"… {len(every) - _SHOWN} more"


def _change(change: Change) -> str:
    if change.kind == "changed":
        pair = describe_pair(change.expected, change.actual, _ROOM)
        return f"{change.where} is to be {pair[0]}, not {pair[1]}"
    value = change.actual if change.kind == "added" else change.expected
    word = "is not expected" if change.kind == "added" else "is missing"
    return f"{change.where} {word}: {describe_value(value, _ROOM)}"


def _difference(each: ActionDifference) -> Iterator[str]:
    where = ".".join(map(str, each.path)) or "the answer"
    if each.kind == "missing":
        yield f"{where} is missing: {describe_value(each.expected, _ROOM)}"
    elif each.kind == "extra":
        yield f"{where} is one too many: {describe_value(each.actual, _ROOM)}"
    for field in each.fields if each.kind == "changed" else ():
        if field.blocking:
            inside = ".".join(map(str, (*each.path, *field.path)))
            pair = describe_pair(field.expected, field.actual, _ROOM)
            yield f"{inside} is to be {pair[0]}, not {pair[1]}"
