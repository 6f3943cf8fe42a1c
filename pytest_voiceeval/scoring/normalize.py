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
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from pytest_voiceeval.scoring.faults import MAX_DEPTH, Fault, StateError, TooDeep, state_error
from pytest_voiceeval.scoring.paths import format_path
from pytest_voiceeval.scoring.plain import decimal_number, text_keys, whole_number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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

# Every character that a null text can begin with: its first letter, or a blank (as str.strip
# sees blanks). One set look-up spares nearly all texts the slower test.
_NULL_STARTS: Final = frozenset(
    "nN\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006"
    "\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
_NULL_WORDS: Final = frozenset({"none", "null"})

# The walk has already refused cycles, NaN and foreign types.
_COMPACT: Final = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), check_circular=False, allow_nan=False
)
# The order of an unordered list is part of the hash, and it was defined with blanks.
_SPACED: Final = json.JSONEncoder(sort_keys=True, check_circular=False, allow_nan=False)

_Fields = frozenset[str]


def canonical(state: Any, *, sort: bool = True) -> Any:
    """Normalise a state (see the module's rules).

    Unchanged parts are shared with ``state``, nothing is modified: treat the result as read-only.

    Args:
        state: Any JSON-like value.
        sort: False keeps unordered lists in the order they have.

    Raises:
        StateError: Something in it is not JSON.
    """
    try:
        return _walk(state, ORDER_INDEPENDENT_LIST_FIELDS if sort else frozenset())
    except Fault as fault:
        raise state_error(fault) from None
    except RecursionError:
        raise StateError(format_path(()), "nested too deeply to be followed") from None


def canonical_text(state: Any, *, sort: bool = True) -> str:
    """Write the canonical form as compact ASCII JSON with sorted keys; this text is hashed.

    Raises:
        StateError: Something in it is not JSON.
    """
    return plain_text(canonical(state, sort=sort))


def plain_text(value: Any) -> str:
    """Write a value that is canonical already."""
    try:
        return _COMPACT.encode(value)
    except RecursionError:
        raise StateError(format_path(()), "nested too deeply to be written") from None


def canonical_copy(state: Any, *, sort: bool = True) -> Any:
    """Give the canonical form as fresh, plain data, read back from its text.

    Raises:
        StateError: Something in it is not JSON.
    """
    return json.loads(canonical_text(state, sort=sort))


def same_state(left: Any, right: Any) -> bool:
    """Say whether two states are equal by the rules of the hash.

    Raises:
        StateError: Something in one of them is not JSON.
    """
    return canonical_text(left) == canonical_text(right)


def is_null_text(text: str) -> bool:
    """Say whether a text stands for null: none or null, trimmed, in any case."""
    return text[:1] in _NULL_STARTS and text.strip().lower() in _NULL_WORDS


def _walk(value: Any, fields: _Fields) -> Any:
    return _HANDLERS.get(type(value), _walk_foreign)(value, 0, fields)


# The two loops below see every value of every state. Kinds are tested in the order of their number,
# and text is passed over by its first character: a call per value would double their time.


def _walk_dict(obj: dict[Any, Any], depth: int, fields: _Fields) -> Any:  # noqa: C901, PLR0912
    """Normalise a dictionary; copied only once something in it changes."""
    if depth >= MAX_DEPTH:
        raise TooDeep
    out = obj
    key: Any = ""
    new: Any
    try:
        for key, value in obj.items():
            if type(key) is not str:
                break
            if (kind := type(value)) is str:
                if not value or value[0] not in _NULL_STARTS:
                    continue
                new = _walk_text(value, depth, fields)
            elif kind is dict:
                new = _walk_dict(value, depth + 1, fields)
            elif kind is float and value % 1 > 0:  # an ordinary fraction
                continue
            elif kind is list:
                new = _walk_list(value, depth + 1, fields)
                if key in fields:
                    new = _sorted(new)
            else:
                new = _walk_other(key, value, depth + 1, fields)
            if new is not value:
                if out is obj:
                    out = dict(obj)
                out[key] = new
        else:
            return out
    except Fault as fault:
        fault.steps.append((obj, key))
        raise
    return _walk_rest(obj, out, key, depth, fields)


def _walk_list(obj: list[Any], depth: int, fields: _Fields) -> Any:
    """Normalise a list; copied only once something in it changes."""
    if depth >= MAX_DEPTH:
        raise TooDeep
    out = obj
    index = 0
    new: Any
    try:
        for index, value in enumerate(obj):
            if (kind := type(value)) is str:
                if not value or value[0] not in _NULL_STARTS:
                    continue
                new = _walk_text(value, depth, fields)
            elif kind is dict:
                new = _walk_dict(value, depth + 1, fields)
            else:
                new = _HANDLERS.get(kind, _walk_foreign)(value, depth + 1, fields)
            if new is not value:
                if out is obj:
                    out = list(obj)
                out[index] = new
    except Fault as fault:
        fault.steps.append((obj, index))
        raise
    return out


def _walk_rest(obj: dict[Any, Any], done: Any, first: object, depth: int, fields: _Fields) -> Any:
    """Go on from a key that is not plain text; what comes before it is done already."""
    texts = text_keys(obj)
    count = list(obj).index(first)
    rest = _walk_copy(obj, dict(islice(texts.items(), count, None)), depth, fields)
    return dict(islice(zip(texts, done.values(), strict=True), count)) | rest


def _walk_other(key: str, value: Any, depth: int, fields: _Fields) -> Any:
    new = _HANDLERS.get(type(value), _walk_foreign)(value, depth, fields)
    return _sorted(new) if key in fields and isinstance(new, list) else new


def _sorted(items: list[Any]) -> list[Any]:
    return sorted(items, key=_SPACED.encode)


def _walk_tuple(obj: tuple[Any, ...], depth: int, fields: _Fields) -> Any:
    return _walk_copy(obj, list(obj), depth, fields)


def _walk_copy(original: object, copy: Any, depth: int, fields: _Fields) -> Any:
    """Walk a stand-in; a fault notes the original too, by which a cycle is recognised."""
    try:
        return _HANDLERS[type(copy)](copy, depth, fields)
    except Fault as fault:
        fault.steps.append((original, None))
        raise


def _walk_text(text: str, _depth: int, _fields: _Fields) -> str | None:
    return None if is_null_text(text) else text


def _walk_float(number: float, _depth: int, _fields: _Fields) -> float | int:
    if number.is_integer():
        return int(number)
    if number - number != 0:
        raise Fault(f"{number} is not a JSON number; store null or a finite number")
    return number


def _walk_int(number: int, _depth: int, _fields: _Fields) -> int:
    return whole_number(number)


def _walk_constant(value: bool | None, _depth: int, _fields: _Fields) -> bool | None:
    return value


def _walk_foreign(value: Any, depth: int, fields: _Fields) -> Any:
    """Take subclasses of the JSON types, tuples and decimals for what they stand for."""
    if isinstance(value, str):  # str enums included, as json writes them
        return _walk_text(str.__str__(value), depth, fields)
    if isinstance(value, int):
        return whole_number(int.__int__(value))
    if isinstance(value, float):
        return _walk_float(float.__float__(value), depth, fields)
    if isinstance(value, dict):
        return _walk_copy(value, dict(value), depth, fields)
    if isinstance(value, list | tuple):
        return _walk_copy(value, list(value), depth, fields)
    return decimal_number(value)


_HANDLERS: Final[Mapping[type, Callable[[Any, int, _Fields], Any]]] = {
    str: _walk_text,
    dict: _walk_dict,
    list: _walk_list,
    float: _walk_float,
    int: _walk_int,
    bool: _walk_constant,
    type(None): _walk_constant,
    tuple: _walk_tuple,
}
