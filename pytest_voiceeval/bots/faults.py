"""Agents that fail on purpose, for `--agent-fault`: does a test suite notice?

A fault is either a script that goes wrong (the scripted model plays it), a model that hangs, or a
bot whose process misbehaves.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_voiceeval.bots.endpoint import BotError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pytest_voiceeval.scenario.dialogue import Dialogue
    from pytest_voiceeval.scenario.model import Scenario

FAULTS = (
    "wrong-field",
    "missing-call",
    "extra-write",
    "never-exits",
    "hangs",
    "crashes",
    "do-nothing",
    "garbage",
)

REPLIES_BEFORE_CRASH = 2
"""Replies of the stock bot before its process ends with the fault `crashes`."""

GREETING = "Hello, how can I help you?"
GOODBYE = "I am sorry, I cannot help you with that. Thank you for calling, goodbye."


class UnknownFaultError(BotError, ValueError):
    """There is no fault of that name."""


@dataclass(frozen=True)
class FaultPlan:
    """How to make the stock agent fail in a scenario.

    Attributes:
        fault: its name.
        dialogue: what the agent's model plays, and the caller.
        note: in words, what is wrong, e.g. `assign_seat: seat_preference 'window' -> 'aisle'`.
        hang_at_turn: the agent's turn (from 0) from which on its model does not answer.
        bot_fault: the stock bot's `--fault`.
    """

    fault: str
    dialogue: Dialogue
    note: str
    hang_at_turn: int | None = None
    bot_fault: str | None = None


@dataclass(frozen=True)
class NotApplicable:
    """Why a fault makes no difference in a scenario: a sentence for the skip."""

    reason: str


def plan_fault(
    scenario: Scenario, fault: str, dialogue: Dialogue | None = None
) -> FaultPlan | NotApplicable:
    """Work out how a fault shows in a scenario; the same scenario always gets the same plan.

    A fault of what the agent writes is tried out with the scenario's tools: the wrong call
    succeeds, and a signal that decides the scenario sees the difference.

    Args:
        scenario: the scenario.
        fault: one of `FAULTS`.
        dialogue: what a faultless agent plays; by default the scenario's reference dialogue.

    Raises:
        UnknownFaultError: there is no such fault.
        ReplayError: the scenario's own state or tools are broken.
    """
    planner = _PLANNERS.get(fault)
    if planner is None:
        close = difflib.get_close_matches(str(fault), FAULTS, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        msg = f"there is no agent fault {fault!r}{hint} Faults: {', '.join(FAULTS)}"
        raise UnknownFaultError(msg)
    dialogue = dialogue or scenario.reference_dialogue
    if not dialogue:
        return NotApplicable(f"{scenario.name} has no reference dialogue to play wrongly")
    plan = planner(scenario, dialogue)
    return replace(plan, fault=fault) if isinstance(plan, FaultPlan) else plan


def _wrong_field(scenario: Scenario, dialogue: Dialogue) -> FaultPlan | NotApplicable:
    from pytest_voiceeval.bots import fault_writes

    return _written(scenario, dialogue, fault_writes.wrong_field)


def _missing_call(scenario: Scenario, dialogue: Dialogue) -> FaultPlan | NotApplicable:
    from pytest_voiceeval.bots import fault_writes

    return _written(scenario, dialogue, fault_writes.missing_call)


def _extra_write(scenario: Scenario, dialogue: Dialogue) -> FaultPlan | NotApplicable:
    from pytest_voiceeval.bots import fault_writes

    return _written(scenario, dialogue, fault_writes.extra_write)


def _never_exits(scenario: Scenario, dialogue: Dialogue) -> FaultPlan | NotApplicable:
    from pytest_voiceeval.scenario.dialogue import ENDING_CALLS
    from pytest_voiceeval.scoring.signals import SuccessSignal

    last = dialogue[-1]
    ending = [call.name for call in last.calls if call.name in ENDING_CALLS]
    if not ending:
        return NotApplicable(f"the agent of {scenario.name} never ends the call anyway")
    if SuccessSignal.CLEAN_EXIT not in (scenario.success_signals or ()):
        return NotApplicable(f"{scenario.name} does not ask for a clean exit")
    calls = tuple(call for call in last.calls if call.name not in ENDING_CALLS)
    words_only = replace(last, text=last.text or GOODBYE, calls=calls)
    return FaultPlan("", (*dialogue[:-1], words_only), f"{ending[-1]} is not called")


def _hangs(_scenario: Scenario, dialogue: Dialogue) -> FaultPlan:
    turn = sum(turn.role == "agent" for turn in dialogue) // 2
    return FaultPlan("", dialogue, f"no answer from agent turn {turn + 1} on", hang_at_turn=turn)


def _crashes(_scenario: Scenario, dialogue: Dialogue) -> FaultPlan:
    # the model waits for the crash, so that a short call cannot be over before it
    note = "the bot's process ends in mid-call"
    return FaultPlan("", dialogue, note, hang_at_turn=REPLIES_BEFORE_CRASH, bot_fault="crashes")


def _garbage(_scenario: Scenario, dialogue: Dialogue) -> FaultPlan:
    return FaultPlan("", dialogue, "the bot sends bytes that are no frames", bot_fault="garbage")


def _do_nothing(scenario: Scenario, dialogue: Dialogue) -> FaultPlan:
    from pytest_voiceeval.bots.fault_writes import passes_without_writes
    from pytest_voiceeval.scenario.dialogue import DialogueTurn, ToolCall

    hello = dialogue[0].text or GREETING
    end = ToolCall("end_conversation", {})
    if passes_without_writes(scenario):
        # Only that it was too short can tell this call from a good one, so it is very short.
        at_once = DialogueTurn("agent", f"{hello} {GOODBYE}", (end,))
        return FaultPlan("", (at_once,), "says goodbye instead of listening")
    wish = dialogue[1] if len(dialogue) > 1 else DialogueTurn("user", "Hello.")
    turns = (DialogueTurn("agent", hello), wish, DialogueTurn("agent", GOODBYE, (end,)))
    return FaultPlan("", turns, "says hello and goodbye, no more")


def _written(
    scenario: Scenario,
    dialogue: Dialogue,
    search: Callable[..., tuple[Dialogue, str] | str],
) -> FaultPlan | NotApplicable:
    """Make a plan of what a search found: a dialogue with a note, or the reason for none."""
    found = search(scenario, dialogue)
    if isinstance(found, str):
        return NotApplicable(f"{scenario.name}: {found}")
    return FaultPlan("", found[0], found[1])


_PLANNERS: Mapping[str, Callable[[Scenario, Dialogue], FaultPlan | NotApplicable]] = {
    "wrong-field": _wrong_field,
    "missing-call": _missing_call,
    "extra-write": _extra_write,
    "never-exits": _never_exits,
    "hangs": _hangs,
    "crashes": _crashes,
    "do-nothing": _do_nothing,
    "garbage": _garbage,
}
