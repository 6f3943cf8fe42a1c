"""Conversations, results and lines to write files of."""

from __future__ import annotations

from typing import Any

from pytest_voiceeval.call.result import (
    CallResult,
    Conversation,
    EndReason,
    SideRecord,
    Tokens,
    TurnLatency,
    Utterance,
    WireEvent,
)
from pytest_voiceeval.call.score import ScoreOptions, score
from pytest_voiceeval.scenario.model import Scenario
from pytest_voiceeval.scenario.parts import Actions, Persona, Resources, Task
from pytest_voiceeval.scoring.db_hash import get_dict_hash
from pytest_voiceeval.scoring.signals import SuccessSignal

STARTED = "2026-03-01T09:00:00.000+00:00"
DB = {"orders": {"1": {"state": "returned"}}}
OTHER_DB = {"orders": {"1": {"state": "open"}}}


class Shop(Scenario):
    """A scenario that can be saved, and is judged by its database and the end of the call."""

    domain = "report_shop"
    success_signals = (SuccessSignal.DB_STATE_MATCH, SuccessSignal.CLEAN_EXIT)
    user_persona = agent_persona = Persona(role="customer")
    user_task = agent_task = Task(goal="return an order")
    user_actions = agent_actions = Actions()
    user_resources = agent_resources = Resources()

    def setup_shared_state(self, state: dict[str, Any], side: str) -> None:
        state["db"] = OTHER_DB


def shop(**arguments: Any) -> Shop:
    arguments = {"description": "An order comes back.", "expected_scenario_db": DB, **arguments}
    return Shop(name="report_shop__return", **arguments)


def said(role: Any, text: str, start: float, end: float, turn: int = 1, **more: Any) -> Utterance:
    return Utterance(role, text, start, end, turn, **more)


def agent(state: Any = DB, **record: Any) -> SideRecord:
    """The agent's side, its database in the given state; it reports the hash only."""
    known = {
        "context": ({"role": "system", "content": "You sell."},),
        "actions": ({"action_type": "return", "order": 1},),
        "db_hash": None if state is None else get_dict_hash(state),
        "tokens": Tokens(5, 100, 20),
        "model_runs": 5,
    }
    return SideRecord(**{**known, **record})


TALK = (
    said("agent", "Shop, hello.", 0.2, 0.4, 1),
    said("user", "I want to return order one.", 1.0, 2.0, 2),
    said("agent", "Done.", 2.5, 3.0, 2),
)


def talk(**measured: Any) -> Conversation:
    """A call of three turns that ended well, with anything else than that given."""
    known = {
        "end_reason": EndReason.EXIT,
        "end_detail": "The task is finished.",
        "transcript": TALK,
        "agent": agent(),
        "latencies": (TurnLatency(1, 0.2, 0.4), TurnLatency(2, 0.5, 1.0)),
        "agent_turns": 2,
        "duration": 3.25,
        "elapsed": 4.5,
        "started_at": STARTED,
    }
    return Conversation("report_shop__return", "report_shop", **{**known, **measured})


def scored(conversation: Conversation | None = None, **scenario: Any) -> CallResult:
    options = ScoreOptions(min_agent_turns=2)
    return score(shop(**scenario), conversation or talk(), options)


def heard(at: float, kind: str, data: Any = None, side: Any = "agent") -> WireEvent:
    return WireEvent(at, side, kind, data)


def line(outcome: str = "passed", **more: Any) -> dict[str, Any]:
    """One line of `results.jsonl`."""
    good = outcome == "passed"
    known: dict[str, Any] = {
        "run": "20260301T090000-abc",
        "nodeid": "shop::return",
        "scenario": "shop__return",
        "domain": "shop",
        "outcome": outcome,
        "stalled": False,
        "started_at": STARTED,
        "duration": 2.0,
    }
    if outcome == "error":
        known["error"] = {"code": "agent_unreachable", "type": "X", "message": "nobody\nthere"}
    else:
        known["signals"] = {"db_state_match": good, "clean_exit": True, "judge_passed": None}
    return {**known, **more}
