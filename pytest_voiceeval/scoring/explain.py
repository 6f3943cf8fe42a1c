"""Why a prediction does not match its reference, record by record, for failure texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from pytest_voiceeval.scoring.matching import (
    ACTIONS,
    PayloadError,
    compared_parts,
    matches_item,
    matches_payload,
    payload_items,
    rules_under,
)
from pytest_voiceeval.scoring.pairing import pair_most
from pytest_voiceeval.scoring.scalars import MatchRules

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Path = tuple[str | int, ...]
DifferenceKind = Literal["missing", "extra", "changed"]

_KIND_FIELDS: Final = ("action_type", "name", "type", "action", "tool")  # what a record is about


@dataclass(frozen=True)
class FieldDifference:
    """One field of a record that is not as the reference has it.

    Attributes:
        path: Keys and list positions inside the record; positions of extra items are those of the
            prediction, all others those of the reference.
        kind: "missing" from the prediction, "extra" in it, or "changed".
        expected: The reference's value; None if extra.
        actual: The prediction's value; None if missing.
        blocking: Whether it prevents the match; extra fields never do.
    """

    path: Path
    kind: DifferenceKind
    expected: Any
    actual: Any
    blocking: bool


@dataclass(frozen=True)
class ActionDifference:
    """One record of a payload (an action, or another part of it) that is not as it should be.

    Attributes:
        path: Where it is in the payload: ``("actions", 2)``, ``("message",)``, ``(0,)`` in a list,
            ``()`` for the whole. Positions of extra records are those of the prediction.
        kind: "missing" from the prediction; "extra" in it; "changed": `actual` is the nearest
            record that no other reference record needs.
        expected: The reference's record; None if extra.
        actual: The prediction's record; None if missing.
        fields: For "changed", what differs inside.
        blocking: Whether it prevents the match. Extra records do so only if they are disallowed;
            a record that only has extra fields never does.
    """

    path: Path
    kind: DifferenceKind
    expected: Any
    actual: Any
    fields: tuple[FieldDifference, ...] = ()
    blocking: bool = True


def explain_match(
    reference: Any,
    prediction: Any,
    *,
    ignore_capitalization: bool = False,
    ignore_punctuation: bool = False,
    clean_text: bool = False,
    disallow_extra_items: bool = False,
) -> list[ActionDifference]:
    """List how a prediction departs from its reference; arguments as for `match_payloads`.

    The payloads match if and only if no difference listed is `blocking`. The others are listed
    too: an extra call or argument may be worth a look although it is allowed.

    Raises:
        PayloadError: The reference is neither an object nor a list of objects, or nested too
            deeply.
    """
    rules = MatchRules(ignore_capitalization, ignore_punctuation, clean_text, disallow_extra_items)
    expected, found = payload_items(reference, prediction)
    try:
        if isinstance(reference, list):
            return list(_explain_records(expected, found, (), _Comparison(rules, payloads=True)))
        if not found:
            return [ActionDifference((), "missing", reference, None)]
        return list(_explain_payload(reference, found[0], rules))
    except RecursionError:
        raise PayloadError("the reference is nested too deeply to be matched") from None


@dataclass(frozen=True)
class _Comparison:
    """How two records are compared; in whole payloads only ``actions`` can be exact."""

    rules: MatchRules
    payloads: bool = False

    def fits(self, reference: Any, prediction: Any) -> bool:
        matches = matches_payload if self.payloads else matches_item
        return matches(reference, prediction, self.rules)

    def differences(self, reference: Any, prediction: Any) -> tuple[FieldDifference, ...]:
        if self.payloads and isinstance(prediction, dict):
            payload = _object_differences(reference, prediction, (), self.rules, payload=True)
            return tuple(payload)
        return tuple(_field_differences(reference, prediction, (), self.rules))

    def distance(self, reference: Any, prediction: Any) -> int:
        return sum(field.blocking for field in self.differences(reference, prediction))


def _explain_payload(
    reference: dict[str, Any], prediction: Any, rules: MatchRules
) -> Iterator[ActionDifference]:
    """Explain one payload key by key; the list under ``actions`` record by record."""
    if not isinstance(prediction, dict):
        fields = tuple(_field_differences(reference, prediction, (), rules))
        yield ActionDifference((), "changed", reference, prediction, fields)
        return
    for key, value in reference.items():
        inner = rules_under(key, rules)
        if key not in prediction:
            yield ActionDifference((key,), "missing", value, None)
        elif key == ACTIONS and isinstance(value, list) and isinstance(prediction[key], list):
            yield from _explain_records(value, prediction[key], (key,), _Comparison(inner))
        elif fields := tuple(_field_differences(value, prediction[key], (), inner)):
            yield _changed((key,), value, prediction[key], fields)
    for key in sorted(prediction.keys() - reference.keys(), key=str):
        yield ActionDifference((key,), "extra", None, prediction[key], blocking=False)


def _explain_records(
    expected: Sequence[Any], found: Sequence[Any], path: Path, comparison: _Comparison
) -> Iterator[ActionDifference]:
    """Explain a list of records: each reference record with its match, its nearest, or none."""
    pairs = pair_most(
        len(expected), len(found), lambda i, j: comparison.fits(expected[i], found[j])
    )
    pairs |= _nearest(expected, found, pairs, comparison)
    for i, record in enumerate(expected):
        if i not in pairs:
            yield ActionDifference((*path, i), "missing", record, None)
        elif fields := comparison.differences(record, found[pairs[i]]):
            yield _changed((*path, i), record, found[pairs[i]], fields)
    for j in sorted(set(range(len(found))) - set(pairs.values())):
        blocking = comparison.rules.disallow_extra_items
        yield ActionDifference((*path, j), "extra", None, found[j], blocking=blocking)


def _changed(
    path: Path, expected: Any, actual: Any, fields: tuple[FieldDifference, ...]
) -> ActionDifference:
    blocking = any(field.blocking for field in fields)
    return ActionDifference(path, "changed", expected, actual, fields, blocking)


def _nearest(
    expected: Sequence[Any],
    found: Sequence[Any],
    pairs: dict[int, int],
    comparison: _Comparison,
) -> dict[int, int]:
    """Give left-over records of one kind to each other, those with the fewest differences first."""
    free = set(range(len(found))) - set(pairs.values())
    rated = sorted(
        (comparison.distance(expected[i], found[j]), abs(i - j), i, j)
        for i in set(range(len(expected))) - pairs.keys()
        for j in free
        if _same_kind(expected[i], found[j])
    )
    nearest: dict[int, int] = {}
    for _, _, i, j in rated:
        if i not in nearest and j in free:
            nearest[i] = j
            free.discard(j)
    return nearest


def _same_kind(reference: Any, prediction: Any) -> bool:
    if not isinstance(reference, dict) or not isinstance(prediction, dict):
        return False
    for field in _KIND_FIELDS:
        if field in reference:
            return field in prediction and bool(reference[field] == prediction[field])
    return not reference.keys().isdisjoint(prediction)


def _field_differences(
    reference: Any, prediction: Any, path: Path, rules: MatchRules
) -> Iterator[FieldDifference]:
    """List the differences inside two values; none is blocking if and only if they match."""
    if isinstance(reference, dict) and isinstance(prediction, dict):
        yield from _object_differences(reference, prediction, path, rules)
    elif isinstance(reference, list | tuple) and isinstance(prediction, list | tuple):
        yield from _list_differences(reference, prediction, path, rules)
    elif not matches_item(reference, prediction, rules):
        yield FieldDifference(path, "changed", reference, prediction, blocking=True)


def _object_differences(
    reference: Mapping[str, Any],
    prediction: Mapping[str, Any],
    path: Path,
    rules: MatchRules,
    *,
    payload: bool = False,
) -> Iterator[FieldDifference]:
    if not payload:
        reference, prediction = compared_parts(reference, prediction)
    for key, value in reference.items():
        if key not in prediction:
            yield FieldDifference((*path, key), "missing", value, None, blocking=True)
        else:
            inner = rules_under(key, rules) if payload else rules
            yield from _field_differences(value, prediction[key], (*path, key), inner)
    for key in sorted(prediction.keys() - reference.keys(), key=str):
        yield FieldDifference((*path, key), "extra", None, prediction[key], blocking=False)


def _list_differences(
    reference: Sequence[Any], prediction: Sequence[Any], path: Path, rules: MatchRules
) -> Iterator[FieldDifference]:
    pairs = pair_most(
        len(reference),
        len(prediction),
        lambda i, j: matches_item(reference[i], prediction[j], rules),
    )
    free = sorted(set(range(len(prediction))) - set(pairs.values()), reverse=True)
    for i, item in enumerate(reference):
        if i in pairs:
            yield from _field_differences(item, prediction[pairs[i]], (*path, i), rules)
        elif free:
            yield from _field_differences(item, prediction[free.pop()], (*path, i), rules)
        else:
            yield FieldDifference((*path, i), "missing", item, None, blocking=True)
    for j in reversed(free):
        blocking = rules.disallow_extra_items
        yield FieldDifference((*path, j), "extra", None, prediction[j], blocking=blocking)
