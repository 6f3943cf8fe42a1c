"""Calls put together by hand: a conversation and its verdicts, as coherent as a real call's."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_voiceeval.call.result import (
    AGENT_FAULTS,
    ActionDifference,
    CallResult,
    Conversation,
    EndReason,
    SideRecord,
    Tokens,
    ToolCallSeen,
    Utterance,
)
from pytest_voiceeval.scoring.db_diff import compute_db_diff, list_changes
from pytest_voiceeval.scoring.db_hash import get_dict_hash
from pytest_voiceeval.scoring.explain import explain_match
from pytest_voiceeval.scoring.signals import (
    SuccessSignal,
    compute_is_successful,
    compute_is_task_successful,
    success_breakdown,
)

NODEID = "larkspur::date_change"
FOLDER = "eval_results/eval_20260519_093000/larkspur__date_change"

GREETING = "Larkspur Airways, good morning. How may I help?"
WISH = "I'd like to fly home a day later, please. My code is N4WZ8C."
DONE = "Done. You now fly on June the third, and I have refunded the difference."
THANKS = "Perfect, thank you. Bye!"
GOODBYE = "Thank you for calling, goodbye."

TALK = (("agent", GREETING), ("user", WISH), ("agent", DONE), ("user", THANKS), ("agent", GOODBYE))


def talk(*lines: tuple[str, str], partial: bool = False, every: float = 2.5) -> list[Utterance]:
    """Utterances from (role, text); the agent begins, each line of the caller opens a turn."""
    said, turn = [], 1
    for position, (role, text) in enumerate(lines):
        turn += role == "user"
        start = 0.4 + every * position
        said.append(Utterance(role, text, start, start + 2, turn))  # type: ignore[arg-type]
    if partial:
        said[-1] = replace(said[-1], partial=True)
    return said


def made(
    turn: int,
    name: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    writes: Iterable[tuple[str, str]] = (),
    result: Any = None,
    **more: Any,
) -> ToolCallSeen:
    """A call that succeeded; one that writes has recorded an action."""
    wrote = tuple(writes)
    record = {"action_type": name, **(arguments or {})} if wrote else None
    return ToolCallSeen(
        turn=turn,
        name=name,
        arguments=arguments if "malformed" in more else arguments or {},
        result={"status": "success"} if result is None else result,
        writes=wrote,
        **{"record": record, **more},
    )


def refused(turn: int, name: str, arguments: Mapping[str, Any], kind: str, why: str) -> Any:
    """A call that a tool answered with an error."""
    answer = {"status": "error", "error_type": kind, "message": why}
    return made(turn, name, arguments, result=answer)


LOOKUP = made(2, "get_reservation", {"confirmation_number": "N4WZ8C", "last_name": "Pryce"})
END = made(3, "end_conversation", result={"success": True})


def world() -> dict[str, Any]:
    """A small airline's database after everything was done right."""
    return {
        "reservations": {
            "N4WZ8C": {
                "status": "confirmed",
                "last_name": "Pryce",
                "bookings": [
                    {
                        "journey_id": "FL_LQ846_20260603",
                        "segments": [{"flight_number": "LQ846", "fare_paid": 185, "seat": "14C"}],
                        "status": "confirmed",
                    }
                ],
                "passengers": [{"passenger_id": "PAX001", "meal": None, "elite": True}],
                "notes": "",
            }
        },
        "journeys": {
            "FL_LQ846_20260603": {
                "segments": [{"flight_number": "LQ846", "available_seats": {"main_cabin": 8}}]
            },
            "FL_LQ846_20260602": {
                "segments": [{"flight_number": "LQ846", "available_seats": {"main_cabin": 9}}]
            },
        },
        "refunds": {
            "REF-N4WZ8C-001": {
                "confirmation_number": "N4WZ8C",
                "initiated_date": "2026-05-19",
                "refund_amount": 356,
                "refund_type": "full_fare",
                "processing_days": 7,
                "status": "initiated",
            }
        },
    }


REFUND = made(
    2,
    "process_refund",
    {"confirmation_number": "N4WZ8C", "refund_amount": 356, "refund_type": "full_fare"},
    writes=[("refunds", "REF-N4WZ8C-001")],
)
REBOOK = made(
    2,
    "rebook_flight",
    {
        "confirmation_number": "N4WZ8C",
        "journey_id": "FL_LQ846_20260602",
        "new_journey_id": "FL_LQ846_20260603",
        "rebooking_type": "voluntary",
    },
    writes=[
        ("reservations", "N4WZ8C"),
        ("journeys", "FL_LQ846_20260602"),
        ("journeys", "FL_LQ846_20260603"),
    ],
)


def changed(*edits: tuple[Sequence[Any], Any], state: Any = None) -> Any:
    """A copy of the world in which places have other values; `...` as the value removes one."""
    copied = copy.deepcopy(world() if state is None else state)
    for path, value in edits:
        place = copied
        for step in path[:-1]:
            place = place[step]
        if value is ...:
            del place[path[-1]]
        else:
            place[path[-1]] = value
    return copied


def call(
    *,
    expected: Any = None,
    db: Any = None,
    sent: bool = True,
    said: Sequence[Utterance] | None = None,
    calls: Sequence[ToolCallSeen] = (LOOKUP, REBOOK, REFUND, END),
    end: EndReason = EndReason.EXIT,
    end_detail: str = "",
    reference: Any = None,
    recorded: Any = None,
    strict: bool = False,
    verdicts: Sequence[Mapping[str, Any]] = (),
    signals: Mapping[str, bool] | None = None,
    judged_by: Sequence[str] = ("db_state_match", "clean_exit"),
    stalled: bool = False,
    turns: int = 3,
    tokens: int | None = None,
    duration: float = 14.2,
    db_hash: str | None = "computed",
    db_note: str = "",
    warnings: Sequence[str] = (),
    **more: Any,
) -> CallResult:
    """A scored call. `expected` and `db` are databases; not `sent` means only the hash is known."""
    utterances = tuple(talk(*TALK) if said is None else said)
    prediction = [{"actions": recorded}] if recorded is not None else []
    found = differences(reference, prediction, strict=strict)
    actual_hash = get_dict_hash(db) if db_hash == "computed" and db is not None else db_hash
    expected_hash = None if expected is None else get_dict_hash(expected)
    known = sent and expected is not None and db is not None
    verdict_of = {
        "is_action_match": None if reference is None else bool(prediction) and not found,
        "db_state_match": None if expected is None else actual_hash == expected_hash,
        "db_state_assertion": all(v["passed"] for v in verdicts) if verdicts else None,
        "clean_exit": end is EndReason.EXIT,
        **(signals or {}),
    }
    all_signals = {name: verdict_of.get(str(name)) for name in SuccessSignal}
    texts = {str(name): verdict for name, verdict in all_signals.items()}
    broken = stalled or end in AGENT_FAULTS
    passed = compute_is_successful(judged_by, texts)
    task_passed = compute_is_task_successful(judged_by, texts)
    usage = None if tokens is None else Tokens(tokens, 100, 10)
    conversation = Conversation(
        scenario="larkspur__date_change",
        domain="larkspur",
        end_reason=end,
        end_detail=end_detail,
        transcript=utterances,
        tool_calls=tuple(calls),
        agent=SideRecord(tokens=usage, actions=None if recorded is None else tuple(recorded)),
        agent_turns=turns,
        duration=duration,
        started_at="2026-05-19T09:30:00.000+00:00",
        expected_hash=expected_hash,
        **more,
    )
    return CallResult(
        scenario=conversation.scenario,
        domain=conversation.domain,
        signals=all_signals,
        passed=False if broken else _as_bool(passed),
        task_passed=False if broken else _as_bool(task_passed),
        stalled=stalled,
        end_reason=end,
        end_detail=end_detail,
        transcript=utterances,
        tool_calls=tuple(calls),
        actions=tuple({"side": "agent", **each} for each in recorded or ()),
        prediction=prediction,
        db=db,
        expected_db=expected,
        db_hash=actual_hash,
        expected_hash=expected_hash,
        db_diff=compute_db_diff(expected, db) if known else None,
        changes=tuple(list_changes(expected, db)) if known else None,
        db_note=db_note,
        action_differences=found,
        assertion_verdicts=tuple(verdicts),
        latencies=(),
        tokens={"agent": usage, "user": None},
        agent_turns=turns,
        model_runs=turns + len(calls),
        duration=duration,
        breakdown=success_breakdown(judged_by, texts),
        conversation=conversation,
        warnings=tuple(warnings),
    )


def differences(reference: Any, prediction: Any, *, strict: bool) -> tuple[ActionDifference, ...]:
    """What scoring would say about the actions."""
    if reference is None:
        return ()
    answer, given = {"actions": reference}, prediction or [{"actions": []}]
    return tuple(
        ActionDifference(each.kind, each.expected, each.actual, each.fields, each.path)
        for each in explain_match(answer, given, disallow_extra_items=strict)
        if each.blocking
    )


def _as_bool(verdict: bool | str) -> bool | None:
    return verdict if isinstance(verdict, bool) else None


def predicate(name: str, **verdict: Any) -> dict[str, Any]:
    """The verdict of a database predicate."""
    blank = {"side": "agent", "passed": False, "expected": True, "actual": False}
    return {"func_name": name, **blank, "message": None, "error": None, **verdict}
