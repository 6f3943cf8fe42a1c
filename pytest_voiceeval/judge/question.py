"""One question to the judge: asked, asked once more if the answer cannot be used, and its result.

A result has the keys of the reference harness and says under `error` if it holds no verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pytest_voiceeval.judge.endpoint import ANSWERED
from pytest_voiceeval.judge.faults import JudgeFault, unreadable
from pytest_voiceeval.judge.fields import field_of
from pytest_voiceeval.judge.prompts import correction
from pytest_voiceeval.judge.reply import Reading, read_verdict, text_of
from pytest_voiceeval.judge.verdicts import KEY, Verdict, counts, failed_verdicts, read_verdicts

Json = dict[str, Any]
Complete = Callable[[list[Json], Callable[[float, str], None]], Any]
"""Sends messages and returns the completion; tells every attempt's seconds and outcome."""

_RESERVED: Final = frozenset(
    {
        *("score", "reason", "judge_input", "attempts", "usage", "cost", "error", "model", KEY),
        *("nl_assertion_pass_count", "nl_assertion_total", "nl_assertion_pass_rate"),
    }
)
"""Keys of a result that are ours to fill, whatever the judge wrote under them."""
_ECHO: Final = 4000
"""Most characters of an unusable answer that the judge is shown again."""


@dataclass
class Question:
    """What is asked, and what has come of it so far.

    Attributes:
        prompt: The system prompt.
        content: The evidence.
        assertions: Statements to decide about.
        attempts: Every request: its seconds, its outcome, and what came back.
    """

    prompt: str
    content: str
    assertions: Sequence[str] = ()
    attempts: list[Json] = field(default_factory=list)

    def put_to(self, complete: Complete) -> Json:
        """Ask, and return the result."""
        messages = [
            {"role": "system", "content": self.prompt},
            {"role": "user", "content": self.content},
        ]
        try:
            text, outcome = self._once(messages, complete)
            if isinstance(outcome, JudgeFault):
                asked_again = [*messages, *_again(text, outcome)]
                _, outcome = self._once(asked_again, complete, last=True)
        except JudgeFault as fault:
            outcome = fault
        if isinstance(outcome, JudgeFault):
            return self.unanswered(outcome.code, str(outcome))
        return outcome

    def _once(
        self, messages: list[Json], complete: Complete, *, last: bool = False
    ) -> tuple[str, Json | JudgeFault]:
        """Ask once: the reply's text and the result, or the fault that another try may cure.

        Raises:
            JudgeFault: One that it does not.
        """
        completion = complete(messages, self._note)
        self.attempts[-1]["usage"] = _usage_of(completion)
        text = ""
        try:
            text = self.attempts[-1]["reply"] = text_of(completion)
            return text, self._answered(read_verdict(text, self.content), last=last)
        except JudgeFault as fault:
            self.attempts[-1] |= {"outcome": fault.code, "problem": str(fault)}
            if not fault.again:
                raise
            return text, fault

    def _note(self, seconds: float, outcome: str) -> None:
        self.attempts.append({"seconds": round(seconds, 3), "outcome": outcome})

    # -- results

    def _answered(self, reading: Reading, *, last: bool) -> Json:
        """The result of a verdict.

        Raises:
            JudgeFault: Verdicts about statements are missing, and there is another try.
        """
        verdicts, problems = read_verdicts(field_of(reading.fields, KEY), self.assertions)
        if not self.assertions:
            problems = []
        fault = unreadable("incomplete", "; ".join(problems)) if problems else None
        if fault is not None and not last:
            raise fault
        if fault is not None:
            self.attempts[-1] |= {"outcome": fault.code, "problem": str(fault)}
        return self._result(reading.score, reading.reason, verdicts, fault, reading.fields)

    def unanswered(self, code: str, text: str) -> Json:
        """The result without a verdict."""
        reason = text if code == "no_evidence" else f"Error: {text}"
        why = reason if code == "no_evidence" else f"Judge error: {text}"
        verdicts = failed_verdicts(self.assertions, why)
        return self._result(0.0, reason, verdicts, JudgeFault(code, text), {})

    def _result(
        self,
        score: float,
        reason: str,
        verdicts: Sequence[Verdict],
        fault: JudgeFault | None,
        fields: Mapping[str, Any],
    ) -> Json:
        more = {k: v for k, v in fields.items() if k.strip().lower() not in _RESERVED}
        return {
            "score": score,
            "reason": reason,
            **(counts(verdicts) if verdicts else {}),
            **more,
            "judge_input": {"system_prompt": self.prompt, "user_content": self.content},
            "attempts": self.attempts,
            "usage": self._usage(),
            **({"error": fault.described} if fault is not None else {}),
        }

    def _usage(self) -> Json | None:
        """Tokens of all attempts; None if one that the model worked on did not report them."""
        total = {"prompt_tokens": 0, "completion_tokens": 0}
        for attempt in self.attempts:
            usage = attempt.get("usage")
            if usage is None and (
                "usage" in attempt or attempt["outcome"] in {ANSWERED, "timeout"}
            ):
                return None
            for key in total:
                total[key] += (usage or {}).get(key, 0)
        return total


def _again(text: str, fault: JudgeFault) -> list[Json]:
    return [
        {"role": "assistant", "content": text[:_ECHO] or "(nothing)"},
        {"role": "user", "content": correction(str(fault))},
    ]


def _usage_of(completion: Any) -> Json | None:
    usage = completion.get("usage") if isinstance(completion, Mapping) else None
    if not isinstance(usage, Mapping):
        return None
    found = {key: usage.get(key) for key in ("prompt_tokens", "completion_tokens")}
    known = all(isinstance(count, int) and count >= 0 for count in found.values())
    return found if known and found["prompt_tokens"] else None
