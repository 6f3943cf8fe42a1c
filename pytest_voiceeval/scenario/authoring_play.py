"""Calls played with a domain's tools on a database, without a scenario or a bot."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.tools.registry import get_schema_tool_for_eval

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pytest_voiceeval.tools.base import StandardSchemaTool

END = "end_conversation"

Json = dict[str, Any]


@dataclass(frozen=True)
class Played:
    """Where some calls lead.

    Attributes:
        db: the database afterwards.
        actions: the records that write tools left.
        answers: what each call was answered.
    """

    db: Json
    actions: list[Json]
    answers: tuple[Json, ...]


def play(domain: str, database: Mapping[str, Any], calls: Iterable[Mapping[str, Any]]) -> Played:
    """Make calls, each `{"name", "arguments"}`, on a copy of a database.

    Raises:
        UnknownToolError: the domain has no such tool.
    """
    return play_text(domain, json.dumps(database), calls)


def play_text(domain: str, database: str, calls: Iterable[Mapping[str, Any]]) -> Played:
    """Do the same with a database that is already written as JSON, which saves time."""
    state: Json = {"db": json.loads(database), "actions": []}
    tools: dict[str, StandardSchemaTool] = {}
    answers = tuple(_answer(domain, state, tools, call) for call in calls)
    return Played(state["db"], state["actions"], answers)


def _answer(
    domain: str, state: Json, tools: dict[str, StandardSchemaTool], call: Mapping[str, Any]
) -> Json:
    name = call["name"]
    if name not in tools:
        tools[name] = get_schema_tool_for_eval(name, domain=domain, shared_state=state)
    return tools[name].invoke(**call["arguments"])


def is_refused(answer: Mapping[str, Any]) -> bool:
    """Whether a tool answered with an error."""
    return answer.get("status") == "error" or "error" in answer


def calls_of(record: Mapping[str, Any]) -> list[Json]:
    """List the calls of a record's dialogue, without the one that only hangs up."""
    turns = record.get("reference_dialogue") or ()
    return [call for turn in turns for call in turn.get("calls", ()) if call["name"] != END]
