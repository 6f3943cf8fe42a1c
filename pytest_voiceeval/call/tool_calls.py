"""One list of tool calls from three sources: the context, the events, the recorded actions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_voiceeval.call.context import ContextCall, tool_calls_of
from pytest_voiceeval.call.ledger import AppliedAction, Ledger, as_context_calls
from pytest_voiceeval.call.result import Record, Side, ToolCallSeen


def merge_tool_calls(
    side: Side, context: Sequence[Record] | None, ledger: Ledger
) -> tuple[ToolCallSeen, ...]:
    """Return the side's calls by turn.

    The context knows every argument, the events know the turn, and each recorded action is
    attached to the call that was running when it was pushed, else to the likeliest of its turn;
    so is a result that was handed in. An action no call can be found for stands for itself.
    """
    calls = _known_calls(context, ledger)
    seen = [_seen(side, call) for call in calls]
    homes = {call.id: position for position, call in enumerate(calls)}
    orphans = []
    for applied in ledger.applied:
        position = _home_of(applied, homes, seen)
        if position is None:
            orphans.append(_orphan(side, applied))
        else:
            action = applied.action
            seen[position] = replace(
                seen[position], record=action.record, writes=action.writes, fields=action.fields
            )
    for handed_in in ledger.handed_in:
        position = _giver_of(handed_in, homes, seen)
        if position is not None and seen[position].record is None:
            seen[position] = replace(seen[position], record=handed_in.action.record)
    return tuple(sorted([*seen, *orphans], key=lambda call: call.turn))


def _known_calls(context: Sequence[Record] | None, ledger: Ledger) -> list[ContextCall]:
    """Calls of the context with the turns the events saw, then those only the events showed."""
    found = {call.id: call for call in tool_calls_of(context or ())}
    for identity, call in found.items():
        if identity in ledger.calls:
            found[identity] = replace(call, turn=ledger.calls[identity].turn)
    for call in as_context_calls(ledger):
        found.setdefault(call.id, call)
    return list(found.values())


def _seen(side: Side, call: ContextCall) -> ToolCallSeen:
    return ToolCallSeen(
        turn=call.turn,
        name=call.name,
        arguments=call.arguments,
        result=call.result,
        side=side,
        finished=call.finished,
        malformed=call.malformed,
    )


def _home_of(
    applied: AppliedAction, homes: Mapping[str, int], seen: Sequence[ToolCallSeen]
) -> int | None:
    running = [homes[i] for i in applied.during if i in homes and seen[homes[i]].record is None]
    if len(running) == 1:
        return running[0]
    turn = (i for i, c in enumerate(seen) if c.turn == applied.turn and c.record is None)
    return _likeliest(applied.action.record, running or turn, seen)


def _giver_of(
    handed_in: AppliedAction, homes: Mapping[str, int], seen: Sequence[ToolCallSeen]
) -> int | None:
    """The call that was running when a result was handed in, else the likeliest of its turn.

    Bots may tell that a call runs only after it has handed something in.
    """
    running = [homes[identity] for identity in handed_in.during if identity in homes]
    places = running or [i for i, call in enumerate(seen) if call.turn == handed_in.turn]
    if len(places) == 1:
        return places[0]
    # a call that recorded an action is considered as well: it may have handed the result in, too
    places.sort(key=lambda place: seen[place].record is not None)
    return _likeliest(handed_in.action.record, places, seen)


def _likeliest(
    record: Record, positions: Iterable[int], seen: Sequence[ToolCallSeen]
) -> int | None:
    """The call whose name the record bears, or most of whose arguments it repeats."""
    values = _values(record)
    best, best_score = None, 0
    for position in positions:
        call = seen[position]
        shared = sum(repr(value) in values for value in (call.arguments or {}).values())
        score = shared + 100 * (record.get("name") == call.name)
        if score > best_score:
            best, best_score = position, score
    return best


def _values(record: Any) -> set[str]:
    nested = record.values() if isinstance(record, Mapping) else record
    values: set[str] = set()
    for value in nested:
        values |= _values(value) if isinstance(value, Mapping | list) else {repr(value)}
    return values


def _orphan(side: Side, applied: AppliedAction) -> ToolCallSeen:
    record = applied.action.record
    arguments = record.get("arguments")
    return ToolCallSeen(
        turn=applied.turn,
        name=str(record.get("name") or record.get("action_type") or ""),
        arguments=arguments if isinstance(arguments, Mapping) else record,
        record=record,
        writes=applied.action.writes,
        fields=applied.action.fields,
        side=side,
    )
