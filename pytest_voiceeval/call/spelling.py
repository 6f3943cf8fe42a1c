"""Identifiers that the agent spoke as they are written: shown with a call, never its verdict."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.scenario.replay import ReplayError, initial_state
from pytest_voiceeval.scoring.identifiers import Identifiers, collect, spoken_as_written

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_voiceeval.call.result import Conversation
    from pytest_voiceeval.scenario.model import Scenario


@dataclass(frozen=True, slots=True)
class SpokenAsWritten:
    """One place where the agent did not spell an identifier, or said an internal one.

    Attributes:
        turn: Number of the exchange, as in the transcript.
        identifier: The identifier, as the database has it.
        text: The words around it.
    """

    turn: int
    identifier: str
    text: str


def misspoken(scenario: Scenario, conversation: Conversation) -> tuple[SpokenAsWritten, ...] | None:
    """Go through the agent's words; None where the scenario has no identifiers."""
    known = identifiers_of(scenario, conversation)
    if not known:
        return None
    return tuple(
        SpokenAsWritten(utterance.turn, found.identifier, found.text)
        for utterance in conversation.transcript
        if utterance.role == "agent"
        for found in spoken_as_written(utterance.text, known)
    )


def identifiers_of(scenario: Scenario, conversation: Conversation) -> Identifiers:
    """The identifiers of a call: of its databases, and of the agent's tool calls.

    What a caller gave wrongly, and what a tool made up, is in the calls only.
    """
    spelled, unspoken = scenario.spelled_fields, scenario.unspoken_fields
    if not spelled and not unspoken:
        return Identifiers(frozenset())
    values = list(_values(scenario, conversation))
    return Identifiers(
        frozenset(collect(values, frozenset(spelled))),
        frozenset(collect(values, frozenset(unspoken))),
    )


def _values(scenario: Scenario, conversation: Conversation) -> Iterator[Any]:
    # nothing but a figure is at stake; the set-up has named what is wrong with the scenario
    with suppress(ReplayError, ValueError, OSError):
        yield initial_state(scenario).get("db")
    yield scenario.expected_scenario_db
    yield conversation.agent.db
    for call in conversation.tool_calls:
        if call.side == "agent":
            yield from (dict(call.arguments or {}), call.result, call.record)
