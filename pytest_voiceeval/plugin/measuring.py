"""One call from its job to its line in `results.jsonl`: prepared, held, scored, filed.

It runs in the engine, possibly long before its item is reported; what needs the processor runs in a
thread. Nothing of pytest's is touched here.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_voiceeval.call.errors import (
    CallError,
    MeasurementInvalid,
    OwnVerdict,
    ResultsNotWritten,
    ScenarioInvalid,
)
from pytest_voiceeval.call.score import ScoreOptions, score
from pytest_voiceeval.data.errors import DataError
from pytest_voiceeval.embedded.process import EmbeddedPlan
from pytest_voiceeval.packs import place_in_pack
from pytest_voiceeval.plugin.calling import connected
from pytest_voiceeval.plugin.calllog import CallLog, filed_under, note_step
from pytest_voiceeval.plugin.dialogues import script_for
from pytest_voiceeval.plugin.holding import hold
from pytest_voiceeval.plugin.marks import unreported
from pytest_voiceeval.plugin.model_agent import refuse_outage
from pytest_voiceeval.plugin.outcome import DECIDING, outcome_of
from pytest_voiceeval.plugin.sounding import judge_latency
from pytest_voiceeval.plugin.watchdog import LoopLag
from pytest_voiceeval.report.artifacts import write_call, write_unscored
from pytest_voiceeval.report.results_file import error_line, error_of, scored_line
from pytest_voiceeval.scenario.checks import problems_of
from pytest_voiceeval.scenario.registry import RegistryError, location_of

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from pathlib import Path

    from pytest_voiceeval.call.plan import CallPlan
    from pytest_voiceeval.call.result import CallResult, Conversation
    from pytest_voiceeval.plugin.calling import Job
    from pytest_voiceeval.plugin.dialogues import Script
    from pytest_voiceeval.plugin.judging import ItemJudge
    from pytest_voiceeval.plugin.output import RunOutput
    from pytest_voiceeval.plugin.watchdog import LoopWatch
    from pytest_voiceeval.scenario.model import Scenario


T = TypeVar("T")


def expected_errors() -> tuple[type[Exception], ...]:
    """What may go wrong around a call without a bug of ours: each has a text for people."""
    from pytest_voiceeval.bots.endpoint import BotError
    from pytest_voiceeval.bots.script_file import ScriptFileError
    from pytest_voiceeval.data.errors import DataError
    from pytest_voiceeval.packs import PackError
    from pytest_voiceeval.scenario.registry import RegistryError

    return (CallError, BotError, ScriptFileError, DataError, PackError, RegistryError)


@dataclass(slots=True)
class Measured:
    """What became of a call.

    Attributes:
        session: The call's id.
        folder: Its files.
        result: Its verdicts; None if there are none.
        problem: Why there are none: one of `expected_errors`, or a bug.
        log: What was logged during it.
        lag: How late the event loop was meanwhile.
        seconds: What it took by itself, waiting for a bot left out.
        ended_at: When that was over, seconds since the epoch.
    """

    session: str
    folder: Path
    result: CallResult | None = None
    problem: Exception | None = None
    log: CallLog = field(default_factory=CallLog)
    lag: LoopLag = field(default_factory=LoopLag)
    seconds: float = 0.0
    ended_at: float = 0.0


class Measuring:
    """One call under way.

    Args:
        job: The call.
        output: Where its files and its line go.
        watch: Watches the loop it runs in.
        llm_judge: What a language model thinks of the call, if one is asked.
        judge: Adds to the verdicts of a scored call.
    """

    def __init__(
        self,
        job: Job,
        output: RunOutput,
        watch: LoopWatch,
        llm_judge: ItemJudge,
        judge: Callable[[Scenario, CallResult], CallResult],
    ) -> None:
        self._job = job
        self._output = output
        self._watch = watch
        self._llm_judge = llm_judge
        self._judge = judge
        self._measured = Measured(job.session, output.folder)
        self._bill = job.till.bill(job)
        self._waited = 0.0
        self._talking = False
        self._held: Conversation | None = None

    async def run(self) -> Measured:
        """Hold the call; cancelling it frees its bots and leaves a line that says so."""
        began = time.monotonic()
        with filed_under(self._measured.log):
            try:
                await self._steps()
                await _in_one_piece(asyncio.to_thread(self._log))
            except asyncio.CancelledError:
                self._keep_cancelled()
                raise
            finally:
                self._bill.close()
        self._measured.seconds = time.monotonic() - began - self._waited
        self._measured.ended_at = time.time()
        return self._measured

    async def _steps(self) -> None:
        try:
            script = await _in_one_piece(asyncio.to_thread(self._prepare))
            conversation = self._held = await self._hold(script)
            result = await _in_one_piece(asyncio.to_thread(self._score, conversation))
            result = await self._llm_judge.judge(self._job.scenario, result)
            await _in_one_piece(asyncio.to_thread(self._keep, result))
        except DECIDING as raised:
            await _in_one_piece(asyncio.to_thread(self._keep_problem, self._own_verdict(raised)))
        except Exception as error:  # noqa: BLE001 - the item raises it, expected or not
            await _in_one_piece(asyncio.to_thread(self._keep_problem, error))

    # -- before

    def _prepare(self) -> Script:
        """Make the folder, refuse a scenario that cannot judge an agent, choose the lines."""
        self._llm_judge.refuse()
        scenario = self._job.scenario
        self._check_data(scenario)
        self._measured.folder = self._output.call_folder(scenario.name)
        try:
            problems = problems_of(scenario)
            script = script_for(scenario, self._job.settings)
        except expected_errors():
            raise
        except Exception as error:  # scenarios are foreign code
            place = place_in_pack(scenario.domain, error)
            what = f"cannot be used{place and f' ({place})'}: {type(error).__name__}: {error}"
            raise ScenarioInvalid(f"{_named(scenario)} {what}") from error
        if problems:
            raise ScenarioInvalid(f"{_named(scenario)}: " + "; ".join(problems))
        files = f"session {self._job.session}, files in {self._measured.folder.name}/"
        note_step(f"[PREPARE] {_named(scenario)}, {files}")
        return script

    def _check_data(self, scenario: Scenario) -> None:
        try:
            self._output.data.require(scenario.domain)
        except DataError as error:
            raise ScenarioInvalid(f"{_named(scenario)} cannot be used: {error}") from error

    # -- the call

    async def _hold(self, script: Script) -> Conversation:
        asked = time.monotonic()
        try:
            await self._bill.open()
            async with connected(self._job, script, self._measured.folder) as plan:
                self._waited = time.monotonic() - asked
                note_step(f"[LEASE] bots after {self._waited:.2f} s")
                self._talking = True
                self._bill.begin()
                return await self._talk(plan)
        finally:
            if not self._talking:
                self._waited = time.monotonic() - asked

    async def _talk(self, plan: CallPlan | EmbeddedPlan) -> Conversation:
        """Hold the conversation; one that was measured too late is no evidence, however it went."""
        if isinstance(plan, EmbeddedPlan):
            return await hold(plan)  # on a clock that our loop cannot hold up
        try:
            with self._watch.measuring() as lag:
                self._measured.lag = lag
                conversation = await hold(plan)
        except CallError as error:
            if not lag.invalidates:
                raise
            text = f"{lag.describe()}\nit ended as {error.code}: {error}"
            raise MeasurementInvalid(text, error.conversation) from error
        if lag.invalidates:
            raise MeasurementInvalid(lag.describe(), conversation)
        return conversation

    # -- after

    def _score(self, conversation: Conversation) -> CallResult:
        note_step(f"[CALL] {_ending(conversation)}")
        settings = self._job.settings
        options = ScoreOptions(
            min_agent_turns=settings.min_agent_turns, strict_match=settings.strict_match
        )
        scenario = self._job.scenario
        conversation = self._complete(conversation)
        try:
            refuse_outage(conversation, self._job.bots.model_of(self._job.agent))
            return score(scenario, conversation, options)
        except CallError as error:
            error.conversation = error.conversation or conversation
            raise

    def _complete(self, conversation: Conversation) -> Conversation:
        """Add what it cost, and on which data it was held."""
        data = self._output.data.of(conversation.domain)
        return replace(self._bill.price(conversation), data=data)

    def _keep(self, result: CallResult) -> None:
        """Add the verdicts that nobody has to wait for, and write everything down."""
        self._talking = False
        scenario = self._job.scenario
        self._bill.price(result.conversation)
        try:
            result = self._judge(scenario, judge_latency(result, self._job.settings.audio))
        except CallError as error:
            error.conversation = error.conversation or result.conversation
            raise
        note_step(f"[VERDICT] {_verdict(result)}")
        try:
            with self._output.writing():
                written = write_call(self._measured.folder, scenario, result)
            self._append(scored_line(written))
        except ResultsNotWritten as lost:
            lost.conversation = result.conversation
            raise
        self._measured.result = written

    def _own_verdict(self, raised: BaseException) -> OwnVerdict:
        """What code of the user's, a scenario's or a hook's, raised to decide the test."""
        return OwnVerdict(str(raised), self._held, raised, outcome_of(raised))

    def _keep_problem(self, error: Exception) -> None:
        """Keep whatever was measured of a call that has no verdict."""
        self._talking = False
        self._measured.problem = error
        if _was_skipped_unheard(error):
            self._drop_folder()
            return
        scenario = self._job.scenario
        note_step(f"[NO VERDICT] {error_of(error)['code']}: {error}", "ERROR")
        if isinstance(error, CallError) and error.conversation is not None:
            conversation = error.conversation = self._complete(error.conversation)
            try:
                write_unscored(self._measured.folder, scenario, conversation, error)
            except Exception:
                logging.getLogger(__name__).warning("some files were not written", exc_info=True)
        try:
            self._append(error_line(scenario.name, scenario.domain, error))
        except ResultsNotWritten as lost:
            lost.conversation = getattr(error, "conversation", None)
            raise

    def _keep_cancelled(self) -> None:
        """A call that was cut off still happened; one that had not begun did not."""
        if self._talking:
            scenario = self._job.scenario
            known = {"scenario": scenario.name, "domain": scenario.domain}
            self._append({**known, "outcome": "cancelled"})
            note_step("[NO VERDICT] cancelled: pytest did not wait for its end", "WARNING")
            self._log()
        self._drop_folder()

    def _append(self, line: Mapping[str, Any]) -> None:
        engine = {
            "loop_lag_max": round(self._measured.lag.worst, 3),
            "held_back": self._job.held_back,
        }
        _file(self._measured, self._job.nodeid, self._output, {**line, **engine})

    def _log(self) -> None:
        """Write down what was done; a call that was skipped before it began was not held."""
        if self._measured.folder.is_dir():
            self._output.log(self._measured.log.entries, self._job.nodeid)

    def _drop_folder(self) -> None:
        """Leave no empty folder behind."""
        if self._measured.folder != self._output.folder:
            with suppress(OSError):
                self._measured.folder.rmdir()


def _was_skipped_unheard(error: Exception) -> bool:
    """Whether the user's code skipped the test before anybody had said a word."""
    if not isinstance(error, OwnVerdict) or error.outcome != "skipped":
        return False
    return error.conversation is None or not error.conversation.started_at


def _ending(conversation: Conversation) -> str:
    """How a conversation went, for the log."""
    turns, seconds = conversation.agent_turns, conversation.duration
    how = f"{conversation.end_reason} after {turns} agent turns, {seconds:.1f} s"
    return f"{how}: {conversation.end_detail}" if conversation.end_detail else how


def _verdict(result: CallResult) -> str:
    """What a call came to, for the log."""
    known = [f"{name} {verdict}" for name, verdict in result.signals.items() if verdict is not None]
    outcome = {True: "passed", False: "failed", None: "no deciding signal applies"}[result.passed]
    why = f" ({', '.join(result.why_failed)})" if result.why_failed else ""
    return f"{outcome}{why}; signals: {', '.join(known) or 'none'}"


def _named(scenario: Scenario) -> str:
    """A scenario with the place that defines it."""
    try:
        path, line = location_of(scenario.name)
    except RegistryError:
        return f"scenario {scenario.name!r}"
    return f"scenario {scenario.name!r} ({path}:{line})"


def refused(scenario: Scenario, nodeid: str, output: RunOutput, error: Exception) -> Measured:
    """A call that never came to the engine, for example for want of a usable bot."""
    measured = Measured("", output.folder, problem=error, ended_at=time.time())
    # what could not be written for an error of this kind is no second one
    with suppress(ResultsNotWritten):
        measured.folder = output.call_folder(scenario.name)
        measured.session = measured.folder.name
        measured.log.step(f"[NO VERDICT] {error_of(error)['code']}: {error}", "ERROR")
        _file(measured, nodeid, output, error_line(scenario.name, scenario.domain, error))
        output.log(measured.log.entries, nodeid)
    return measured


def _file(measured: Measured, nodeid: str, output: RunOutput, line: Mapping[str, Any]) -> None:
    known = {"nodeid": nodeid, "artifacts": measured.folder.name}
    output.append({**known, **unreported(measured.session), **line})


async def _in_one_piece(step: Coroutine[Any, Any, T]) -> T:
    """Await a step that is not cut short: a call that is cancelled meanwhile sees its end."""
    task = asyncio.ensure_future(step)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise
