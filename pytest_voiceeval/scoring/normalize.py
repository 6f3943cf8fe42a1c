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
from typing import TYPE_CHECKING, Any, Final, NoReturn

from pytest_voiceeval.scoring.paths import format_path

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

MAX_DEPTH: Final = 200
"""Containers inside containers; deeper states are refused."""

MAX_INTEGER_BITS: Final = 14_000
"""Python refuses to print integers of more than 4,300 digits; this stays below."""

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


class StateError(ValueError):
    """A state holds something that cannot be hashed or compared.

    Attributes:
        path: Where it is, as `format_path` writes it; ``<root>`` for the state itself.
        problem: What is wrong there, and the way out.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path = path
        self.problem = problem

    def __str__(self) -> str:
        return f"the state cannot be compared: at {self.path}: {self.problem}"


class _Fault(Exception):
    """A problem on its way up; each container it passes adds itself and the key."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.steps: list[tuple[object, str | int | None]] = []


class _TooDeep(_Fault):
    """The walk went past `MAX_DEPTH`: a cycle, or just too deep."""

    def __init__(self) -> None:
        super().__init__(f"nested more than {MAX_DEPTH} levels deep; store flatter data")


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
    except _Fault as fault:
        raise _state_error(fault) from None
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
        raise _TooDeep
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
    except _Fault as fault:
        fault.steps.append((obj, key))
        raise
    return _walk_copy(obj, _with_text_keys(obj), depth, fields)


def _walk_list(obj: list[Any], depth: int, fields: _Fields) -> Any:
    """Normalise a list; copied only once something in it changes."""
    if depth >= MAX_DEPTH:
        raise _TooDeep
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
    except _Fault as fault:
        fault.steps.append((obj, index))
        raise
    return out


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
    except _Fault as fault:
        fault.steps.append((original, None))
        raise


def _walk_text(text: str, _depth: int, _fields: _Fields) -> str | None:
    return None if is_null_text(text) else text


def _walk_float(number: float, _depth: int, _fields: _Fields) -> float | int:
    if number.is_integer():
        return int(number)
    if number - number != 0:
        raise _Fault(f"{number} is not a JSON number; store null or a finite number")
    return number


def _walk_int(number: int, _depth: int, _fields: _Fields) -> int:
    if number.bit_length() > MAX_INTEGER_BITS:
        raise _Fault(f"an integer of {number.bit_length()} bits is too long to be written")
    return number


def _walk_constant(value: bool | None, _depth: int, _fields: _Fields) -> bool | None:
    return value


def _walk_foreign(value: Any, depth: int, fields: _Fields) -> Any:
    """Take subclasses of the JSON types, tuples and decimals for what they stand for."""
    if isinstance(value, str):  # str enums included, as json writes them
        return _walk_text(str.__str__(value), depth, fields)
    if isinstance(value, int):
        return _walk_int(int.__int__(value), depth, fields)
    if isinstance(value, float):
        return _walk_float(float.__float__(value), depth, fields)
    if isinstance(value, dict):
        return _walk_copy(value, dict(value), depth, fields)
    if isinstance(value, list | tuple):
        return _walk_copy(value, list(value), depth, fields)
    return _walk_decimal(value)


def _walk_decimal(value: Any) -> float | int:
    from decimal import Decimal  # hardly any state needs it

    if not isinstance(value, Decimal):
        _refuse(value)
    if not value.is_finite():
        raise _Fault(f"the decimal {value} is not a JSON number; store null or a finite number")
    if value.adjusted() > MAX_INTEGER_BITS // 4:
        raise _Fault(f"the decimal {value:.3e} is too long to be written as a number")
    if value == value.to_integral_value():
        return int(value)
    number = float(value)
    if Decimal(repr(number)) != value:
        raise _Fault(f"the decimal {value} has more digits than a JSON number keeps; store text")
    return number


def _refuse(value: object) -> NoReturn:
    raise _Fault(
        f"a value of type {type(value).__name__} is not JSON; store text, a number, true, false,"
        " null, a list or an object"
    )


def _with_text_keys(obj: dict[Any, Any]) -> dict[str, Any]:
    """Write the keys as JSON does, if they are all of one type."""
    kinds = {"str" if isinstance(key, str) else type(key).__name__ for key in obj}
    if len(kinds) > 1:
        raise _Fault(f"an object with keys of mixed types ({', '.join(sorted(kinds))}); use text")
    texts = {_key_text(key): value for key, value in obj.items()}
    if len(texts) < len(obj):
        raise _Fault("an object in which two keys become the same text; use text keys")
    return texts


def _key_text(key: object) -> str:
    if isinstance(key, str):
        return str.__str__(key)
    if key is None or isinstance(key, bool):
        return json.dumps(key)
    if isinstance(key, int):
        return int.__repr__(_walk_int(int.__int__(key), 0, frozenset()))
    if isinstance(key, float) and key - key == 0:
        return float.__repr__(key)
    raise _Fault(f"the key {key!r:.80} of type {type(key).__name__} is not JSON; use text keys")


def _state_error(fault: _Fault) -> StateError:
    path: list[str | int] = []
    seen: set[int] = set()
    for container, key in reversed(fault.steps):
        if isinstance(fault, _TooDeep) and id(container) in seen:
            return StateError(format_path(path), "it contains itself (a reference cycle)")
        seen.add(id(container))
        if key is not None:
            path.append(key)
    return StateError(format_path(path), fault.problem)


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
