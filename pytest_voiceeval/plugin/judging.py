"""The LLM judge of a run: whether it is on, asking it about calls, and the fixture `judge`.

It is asked after a call, in a thread of its own pool, so that neither the event loop nor the next
call waits for it. What it says never makes a call be held again.
"""

from __future__ import annotations

import asyncio
import os
from contextvars import copy_context
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from pytest_voiceeval.call.errors import JudgeUnusable
from pytest_voiceeval.call.judgement import Judgement, why_broken
from pytest_voiceeval.call.prices import Cost, load_price_table
from pytest_voiceeval.call.score import with_judgement
from pytest_voiceeval.plugin.judge_evidence import evidence_of
from pytest_voiceeval.plugin.judge_options import DEFAULT_KEY_NAME
from pytest_voiceeval.plugin.threads import DaemonThreads
from pytest_voiceeval.wire.secret import problem_of_key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_voiceeval.call.prices import PriceTable
    from pytest_voiceeval.call.result import CallResult
    from pytest_voiceeval.judge.llm_judge import LLMJudge
    from pytest_voiceeval.plugin.judge_marks import JudgeAsk
    from pytest_voiceeval.plugin.judge_options import JudgeSettings
    from pytest_voiceeval.plugin.options import Settings
    from pytest_voiceeval.scenario.model import Scenario

HOW_TO = "turn it on with --judge-url URL --judge-model NAME, see docs/judge.md"
OFF = f"the LLM judge is off: {HOW_TO}"

# what goes into a request as it is; the rest says what the judge is shown
_PARAMETERS = ("max_tokens", "temperature", "top_p", "seed", "thinking_token_budget")
_SHOWING = ("context_message_limit", "context_system_string_limit", "context_string_limit")


def check_judge(config: pytest.Config, settings: Settings) -> None:
    """Refuse a judge that cannot be asked, before any call is made.

    Raises:
        pytest.UsageError: An option is missing or cannot be used; the text names it.
    """
    if config.option.collectonly or not settings.judge.on:
        return
    try:
        judge = llm_judge(settings.judge)
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None
    models = settings.models
    if models.max_cost is not None:
        price = load_price_table(*models.price_tables).find(judge.model, judge.url)
        if price is None:
            raise pytest.UsageError(
                f"--max-cost: there is no price of {judge.model!r} at {judge.shown_url} "
                "(--judge-model); add it to a file and give that with --price-table FILE"
            )


def llm_judge(settings: JudgeSettings) -> LLMJudge:
    """The judge that the options describe.

    Raises:
        ValueError: One is missing or cannot be used; the text names it.
    """
    from pytest_voiceeval.judge.llm_judge import LLMJudge

    given = {"--judge-url": settings.url, "--judge-model": settings.model}
    missing = " and ".join(flag for flag, value in given.items() if value is None)
    if settings.url is None or settings.model is None:
        raise ValueError(f"the LLM judge is on, and nothing says which one it is: give {missing}")
    name = settings.api_key_name
    problem = "" if name is None else problem_of_key(os.environ.get(name))
    if problem:
        raise ValueError(
            f"the environment variable {name}, which is to hold the key of the judge "
            f"(--judge-api-key-name), {problem}"
        )
    try:
        return LLMJudge(
            settings.url,
            settings.model,
            api_key_name=name or DEFAULT_KEY_NAME,
            timeout=settings.timeout,
            compact_context=settings.compact_context,
            **{name: getattr(settings, name) for name in (*_SHOWING, *_PARAMETERS)},
        )
    except ValueError as error:
        raise ValueError(f"--judge-url: {error}") from None


def judging_of(
    config: pytest.Config, settings: Settings, prices: Callable[[], PriceTable]
) -> Judging | None:
    """The judge of a run with these settings, None if it is off.

    Raises:
        JudgeUnusable: It cannot be asked; the text names the option.
    """
    if not settings.judge.on:
        return None
    fixed = config.getoption("voiceeval_judge_threshold") is not None
    try:
        return Judging(settings.judge, prices(), threshold_is_fixed=fixed)
    except ValueError as error:
        raise JudgeUnusable(f"judge unusable: {error}") from None


class ItemJudge:
    """The judge's part in the call of one item.

    Args:
        judging: The judge of the run, None if it is off.
        ask: What the item asks of it.
    """

    def __init__(self, judging: Judging | None, ask: JudgeAsk) -> None:
        self._judging = judging
        self._ask = ask

    def refuse(self) -> None:
        """Skip an item that asks for the judge when there is none: its call would prove little."""
        if self._ask.gates and self._judging is None:
            raise pytest.skip.Exception(f"it is marked `judge`, and {OFF}")

    async def judge(self, scenario: Scenario, result: CallResult) -> CallResult:
        """Add the judge's verdict to a scored call, if the judge is on.

        Raises:
            JudgeUnusable: It was to decide and gave no verdict.
        """
        if self._judging is None:
            return result
        return await self._judging.judge(scenario, result, self._ask)


class Judging:
    """Asks the judge of a run.

    Args:
        settings: Which one, and how.
        prices: What models cost.
        threshold_is_fixed: The command line gives the threshold: it beats markers.

    Attributes:
        llm: The judge itself.
    """

    def __init__(
        self, settings: JudgeSettings, prices: PriceTable, *, threshold_is_fixed: bool
    ) -> None:
        self.llm = llm_judge(settings)
        self._settings = settings
        self._prices = prices
        self._fixed = threshold_is_fixed
        self._threads = DaemonThreads(settings.concurrency)

    def stop(self) -> None:
        """Let the threads end once they have nothing to do; never waits."""
        self._threads.shutdown()

    async def judge(self, scenario: Scenario, result: CallResult, ask: JudgeAsk) -> CallResult:
        """Add the judge's verdict to a scored call; cancelling it leaves the judge alone.

        Raises:
            JudgeUnusable: It was to decide and gave no verdict.
        """
        statements = tuple(dict.fromkeys((*(scenario.nl_assertions or ()), *ask.criteria)))
        work = partial(self.about_call, scenario.reference_answer, result, statements, ask)
        context = copy_context()  # so that what is logged is filed with the call
        loop = asyncio.get_running_loop()
        judgement = await loop.run_in_executor(self._threads, context.run, work)
        result = replace(result, conversation=self._priced(result, judgement))
        return with_judgement(scenario, result, judgement, ask.gates)

    def about_call(
        self, reference: Any, result: CallResult, statements: Sequence[str], ask: JudgeAsk
    ) -> Judgement:
        """Ask about a call, which takes as long as the judge takes; a broken one is not shown."""
        broken = why_broken(result.conversation)
        if broken:
            return self._not_asked(broken, statements, ask)
        shown = evidence_of(
            reference, result, statements, transcript=self._settings.include_conversation
        )
        return self.read(self.llm.judge_scenario(**shown), ask)

    def read(self, record: Mapping[str, Any], ask: JudgeAsk) -> Judgement:
        """What a result of the judge comes to."""
        error = record.get("error")
        settings = self.described(ask, record["judge_input"]["system_prompt"])
        judgement = Judgement(
            score=None if error else record["score"],
            reason=record["reason"],
            threshold=self.threshold(ask),
            assertions=tuple(record.get("nl_assertion_verdicts", ())),
            error=error,
            settings=settings,
        )
        filed = {**record, "cost": self.cost(record), "settings": settings}
        return replace(judgement, record=filed, notes=_notes(judgement, record))

    def _not_asked(self, broken: str, statements: Sequence[str], ask: JudgeAsk) -> Judgement:
        reason = f"not judged, because the call is broken: {broken}"
        settings = self.described(ask, self.llm.SCENARIO_PROMPT)
        verdicts = tuple(
            {"index": number, "assertion": text, "passed": False, "reason": reason}
            for number, text in enumerate(statements, 1)
        )
        record = {
            "score": None,
            "reason": reason,
            **({"nl_assertion_verdicts": list(verdicts)} if verdicts else {}),
            "attempts": [],
            "usage": None,
            "cost": 0.0,
            "settings": settings,
        }
        return Judgement(
            None,
            reason,
            self.threshold(ask),
            assertions=verdicts,
            broken=broken,
            settings=settings,
            record=record,
        )

    def threshold(self, ask: JudgeAsk) -> float:
        """The score that is asked for: by the command line, else the marker, else the options."""
        if ask.threshold is None or self._fixed:
            return self._settings.threshold
        return float(ask.threshold)

    def described(self, ask: JudgeAsk, prompt: str) -> dict[str, Any]:
        """Which judge it is and how it is asked, as it stands in the results."""
        from pytest_voiceeval.judge.prompts import prompt_hash

        given = asdict(self._settings)
        showing = (*_SHOWING, "compact_context") if self._settings.compact_context else ()
        names = ("timeout", "include_conversation", *_PARAMETERS, *showing)
        limits = {name: getattr(self.llm, name) for name in showing}
        return {
            "model": self.llm.model,
            "url": self.llm.shown_url,
            "prompt": prompt_hash(prompt),
            "threshold": self.threshold(ask),
            **({name: given[name] for name in names if given[name] is not None} | limits),
        }

    def cost(self, record: Mapping[str, Any]) -> float | None:
        """Dollars of what was asked, None if tokens or price are unknown."""
        from pytest_voiceeval.call.result import Tokens

        usage = record.get("usage")
        price = self._prices.find(self.llm.model, self.llm.url)
        if usage is None or price is None:
            return None
        return price.cost(Tokens(1, usage["prompt_tokens"], usage["completion_tokens"]))

    def _priced(self, result: CallResult, judgement: Judgement) -> Any:
        """The conversation, to whose cost that of the judge is added."""
        conversation = result.conversation
        if conversation.cost is None or judgement.broken:
            return conversation
        price = self._prices.find(self.llm.model, self.llm.url)
        dollars = judgement.record["cost"]
        own = Cost({"judge": dollars}, {"judge": self.llm.model}, price.date if price else None)
        return replace(conversation, cost=conversation.cost.plus(own))


def _notes(judgement: Judgement, record: Mapping[str, Any]) -> tuple[str, ...]:
    """What the judge was not shown, and a flag of its own that says something else than its score.

    The score decides.
    """
    notes = []
    shown = record["judge_input"]["user_content"]
    _, _, omitted = shown.partition("<omissions>\n")
    if omitted:
        left_out = "; ".join(omitted.partition("\n</omissions>")[0].splitlines())
        notes.append(f"the judge was shown a shortened context: {left_out}")
    for key, flag in record.items():
        name = key.strip().lower()
        if name not in {"pass", "passed", "success"} or not isinstance(flag, bool):
            continue
        if judgement.reached not in {flag, None}:
            notes.append(
                f"the judge's reply says {name}: {str(flag).lower()}, but its score "
                f"{judgement.score:g} decides (threshold {judgement.threshold:g})"
            )
    return tuple(notes)
