"""Predicates over a database: functions of a domain that scenarios name and call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from pytest_voiceeval.scoring.faults import StateError
from pytest_voiceeval.scoring.normalize import same_state
from pytest_voiceeval.scoring.signals import coerce_verdict

Predicate = TypeVar("Predicate", bound=Callable[..., Any])

_REGISTRY: Final[dict[str, dict[str, Callable[..., Any]]]] = {}


class _Unanswerable(Exception):
    """Why an assertion could not be evaluated, in one sentence."""


def register_db_state_predicate(domain: str) -> Callable[[Predicate], Predicate]:
    """Register a predicate ``fn(db, **arguments) -> bool`` of a domain under its own name.

    Raises:
        ValueError: The domain has a predicate of this name already.
        TypeError: It is a coroutine function; predicates are plain ones.
    """

    def register(predicate: Predicate) -> Predicate:
        name = predicate.__name__
        if inspect.iscoroutinefunction(predicate):
            raise TypeError(f"the predicate {name!r} of {domain!r} must be a plain function")
        if name in _REGISTRY.get(domain, {}):
            raise ValueError(f"predicate {name!r} is already registered under domain={domain!r}")
        _REGISTRY.setdefault(domain, {})[name] = predicate
        return predicate

    return register


def evaluate_db_state_assertion(
    domain: str, assertion: Mapping[str, Any], db: Any, user_db: Any
) -> dict[str, Any]:
    """Call the predicate an assertion names and compare its answer with the value asserted.

    Never raises: what goes wrong is in the verdict. The answer is compared by the rules of the
    hash, so 1 is not true. Predicates must not change the database.

    Args:
        domain: Whose predicates are meant.
        assertion: ``{"side": "user" | "agent", "func_name", "arguments", "assert_value",
            "message"?}``.
        db: The agent's database; None if it is not at hand.
        user_db: The caller's database; None if it is not at hand.

    Returns:
        ``{"func_name", "side", "passed", "expected", "actual", "message", "error"}``; `error` is
        None unless the predicate could not answer.
    """
    record: Mapping[str, Any] = assertion if isinstance(assertion, Mapping) else {}
    verdict = {
        "func_name": record.get("func_name"),
        "side": record.get("side"),
        "passed": False,
        "expected": record.get("assert_value"),
        "actual": None,
        "message": record.get("message"),
        "error": None,
    }
    try:
        verdict["actual"] = _answer(domain, record, {"agent": db, "user": user_db})
        verdict["passed"] = _equal(verdict["actual"], verdict["expected"])
    except _Unanswerable as reason:
        verdict["error"] = str(reason)
    return verdict


def assertion_pass_rate(verdicts: Sequence[Mapping[str, Any]]) -> float | None:
    """Share of verdicts that passed, 0 to 1; None without any, so that nothing passes unasked."""
    if not verdicts:
        return None
    return sum(coerce_verdict(verdict["passed"]) is True for verdict in verdicts) / len(verdicts)


def _answer(domain: str, record: Mapping[str, Any], databases: Mapping[str, Any]) -> Any:
    side = record.get("side")
    if side not in ("user", "agent"):
        raise _Unanswerable(f"Unknown side {str(side)!r}; expected 'user' or 'agent'.")
    if databases[side] is None:
        raise _Unanswerable(f"No {side} DB available")
    predicate = _predicate(domain, record.get("func_name"))
    arguments = {} if record.get("arguments") is None else record["arguments"]
    if not isinstance(arguments, Mapping):
        raise _Unanswerable(f"The arguments must be an object, not {type(arguments).__name__}")
    try:
        return predicate(databases[side], **arguments)
    except Exception as error:
        raise _Unanswerable(f"Predicate raised: {type(error).__name__}: {error}") from error


def _predicate(domain: str, name: Any) -> Callable[..., Any]:
    known = _REGISTRY.get(domain, {})
    if isinstance(name, str) and name in known:
        return known[name]
    import difflib  # only when a name is wrong

    close = difflib.get_close_matches(str(name), known, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    raise _Unanswerable(f"No predicate {str(name)!r} registered under domain={domain!r}{hint}")


def _equal(actual: Any, expected: Any) -> bool:
    try:
        return same_state(actual, expected)
    except StateError:
        pass
    try:
        return bool(actual == expected)
    except Exception as error:
        kind = type(actual).__name__
        raise _Unanswerable(f"The predicate's answer, a {kind}, cannot be compared") from error
