"""Token counts of one side's model. What an endpoint does not report is unknown, never 0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_voiceeval.call.result import Tokens


@dataclass(frozen=True)
class Usage:
    """Token counts of one answer."""

    prompt: int
    completion: int


def parse_usage(data: Any) -> Usage | None:
    """Read a ``usage`` object; None if it is absent or holds no counts.

    An answer with only one of the two counts, a negative one or an empty prompt tells nothing
    reliable: some endpoints fill in zeros.
    """
    if not isinstance(data, Mapping):
        return None
    counts = (data.get("prompt_tokens"), data.get("completion_tokens"))
    match counts:
        case (int(prompt), int(completion)) if prompt > 0 and completion >= 0:
            return Usage(prompt, completion)
    return None


class UsageMeter:
    """Adds up one call's answers.

    Attributes:
        answers: Answers, and requests cut off after the model had begun to work.
        unknown: Those among them that reported no counts.
    """

    def __init__(self) -> None:
        self.answers = 0
        self.unknown = 0
        self._prompt = 0
        self._completion = 0

    def add(self, usage: Usage | None) -> None:
        """Count one answer."""
        self.answers += 1
        if usage is None:
            self.unknown += 1
            return
        self._prompt += usage.prompt
        self._completion += usage.completion

    @property
    def tokens(self) -> Tokens | None:
        """The sum, None if any part of it is unknown or nothing was asked."""
        if self.unknown or not self.answers:
            return None
        return Tokens(self.answers, self._prompt, self._completion)

    @property
    def note(self) -> str | None:
        """Why the sum is unknown although something was asked."""
        if not self.unknown:
            return None
        known = self.answers - self.unknown
        rest = (
            f"; the other {known} add up to {self._prompt} + {self._completion} tokens"
            if known
            else ""
        )
        return (
            f"the caller's tokens and cost are unknown: {self.unknown} of {self.answers} answers "
            f"of its model came without token counts{rest}"
        )
