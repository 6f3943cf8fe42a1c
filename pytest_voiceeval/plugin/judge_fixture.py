"""What the fixture `judge` gives to a user's own tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_voiceeval.call.errors import JudgeUnusable
from pytest_voiceeval.call.result import CallResult
from pytest_voiceeval.plugin.judge_marks import (
    JudgeAsk,
    listed,
    problem_of_criteria,
    problem_of_threshold,
)
from pytest_voiceeval.plugin.judging import OFF
from pytest_voiceeval.plugin.outcome import NotMeasured
from pytest_voiceeval.scenario.registry import get_eval_scenario

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_voiceeval.call.judgement import Judgement
    from pytest_voiceeval.judge.llm_judge import LLMJudge
    from pytest_voiceeval.plugin.judging import Judging
    from pytest_voiceeval.plugin.runtime import Runtime


class Judge:
    """Asks the run's judge; call it.

    Args:
        judging: The judge of the run.
        marked: What the item's markers ask for, where a call does not say.

    Attributes:
        llm: The judge itself, with `judge`, `judge_file` and `judge_scenario`.
    """

    def __init__(self, judging: Judging, marked: JudgeAsk) -> None:
        self._judging = judging
        self._marked = marked

    @property
    def llm(self) -> LLMJudge:
        """The judge itself."""
        return self._judging.llm

    def __call__(
        self,
        subject: CallResult | str | Sequence[Mapping[str, Any]],
        criteria: str | Sequence[str] = (),
        *,
        reference: str | None = None,
        threshold: float | None = None,
    ) -> Judgement:
        """Ask about a call, a text, or turns with `role` and `text`; takes as long as the judge.

        Args:
            subject: What is judged.
            criteria: Statements that must be true of it; without any, those of the marker.
            reference: What is right; that of its scenario for a call.
            threshold: Score it must reach; without one, that of the marker or `--judge-threshold`.

        Returns:
            The verdict: `passed`, `score`, `reason` and `assertions`. A judge that cannot be used
            is an error of the test.

        Raises:
            ValueError: An argument cannot be used; the text names it.
        """
        __tracebackhide__ = True
        ask = self._ask(criteria, threshold)
        judgement = self._about(subject, reference, ask)
        if judgement.error is not None:
            raise NotMeasured(f"judge unusable: {judgement.error['message']}") from None
        return judgement

    def _ask(self, criteria: str | Sequence[str], threshold: float | None) -> JudgeAsk:
        problem = problem_of_criteria(criteria) if criteria else ""
        if threshold is not None:
            problem = problem or problem_of_threshold(threshold)
        if problem:
            raise ValueError(problem)
        marked = self._marked
        return JudgeAsk(
            tuple(listed(criteria)) or marked.criteria,
            marked.threshold if threshold is None else threshold,
        )

    def _about(self, subject: Any, reference: str | None, ask: JudgeAsk) -> Judgement:
        if isinstance(subject, CallResult):
            scenario = get_eval_scenario(subject.scenario) if reference is None else None
            right = scenario.reference_answer if scenario is not None else reference
            return self._judging.about_call(right, subject, ask.criteria, ask)
        if isinstance(subject, str) and reference is not None and not ask.criteria:
            return self._judging.read(self.llm.judge(reference, subject), ask)
        shown = "prediction" if isinstance(subject, str) else "conversation"
        record = self.llm.judge_scenario(
            reference=reference, nl_assertions=ask.criteria, **{shown: subject}
        )
        return self._judging.read(record, ask)


def judge_for(runtime: Runtime, marked: JudgeAsk) -> Judge:
    """The judge of an item; skips it if the judge is off."""
    __tracebackhide__ = True
    try:
        judging = runtime.judging()
    except JudgeUnusable as error:
        raise NotMeasured(str(error)) from None
    if judging is None:
        pytest.skip(f"it uses the fixture `judge`, and {OFF}")
    return Judge(judging, marked)
