"""The pytest plugin: what pytest calls, in the order in which it calls it.

Importing this module costs next to nothing (the standard library and pytest), so the plugin
is invisible in runs that make no calls; everything else is imported when first needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_voiceeval.plugin import options
from pytest_voiceeval.plugin.fixtures import agent_bot, call, caller_bot, voice_scenario
from pytest_voiceeval.plugin.keys import RUNTIME, SELECTION

if TYPE_CHECKING:
    from collections.abc import Generator

    from pytest_voiceeval.plugin.selection import Selection

__all__ = ["agent_bot", "call", "caller_bot", "voice_scenario"]

MARKER = (
    "voiceeval(scenario=None, duration=None, min_agent_turns=None, strict_match=None): "
    "a call of the voice agent under test; the arguments override the options of the same name."
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the option group `voiceeval`."""
    options.add_options(parser)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Read the options; a run that selects scenarios collects exactly those."""
    config.addinivalue_line("markers", MARKER)
    if _asks_for_scenarios(config):
        from pytest_voiceeval.plugin import selecting

        config.stash[SELECTION] = selecting.select(config)


def _asks_for_scenarios(config: pytest.Config) -> bool:
    by_option = any(
        config.getoption(dest) or config.getini(dest)
        for dest in ("voiceeval_domain", "voiceeval_scenarios")
    )
    return by_option or any("::" in argument for argument in config.args)


def _selection(config: pytest.Config) -> Selection | None:
    return config.stash.get(SELECTION, None)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Add the selected domains to what the session collects from its paths."""
    report = yield
    selection = _selection(collector.config)
    if selection is not None and isinstance(collector, pytest.Session) and report.passed:
        from pytest_voiceeval.plugin import selecting

        report.result = [*report.result, *selecting.nodes(collector, selection)]
    return report


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the user's own `call` tests once for each selected scenario."""
    if "call" in metafunc.fixturenames:
        selection = _selection(metafunc.config)
        if selection is not None and not _names_its_scenario(metafunc.definition):
            metafunc.parametrize("voice_scenario", selection.names, indirect=True)


def _names_its_scenario(node: pytest.Item) -> bool:
    return any("scenario" in mark.kwargs for mark in node.iter_markers("voiceeval"))


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Name the domains, their edition and the agent of a run that makes calls."""
    selection = _selection(config)
    if selection is None:
        return []
    from pytest_voiceeval.plugin import selecting

    return selecting.header(config, selection)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: object) -> None:
    """xdist: tell a worker where the run keeps its results."""
    from pytest_voiceeval.plugin import selecting

    selecting.configure_worker(node)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put figures into the report and the call's story beside a failed test of the user's own."""
    report = yield
    runtime = item.config.stash.get(RUNTIME, None)
    if runtime is not None:
        runtime.annotate(item, report)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say where the results are, before pytest's own last line."""
    if terminalreporter.config.stash.get(SELECTION, None) is not None:
        from pytest_voiceeval.plugin import selecting

        selecting.summarise(terminalreporter)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """End every bot and merge the workers' results."""
    runtime = session.config.stash.get(RUNTIME, None)
    if runtime is not None:
        runtime.finish()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Make sure that nothing outlives a session that never finished."""
    runtime = config.stash.get(RUNTIME, None)
    if runtime is not None:
        runtime.finish()
        del config.stash[RUNTIME]
    if SELECTION in config.stash:
        from pytest_voiceeval.plugin import selecting

        selecting.withdraw_user_packs(config)
