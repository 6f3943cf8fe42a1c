"""SHA-256 of a database state.

Two states with the same hash are equal for every purpose of this package. The text that is hashed
is the canonical form of `pytest_voiceeval.scoring.normalize`; digests agree with the reference
harness and the eva benchmark for all plain JSON states. Where a state is not plain JSON we differ:
NaN, infinity and foreign objects are a `StateError` (there: written as text), the contents of a
tuple are normalised like those of a list, and integer keys are ordered as text, so that a state
and its JSON copy always have one hash.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

from pytest_voiceeval.scoring.faults import StateError
from pytest_voiceeval.scoring.normalize import (
    ORDER_INDEPENDENT_LIST_FIELDS,
    canonical_copy,
    canonical_text,
)

__all__ = [
    "HASH_EXCLUDED_KEYS",
    "ORDER_INDEPENDENT_LIST_FIELDS",
    "StateError",
    "get_dict_hash",
    "normalize_for_comparison",
    "without_excluded_keys",
]

HASH_EXCLUDED_KEYS: Final = frozenset({"session"})
"""Top-level keys that are bookkeeping, not outcome; further down they count."""


def get_dict_hash(obj: Any) -> str:
    """Hash a state.

    Args:
        obj: Usually the database (a dictionary of tables); any JSON value is taken.

    Returns:
        64 lower-case hexadecimal digits.

    Raises:
        StateError: It holds something that is not JSON; the error names the place.
    """
    return hashlib.sha256(canonical_text(without_excluded_keys(obj)).encode("ascii")).hexdigest()


def normalize_for_comparison(obj: Any) -> Any:
    """Give the state in the form in which it is hashed and compared.

    `HASH_EXCLUDED_KEYS` are kept: only `get_dict_hash` and the diffs leave them out.

    Returns:
        Fresh, plain JSON data with sorted keys.

    Raises:
        StateError: It holds something that is not JSON; the error names the place.
    """
    return canonical_copy(obj)


def without_excluded_keys(obj: Any) -> Any:
    """Leave out the top-level keys that do not count; the state itself if it has none."""
    if not isinstance(obj, dict) or HASH_EXCLUDED_KEYS.isdisjoint(obj):
        return obj
    return {key: value for key, value in obj.items() if key not in HASH_EXCLUDED_KEYS}
