"""What one pytest process needs to hold calls: an engine, bots, results, and their outcomes."""

from __future__ import annotations

import itertools
import re
import secrets
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from pytest_voiceeval.plugin.collection import ScenarioItem
from pytest_voiceeval.plugin.engine import Engine
from pytest_voiceeval.plugin.held import HeldBots
from pytest_voiceeval.plugin.keys import RESULT, RUNTIME
from pytest_voiceeval.plugin.options import Settings, read_settings
from pytest_voiceeval.plugin.outcome import NotMeasured
from pytest_voiceeval.plugin.output import RunOutput

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_voiceeval.call.result import CallResult, Conversation
    from pytest_voiceeval.plugin.calling import Job
    from pytest_voiceeval.scenario.model import Scenario

MARKER_ARGUMENTS = ("duration", "min_agent_turns", "strict_match")


def runtime_of(config: pytest.Config) -> Runtime:
    """The process's runtime, made on first use."""
    if RUNTIME not in config.stash:
        config.stash[RUNTIME] = Runtime(config)
    return config.stash[RUNTIME]


class Runtime:
    """Holds calls for the fixtures. One per process; `finish` ends everything it started."""

    def __init__(self, config: pytest.Config) -> None:
        self.settings = read_settings(config)
        self.output = RunOutput(config)
        self._engine = Engine()
        self._bots = HeldBots(self._engine, self.settings, self.output)
        self._numbers = itertools.count(1)
        self._nonce = secrets.token_hex(3)

    def finish(self) -> None:
        """End every bot and the engine."""
        self._engine.stop()

    # -- what the fixtures ask for

    def default_agent(self) -> Any:
        """Start or name the agent the options ask for."""
        return _explained(self._bots.agent)

    def default_caller(self) -> Any:
        """Start or name the caller bot the options ask for, if any."""
        return _explained(self._bots.caller)

    def call(self, item: pytest.Item, scenario: Scenario, agent: Any, caller: Any) -> CallResult:
        """Hold one call and return its result; raise `NotMeasured` if there is none."""
        __tracebackhide__ = True
        folder = self.output.call_folder(scenario.name)
        try:
            settings = _settings_for(item, self.settings)
            self._check(scenario)
            job = self._job(settings, scenario, agent, caller)
            conversation = self._hold(job)
            result = self._score(settings, scenario, conversation, folder)
        except _expected_errors() as error:
            self._not_measured(item, scenario, folder, error)
        item.stash[RESULT] = result
        item.user_properties += _figures(result)
        self._keep(item, result)
        if result.passed is None:
            pytest.skip(_nothing_applies(result))
        return result

    def _check(self, scenario: Scenario) -> None:
        """Refuse a scenario that cannot judge an agent before anybody calls."""
        from pytest_voiceeval.call.errors import ScenarioInvalid
        from pytest_voiceeval.scenario.checks import problems_of

        problems = problems_of(scenario)
        if problems:
            raise ScenarioInvalid(f"scenario {scenario.name!r}: " + "; ".join(problems))

    def _job(self, settings: Settings, scenario: Scenario, agent: Any, caller: Any) -> Job:
        from pytest_voiceeval.plugin.calling import Job
        from pytest_voiceeval.plugin.dialogues import script_for

        short = re.sub(r"[^A-Za-z0-9_-]+", "-", scenario.short_name)[:60]
        worker = f"{self.output.worker}-" if self.output.worker else ""
        return Job(
            scenario=scenario,
            session=f"{short}-{worker}{next(self._numbers)}-{self._nonce}",
            settings=settings,
            script=script_for(scenario, settings),
            agent=self._bots.source(agent, "agent_bot"),
            caller=None if caller is None else self._bots.source(caller, "caller_bot"),
            bots=self._bots,
        )

    def _hold(self, job: Job) -> Conversation:
        from pytest_voiceeval.plugin.calling import hold

        return self._engine.run(hold(job))

    def _score(
        self, settings: Settings, scenario: Scenario, conversation: Conversation, folder: Path
    ) -> CallResult:
        from pytest_voiceeval.call.score import ScoreOptions, score
        from pytest_voiceeval.report.artifacts import write_call

        options = ScoreOptions(
            min_agent_turns=settings.min_agent_turns, strict_match=settings.strict_match
        )
        result = replace(score(scenario, conversation, options), artifacts=folder)
        write_call(folder, scenario, result)
        return result

    def _keep(self, item: pytest.Item, result: CallResult) -> None:
        from pytest_voiceeval.report.results_file import scored_line

        folder = None if result.artifacts is None else result.artifacts.name
        self.output.append({"nodeid": item.nodeid, "artifacts": folder, **scored_line(result)})

    def _not_measured(
        self, item: pytest.Item, scenario: Scenario, folder: Path, error: Exception
    ) -> NoReturn:
        """Keep what was measured, then raise the pytest error that names the cause."""
        __tracebackhide__ = True
        from pytest_voiceeval.report.artifacts import write_conversation
        from pytest_voiceeval.report.error_text import render_error
        from pytest_voiceeval.report.results_file import error_line

        conversation = getattr(error, "conversation", None)
        if conversation is not None:
            write_conversation(folder, scenario, conversation)
        line = error_line(scenario.name, scenario.domain, error)
        self.output.append({"nodeid": item.nodeid, "artifacts": folder.name, **line})
        text = render_error(error, nodeid=item.nodeid, artifacts=self.output.shown(folder))
        raise NotMeasured(text) from None

    # -- what the hooks ask for

    def failure_text(self, nodeid: str, result: CallResult) -> str:
        """The one-screen explanation of a call."""
        from pytest_voiceeval.report.failure_text import render

        shown = None if result.artifacts is None else self.output.shown(result.artifacts)
        return render(result, nodeid=nodeid, artifacts=shown)

    def annotate(self, item: pytest.Item, report: pytest.TestReport) -> None:
        """Show the story of the call beside a failed test of the user's own."""
        result = item.stash.get(RESULT, None)
        if result is None or not report.failed or isinstance(item, ScenarioItem):
            return
        report.sections.append(("voice call", self.failure_text(item.nodeid, result)))


def _expected_errors() -> tuple[type[Exception], ...]:
    """What may go wrong around a call without a bug of ours: each has a text for people."""
    from pytest_voiceeval.bots.endpoint import BotError
    from pytest_voiceeval.bots.script_file import ScriptFileError
    from pytest_voiceeval.call.errors import CallError
    from pytest_voiceeval.data.errors import DataError
    from pytest_voiceeval.packs import PackError
    from pytest_voiceeval.scenario.registry import RegistryError

    return (CallError, BotError, ScriptFileError, DataError, PackError, RegistryError)


def _explained(make: Any) -> Any:
    __tracebackhide__ = True
    try:
        return make()
    except _expected_errors() as error:
        raise NotMeasured(str(error)) from None


def _settings_for(item: pytest.Item, settings: Settings) -> Settings:
    """Apply the item's `voiceeval` markers, the closest one last."""
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
    return replace(settings, **given)


def scenario_for(request: pytest.FixtureRequest) -> Scenario:
    """The scenario of an item: its parameter, its own, or the one its marker names."""
    __tracebackhide__ = True
    name = _scenario_name(request)
    from pytest_voiceeval.scenario.registry import get_eval_scenario, require_scenario_name

    def make() -> Any:
        return get_eval_scenario(require_scenario_name(name))

    scenario: Scenario = _explained(make)
    return scenario


def _scenario_name(request: pytest.FixtureRequest) -> str:
    if hasattr(request, "param"):
        return str(request.param)
    if isinstance(request.node, ScenarioItem):
        return request.node.scenario_name
    for mark in request.node.iter_markers("voiceeval"):
        if "scenario" in mark.kwargs:
            return str(mark.kwargs["scenario"]).replace("::", "__", 1)
    raise NotMeasured(
        f"{request.node.nodeid} asks for a call but names no scenario: select some with --domain "
        'or --scenarios, or mark the test with @pytest.mark.voiceeval(scenario="domain::name")',
    )


def _figures(result: CallResult) -> list[tuple[str, object]]:
    figures: list[tuple[str, object]] = [
        (f"voiceeval.{name}", verdict)
        for name, verdict in result.signals.items()
        if verdict is not None
    ]
    return [
        *figures,
        ("voiceeval.scenario", result.scenario),
        ("voiceeval.end_reason", str(result.end_reason)),
        ("voiceeval.agent_turns", result.agent_turns),
        ("voiceeval.duration", round(result.duration, 3)),
    ]


def _nothing_applies(result: CallResult) -> str:
    asked = ", ".join(str(name) for name in result.breakdown["not_applicable"])
    return f"none of the signals this scenario is judged by applies: {asked}"
