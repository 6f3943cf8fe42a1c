"""What is wrong with a scenario before anybody calls: verdicts that nothing can give."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.scenario.checks_values import bad_values
from pytest_voiceeval.scenario.dialogue import DialogueError, DialogueTurn, check_dialogue
from pytest_voiceeval.scoring.assertions import evaluate_db_state_assertion
from pytest_voiceeval.scoring.matching import unknown_compare_args
from pytest_voiceeval.scoring.signals import SuccessSignal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_voiceeval.scenario.model import Scenario
    from pytest_voiceeval.scenario.turns import Dialogue, ToolCall

JUDGED = frozenset({SuccessSignal.JUDGE_PASSED, SuccessSignal.NL_ASSERTION})
"""Signals that only the judge gives."""

_SOURCES = {
    SuccessSignal.ACTION_MATCH: "reference_answer",
    SuccessSignal.DB_STATE_MATCH: "expected_scenario_db",
    SuccessSignal.DB_STATE_ASSERTION: "db_state_assertions",
    SuccessSignal.NL_ASSERTION: "nl_assertions",
}
"""What each signal is computed from; the other two need nothing of the scenario."""


def problems_of(scenario: Scenario) -> list[str]:
    """Return what makes a scenario unfit to judge an agent, one sentence each.

    Found are: signals that do not exist, criteria that are declared but empty, a scenario that
    would pass by its clean exit alone although it means to check more, values of a wrong type,
    initialization actions without a side, and assertions that contradict the expected databases.

    Raises:
        Exception: what a part of the scenario raises when it is asked for.
    """
    return [
        *_no_signals(scenario),
        *_unknown_signals(scenario),
        *bad_values(scenario),
        *_empty_criteria(scenario),
        *_bad_statements(scenario),
        *_sideless_actions(scenario),
        *_bad_dialogue(scenario),
        *_unknown_arguments(scenario),
        *_contradictions(scenario),
    ]


def _no_signals(scenario: Scenario) -> list[str]:
    if scenario.success_signals:
        return []
    return ["success_signals is empty: name the signals that decide"]


def _unknown_signals(scenario: Scenario) -> list[str]:
    known = [signal.value for signal in SuccessSignal]
    if isinstance(given := scenario.success_signals, str):
        return [f"success_signals must be a tuple of signals, such as ('{given}',), not a text"]
    unknown = [str(name) for name in scenario.success_signals or () if name not in known]
    return [f"there is no signal {name!r}{_suggest(name, known)}" for name in unknown]


def _suggest(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f", did you mean {close[0]!r}?" if close else f"; there are {', '.join(known)}"


def _empty_criteria(scenario: Scenario) -> list[str]:
    wanted = [signal for signal in _SOURCES if signal in (scenario.success_signals or ())]
    given = {signal: getattr(scenario, _SOURCES[signal]) for signal in wanted}
    problems = [
        f"{signal} is to decide, but {_SOURCES[signal]} is empty; fill it or drop the signal"
        for signal, value in given.items()
        if value is not None and not value and not _is_database(signal)
    ]
    judged = SuccessSignal.JUDGE_PASSED in (scenario.success_signals or ())
    if wanted and not judged and all(value is None for value in given.values()):
        missing = ", ".join(_SOURCES[signal] for signal in wanted)
        problems.append(f"nothing but the clean exit could decide: it has no {missing}")
    return problems


def _bad_statements(scenario: Scenario) -> list[str]:
    """A text in place of a list would be judged letter by letter."""
    given: Any = scenario.nl_assertions
    good = isinstance(given, list | tuple) and all(
        isinstance(text, str) and text.strip() for text in given
    )
    if not given or good:
        return []
    return [f"nl_assertions must be a list of sentences for the judge, not {given!r:.60}"]


def _is_database(signal: SuccessSignal) -> bool:
    """An expected database may well be empty; every other empty criterion is a mistake."""
    return signal is SuccessSignal.DB_STATE_MATCH


def needs_judge(scenario: Scenario) -> bool:
    """Whether nothing but the judge, and the clean exit, decides about this scenario."""
    gating = set(scenario.success_signals or ()) - {SuccessSignal.CLEAN_EXIT}
    return bool(gating) and gating <= JUDGED


def _bad_dialogue(scenario: Scenario) -> list[str]:
    """A dialogue that cannot be played would be blamed on the agent that plays it."""
    dialogue = scenario.reference_dialogue
    if dialogue is None:
        return []
    if not all(isinstance(turn, DialogueTurn) for turn in dialogue):
        return ["reference_dialogue must hold DialogueTurn objects; parse_dialogue makes them"]
    try:
        check_dialogue(dialogue, "reference_dialogue")
    except DialogueError as error:
        return [str(error)]
    if not dialogue or not dialogue[-1].calls:
        return ["reference_dialogue: its last turn makes no call that ends the conversation"]
    return _unknown_tools_of_the_caller(scenario, dialogue)


def _unknown_tools_of_the_caller(scenario: Scenario, dialogue: Dialogue) -> list[str]:
    """Calls that the built-in caller could not make, which would be nobody's doing but the data's.

    Calls that the agent does not have are its own affair: it is told so, and may do better.
    """
    wanted = {call.name: n for n, t in enumerate(dialogue, 1) for call in _calls_of_the_caller(t)}
    if not wanted:
        return []
    from pytest_voiceeval.scenario.replay import caller_tools

    known = caller_tools(scenario, {})
    return [
        f"reference_dialogue, turn {turn}: the caller has no tool {name!r}"
        f"{_suggest(name, list(known)) if known else '; user_resources names none'}"
        for name, turn in wanted.items()
        if name not in known
    ]


def _calls_of_the_caller(turn: DialogueTurn) -> tuple[ToolCall, ...]:
    return turn.calls if turn.role == "user" else ()


def _unknown_arguments(scenario: Scenario) -> list[str]:
    """Names to compare that the reference action lacks: nearly anything would match."""
    answer = scenario.reference_answer
    actions = answer.get("actions") if isinstance(answer, dict) else None
    return [
        f"reference action {number} ({action.get('name')}) compares arguments it does not have: "
        f"{', '.join(unknown)}"
        for number, action in enumerate(actions or (), 1)
        if isinstance(action, dict) and (unknown := unknown_compare_args(action))
    ]


def _sideless_actions(scenario: Scenario) -> list[str]:
    return [
        f"initialization action {index} ({action.get('func_name')}) has the side "
        f"{action.get('side')!r}; use 'agent' or 'user'"
        for index, action in enumerate(scenario.initialization_actions or ())
        if action.get("side") not in ("agent", "user")
    ]


def _contradictions(scenario: Scenario) -> list[str]:
    """Hold each assertion against the database that its side is expected to end with."""
    expected = {"agent": scenario.expected_scenario_db, "user": scenario.expected_user_db}
    return [
        problem
        for assertion in scenario.db_state_assertions or ()
        if expected.get(str(assertion.get("side"))) is not None
        for problem in _contradiction(scenario.domain, assertion, expected)
    ]


def _contradiction(
    domain: str, assertion: Mapping[str, Any], expected: Mapping[str, Any]
) -> list[str]:
    verdict = evaluate_db_state_assertion(domain, assertion, expected["agent"], expected["user"])
    name = f"the assertion {verdict['func_name']!r} about the {verdict['side']}'s database"
    if verdict["error"]:
        return [f"{name} cannot be evaluated: {verdict['error']}"]
    if verdict["passed"]:
        return []
    asserted, given = verdict["expected"], verdict["actual"]
    return [f"{name} contradicts the expected one: it asserts {asserted!r}, that gives {given!r}"]
