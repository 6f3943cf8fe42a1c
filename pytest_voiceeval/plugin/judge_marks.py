"""What an item asks of the judge: its markers, and whether `-m` asks for it at all."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from pytest_voiceeval.scoring.signals import SuccessSignal

if TYPE_CHECKING:
    from collections.abc import Mapping

ARGUMENTS = ("criteria", "threshold")


@dataclass(frozen=True, slots=True)
class JudgeAsk:
    """What is asked of the judge beside what the scenario asks.

    Attributes:
        criteria: Statements about the call that must be true.
        threshold: Score that must be reached; None leaves that to the options.
    """

    criteria: tuple[str, ...] = ()
    threshold: float | None = None

    @property
    def gates(self) -> frozenset[SuccessSignal]:
        """The signals that decide because of it."""
        asked = {
            SuccessSignal.NL_ASSERTION: bool(self.criteria),
            SuccessSignal.JUDGE_PASSED: self.threshold is not None,
        }
        return frozenset(signal for signal, wanted in asked.items() if wanted)


def ask_of(item: pytest.Item) -> JudgeAsk:
    """What the `judge` markers of an item ask for; the closest threshold counts, all criteria do.

    A marker that cannot be used fails the item and says why.
    """
    criteria: list[str] = []
    threshold: float | None = None
    for mark in reversed(list(item.iter_markers("judge"))):
        problem = _problem(mark.args, mark.kwargs)
        if problem:
            pytest.fail(f"@pytest.mark.judge: {problem}", pytrace=False)
        criteria += listed(mark.kwargs.get("criteria") or ())
        threshold = mark.kwargs.get("threshold", threshold)
    return JudgeAsk(tuple(dict.fromkeys(criteria)), threshold)


def listed(criteria: Any) -> list[str]:
    """One statement or several as a list."""
    return [criteria] if isinstance(criteria, str) else list(criteria)


def problem_of_criteria(criteria: Any) -> str:
    """What is wrong with statements, empty if nothing is."""
    good = isinstance(criteria, str | list | tuple) and all(
        isinstance(text, str) and text.strip() for text in listed(criteria)
    )
    return "" if good and criteria else "criteria is a statement, or a list of them, in words"


def problem_of_threshold(threshold: Any) -> str:
    """What is wrong with a threshold, empty if nothing is."""
    number = isinstance(threshold, int | float) and not isinstance(threshold, bool)
    good = number and 0 <= threshold <= 1  # NaN fails it
    return "" if good else f"threshold is a number from 0 to 1, not {threshold!r}"


def _problem(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    unknown = sorted(set(kwargs) - set(ARGUMENTS))
    if unknown or args:
        what = ", ".join(unknown) or "positional arguments"
        return f"it does not take {what}; it takes {' and '.join(ARGUMENTS)}"
    if "criteria" in kwargs and (problem := problem_of_criteria(kwargs["criteria"])):
        return problem
    return problem_of_threshold(kwargs["threshold"]) if "threshold" in kwargs else ""


def asks_for_judge(expression: str) -> bool:
    """Whether a `-m` expression selects items because they are marked `judge`.

    `judge`, `judge and not slow` and `not (smoke or not judge)` do, `not judge` does not.
    """
    turned = [False]  # whether what stands inside each open bracket is negated
    negated = False
    for word in re.findall(r"\(|\)|[^\s()]+", expression):
        if word == "not":
            negated = not negated
            continue
        if word == "(":
            turned.append(turned[-1] != negated)
        elif word == ")":
            turned = turned[:-1] or [False]
        elif word == "judge" and turned[-1] == negated:
            return True
        negated = False
    return False
