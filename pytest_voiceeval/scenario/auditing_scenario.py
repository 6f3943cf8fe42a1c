"""The checks of a domain without authoring files: its scenarios are made and looked at."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.scenario.auditing_dialogue import unspoken_complaints
from pytest_voiceeval.scenario.auditing_entry import Entry, is_write
from pytest_voiceeval.scenario.auditing_gold import forbidden_complaints, shown
from pytest_voiceeval.scenario.auditing_tools import call_complaints, kind_complaints
from pytest_voiceeval.scenario.authoring_hooks import load_hooks
from pytest_voiceeval.scenario.authoring_play import Played, is_refused
from pytest_voiceeval.scenario.dialogue import ToolCall
from pytest_voiceeval.scenario.records import RecordScenario
from pytest_voiceeval.scenario.registry import (
    UnknownScenario,
    get_eval_scenario,
    scenarios_of,
)
from pytest_voiceeval.scenario.replay import Replay, initial_state, replay
from pytest_voiceeval.scenario.shortfalls import shortfalls
from pytest_voiceeval.scenario.verdicts import REPLAYED, ReplayVerdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pytest_voiceeval.packs import Pack
    from pytest_voiceeval.scenario.dialogue import DialogueTurn
    from pytest_voiceeval.scenario.model import Scenario

Json = dict[str, Any]

_PLACEHOLDER = re.compile(r"\$?\{\{?\s*[A-Za-z_][\w.]*\s*\}?\}")

FEWEST_TURNS = 3
"""Agent turns below which a call counts as stalled, unless `--min-agent-turns` says otherwise."""


@dataclass(frozen=True)
class PlayedScenario(Played):
    """Where calls lead in a scenario: as elsewhere, and the verdict of its signals."""

    passes: bool = False


@dataclass(frozen=True)
class ScenarioEntry(Entry):
    """A scenario that is not built from an authoring file, as the checks see it.

    Its signals decide, and those that could be replayed where only a judge decides. A scenario
    whose dialogue changes nothing counts as a refusal.
    """

    scenario: Scenario = field(kw_only=True)

    @classmethod
    def named(cls, name: str) -> ScenarioEntry:
        """Look at a registered scenario.

        Raises:
            DataError: its data cannot be used.
            ReplayError: its initial state cannot be set up.
        """
        scenario = get_eval_scenario(name)
        if scenario is None:
            raise UnknownScenario(name)
        record = {
            "id": scenario.short_name,
            "reference_dialogue": [_turn(turn) for turn in scenario.reference_dialogue or ()],
            "forbidden_calls": [_call(call) for call in scenario.forbidden_calls],
        }
        database = initial_state(scenario).get("db") or {}
        return cls(
            scenario.domain, load_hooks(scenario.domain), record, database, scenario=scenario
        )

    @cached_property
    def writes(self) -> list[int]:
        """Positions of the calls whose tools write and do not refuse."""
        pairs = enumerate(zip(self.calls, self.gold.answers, strict=True))
        return [
            n
            for n, (call, answer) in pairs
            if is_write(self.domain, call["name"]) and not is_refused(answer)
        ]

    @cached_property
    def needed(self) -> list[Json]:
        """All calls: one that only reads may still matter to what is recorded."""
        return self.calls

    @cached_property
    def can_be_replayed(self) -> bool:
        """Whether a replay tells anything: what the tools did is compared with something."""
        return self._verdict.of(replay(self.scenario, ())) is not None

    @cached_property
    def _verdict(self) -> ReplayVerdict:
        own = ReplayVerdict(self.scenario)
        decides = own.of(replay(self.scenario, ())) is not None
        return own if decides else ReplayVerdict(self.scenario, REPLAYED)

    def play(self, calls: Iterable[Mapping[str, Any]]) -> PlayedScenario:
        """Make calls with the scenario's tools on its initial state."""
        outcome = replay(
            self.scenario, [ToolCall(call["name"], call["arguments"]) for call in calls]
        )
        answers = tuple(dict(step.result) for step in outcome.steps)
        return PlayedScenario(
            outcome.db or {}, outcome.actions, answers, bool(self._verdict.of(outcome))
        )

    @cached_property
    def end(self) -> Replay:
        """Where the whole dialogue leads, hanging up included."""
        turns = self.scenario.reference_dialogue or ()
        return replay(self.scenario, [call for turn in turns for call in turn.calls])

    @property
    def shortfalls(self) -> list[str]:
        """What that lacks."""
        return list(shortfalls(self._verdict, self.end))

    def passes(self, played: Played) -> bool:
        """What the signals say of an end."""
        return isinstance(played, PlayedScenario) and played.passes


def is_written_here(pack: Pack) -> bool:
    """Whether a pack's scenarios are the user's own, or records, not a benchmark's."""
    if pack.source == "user":
        return True
    try:
        first = next(iter(scenarios_of(pack.domain)), "")
        return isinstance(get_eval_scenario(first), RecordScenario)
    except Exception:  # noqa: BLE001 - a pack is somebody's code; asked for by name, it is an error
        return False


def scenario_complaints(entry: ScenarioEntry) -> Iterator[str]:
    """Yield what is wrong with one scenario, but for what its mutations tell."""
    yield from _unfilled(entry.scenario)
    if not entry.has_dialogue:
        return
    broken = [
        *call_complaints(entry.scenario, entry.end),
        *kind_complaints(entry.scenario, entry.end),
    ]
    yield from broken
    if not entry.can_be_replayed:
        return
    if not entry.passes(entry.gold):
        refused = [] if broken else list(_refused(entry))
        why = "" if refused or broken else ": " + "; ".join(entry.shortfalls)
        yield f"the dialogue's calls do not lead to the expected end{why}"
        yield from refused
    elif entry.outcome([]) and entry.writes:
        yield "an agent that does nothing passes, though the dialogue changes something"
    if entry.record["forbidden_calls"]:
        yield from forbidden_complaints(entry)
    yield from _spoken(entry)


def _unfilled(scenario: Scenario) -> Iterator[str]:
    """Yield the placeholders that a model would read as they stand."""
    for side in ("agent", "user"):
        try:
            prompt = getattr(scenario, f"get_{side}_prompt")()
        except NotImplementedError:  # only the other's half is written
            continue
        for found in dict.fromkeys(_PLACEHOLDER.findall(prompt)):
            yield f"the {side}'s prompt holds {found!r}, which nothing fills in"


def _refused(entry: ScenarioEntry) -> Iterator[str]:
    for call, answer in zip(entry.calls, entry.gold.answers, strict=True):
        if is_refused(answer):
            yield f"{shown(call)} is refused: {answer.get('message')}"


def _spoken(entry: ScenarioEntry) -> Iterator[str]:
    turns = entry.record["reference_dialogue"]
    agent_turns = sum(turn["role"] == "agent" for turn in turns)
    if agent_turns < FEWEST_TURNS:
        yield f"the agent has {agent_turns} turns; fewer than {FEWEST_TURNS} count as stalled"
    for turn in turns:
        yield from unspoken_complaints(turn["text"])


def _turn(turn: DialogueTurn) -> Json:
    return {"role": turn.role, "text": turn.text, "calls": [_call(call) for call in turn.calls]}


def _call(call: ToolCall) -> Json:
    # written and read once, so that no two replays share a list or an object
    copied: Json = json.loads(json.dumps({"name": call.name, "arguments": dict(call.arguments)}))
    return copied
