"""Python values that stand for plain JSON: decimals, long integers, keys of other types."""

from __future__ import annotations

import json
from typing import Any, Final, NoReturn

from pytest_voiceeval.scoring.faults import Fault

MAX_INTEGER_BITS: Final = 14_000
"""Python refuses to print integers of more than 4,300 digits; this stays below."""


def whole_number(number: int) -> int:
    """Check that an integer can be written."""
    if number.bit_length() > MAX_INTEGER_BITS:
        raise Fault(f"an integer of {number.bit_length()} bits is too long to be written")
    return number


def decimal_number(value: Any) -> float | int:
    """Give the number a `Decimal` stands for; what is no decimal either is not JSON."""
    from decimal import Decimal  # hardly any state needs it

    if not isinstance(value, Decimal):
        _refuse(value)
    if not value.is_finite():
        raise Fault(f"the decimal {value} is not a JSON number; store null or a finite number")
    if value.adjusted() > MAX_INTEGER_BITS // 4:
        raise Fault(f"the decimal {value:.3e} is too long to be written as a number")
    if value == value.to_integral_value():
        return int(value)
    number = float(value)
    if Decimal(repr(number)) != value:
        raise Fault(f"the decimal {value} has more digits than a JSON number keeps; store text")
    return number


def _refuse(value: object) -> NoReturn:
    raise Fault(
        f"a value of type {type(value).__name__} is not JSON; store text, a number, true, false,"
        " null, a list or an object"
    )


def text_keys(obj: dict[Any, Any]) -> dict[str, Any]:
    """Write the keys as JSON does, if they are all of one type."""
    kinds = {"str" if isinstance(key, str) else type(key).__name__ for key in obj}
    if len(kinds) > 1:
        raise Fault(f"an object with keys of mixed types ({', '.join(sorted(kinds))}); use text")
    texts = {_key_text(key): value for key, value in obj.items()}
    if len(texts) < len(obj):
        raise Fault("an object in which two keys become the same text; use text keys")
    return texts


def _key_text(key: object) -> str:
    if isinstance(key, str):
        return str.__str__(key)
    if key is None or isinstance(key, bool):
        return json.dumps(key)
    if isinstance(key, int):
        return int.__repr__(whole_number(key))
    if isinstance(key, float) and key - key == 0:
        return float.__repr__(key)
    raise Fault(f"the key {key!r:.80} of type {type(key).__name__} is not JSON; use text keys")
