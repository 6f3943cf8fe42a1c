"""What a language model said about a call, and whether a call can be judged at all."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.call.result import AGENT_FAULTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_voiceeval.call.result import Conversation


@dataclass(frozen=True, repr=False)
class Judgement:
    """What the judge said.

    Attributes:
        score: From 0 to 1; None if it said nothing that can be used.
        reason: Its words, or why there are none.
        threshold: The score that was asked for.
        assertions: One entry a statement: `index`, `assertion`, `passed`, `reason`.
        error: Why the judge was of no use, as `code` and `message`; None if it was.
        broken: Why the call was not shown to it: it counts as not passed.
        settings: Which judge it was and how it was asked.
        record: Everything, as it is filed in `judge_result.json`.
        notes: What is odd about its answer and changes nothing.
    """

    score: float | None
    reason: str
    threshold: float
    assertions: tuple[Mapping[str, Any], ...] = ()
    error: Mapping[str, str] | None = None
    broken: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    record: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def reached(self) -> bool | None:
        """Whether the score reaches the threshold, None without a verdict."""
        if self.error is not None:
            return None
        return self.score is not None and self.score >= self.threshold

    @property
    def holds(self) -> bool | None:
        """Whether every statement is true, None without a verdict or without statements."""
        if self.error is not None or not self.assertions:
            return None
        return all(verdict["passed"] is True for verdict in self.assertions)

    @property
    def passed(self) -> bool | None:
        """Both together, None without a verdict."""
        return self.reached if self.holds is None else bool(self.reached and self.holds)

    @property
    def untrue(self) -> tuple[Mapping[str, Any], ...]:
        """The statements that are not true."""
        return tuple(verdict for verdict in self.assertions if verdict["passed"] is not True)

    def __repr__(self) -> str:
        """What a failed assertion of pytest shows: verdict, reason, and what is not true."""
        if self.error is not None:
            return f"<Judgement: none, {self.error['message']}>"
        parts = [f"score {self.score} of {self.threshold:g}: {self.reason}"]
        parts += [f"not true: {each['assertion']} ({each['reason']})" for each in self.untrue]
        return f"<Judgement: {'; '.join(parts)}>"


def why_broken(conversation: Conversation) -> str:
    """Why a call cannot be judged by what was said in it, empty if it can.

    A judge that is shown one side only may well find nothing wrong with it.
    """
    heard = {utterance.role for utterance in conversation.transcript if utterance.text.strip()}
    if not heard:
        return "nobody said a word"
    if "agent" not in heard:
        return "the agent never said a word"
    if "user" not in heard:
        return "the caller never said a word"
    if conversation.end_reason in AGENT_FAULTS:
        return f"the agent dropped out of it ({conversation.end_reason})"
    return ""
