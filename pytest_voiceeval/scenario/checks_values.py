"""Whether what a scenario says of itself has the type that is asked for."""

from __future__ import annotations

import difflib
import json
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_voiceeval.scenario.model import Scenario

_FLAGS = ("ignore_capitalization", "ignore_punctuation", "clean_text", "disallow_extra_items")
_KEYS = ("spelled_fields", "unspoken_fields")
_SETTINGS = (
    *_FLAGS,
    "max_duration",
    "success_signals",
    "reference_answer",
    "expected_scenario_db",
    "expected_user_db",
    "nl_assertions",
    "db_state_assertions",
    "initialization_actions",
    "reference_dialogue",
    "forbidden_calls",
    *_KEYS,
)
"""What a scenario may leave out, so that nobody would miss it if it were misspelled."""


def bad_values(scenario: Scenario) -> Iterator[str]:
    """Yield each value that cannot be used, with what it should be."""
    yield from _misspelled(type(scenario))
    seconds: Any = scenario.max_duration
    if seconds is not None and not _is_duration(seconds):
        yield f"max_duration must be a number of seconds above 0, or None, not {seconds!r:.60}"
    for flag in _FLAGS:
        if not isinstance(value := getattr(scenario, flag), bool):
            yield f"{flag} must be True or False, not {value!r:.60}"
    for name in _KEYS:
        if isinstance(keys := getattr(scenario, name), str):
            yield f"{name} must be a tuple of keys such as ({keys!r:.60},), not a text"
    yield from _bad_reference(scenario.reference_answer)
    yield from _bad_parts("agent", scenario.get_agent_prompt, scenario.get_agent_tools)
    yield from _bad_parts("user", scenario.get_user_prompt, scenario.get_user_tools)


def _misspelled(cls: type[Scenario]) -> Iterator[str]:
    """Yield names that are nearly those of settings which the class does not have."""
    own = {name for base in cls.__mro__ if not _is_ours(base) for name in vars(base)}
    free = [name for name in _SETTINGS if name not in own]
    for name in sorted(own):
        if close := difflib.get_close_matches(name, free, n=1, cutoff=0.9):
            yield f"{cls.__name__}.{name} is nothing that counts; did you mean {close[0]!r}?"


def _is_ours(base: type) -> bool:
    return base is object or base.__module__.startswith("pytest_voiceeval.scenario.")


def _is_duration(seconds: Any) -> bool:
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    return is_number and math.isfinite(seconds) and seconds > 0


def _bad_reference(answer: Any) -> Iterator[str]:
    records = answer if isinstance(answer, list) else [answer]
    shape = isinstance(answer, str) or all(isinstance(each, dict) for each in records)
    if answer is not None and not shape:
        yield (
            "reference_answer must be an object, a list of objects or a text, such as "
            f'{{"actions": [...]}}, not {answer!r:.60}'
        )
        return
    try:
        json.dumps(answer, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        yield f"reference_answer is not JSON: {error}"


def _bad_parts(side: str, prompt: Callable[[], str], tools: Callable[[], str]) -> Iterator[str]:
    """Ask for what a bot is told; a part that cannot say it raises what is wrong with it."""
    try:
        prompt()
    except NotImplementedError:  # only half of it is written; a run says so where it matters
        return
    named = json.loads(tools() or "{}")
    if not isinstance(named, dict):
        yield f"the tools of {side}_resources must be an object by tool name, not {named!r:.60}"
