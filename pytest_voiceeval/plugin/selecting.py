"""What a run that selects scenarios adds to pytest: imported only by such runs."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

import pytest

from pytest_voiceeval.plugin import hooks
from pytest_voiceeval.plugin import selection as selections
from pytest_voiceeval.plugin.collection import ScenarioItem, domain_modules
from pytest_voiceeval.plugin.model_caller import caller_model_of
from pytest_voiceeval.plugin.options import read_settings

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

    from pytest_voiceeval.plugin.options import Settings
    from pytest_voiceeval.plugin.selection import ScenarioId, Selection

USER_FOLDER = "scenarios"
COLLECTING = "voiceeval-collecting"
"""Name of the plugin that a run with a selection gets."""


def select(config: pytest.Config) -> Selection | None:
    """Resolve the selection and take its ids out of pytest's own arguments."""
    offer_user_packs(config)
    paths, ids = selections.split_arguments(config)
    settings = read_settings(config)
    _check_bots(settings)
    _check_judge(config, settings)
    _check_output(config, settings)
    try:
        selection = selections.resolve(*_asked_for(config, settings, ids), ids)
    except pytest.UsageError:
        # scenarios are missing where their data are, and that is then the cause to name
        _check_data(one.domain for one in ids)
        raise
    if selection is None:
        return None
    selection = hooks.arrange(config, selection)
    _check_data(selection.by_domain)
    given = config.args_source is pytest.Config.ArgsSource.ARGS
    # without a path argument exactly the selected scenarios are collected, testpaths are not
    config.args = paths if given else []
    config.args_source = pytest.Config.ArgsSource.ARGS
    packaged = bool(ids) or not config.args
    config.pluginmanager.register(Collecting(selection, packaged=packaged), COLLECTING)
    return selection


def _asked_for(
    config: pytest.Config, settings: Settings, ids: Sequence[ScenarioId]
) -> tuple[Sequence[str], Sequence[str]]:
    """Domains and scenarios by option; whatever the command line names replaces the ini file's."""
    domains, scenarios = (
        config.getoption(f"voiceeval_{name}") or () for name in ("domain", "scenarios")
    )
    if domains or scenarios or ids:
        return domains, scenarios
    return settings.domain, settings.scenarios


def _check_data(domains: Iterable[str]) -> None:
    """Refuse data that are not there before any of the items trips over them."""
    from pytest_voiceeval.data.errors import DataError
    from pytest_voiceeval.scenario.registry import domain_info

    for domain in dict.fromkeys(domains):
        try:
            domain_info(domain)
        except DataError as error:
            raise pytest.UsageError(f"{domain}: {error}") from error
        except Exception:  # noqa: BLE001, S112 - a pack's own code; the header and the items say it
            continue


def _check_bots(settings: Settings) -> None:
    """Refuse what can be seen to be wrong before anything is started."""
    from pytest_voiceeval.bots.command import parse_command
    from pytest_voiceeval.bots.endpoint import BotError, parse_bot_urls
    from pytest_voiceeval.bots.script_file import read_records

    try:
        for flag, urls in (("--agent-url", settings.agent_url), ("--user-url", settings.user_url)):
            if urls:
                parse_bot_urls(urls, flag)
        for flag, text in (("--agent-cmd", settings.agent_cmd), ("--user-cmd", settings.user_cmd)):
            if text is not None:
                parse_command(text, flag)
        if settings.script is not None:
            read_records(settings.script)
        caller_model_of(settings)
    except (BotError, ValueError) as error:
        raise pytest.UsageError(str(error)) from error


def _check_judge(config: pytest.Config, settings: Settings) -> None:
    if not settings.judge.on:
        return
    from pytest_voiceeval.plugin.judging import check_judge

    check_judge(config, settings)


def _check_output(config: pytest.Config, settings: Settings) -> None:
    """Refuse a place for the results that nothing can be written to, before any call is made."""
    if config.option.collectonly or hasattr(config, "workerinput"):
        return
    wanted = settings.voice_output or config.invocation_params.dir
    nearest = next(folder for folder in (wanted, *wanted.parents) if folder.exists())
    if not nearest.is_dir():
        raise pytest.UsageError(f"results cannot be written to {wanted}: {nearest} is a file")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise pytest.UsageError(
            f"results cannot be written below {nearest}: name a folder with --voice-output DIR"
        )


def offer_user_packs(config: pytest.Config) -> None:
    """Let the packs in `scenarios/` beside the root and the current folder be found in this run."""
    from pytest_voiceeval.packs import add_user_folder, remove_user_folder, user_folders

    for base in (config.rootpath, config.invocation_params.dir):
        folder = (base / USER_FOLDER).resolve()
        if folder.is_dir() and folder not in user_folders():
            add_user_folder(folder)
            # another run may follow in the same process
            config.add_cleanup(partial(remove_user_folder, folder))


class Collecting:
    """Plugin: adds the selected domains to what the session collects from its paths.

    Args:
        selection: what the run selects.
        packaged: whether packaged items are wanted, not only the user's own tests over them.
    """

    def __init__(self, selection: Selection, *, packaged: bool) -> None:
        self._selection = selection
        self.packaged = packaged

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Put the domains behind what the paths gave."""
        report = yield
        if self.packaged and isinstance(collector, pytest.Session) and report.passed:
            report.result = [*report.result, *domain_modules(collector, self._selection)]
        return report

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run the user's own `call` tests once for each selected scenario."""
        if "call" not in metafunc.fixturenames or isinstance(metafunc.definition, ScenarioItem):
            return
        marks = metafunc.definition.iter_markers("voiceeval")
        if not any("scenario" in mark.kwargs for mark in marks):
            metafunc.parametrize("voice_scenario", self._selection.names, indirect=True)
