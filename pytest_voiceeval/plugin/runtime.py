"""What one pytest process needs to hold calls: an engine, bots, results, and their outcomes."""

from __future__ import annotations

import itertools
import re
import secrets
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import pytest

from pytest_voiceeval.call.errors import AgentStateFailed, OwnVerdict
from pytest_voiceeval.plugin.audio_options import BUDGETS, problem_of_budgets
from pytest_voiceeval.plugin.calling import Job
from pytest_voiceeval.plugin.collection import ScenarioItem
from pytest_voiceeval.plugin.cost import Till
from pytest_voiceeval.plugin.engine import Engine
from pytest_voiceeval.plugin.held import HeldBots
from pytest_voiceeval.plugin.hooks import Judges, extra_text, tell_finished
from pytest_voiceeval.plugin.judge_marks import ask_of
from pytest_voiceeval.plugin.judging import OFF, ItemJudge, judging_of
from pytest_voiceeval.plugin.keys import LOOKAHEAD, RESULT, RUNTIME, TIMING
from pytest_voiceeval.plugin.lines import capacity, keeps_apart
from pytest_voiceeval.plugin.lookahead import LookAhead
from pytest_voiceeval.plugin.measuring import Measuring, expected_errors, refused
from pytest_voiceeval.plugin.options import Settings, problem_of_limits, read_settings
from pytest_voiceeval.plugin.outcome import CallFailed, NotMeasured
from pytest_voiceeval.plugin.output import RunOutput
from pytest_voiceeval.plugin.probing import agent_state_of
from pytest_voiceeval.plugin.rerun import rerun_of
from pytest_voiceeval.plugin.selecting import offer_user_packs
from pytest_voiceeval.plugin.timing import Timing
from pytest_voiceeval.report.properties import PREFIX, error_figures, figures
from pytest_voiceeval.scenario.checks import JUDGED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_voiceeval.call.result import CallResult
    from pytest_voiceeval.plugin.engine import Work
    from pytest_voiceeval.plugin.judging import Judging
    from pytest_voiceeval.plugin.lines import Source
    from pytest_voiceeval.plugin.measuring import Measured
    from pytest_voiceeval.plugin.probing import AgentState
    from pytest_voiceeval.scenario.model import Scenario

T = TypeVar("T")

Given = tuple[Any, Any, Any]
"""What the fixtures `agent_bot`, `caller_bot` and `agent_state` returned."""

MARKER_ARGUMENTS = ("duration", "min_agent_turns", "strict_match", *BUDGETS)


def runtime_of(config: pytest.Config) -> Runtime:
    """The process's runtime, made on first use."""
    if RUNTIME not in config.stash:
        config.stash[RUNTIME] = Runtime(config)
    return config.stash[RUNTIME]


class Runtime:
    """Holds calls for the fixtures. One per process; `finish` ends everything it started."""

    def __init__(self, config: pytest.Config) -> None:
        offer_user_packs(config)  # a run whose markers name its scenarios selects none
        self.settings = read_settings(config)
        self.output = RunOutput(config)
        self._config = config
        self._ahead = config.stash.get(LOOKAHEAD, None) or LookAhead()
        self._judges = Judges(config)
        self._judging: Judging | None = None
        self._engine = Engine()
        self._bots = HeldBots(self._engine, self.settings, self.output)
        self._till = Till(self.settings, self.output.account)
        self._numbers = itertools.count(1)
        self._nonce = secrets.token_hex(3)

    def finish(self) -> None:
        """End every call, every bot and the engine."""
        self._ahead.land()
        self._engine.stop()
        if self._judging is not None:
            self._judging.stop()

    # -- what the fixtures ask for

    def default_agent(self) -> Any:
        """Start or name the agent the options ask for."""
        return _explained(self._bots.agent)

    def default_caller(self) -> Any:
        """Start or name the caller bot the options ask for, if any."""
        return _explained(self._bots.caller)

    def judging(self) -> Judging | None:
        """The judge of the run, None if it is off.

        Raises:
            JudgeUnusable: It is on and cannot be asked.
        """
        if self._judging is None:
            self._judging = judging_of(self._config, self.settings, lambda: self._till.table)
        return self._judging

    def call(self, item: pytest.Item, scenario: Scenario, given: Given) -> CallResult:
        """Hold one call, or take the one that ran ahead; raise `NotMeasured` if it has no result.

        Args:
            item: What asks for it.
            scenario: What it is about.
            given: What the fixtures `agent_bot`, `caller_bot` and `agent_state` gave.
        """
        __tracebackhide__ = True
        _check_scenario(scenario)
        asked = time.perf_counter()
        try:
            measured = self._ahead.call(item, self, scenario, given)
        except expected_errors() as error:
            measured = refused(scenario, item.nodeid, self.output, error)
        item.stash[TIMING] = Timing.of(measured, waited=time.perf_counter() - asked)
        item.add_report_section("of the call", "log", measured.log.text)
        return self._report(item, scenario, measured)

    def _report(self, item: pytest.Item, scenario: Scenario, measured: Measured) -> CallResult:
        """Give the call's result to its item, or raise why there is none."""
        __tracebackhide__ = True
        _take(item, RESULT)  # of an attempt that is rerun
        self.output.mark_reported(measured.session)
        if measured.result is None:
            self._not_measured(item, scenario, measured)
        result = item.stash[RESULT] = measured.result
        _set_figures(item, figures(result))
        tell_finished(self._config, item.nodeid, result)
        if result.passed is None:
            pytest.skip(_nothing_applies(result))
        return result

    def _not_measured(self, item: pytest.Item, scenario: Scenario, measured: Measured) -> NoReturn:
        """Raise the pytest error that names the cause; a bug is raised as it is."""
        __tracebackhide__ = True
        from pytest_voiceeval.report.error_text import render_error

        error = measured.problem
        assert error is not None  # noqa: S101 - there is a result, or this
        own = error.raised if isinstance(error, OwnVerdict) else None
        if own is not None and type(own) is not pytest.fail.Exception:
            raise own  # a skip, or an expected failure
        _set_figures(item, error_figures(scenario.name, error, measured.folder))
        if not isinstance(error, expected_errors()):
            raise error
        shown = self.output.shown(measured.folder)
        nodeid, options = rerun_of(self._config, item.nodeid)
        text = render_error(error, nodeid=nodeid, artifacts=shown, options=options)
        raise (NotMeasured(text) if own is None else CallFailed(text)) from None

    # -- what the look-ahead asks for

    def concurrency(self, given: Given) -> int:
        """How many calls may be under way at once: `--voice-concurrency`, or what the bots take.

        Raises:
            BotError: A fixture gave something that is no bot.
        """
        agent, caller, state = given
        if state is not None and not keeps_apart(self._bots.source(agent, "agent_bot")):
            return 1
        if self.settings.voice_concurrency is not None:
            return self.settings.voice_concurrency
        return min(capacity(source) for source in self._sources(agent, caller) if source)

    def scenario(self, item: pytest.Item) -> Scenario:
        """The scenario that the fixture `voice_scenario` will give an item."""
        return _scenario(scenario_name_of(item))

    def start(
        self,
        item: pytest.Item,
        scenario: Scenario,
        given: Given,
        held_back: str | None = None,
    ) -> Work[Measured]:
        """Begin a call; what is refused at once is raised here.

        Args:
            item: The item it is for.
            scenario: What it is about.
            given: What the fixtures `agent_bot`, `caller_bot` and `agent_state` give.
            held_back: Why it could not run ahead of its item, if it could not.
        """
        agent, caller, state = given
        agent_source, caller_source = self._sources(agent, caller)
        assert agent_source is not None  # noqa: S101 - only a caller may be None
        job = Job(
            scenario=scenario,
            session=self._session(scenario),
            settings=_settings_for(item, self.settings),
            agent=agent_source,
            caller=caller_source,
            bots=self._bots,
            # packaged items only compare hashes
            include_db=not isinstance(item, ScenarioItem) or self._judges.present,
            nodeid=item.nodeid,
            till=self._till,
            held_back=held_back,
            state=self._state(state, agent_source),
        )
        llm_judge = ItemJudge(self.judging(), ask_of(item))
        measuring = Measuring(job, self.output, self._engine.watch, llm_judge, self._judges.judge)
        return self._engine.submit(measuring.run())

    def _state(self, given: Any, agent: Source) -> AgentState | None:
        """How the agent's state is learnt; the stock agent has none that is not ours."""
        state = agent_state_of(given, self._config.invocation_params.dir)
        if state is not None and self._bots.is_stock(agent):
            raise AgentStateFailed(
                f"{state.name} tells the state of an agent of your own, but this run calls the "
                "stock one: name yours with --agent-cmd, --agent-url or the fixture agent_bot"
            )
        return state

    def _sources(self, agent: Any, caller: Any) -> tuple[Source, Source | None]:
        source = self._bots.source
        return (
            source(agent, "agent_bot"),
            None if caller is None else source(caller, "caller_bot"),
        )

    def _session(self, scenario: Scenario) -> str:
        """An id for a call that no other has, in this run or any."""
        short = re.sub(r"[^A-Za-z0-9_-]+", "-", scenario.short_name)[:60]
        worker = f"{self.output.worker}-" if self.output.worker else ""
        return f"{short}-{worker}{next(self._numbers)}-{self._nonce}"

    # -- what the hooks ask for

    def failure_text(self, nodeid: str, result: CallResult) -> str:
        """The one-screen explanation of a call, and below it what plugins add."""
        from pytest_voiceeval.report.failure_text import render

        shown = None if result.artifacts is None else self.output.shown(result.artifacts)
        nodeid, options = rerun_of(self._config, nodeid)
        text = render(result, nodeid=nodeid, artifacts=shown, options=options)
        extra = extra_text(self._config, result)
        return f"{text}\n\n{extra}" if extra else text

    def annotate(self, item: pytest.Item, report: pytest.TestReport) -> None:
        """Give a report the time of the call, and its story beside a failed test of the user's."""
        timing = _take(item, TIMING)
        if timing is not None:
            timing.apply(report)
        result = item.stash.get(RESULT, None)
        if result is None or not report.failed or isinstance(item, ScenarioItem):
            return
        report.sections.append(("voice call", self.failure_text(item.nodeid, result)))


def _explained(make: Any) -> Any:
    __tracebackhide__ = True
    try:
        return make()
    except expected_errors() as error:
        raise NotMeasured(str(error)) from None


def _settings_for(item: pytest.Item, settings: Settings) -> Settings:
    """Apply the item's `voiceeval` markers, the closest one last; the command line beats them."""
    given: dict[str, Any] = {}
    for mark in reversed(list(item.iter_markers("voiceeval"))):
        unknown = set(mark.kwargs) - {*MARKER_ARGUMENTS, "scenario"}
        if unknown or mark.args:
            what = ", ".join(sorted(unknown)) or "positional arguments"
            pytest.fail(
                f"@pytest.mark.voiceeval does not take {what}; it takes "
                f"scenario, {', '.join(MARKER_ARGUMENTS)}",
                pytrace=False,
            )
        given |= {key: mark.kwargs[key] for key in MARKER_ARGUMENTS if key in mark.kwargs}
    option = item.config.getoption
    beaten = {key for key in given if option(f"voiceeval_{key}") is not None}
    given = {key: given[key] for key in given if key not in beaten}
    budgets = {key: given.pop(key) for key in BUDGETS if key in given}
    settings = replace(settings, **given, audio=settings.audio.with_budgets(budgets))
    problem = problem_of_limits(settings.duration, settings.min_agent_turns)
    problem = problem or problem_of_budgets(budgets)
    if problem:
        pytest.fail(f"@pytest.mark.voiceeval: {problem.replace('-', '_', 2)}", pytrace=False)
    return settings


def scenario_for(request: pytest.FixtureRequest) -> Scenario:
    """The scenario of an item: its parameter, its own, or the one its marker names."""
    __tracebackhide__ = True
    started = runtime_of(request.config)._ahead.scenario_of(request.node)  # noqa: SLF001
    return started or _scenario(scenario_name_of(request.node))


def _scenario(name: str) -> Scenario:
    __tracebackhide__ = True
    from pytest_voiceeval.scenario.registry import get_eval_scenario, require_scenario_name

    def make() -> Any:
        return get_eval_scenario(require_scenario_name(name))

    scenario: Scenario = _explained(make)
    return scenario


def _check_scenario(value: Any) -> None:
    """Refuse what an override of the fixture `voice_scenario` gave, if it is no scenario."""
    __tracebackhide__ = True
    from pytest_voiceeval.scenario.model import Scenario

    if not isinstance(value, Scenario):
        raise NotMeasured(
            f"the fixture 'voice_scenario' gave {value!r:.80}; expected a Scenario, such as "
            "get_eval_scenario(name) returns"
        )


def scenario_name_of(item: pytest.Item) -> str:
    """The name of an item's scenario: its parameter, its own, or the one its marker names."""
    __tracebackhide__ = True
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    if "voice_scenario" in parameters:
        return str(parameters["voice_scenario"])
    if isinstance(item, ScenarioItem):
        return item.scenario_name
    for mark in item.iter_markers("voiceeval"):
        if "scenario" in mark.kwargs:
            return str(mark.kwargs["scenario"]).replace("::", "__", 1)
    raise NotMeasured(
        f"{item.nodeid} asks for a call but names no scenario: select some with --domain "
        'or --scenarios, or mark the test with @pytest.mark.voiceeval(scenario="domain::name")',
    )


def _take(item: pytest.Item, key: pytest.StashKey[T]) -> T | None:
    value = item.stash.get(key, None)
    if value is not None:
        del item.stash[key]
    return value


def _set_figures(item: pytest.Item, given: Sequence[tuple[str, object]]) -> None:
    """Make these the item's figures, in place of those of an attempt that is rerun."""
    others = [(name, value) for name, value in item.user_properties if not _is_ours(name)]
    item.user_properties[:] = [*others, *given]


def _is_ours(name: str) -> bool:
    return name.startswith(PREFIX)


def _nothing_applies(result: CallResult) -> str:
    names = [str(name) for name in result.breakdown["not_applicable"]]
    asked = ", ".join(names)
    if result.judgement is None and set(names) <= {str(name) for name in JUDGED}:
        return f"{asked} needs the judge; {OFF}"
    return f"none of the signals this scenario is judged by applies: {asked}"
