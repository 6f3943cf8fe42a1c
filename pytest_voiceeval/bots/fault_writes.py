"""Dialogues in which the agent writes the wrong thing, leaves a write out, or writes too much.

Each is tried out with the scenario's own tools before it is used, so that a fault that is planned
is one that the scenario's signals must notice.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.bots.fault_values import plausible_arguments, wrong_values
from pytest_voiceeval.scenario.dialogue import ENDING_CALLS, Dialogue, DialogueTurn, ToolCall
from pytest_voiceeval.scenario.replay import Replay, agent_tools, initial_state, replay
from pytest_voiceeval.scenario.verdicts import ReplayVerdict
from pytest_voiceeval.scoring.db_diff import list_changes
from pytest_voiceeval.tools.base import WriteScenarioTool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_voiceeval.scenario.model import Scenario

Found = tuple[Dialogue, str] | str
"""A dialogue with a note on what is wrong in it, or the reason why there is none."""


MAX_TRIES = 100
"""Each replays a conversation, which takes a third of a second on a database of 3 MB."""


@dataclass(frozen=True)
class Place:
    """Where a call stands: the number of its turn, and its number in that turn."""

    turn: int
    call: int


@dataclass(frozen=True)
class Edit:
    """A dialogue to try.

    Attributes:
        dialogue: the changed dialogue.
        note: what was changed.
        changed: position of the call that must succeed, counted over the whole dialogue.
        dropped: position of the call that is left out.
    """

    dialogue: Dialogue
    note: str
    changed: int | None = None
    dropped: int | None = None


def wrong_field(scenario: Scenario, dialogue: Dialogue) -> Found:
    """Change one argument of one write, so that the call still succeeds and the end differs."""
    bench = Bench(scenario, dialogue)
    return bench.first(bench.changed_writes(), "no write has an argument that could be wrong")


def missing_call(scenario: Scenario, dialogue: Dialogue) -> Found:
    """Leave out one write without which the end differs."""
    bench = Bench(scenario, dialogue)
    return bench.first(bench.dropped_writes(), "the agent writes nothing that could be left out")


def extra_write(scenario: Scenario, dialogue: Dialogue) -> Found:
    """Add one write: a forbidden call of the scenario, else one of its own, varied or invented."""
    bench = Bench(scenario, dialogue)
    return bench.first(bench.added_writes(), "there is no write that could be added")


def passes_without_writes(scenario: Scenario) -> bool:
    """Whether no signal sees it if the agent writes nothing at all."""
    bench = Bench(scenario, ())
    return bench.passes(bench.reference) is not False


class Bench:
    """A scenario's tools and signals, to try dialogues on."""

    def __init__(self, scenario: Scenario, dialogue: Dialogue) -> None:
        self.scenario = scenario
        self.dialogue = dialogue
        self.reference = replay(scenario, calls_of(dialogue), watched=False)
        state = initial_state(scenario)
        self.database = state.get("db")
        self.tools = agent_tools(scenario, state)
        self.passes = ReplayVerdict(scenario).of

    def first(self, edits: Iterator[Edit], otherwise: str) -> Found:
        """Take the first edit that a signal sees, best one that leaves the other calls alone."""
        verdict = self.passes(self.reference)
        if verdict is None:
            return "none of its signals looks at what the tools wrote"
        if not verdict:
            return "its reference dialogue does not pass to begin with"
        disturbing: Edit | None = None
        for edit in islice(edits, MAX_TRIES):
            outcome = replay(self.scenario, calls_of(edit.dialogue), watched=False)
            if not self._is_seen(edit, outcome):
                continue
            if self._leaves_others_alone(edit, outcome):
                return edit.dialogue, edit.note
            disturbing = disturbing or edit
        return (disturbing.dialogue, disturbing.note) if disturbing else otherwise

    def _is_seen(self, edit: Edit, outcome: Replay) -> bool:
        if edit.changed is not None and outcome.steps[edit.changed].refused:
            return False
        return not self.passes(outcome)

    def _leaves_others_alone(self, edit: Edit, outcome: Replay) -> bool:
        """Whether the calls that were not touched are answered, or refused, as before."""
        before = [step.refused for step in self.reference.steps]
        after = [step.refused for step in outcome.steps]
        if edit.dropped is not None:
            del before[edit.dropped]
        elif len(after) > len(before) and edit.changed is not None:
            del after[edit.changed]
        return before == after

    def writes(self) -> Iterator[tuple[int, Place, ToolCall]]:
        """Give the reference's writes that succeed: position, place, call."""
        for position, (place, call) in enumerate(places_of(self.dialogue)):
            is_write = isinstance(self.tools.get(call.name), WriteScenarioTool)
            succeeds = not self.reference.steps[position].refused
            if is_write and succeeds and call.name not in ENDING_CALLS:
                yield position, place, call

    def changed_writes(self) -> Iterator[Edit]:
        """Give the reference with one argument of one write changed."""
        for position, place, call in self.writes():
            for wrong, note in self._variants(call):
                dialogue = with_call(self.dialogue, place, wrong)
                yield Edit(dialogue, f"{call.name}: {note}", changed=position)

    def dropped_writes(self) -> Iterator[Edit]:
        """Give the reference without one of its writes."""
        for position, place, call in self.writes():
            note = f"{call.name} is not called: {_shown(dict(call.arguments))}"
            yield Edit(without_call(self.dialogue, place), note, dropped=position)

    def added_writes(self) -> Iterator[Edit]:
        """Give the reference with one more call after all its others."""
        own = [call for _, _, call in self.writes()]
        varied = (wrong for call in own for wrong, _ in self._variants(call))
        for call in chain(self.scenario.forbidden_calls, varied, own, self._invented()):
            dialogue, position = with_extra_call(self.dialogue, call)
            note = f"{call.name} is called as well: {_shown(dict(call.arguments))}"
            yield Edit(dialogue, note, changed=position)

    def _invented(self) -> Iterator[ToolCall]:
        """Give calls of the agent's write tools, with values from the conversation."""
        known = {k: v for call in calls_of(self.dialogue) for k, v in call.arguments.items()}
        for name, tool in self.tools.items():
            if not isinstance(tool, WriteScenarioTool) or name in ENDING_CALLS:
                continue
            schema = tool.schema
            arguments = plausible_arguments(
                schema.properties, schema.required, known, self.database
            )
            if arguments is not None:
                yield ToolCall(name, arguments)

    def _variants(self, call: ToolCall) -> Iterator[tuple[ToolCall, str]]:
        """Give a call with one argument changed, and a note on it."""
        properties = self.tools[call.name].schema.properties
        for name, value in call.arguments.items():
            schema = properties.get(name) or {}
            for wrong in wrong_values(value, schema, self.database):
                changed = replace(call, arguments={**call.arguments, name: wrong})
                yield changed, _difference(name, value, wrong)


def calls_of(dialogue: Dialogue) -> list[ToolCall]:
    """List all calls of a dialogue in order."""
    return [call for turn in dialogue for call in turn.calls]


def places_of(dialogue: Dialogue) -> list[tuple[Place, ToolCall]]:
    """List all calls of a dialogue in order, with their places."""
    return [
        (Place(number, index), call)
        for number, turn in enumerate(dialogue)
        for index, call in enumerate(turn.calls)
    ]


def with_call(dialogue: Dialogue, place: Place, call: ToolCall) -> Dialogue:
    """Put another call in a call's place."""
    return _edited(dialogue, place, (call,), skip=1)


def without_call(dialogue: Dialogue, place: Place) -> Dialogue:
    """Leave a call out; a turn that would be empty says something instead."""
    return _edited(dialogue, place, (), skip=1)


def with_extra_call(dialogue: Dialogue, call: ToolCall) -> tuple[Dialogue, int]:
    """Add a call before the one that ends the dialogue; gives its position, too."""
    turn = max(0, len(dialogue) - 3)  # the agent's last turn but one: it still has time to speak
    ends = dialogue[turn].calls and dialogue[turn].calls[-1].name in ENDING_CALLS
    place = Place(turn, len(dialogue[turn].calls) - bool(ends))
    position = len(calls_of(dialogue[:turn])) + place.call
    return _edited(dialogue, place, (call,), skip=0), position


def _edited(dialogue: Dialogue, place: Place, new: tuple[ToolCall, ...], skip: int) -> Dialogue:
    turn: DialogueTurn = dialogue[place.turn]
    calls = (*turn.calls[: place.call], *new, *turn.calls[place.call + skip :])
    text = turn.text if turn.text or calls else "One moment, please."
    edited = replace(turn, calls=calls, text=text)
    return (*dialogue[: place.turn], edited, *dialogue[place.turn + 1 :])


def _difference(name: str, value: Any, wrong: Any) -> str:
    """Say what is wrong about an argument; inside a list or an object, only the place at fault."""
    changes = list_changes({name: value}, {name: wrong})
    if len(changes) == 1 and changes[0].kind == "changed":
        [change] = changes
        return f"{change.where} {_shown(change.expected)} -> {_shown(change.actual)}"
    return f"{name} {_shown(value)} -> {_shown(wrong)}"


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
