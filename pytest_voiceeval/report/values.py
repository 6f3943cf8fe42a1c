"""Values in few columns: what differs stays visible, the rest is counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pytest_voiceeval.report.characters import columns, flat
from pytest_voiceeval.report.layout import ELLIPSIS, clip, count
from pytest_voiceeval.scoring.describe import describe_key, describe_value
from pytest_voiceeval.scoring.lookalike import difference_notes

_LONGEST = 20_000  # characters of a value that are looked at
_LEAD_IN = 12  # characters shown before the first difference of two long texts
_INNER = 40  # columns a value takes inside an object or among arguments


def brief(value: Any, room: int) -> str:
    """One value in at most `room` columns: objects and lists show what fits and count the rest."""
    if isinstance(value, Mapping) and value:
        return _filled("{", _fields(value), "}", room=room, total=len(value), noun="field")
    if isinstance(value, Sequence) and not isinstance(value, str | bytes) and value:
        return _filled("[", map(_inner, value), "]", room=room, total=len(value), noun="item")
    return clip(_written(value), room)


def brief_pair(expected: Any, actual: Any, room: int) -> tuple[str, str]:
    """Two different values, each in at most `room` columns, with what is easily overlooked."""
    left_note, right_note = difference_notes(expected, actual)
    left, right = (
        brief(value, 10**9) if _is_scalar(value) else brief(value, room)
        for value in (expected, actual)
    )
    left, right = _cut_around_difference(left, right, room - columns(left_note + right_note) - 3)
    return _noted(left, left_note), _noted(right, right_note)


def arguments(values: Mapping[str, Any]) -> list[str]:
    """`name=value` for every argument, each value briefly."""
    return [f"{describe_key(str(name))}={brief(value, _INNER)}" for name, value in values.items()]


def argument_values(values: Mapping[str, Any]) -> list[str]:
    """The values of the arguments alone, each briefly."""
    return [brief(value, _INNER) for value in values.values()]


def call_form(name: str, parts: Sequence[str], room: int) -> str:
    """`name(a=1, b=2, …)` with as many arguments as fit into `room` columns."""
    if not parts:
        return clip(f"{flat(name)}()", room)
    return _filled(f"{flat(name)}(", parts, ")", room=room, total=len(parts))


def _filled(
    opening: str, parts: Iterable[str], closing: str, *, room: int, total: int, noun: str = ""
) -> str:
    """As many of `total` parts as fit between the brackets; the others are counted as `noun`s."""
    shown: list[str] = []
    best = clip(f"{opening}{count(total, noun) if noun else ELLIPSIS}{closing}", room)
    for part in parts:
        # a first part that is too long is better than none
        first = clip(part, max(1, room - columns(opening + closing) - (3 if total > 1 else 0)))
        shown.append(part if shown or noun else first)
        if columns(opening + ", ".join(shown)) > room:
            break
        hidden = total - len(shown)
        rest = [f"{ELLIPSIS} {hidden} more" if noun else ELLIPSIS] if hidden else []
        text = opening + ", ".join([*shown, *rest]) + closing
        best = text if columns(text) <= room else best
    return best


def _fields(value: Mapping[Any, Any]) -> Iterator[str]:
    """Fields, numbers first: amounts and quantities tell more than codes and dates."""
    ordered = sorted(value.items(), key=lambda field: not _is_number(field[1]))
    return (f"{describe_key(str(key))}: {_inner(item)}" for key, item in ordered)


def _inner(value: Any) -> str:
    """A value inside another one."""
    if isinstance(value, Mapping) and value:
        return f"{{{count(len(value), 'field')}}}"
    if isinstance(value, list | tuple) and value:
        return f"[{count(len(value), 'item')}]"
    return clip(_written(value), _INNER)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_scalar(value: Any) -> bool:
    return not isinstance(value, Mapping | list | tuple)


def _written(value: Any) -> str:
    return flat(describe_value(value, limit=_LONGEST))


def _noted(text: str, note: str) -> str:
    return f"{text} ({note})" if note else text


def _cut_around_difference(left: str, right: str, room: int) -> tuple[str, str]:
    """Cut two texts to `room` columns so that the place where they part stays in sight."""
    if max(columns(left), columns(right)) <= room:
        return left, right
    common = next(_differing(left, right), min(len(left), len(right)))
    start = max(0, common - _LEAD_IN)
    if columns(left[:common]) < room // 2:
        start = 0
    return _from(left, start, room), _from(right, start, room)


def _differing(left: str, right: str) -> Iterator[int]:
    return (i for i, (one, other) in enumerate(zip(left, right, strict=False)) if one != other)


def _from(text: str, start: int, room: int) -> str:
    opening = text[0] if text.startswith(('"', "[", "{")) else ""
    return clip(opening + ELLIPSIS + text[start:], room) if start else clip(text, room)
