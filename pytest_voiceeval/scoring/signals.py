"""The verdicts about a call, and what they make of it together."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

NOT_APPLICABLE: Final = "N/A"
"""The verdict when no signal that decides could be computed."""

Success = bool | Literal["N/A"]


class SuccessSignal(StrEnum):
    """One verdict about a call; the values are the keys in files and reports."""

    ACTION_MATCH = "is_action_match"
    DB_STATE_MATCH = "db_state_match"
    DB_STATE_ASSERTION = "db_state_assertion"
    NL_ASSERTION = "nl_assertion"
    JUDGE_PASSED = "judge_passed"
    CLEAN_EXIT = "clean_exit"


def compute_is_successful(whitelist: Iterable[str], signals: Mapping[str, Any]) -> Success:
    """Combine the signals that decide: all that were computed must have passed.

    Args:
        whitelist: Names of the signals that decide, as `SuccessSignal` or text.
        signals: Verdicts by name: True, False, None (not computed), or a raw value that
            `coerce_verdict` understands. Missing names count as not computed.

    Returns:
        True or False; "N/A" if none of the whitelisted signals was computed.

    Raises:
        ValueError: The whitelist is empty, or a name is unknown.
        TypeError: The whitelist is a single text, or a verdict is no verdict.
    """
    return _verdict_of(success_breakdown(whitelist, signals), forgiven=())


def compute_is_task_successful(whitelist: Iterable[str], signals: Mapping[str, Any]) -> Success:
    """Say whether the task was done, however the call ended: a failed clean_exit is forgiven.

    Returns:
        As `compute_is_successful`; "N/A" exactly when that is.
    """
    buckets = success_breakdown(whitelist, signals)
    return _verdict_of(buckets, forgiven=(SuccessSignal.CLEAN_EXIT,))


def success_breakdown(whitelist: Iterable[str], signals: Mapping[str, Any]) -> dict[str, list[str]]:
    """Sort the signals into four buckets, each in the order of `SuccessSignal`.

    Returns:
        ``{"passed", "failed", "not_applicable", "excluded"}``: whitelisted signals by verdict, and
        those that were computed but do not decide.

    Raises:
        ValueError: The whitelist is empty, or a name is unknown.
        TypeError: The whitelist is a single text, or a verdict is no verdict.
    """
    deciding = _whitelisted(whitelist)
    verdicts = {_signal(name): _verdict(name, raw) for name, raw in signals.items()}
    buckets: dict[str, list[str]] = {
        "passed": [],
        "failed": [],
        "not_applicable": [],
        "excluded": [],
    }
    for signal in SuccessSignal:
        verdict = verdicts.get(signal)
        if signal in deciding:
            name = {True: "passed", False: "failed", None: "not_applicable"}[verdict]
            buckets[name].append(signal.value)
        elif verdict is not None:
            buckets["excluded"].append(signal.value)
    return buckets


def coerce_verdict(raw: Any) -> bool | None:
    """Turn a raw value of ``metrics.json`` into a verdict.

    Returns:
        Booleans as they are; a number (a pass rate) passes from 1.0 on; anything else, "N/A"
        among it, is None: not computed.
    """
    if isinstance(raw, bool):
        return raw
    if isinstance(raw, int | float):
        return raw >= 1.0
    return None


def _verdict_of(buckets: dict[str, list[str]], forgiven: tuple[str, ...]) -> Success:
    if not buckets["passed"] and not buckets["failed"]:
        return NOT_APPLICABLE
    return all(name in forgiven for name in buckets["failed"])


def _whitelisted(whitelist: Iterable[str]) -> set[SuccessSignal]:
    if isinstance(whitelist, str):
        raise TypeError(
            f"success signals must be a list of names, not the text {str(whitelist)!r};"
            f" write ({str(whitelist)!r},)"
        )
    names = {_signal(name) for name in whitelist}
    if not names:
        raise ValueError(f"no success signals given; name at least one of {_known()}")
    return names


def _signal(name: str) -> SuccessSignal:
    try:
        return SuccessSignal(name)
    except ValueError:
        pass
    import difflib  # only when a name is wrong

    close = difflib.get_close_matches(str(name), [signal.value for signal in SuccessSignal], n=2)
    hint = f"did you mean {' or '.join(close)}?" if close else f"known are {_known()}"
    raise ValueError(f"unknown success signal {str(name)!r}; {hint}")


def _known() -> str:
    return ", ".join(signal.value for signal in SuccessSignal)


def _verdict(name: str, raw: Any) -> bool | None:
    verdict = coerce_verdict(raw)
    if verdict is None and raw is not None and raw != NOT_APPLICABLE:
        raise TypeError(
            f"the verdict of {str(name)!r} must be true, false, a pass rate, None or"
            f' "{NOT_APPLICABLE}", not {raw!r:.80}'
        )
    return verdict
