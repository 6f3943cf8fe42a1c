"""The one normaliser behind hash, diff, action matching and predicates.

Everything that compares two states goes through `canonical`, so that a verdict and its
explanation cannot disagree. It answers plain JSON data in which equal states are equal texts:

* a whole, finite number is an integer (``1.0`` is ``1``, ``-0.0`` is ``0``);
* text that reads none or null after trimming, in any case, is null;
* a list under a key of `ORDER_INDEPENDENT_LIST_FIELDS` is sorted by the JSON text of its items;
* a tuple is a list, a `Decimal` is the number it stands for;
* keys are text, written as JSON writes them (``{1: "a"}`` is ``{"1": "a"}``).

Booleans stay booleans (true is not 1), other text stays as it is. What JSON cannot hold is refused
with a `StateError` that names the place.
"""

from __future__ import annotations

import json
from typing import Any, Final

from pytest_voiceeval.scoring.paths import format_path
from pytest_voiceeval.scoring.survey import (
    MAX_DEPTH,
    StateError,
    decimal_number,
    is_null_text,
    survey,
    text_keys,
)

__all__ = [
    "MAX_DEPTH",
    "ORDER_INDEPENDENT_LIST_FIELDS",
    "StateError",
    "canonical",
    "canonical_copy",
    "canonical_text",
    "is_null_text",
    "plain_text",
    "same_state",
]

ORDER_INDEPENDENT_LIST_FIELDS: Final = frozenset(
    {
        "standby_list",
        "notifications",
        "bookings",
        "system_accounts",
        "group_memberships",
        "asset_recoveries",
    }
)
"""Keys whose lists count as unordered, at any depth."""

# The survey has already refused cycles, NaN and foreign types.
_COMPACT: Final = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), check_circular=False, allow_nan=False
)
# The order of an unordered list is part of the hash, and it was defined with blanks.
_SPACED: Final = json.JSONEncoder(sort_keys=True, check_circular=False, allow_nan=False)


def canonical(state: Any, *, sort: bool = True) -> Any:
    """Normalise a state (see the module's rules).

    Unchanged parts are shared with ``state``, nothing is modified: treat the result as read-only.

    Args:
        state: Any JSON-like value.
        sort: False keeps unordered lists in the order they have.

    Raises:
        StateError: Something in it is not JSON.
    """
    unordered = ORDER_INDEPENDENT_LIST_FIELDS if sort else frozenset()
    changes, changing = survey(state, unordered)
    return _Rewrite(changing, unordered).value(state) if changes else state


def canonical_text(state: Any, *, sort: bool = True) -> str:
    """Write the canonical form as compact ASCII JSON with sorted keys; this text is hashed.

    Raises:
        StateError: Something in it is not JSON.
    """
    return plain_text(canonical(state, sort=sort))


def canonical_copy(state: Any, *, sort: bool = True) -> Any:
    """Give the canonical form as fresh, plain data, read back from its text.

    Raises:
        StateError: Something in it is not JSON.
    """
    return json.loads(canonical_text(state, sort=sort))


def plain_text(value: Any) -> str:
    """Write a value that is canonical already."""
    try:
        return _COMPACT.encode(value)
    except RecursionError:
        raise StateError(format_path(()), "nested too deeply to be written") from None


def same_state(left: Any, right: Any) -> bool:
    """Say whether two states are equal by the rules of the hash.

    Raises:
        StateError: Something in one of them is not JSON.
    """
    return canonical_text(left) == canonical_text(right)


class _Rewrite:
    """Writes anew what a survey found to change, and shares the rest."""

    def __init__(self, changing: set[int], unordered: frozenset[str]) -> None:
        self._changing = changing
        self._unordered = unordered

    def value(self, value: Any) -> Any:
        if isinstance(value, dict):
            return self._mapping(value) if id(value) in self._changing else value
        if isinstance(value, list | tuple):
            changes = id(value) in self._changing
            return [self.value(item) for item in value] if changes else value
        return _scalar(value)

    def _mapping(self, obj: dict[Any, Any]) -> dict[str, Any]:
        texts = {key: self.value(item) for key, item in text_keys(obj).items()}
        for key in self._unordered.intersection(texts):
            if isinstance(texts[key], list):
                texts[key] = sorted(texts[key], key=_SPACED.encode)
        return texts


def _scalar(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return None if is_null_text(value) else str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return int(value) if value.is_integer() else float.__float__(value)
    return decimal_number(value)
