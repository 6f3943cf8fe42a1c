"""What a scenario's signals say about a replay: those that need neither a call nor a judge."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

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
        if SuccessSignal.DB_STATE_MATCH in self.signals:
            found = (outcome.db, outcome.user_db)
            for expected, database in zip(self._expected_hashes, found, strict=True):
                if expected is not None:
                    yield database is not None and get_dict_hash(database) == expected
        if SuccessSignal.ACTION_MATCH in self.signals and self.scenario.reference_answer:
            yield self._matches(outcome)
        if SuccessSignal.DB_STATE_ASSERTION in self.signals:
            for assertion in self.scenario.db_state_assertions or ():
                if assertion.get("side") == "agent" or outcome.user_db is not None:
                    verdict = evaluate_db_state_assertion(
                        self.scenario.domain, assertion, outcome.db, outcome.user_db
                    )
                    yield bool(verdict["passed"])

    @cached_property
    def _expected_hashes(self) -> tuple[str | None, str | None]:
        """Of the agent's database and of the caller's; None for one that is not compared."""
        agent, user = self.scenario.expected_scenario_db, self.scenario.expected_user_db
        return _hash_of(agent), _hash_of(user)

    @property
    def reference(self) -> Any:
        """The reference answer; a plain text stands for a message."""
        reference = self.scenario.reference_answer
        return {"message": reference} if isinstance(reference, str) else reference

    @property
    def flags(self) -> dict[str, bool]:
        """How the scenario wants its reference answer compared."""
        return {
            "ignore_capitalization": self.scenario.ignore_capitalization,
            "ignore_punctuation": self.scenario.ignore_punctuation,
            "clean_text": self.scenario.clean_text,
            "disallow_extra_items": self.scenario.disallow_extra_items,
        }

    def _matches(self, outcome: Replay) -> bool:
        found = delivered(outcome.actions, outcome.handed_in)
        return bool(found) and match_payloads(self.reference, found, **self.flags)


def _hash_of(expected: Any) -> str | None:
    return None if expected is None else get_dict_hash(expected)
