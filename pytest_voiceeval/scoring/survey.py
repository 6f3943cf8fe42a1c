"""The look at a state before it is normalised: is it JSON, and what in it has to change?

Nearly all of a database is in its normal form already. So it is looked through first, without
copying anything, and only the containers in which something changes are written anew
(`pytest_voiceeval.scoring.normalize`).
"""

from __future__ import annotations

import json
from typing import Any, Final, NoReturn

from pytest_voiceeval.scoring.paths import format_path

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
    """More than `MAX_DEPTH` levels: a cycle, or just too deep."""

    def __init__(self) -> None:
        super().__init__(f"nested more than {MAX_DEPTH} levels deep; store flatter data")


def survey(state: Any, unordered: frozenset[str]) -> tuple[bool, set[int]]:
    """Look through a state.

    Args:
        state: Any value.
        unordered: Keys whose lists will be sorted.

    Returns:
        Whether anything in it changes, and the ``id`` of every dictionary and list that does.

    Raises:
        StateError: Something in it is not JSON.
    """
    look = _Survey(unordered)
    try:
        return look.other(state, 0), look.changing
    except _Fault as fault:
        raise _state_error(fault) from None
    except RecursionError:
        raise StateError(format_path(()), "nested too deeply to be followed") from None


def is_null_text(text: str) -> bool:
    """Say whether a text stands for null: none or null, trimmed, in any case."""
    return text[:1] in _NULL_STARTS and text.strip().lower() in _NULL_WORDS


class _Survey:
    """One look through one state. Its methods say whether a value changes.

    `mapping` and `sequence` see every value: they test kinds in the order of their number and pass
    over text by its first character, because a call per value would double their time.
    """

    def __init__(self, unordered: frozenset[str]) -> None:
        self.changing: set[int] = set()
        self._unordered = unordered

    def mapping(self, obj: dict[Any, Any], depth: int) -> bool:  # noqa: C901, PLR0912
        if depth >= MAX_DEPTH:
            raise _TooDeep
        changes = False
        key: Any = ""
        try:
            for key, value in obj.items():
                if type(key) is not str:
                    break
                if (kind := type(value)) is str:
                    if value and value[0] in _NULL_STARTS and is_null_text(value):
                        changes = True
                elif kind is dict:
                    if self.mapping(value, depth + 1):
                        changes = True
                elif kind is float and value % 1 > 0:  # an ordinary fraction
                    pass
                elif kind is list:
                    if self.sequence(value, depth + 1) or key in self._unordered:
                        changes = True
                elif self.other(value, depth + 1):
                    changes = True
            else:
                if changes:
                    self.changing.add(id(obj))
                return changes
        except _Fault as fault:
            fault.steps.append((obj, key))
            raise
        return self._stand_in(obj, text_keys(obj), depth)

    def sequence(self, obj: list[Any], depth: int) -> bool:
        if depth >= MAX_DEPTH:
            raise _TooDeep
        changes = False
        index = 0
        try:
            for index, value in enumerate(obj):
                if (kind := type(value)) is str:
                    if value and value[0] in _NULL_STARTS and is_null_text(value):
                        changes = True
                elif kind is dict:
                    if self.mapping(value, depth + 1):
                        changes = True
                elif self.other(value, depth + 1):
                    changes = True
        except _Fault as fault:
            fault.steps.append((obj, index))
            raise
        if changes:
            self.changing.add(id(obj))
        return changes

    def other(self, value: Any, depth: int) -> bool:
        """Any value; subclasses of the JSON types, tuples and decimals become plain values."""
        if value is None or isinstance(value, bool):
            return False
        if isinstance(value, int):
            _check_size(value)
            return type(value) is not int
        if isinstance(value, float):
            if value - value != 0:
                raise _Fault(f"{value} is not a JSON number; store null or a finite number")
            return value.is_integer() or type(value) is not float
        if isinstance(value, str):
            return type(value) is not str or is_null_text(value)
        return self._container(value, depth)

    def _container(self, value: Any, depth: int) -> bool:
        if type(value) is dict:
            return self.mapping(value, depth)
        if type(value) is list:
            return self.sequence(value, depth)
        if isinstance(value, dict):
            return self._stand_in(value, dict(value), depth)
        if isinstance(value, list | tuple):
            return self._stand_in(value, list(value), depth)
        decimal_number(value)
        return True

    def _stand_in(self, original: Any, copy: dict[Any, Any] | list[Any], depth: int) -> bool:
        """Look through a copy; a fault notes the original too, by which a cycle is recognised."""
        try:
            self._container(copy, depth)
        except _Fault as fault:
            fault.steps.append((original, None))
            raise
        self.changing.add(id(original))
        return True


def text_keys(obj: dict[Any, Any]) -> dict[str, Any]:
    """Write the keys as JSON does, if they are all of one type."""
    kinds = {"str" if isinstance(key, str) else type(key).__name__ for key in obj}
    if len(kinds) > 1:
        raise _Fault(f"an object with keys of mixed types ({', '.join(sorted(kinds))}); use text")
    texts = {_key_text(key): value for key, value in obj.items()}
    if len(texts) < len(obj):
        raise _Fault("an object in which two keys become the same text; use text keys")
    return texts


def decimal_number(value: Any) -> float | int:
    """Give the number a `Decimal` stands for; whatever is no decimal is not JSON."""
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


def _check_size(number: int) -> None:
    if number.bit_length() > MAX_INTEGER_BITS:
        raise _Fault(f"an integer of {number.bit_length()} bits is too long to be written")


def _key_text(key: object) -> str:
    if isinstance(key, str):
        return str.__str__(key)
    if key is None or isinstance(key, bool):
        return json.dumps(key)
    if isinstance(key, int):
        _check_size(key)
        return int.__repr__(key)
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
