"""From a conversation to verdicts: the signals, and whether the call passed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.call.database import Database, judge_database, judge_user_database
from pytest_voiceeval.call.errors import JudgeUnusable, ScenarioInvalid
from pytest_voiceeval.call.prediction import (
    action_match,
    differences,
    merged_actions,
    prediction_of,
)
from pytest_voiceeval.call.result import (
    AGENT_FAULTS,
    ActionDifference,
    CallResult,
    Conversation,
    EndReason,
)
from pytest_voiceeval.call.spelling import misspoken
from pytest_voiceeval.scenario.checks import JUDGED, needs_judge
from pytest_voiceeval.scenario.replay import ReplayError, initial_state
from pytest_voiceeval.scoring.assertions import evaluate_db_state_assertion
from pytest_voiceeval.scoring.db_hash import StateError, get_dict_hash
from pytest_voiceeval.scoring.matching import PayloadError
from pytest_voiceeval.scoring.signals import (
    SuccessSignal,
    compute_is_task_successful,
    success_breakdown,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_voiceeval.call.judgement import Judgement
    from pytest_voiceeval.scenario.model import Scenario


@dataclass(frozen=True)
class ScoreOptions:
    """How strictly to judge.

    Attributes:
        min_agent_turns: Fewer than this is "stalled" and fails; 0 switches it off. Model calls are
            counted when the agent reports usage, else its completed turns.
        strict_match: Recorded actions beyond the reference are a mismatch in every scenario.
    """

    min_agent_turns: int = 3
    strict_match: bool = False


def score(
    scenario: Scenario, conversation: Conversation, options: ScoreOptions | None = None
) -> CallResult:
    """Judge a conversation. It hashes and compares databases: call it off the event loop.

    Raises:
        ScenarioInvalid: The scenario's expected database, or its whitelist of signals, is unusable.
        StateUnreadable: The agent sent a database that is not JSON.
        ValueError: The conversation has no end.
    """
    options = options or ScoreOptions()
    end = conversation.end_reason
    if end is None:
        raise ValueError("a conversation that broke off cannot be scored: it has no end reason")
    database = judge_database(scenario, conversation)
    of_caller = judge_user_database(scenario, conversation)
    prediction = prediction_of(conversation)
    matched, action_differences = _actions(scenario, prediction, strict=options.strict_match)
    verdicts = _assertions(scenario, conversation)
    signals = _signals(end, _both(database, of_caller), matched, verdicts)
    stalled = _stalled(conversation, options)
    passed, task_passed, breakdown = _compose(scenario, signals)
    failed = stalled or end in AGENT_FAULTS
    return CallResult(
        signals=signals,
        passed=False if failed else passed,
        task_passed=False if failed else task_passed,
        stalled=stalled,
        end_reason=end,
        actions=merged_actions(conversation) or (),
        prediction=prediction,
        action_differences=action_differences,
        assertion_verdicts=verdicts,
        breakdown=breakdown,
        warnings=(*conversation.warnings, *_oddities(scenario, database, of_caller)),
        misspoken=misspoken(scenario, conversation),
        **_measured(conversation),
        **_compared(database, of_caller),
    )


def with_judgement(
    scenario: Scenario,
    result: CallResult,
    judgement: Judgement,
    gates: frozenset[SuccessSignal] = frozenset(),
) -> CallResult:
    """A result with what the judge said: its two signals, and what they decide.

    Where the judge was of no use, the call is what it is without it: failed if it failed anyway,
    and with a warning where the judge does not decide.

    Args:
        scenario: The scenario of the call.
        result: The call as it was scored.
        judgement: What the judge said.
        gates: Signals of the judge that decide beside those the scenario lists.

    Raises:
        JudgeUnusable: The judge was to decide and gave no verdict.
        ScenarioInvalid: The scenario's whitelist of signals is unusable.
    """
    signals = {
        **result.signals,
        SuccessSignal.JUDGE_PASSED: judgement.reached,
        SuccessSignal.NL_ASSERTION: judgement.holds,
    }
    deciding = {*(scenario.success_signals or ()), *gates}
    failed = result.passed is False or any(signals.get(name) is False for name in deciding)
    problem = _problem_of(
        judgement, result, decides=bool(deciding & _asked_of(judgement)) and not failed
    )
    passed, task_passed, breakdown = _compose(scenario, signals, gates, decided=failed)
    if result.stalled or result.end_reason in AGENT_FAULTS:
        passed = task_passed = False
    return replace(
        result,
        signals=signals,
        passed=passed,
        task_passed=task_passed,
        breakdown=breakdown,
        warnings=(*result.warnings, *judgement.notes, *problem),
        judgement=judgement,
    )


def _problem_of(judgement: Judgement, result: CallResult, *, decides: bool) -> tuple[str, ...]:
    """Why a judge was of no use, as a warning; nothing if it was of use.

    Raises:
        JudgeUnusable: It was to decide.
    """
    if judgement.error is None:
        return ()
    what = f"judge unusable: {judgement.error['message']}"
    if decides:
        known = {str(name): verdict for name, verdict in result.signals.items()}
        raise JudgeUnusable(what, result.conversation, judgement, known)
    return (what,)


def _asked_of(judgement: Judgement) -> frozenset[SuccessSignal]:
    """The signals that the judge was to give; without statements it decides about none."""
    return JUDGED if judgement.assertions else JUDGED - {SuccessSignal.NL_ASSERTION}


def _measured(conversation: Conversation) -> dict[str, Any]:
    """What the result repeats of the conversation."""
    user = conversation.user
    return {
        "scenario": conversation.scenario,
        "domain": conversation.domain,
        "end_detail": conversation.end_detail,
        "transcript": conversation.transcript,
        "tool_calls": conversation.tool_calls,
        "db": conversation.agent.db,
        "latencies": conversation.latencies,
        "tokens": {"agent": conversation.agent.tokens, "user": user.tokens if user else None},
        "agent_turns": conversation.agent_turns,
        "model_runs": conversation.agent.model_runs,
        "duration": conversation.duration,
        "conversation": conversation,
    }


def _compared(database: Database, of_caller: Database) -> dict[str, Any]:
    """What the result repeats of the comparison of databases."""
    return {
        "expected_db": database.expected,
        "db_hash": database.actual_hash,
        "expected_hash": database.expected_hash,
        "db_diff": database.diff,
        "changes": database.changes,
        "db_note": database.note,
        "user_database": None if of_caller.matches is None else of_caller,
    }


def _actions(
    scenario: Scenario, prediction: Sequence[Any], *, strict: bool
) -> tuple[bool | None, tuple[ActionDifference, ...]]:
    """Whether the reference answer is met, and what is missing if it is not."""
    try:
        matched = action_match(scenario, prediction, strict=strict)
        missing = differences(scenario, prediction, strict=strict) if matched is False else ()
    except PayloadError as error:
        raise ScenarioInvalid(
            f"scenario {scenario.name!r} has no usable reference answer: {error}"
        ) from error
    return matched, missing


def _both(*databases: Database) -> bool | None:
    """Whether every database that is compared is as expected; None if none is."""
    compared = [each.matches for each in databases if each.matches is not None]
    return all(compared) if compared else None


def _assertions(scenario: Scenario, conversation: Conversation) -> tuple[Mapping[str, Any], ...]:
    """One verdict a database predicate; a missing database fails it and says so."""
    user_db = conversation.user.db if conversation.user else None
    return tuple(
        evaluate_db_state_assertion(scenario.domain, assertion, conversation.agent.db, user_db)
        for assertion in scenario.db_state_assertions or ()
    )


def _signals(
    end: EndReason,
    db_matches: bool | None,
    actions_match: bool | None,
    verdicts: tuple[Mapping[str, Any], ...],
) -> dict[SuccessSignal, bool | None]:
    """Every signal; those of the judge are not ours to give."""
    return {
        SuccessSignal.ACTION_MATCH: actions_match,
        SuccessSignal.DB_STATE_MATCH: db_matches,
        SuccessSignal.DB_STATE_ASSERTION: all(v["passed"] for v in verdicts) if verdicts else None,
        SuccessSignal.NL_ASSERTION: None,
        SuccessSignal.JUDGE_PASSED: None,
        SuccessSignal.CLEAN_EXIT: end is EndReason.EXIT,
    }


def _stalled(conversation: Conversation, options: ScoreOptions) -> bool:
    tokens = conversation.agent.tokens
    turns = conversation.agent_turns if tokens is None else tokens.calls
    return turns < options.min_agent_turns


def _compose(
    scenario: Scenario,
    signals: Mapping[SuccessSignal, bool | None],
    gates: frozenset[SuccessSignal] = frozenset(),
    *,
    decided: bool = False,
) -> tuple[bool | None, bool | None, dict[str, list[str]]]:
    """Passed, passed but for the end of the call, and the signals by verdict.

    Args:
        scenario: Says which signals decide.
        signals: The verdicts.
        gates: Signals that decide as well.
        decided: The call has failed whatever a judge may say.
    """
    whitelist = (*(scenario.success_signals or ()), *gates)
    unjudged = all(signals[name] is None for name in JUDGED)
    if needs_judge(scenario) and unjudged and not decided:
        # a clean exit alone says nothing about what this scenario asks for
        return None, None, success_breakdown(whitelist, {str(k): v for k, v in signals.items()})
    verdicts = {str(name): verdict for name, verdict in signals.items()}
    try:
        verdict = scenario.compute_is_successful(verdicts)
        task_verdict = compute_is_task_successful(whitelist, verdicts)
        breakdown = success_breakdown(whitelist, verdicts)
    except (ValueError, TypeError) as error:
        raise ScenarioInvalid(f"scenario {scenario.name!r} cannot be judged: {error}") from error
    together = {_as_bool(verdict), *(signals[name] for name in gates)} - {None}
    return all(together) if together else None, _as_bool(task_verdict), breakdown


def _as_bool(verdict: bool | str) -> bool | None:
    return verdict if isinstance(verdict, bool) else None


def _oddities(scenario: Scenario, agent: Database, user: Database) -> tuple[str, ...]:
    """What looks odd about the databases and changes no verdict."""
    return (*agent.warnings, *user.warnings, *_blindness(scenario, agent, user))


def _blindness(scenario: Scenario, agent: Database, user: Database) -> tuple[str, ...]:
    """A note for a scenario whose database verdict an agent gets for doing nothing."""
    if not _both(agent, user):
        return ()
    expected = {"agent": agent.expected_hash, "user": user.expected_hash}
    try:
        unchanged = all(
            get_dict_hash(initial_state(scenario, side).get("db")) == digest
            for side, digest in expected.items()
            if digest is not None
        )
    except (ReplayError, StateError, ValueError, OSError):
        # only a note is at stake; the set-up has named what is wrong with the scenario
        return ()
    note = "the expected database is the initial one: an agent that does nothing matches it too"
    return (note,) if unchanged else ()
