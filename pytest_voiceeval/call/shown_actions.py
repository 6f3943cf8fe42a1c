"""What an agent did, told from its events alone: it keeps no record that could be asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.call.context import read_result
from pytest_voiceeval.call.ledger import AppliedAction
from pytest_voiceeval.call.messages import Applied

if TYPE_CHECKING:
    from pytest_voiceeval.call.ledger import Ledger, WireCall
    from pytest_voiceeval.call.result import Record


@dataclass(frozen=True)
class Shown:
    """The actions of an agent.

    Attributes:
        records: None if the agent made calls whose names it keeps to itself.
        note: Why, and the way out.
    """

    records: tuple[Record, ...] | None
    note: str = ""


def actions_shown(ledger: Ledger) -> Shown:
    """Return the actions the agent pushed, else its function calls.

    A call counts if it ended and was not refused, as ``{"name", "arguments"}``; it is noted in the
    ledger as the record of that call. An agent that handed in a final response means that instead.
    """
    if ledger.applied:
        return Shown(tuple(applied.action.record for applied in ledger.applied))
    calls = list(ledger.calls.values())
    unnamed = sum(call.name is None for call in calls)
    ledger.applied += [_applied(call) for call in calls if _counts(call)]
    if unnamed:
        return Shown(
            None,
            f"the agent shows that it called functions ({unnamed}), but not which: give its "
            'worker RTVIObserverParams(function_call_report_level={"*": '
            "RTVIFunctionCallReportLevel.FULL})",
        )
    records = [applied.action.record for applied in ledger.applied]
    return Shown(() if ledger.final_responses else tuple(records))


def _applied(call: WireCall) -> AppliedAction:
    record = {"name": call.name, "arguments": dict(call.arguments or {})}
    return AppliedAction(call.turn, Applied(record, writes=()), during=(call.id,))


def _counts(call: WireCall) -> bool:
    return call.name is not None and call.stopped and not _refused(read_result(call.result))


def _refused(result: Any) -> bool:
    """Whether the function answered with an error: a `status` that says so, or an `error`."""
    if not isinstance(result, Mapping):
        return False
    return result.get("status") == "error" or bool(result.get("error"))
