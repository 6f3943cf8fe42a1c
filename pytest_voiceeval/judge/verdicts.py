"""The judge's verdicts about single statements: one for each, or the answer is incomplete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pytest_voiceeval.judge.fields import field_of, refuses

KEY: Final = "nl_assertion_verdicts"
MISSING: Final = "No verdict that can be used; counted as not passed."

Verdict = dict[str, Any]


def read_verdicts(raw: Any, assertions: Sequence[str]) -> tuple[list[Verdict], list[str]]:
    """Return one verdict an assertion, in their order, and what is wrong with the judge's list.

    What is missing, malformed or there twice is filled in with `passed` false.

    Args:
        raw: What the judge sent as `nl_assertion_verdicts`.
        assertions: The statements it was asked about, the first of which has index 1.
    """
    if not isinstance(raw, list) or not raw:
        what = "an empty list of" if raw == [] else "no list of"
        return failed_verdicts(assertions, MISSING), [f"it has {what} assertion verdicts"]
    by_index: dict[int, list[Any]] = {index: [] for index in range(1, len(assertions) + 1)}
    problems = []
    for entry in raw:
        index = _index_of(entry)
        if index in by_index:
            by_index[index].append(entry)
        else:
            problems.append(f"a verdict is about no assertion of the {len(assertions)}")
    verdicts = []
    for index, assertion in enumerate(assertions, 1):
        entries = by_index[index]
        problem = _problem(index, entries)
        problems += [problem] if problem else []
        verdicts.append(_verdict(index, assertion, None if problem else entries[0]))
    return verdicts, list(dict.fromkeys(problems))


def failed_verdicts(assertions: Sequence[str], reason: str) -> list[Verdict]:
    """Every assertion not passed, for one and the same reason."""
    return [
        {"index": index, "assertion": assertion, "passed": False, "reason": reason}
        for index, assertion in enumerate(assertions, 1)
    ]


def counts(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """The verdicts with their number and rate, under the keys of the reference harness."""
    passed = sum(verdict["passed"] for verdict in verdicts)
    return {
        KEY: list(verdicts),
        "nl_assertion_pass_count": passed,
        "nl_assertion_total": len(verdicts),
        "nl_assertion_pass_rate": passed / len(verdicts),
    }


def _problem(index: int, entries: Sequence[Mapping[str, Any]]) -> str | None:
    """What is wrong with the verdicts about one assertion."""
    if not entries:
        return f"the verdict about assertion {index} is missing"
    if len(entries) > 1:
        return f"there are {len(entries)} verdicts about assertion {index}"
    passed = field_of(entries[0], "passed")
    if not isinstance(passed, bool):
        return f"the verdict about assertion {index} is {passed!r:.40}, not true or false"
    if refuses(entries[0]):
        return f"the verdict about assertion {index} says that there is none"
    return None


def _verdict(index: int, assertion: str, entry: Mapping[str, Any] | None) -> Verdict:
    if entry is None:
        return failed_verdicts([assertion], MISSING)[0] | {"index": index}
    reason = field_of(entry, "reason")
    return {
        "index": index,
        "assertion": assertion,
        "passed": field_of(entry, "passed"),
        "reason": "" if reason is None else str(reason),
    }


def _index_of(entry: Any) -> int | None:
    """The index of a verdict: a whole number, also one written as a text."""
    index = field_of(entry, "index") if isinstance(entry, Mapping) else None
    if isinstance(index, str) and index.strip().isdecimal() and len(index) < 9:
        return int(index)
    if isinstance(index, bool) or not isinstance(index, int | float):
        return None
    return int(index) if abs(index) < 1e9 and index == int(index) else None  # NaN is not below
