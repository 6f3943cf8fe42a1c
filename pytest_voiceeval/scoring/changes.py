"""The differences of two states, leaf by leaf, for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pytest_voiceeval.scoring.alignment import align
from pytest_voiceeval.scoring.db_hash import without_excluded_keys
from pytest_voiceeval.scoring.describe import describe_key, describe_value
from pytest_voiceeval.scoring.normalize import (
    ORDER_INDEPENDENT_LIST_FIELDS,
    canonical_copy,
    plain_text,
)
from pytest_voiceeval.scoring.paths import format_step, join_steps

if TYPE_CHECKING:
    from collections.abc import Iterator

ChangeKind = Literal["changed", "added", "removed"]


@dataclass(frozen=True)
class Change:
    """One difference between an expected and an actual state.

    Attributes:
        path: Keys and list positions from the root down. Positions are those of the actual state,
            only the last one of a removed list element is that of the expected state.
        kind: "changed": both have it, with different values; "added": only the actual state has
            it; "removed": only the expected state has it. A missing key is not a null.
        expected: The value expected there, normalised; None if added.
        actual: The value found there, normalised; None if removed.
        where: The path as text, in which list elements that have an identity show it:
            ``reservations.ABC123.bookings[journey_id="J2"].seat``.
        steps: The same path in pieces for a reader, one a part of `path`: a key or an identity
            as it is, ``[0]`` for an element known by its position only.
    """

    path: tuple[str | int, ...]
    kind: ChangeKind
    expected: Any
    actual: Any
    where: str = ""
    steps: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Step:
    """One step down: the key or position itself, and how it is written in `where` and `steps`."""

    key: str | int
    exact: str
    plain: str


@dataclass(frozen=True)
class _Place:
    """A place that both states have."""

    way: tuple[_Step, ...]
    expected: Any
    actual: Any
    ordered: bool = True

    def child(self, step: _Step, expected: Any, actual: Any) -> _Place:
        ordered = step.key not in ORDER_INDEPENDENT_LIST_FIELDS
        return _Place((*self.way, step), expected, actual, ordered)

    def change(self, kind: ChangeKind) -> Change:
        return Change(
            path=tuple(step.key for step in self.way),
            kind=kind,
            expected=self.expected,
            actual=self.actual,
            where=join_steps([step.exact for step in self.way]),
            steps=tuple(step.plain for step in self.way),
        )


def list_changes(expected: Any, actual: Any) -> list[Change]:
    """List what differs between two states, in the order of their paths.

    Empty if and only if both have the same hash. `HASH_EXCLUDED_KEYS` do not count. List elements
    are aligned (see `pytest_voiceeval.scoring.alignment`), so that one inserted element is one
    change, and one edited leaf is one change that names it.

    Args:
        expected: The state that should have been reached.
        actual: The state that was reached.

    Raises:
        StateError: One of them holds something that is not JSON.
    """
    left, right = (
        canonical_copy(without_excluded_keys(state), sort=False) for state in (expected, actual)
    )
    changes: list[Change] = []
    todo: list[Change | _Place] = [_Place((), left, right)]
    while todo:
        item = todo.pop()
        if isinstance(item, Change):
            changes.append(item)
        else:
            todo.extend(reversed(list(_compare(item))))
    return changes


def _compare(place: _Place) -> Iterator[Change | _Place]:
    if type(place.expected) is not type(place.actual):
        yield place.change("changed")
    elif isinstance(place.expected, dict):
        yield from _compare_objects(place)
    elif isinstance(place.expected, list):
        yield from _compare_lists(place)
    elif place.expected != place.actual:
        yield place.change("changed")


def _compare_objects(place: _Place) -> Iterator[Change | _Place]:
    expected, actual = place.expected, place.actual
    for key in sorted(expected.keys() | actual.keys()):
        left, right = expected.get(key), actual.get(key)
        child = place.child(_Step(key, format_step(key), describe_key(key)), left, right)
        if key not in actual:
            yield child.change("removed")
        elif key not in expected:
            yield child.change("added")
        elif not _same(left, right):
            yield child


def _compare_lists(place: _Place) -> Iterator[Change | _Place]:
    expected, actual = place.expected, place.actual
    rows = align(expected, actual, ordered=place.ordered)

    found: list[tuple[int, Change | _Place]] = []
    for i, j in rows.pairs:
        if not _same(expected[i], actual[j]):
            step = _element(expected[i], j, rows.field)
            found.append((j, place.child(step, expected[i], actual[j])))
    for i in rows.removed:
        child = place.child(_element(expected[i], i, rows.field), expected[i], None)
        found.append((i, child.change("removed")))
    for j in rows.added:
        child = place.child(_element(actual[j], j, rows.field), None, actual[j])
        found.append((j, child.change("added")))
    yield from (entry for _, entry in sorted(found, key=lambda row: row[0]))


def _element(item: Any, index: int, field: str | None) -> _Step:
    """The step to a list element, by the value of its identity field if the lists have one."""
    if field is None:
        return _Step(index, format_step(index), format_step(index))
    identity = item[field]
    return _Step(index, f"[{field}={describe_value(identity)}]", describe_key(str(identity)))


def _same(expected: Any, actual: Any) -> bool:
    """Spare the walk through equal parts; the texts tell true from 1, which Python does not."""
    return bool(expected == actual) and plain_text(expected) == plain_text(actual)
