"""The pytest plugin: what pytest calls, in the order in which it calls it.

Importing this module costs next to nothing (the standard library and pytest), so the plugin
is invisible in runs that make no calls; everything else is imported when first needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_voiceeval.plugin import editions, hookspecs, ids, markers, options
from pytest_voiceeval.plugin.fixtures import (
    agent_bot,
    agent_state,
    call,
    caller_bot,
    judge,
    voice_scenario,
)
from pytest_voiceeval.plugin.keys import CURRENT, LOOKAHEAD, RUN, RUNTIME, SELECTION

if TYPE_CHECKING:
    from collections.abc import Generator

    from pytest_voiceeval.plugin.selection import Selection

__all__ = ["agent_bot", "agent_state", "call", "caller_bot", "judge", "voice_scenario"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the option group `voiceeval`."""
    options.add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare the hooks that others may implement."""
    pluginmanager.add_hookspecs(hookspecs)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Read the options; a run that selects scenarios collects exactly those."""
    for line in markers.MARKERS:
        config.addinivalue_line("markers", line)
    editions.use_edition(config)
    if _names_a_bot(config):
        from pytest_voiceeval.plugin.overrides import CommandLineBots

        config.pluginmanager.register(CommandLineBots(), "voiceeval-command-line-bots")
    if _asks_for_scenarios(config):
        from pytest_voiceeval.plugin import selecting

        config.stash[SELECTION] = selecting.select(config)


def _asks_for_scenarios(config: pytest.Config) -> bool:
    by_option = any(
        config.getoption(dest) or config.getini(dest)
        for dest in ("voiceeval_domain", "voiceeval_scenarios")
    )
    base = config.invocation_params.dir
    return by_option or any(ids.may_be_item(base, argument) for argument in config.args)


def _names_a_bot(config: pytest.Config) -> bool:
    return any(config.getoption(dest) is not None for dest in options.NAMING_A_BOT)


def _selection(config: pytest.Config) -> Selection | None:
    return config.stash.get(SELECTION, None)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Look ahead in a run that has calls to hold."""
    config = session.config
    calls = any("call" in getattr(item, "fixturenames", ()) for item in session.items)
    if calls and not config.option.collectonly:
        from pytest_voiceeval.plugin.lookahead import LookAhead

        config.stash[LOOKAHEAD] = LookAhead()
        config.pluginmanager.register(config.stash[LOOKAHEAD], "voiceeval-lookahead")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """xdist: keep each worker supplied with the items that it can run ahead."""
    if _selection(config) is None:
        return None
    from pytest_voiceeval.plugin import distributing

    return distributing.make_scheduler(config, log)


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Name the domains, their edition and the agent of a run that makes calls."""
    selection = _selection(config)
    if selection is None:
        return []
    from pytest_voiceeval.plugin.header import header

    return header(config, selection)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: object) -> None:
    """xdist: tell a worker where the run keeps its results."""
    from pytest_voiceeval.plugin import output

    output.tell_worker(node)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """xdist: take the results of a worker that keeps its files elsewhere."""
    run = node.config.stash.get(RUN, None)
    if run is not None:
        from pytest_voiceeval.plugin import remote

        remote.take_lines(node, run)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put figures into the report and the call's story beside a failed test of the user's own."""
    report = yield
    runtime = item.config.stash.get(RUNTIME, None)
    if runtime is not None:
        from pytest_voiceeval.plugin.outcome import settle_phase, shorten_headline

        shorten_headline(report, call)
        settle_phase(report, call)
        runtime.annotate(item, report)
    return report


def pytest_assertrepr_compare(
    config: pytest.Config, op: str, left: object, right: object
) -> list[str] | None:
    """Explain `assert call.db == ...` like a failed call; anything else is not ours."""
    if op != "==" or CURRENT not in config.stash:
        return None
    result = config.stash[CURRENT]
    if not any(side is db for side in (left, right) for db in (result.db, result.expected_db)):
        return None
    from pytest_voiceeval.report.assertrepr import explain_db

    return explain_db(left, right)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what the calls came to, before pytest's own last line."""
    if RUN in terminalreporter.config.stash:
        from pytest_voiceeval.plugin import output

        output.summarise(terminalreporter)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """End every bot, then merge the workers' results and write those of the run."""
    runtime = session.config.stash.get(RUNTIME, None)
    if runtime is not None:
        runtime.finish()
    if RUN in session.config.stash:
        from pytest_voiceeval.plugin import output

        output.finish_run(session)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Make sure that nothing outlives a session that never finished."""
    runtime = config.stash.get(RUNTIME, None)
    if runtime is not None:
        runtime.finish()
        del config.stash[RUNTIME]
