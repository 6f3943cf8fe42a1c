"""What a scenario's signals say about a replay: those that need neither a call nor a judge."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from pytest_voiceeval.scoring.assertions import evaluate_db_state_assertion
from pytest_voiceeval.scoring.db_hash import get_dict_hash
from pytest_voiceeval.scoring.delivery import delivered
from pytest_voiceeval.scoring.matching import match_payloads
from pytest_voiceeval.scoring.signals import SuccessSignal

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from pytest_voiceeval.scenario.model import Scenario
    from pytest_voiceeval.scenario.replay import Replay

REPLAYED = (
    SuccessSignal.DB_STATE_MATCH,
    SuccessSignal.ACTION_MATCH,
    SuccessSignal.DB_STATE_ASSERTION,
)
"""The signals that look at nothing but what the tools did."""


class ReplayVerdict:
    """Judges replays of one scenario.

    Args:
        scenario: the scenario.
        signals: those of `REPLAYED` that decide; by default the scenario's own.
    """

    def __init__(self, scenario: Scenario, signals: Container[str] | None = None) -> None:
        self.scenario = scenario
        self.signals = scenario.success_signals or () if signals is None else signals

    def of(self, outcome: Replay) -> bool | None:
        """Whether every signal that applies holds; None if none applies."""
        verdicts = list(self._verdicts(outcome))
        return all(verdicts) if verdicts else None

    def _verdicts(self, outcome: Replay) -> Iterator[bool]:
        if SuccessSignal.DB_STATE_MATCH in self.signals and self._expected_hash is not None:
            yield outcome.db is not None and get_dict_hash(outcome.db) == self._expected_hash
        if SuccessSignal.ACTION_MATCH in self.signals and self.scenario.reference_answer:
            yield self._matches(outcome)
        if SuccessSignal.DB_STATE_ASSERTION in self.signals:
            for assertion in self.scenario.db_state_assertions or ():
                if assertion.get("side") == "agent":
                    verdict = evaluate_db_state_assertion(
                        self.scenario.domain, assertion, outcome.db, None
                    )
                    yield bool(verdict["passed"])

    @cached_property
    def _expected_hash(self) -> str | None:
        expected = self.scenario.expected_scenario_db
        return None if expected is None else get_dict_hash(expected)

    def _matches(self, outcome: Replay) -> bool:
        scenario, reference = self.scenario, self.scenario.reference_answer
        found = delivered(outcome.actions, outcome.handed_in)
        return bool(found) and match_payloads(
            {"message": reference} if isinstance(reference, str) else reference,
            found,
            ignore_capitalization=scenario.ignore_capitalization,
            ignore_punctuation=scenario.ignore_punctuation,
            clean_text=scenario.clean_text,
            disallow_extra_items=scenario.disallow_extra_items,
        )
