"""Whether each key of an authoring file has a value of the kind that is read there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_OBJECTS = ("passenger", "booking", "caller")
_LINES = ("bookings", "journeys", "disruptions")
_TEXTS = ("premise", "flow", "note")
_CALLER_LISTS = ("must", "nice", "negotiation", "edges")
_CALLER_TEXTS = ("persona", "goal", "done", "failure", "escalation", "hides")
_FEES = ("seat_fee", "bags_fee")


def check_shapes(source: Mapping[str, Any]) -> None:
    """Refuse what YAML took for something else than the author meant.

    Keys that are not there are not looked for.

    Raises:
        ValueError: there is such a value; the text names its key.
    """
    for key in filter(source.__contains__, _OBJECTS):
        _require(
            isinstance(source[key], dict), key, "is an object: `key: value` in braces or below"
        )
    for key in filter(source.__contains__, _LINES):
        _require_texts(key, source[key])
    for key in filter(source.__contains__, _TEXTS):
        _require_text(key, source[key])
    stated = source.get("limits", [])
    limits = stated if isinstance(stated, list) else [stated]
    good = all(isinstance(each, dict) for each in limits)
    _require(good, "limits", "is an object, or a list of them")
    _check_caller(source.get("caller", {}))
    for key in filter(source.get("booking", {}).__contains__, _FEES):
        fee = source["booking"][key]
        _require(
            isinstance(fee, int | float) and fee >= 0, f"booking: {key}", f"got {fee!r}, no sum"
        )


def _check_caller(caller: Mapping[str, Any]) -> None:
    for key in filter(caller.__contains__, _CALLER_LISTS):
        _require_texts(f"caller: {key}", caller[key])
    for key in filter(caller.__contains__, _CALLER_TEXTS):
        _require_text(f"caller: {key}", caller[key])
    _require(
        isinstance(caller.get("knows", {}), dict), "caller: knows", "is an object: `key: fact`"
    )


def _require_texts(what: str, value: Any) -> None:
    _require(isinstance(value, list), what, "is a list of texts, a line with a dash for each")
    for text in value:
        _require_text(what, text)


def _require_text(what: str, value: Any) -> None:
    _require(isinstance(value, str), what, f"{value!r} is no text; put it in double quotes")


def _require(good: bool, what: str, problem: str) -> None:
    if not good:
        raise ValueError(f"{what}: {problem}")
