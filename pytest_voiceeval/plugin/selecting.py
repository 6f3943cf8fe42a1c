"""What a run that selects scenarios adds to pytest: imported only by such runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_voiceeval.plugin import selection as selections
from pytest_voiceeval.plugin.collection import DomainDirectory, domain_nodes
from pytest_voiceeval.plugin.keys import SELECTION
from pytest_voiceeval.plugin.options import Settings, read_settings
from pytest_voiceeval.plugin.output import WORKER_KEY, run_folder
from pytest_voiceeval.report.results_file import merge

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_voiceeval.plugin.selection import Selection

USER_FOLDER = "scenarios"


def select(config: pytest.Config) -> Selection | None:
    """Resolve the selection and take its ids out of pytest's own arguments."""
    _offer_user_packs(config)
    paths, ids = selections.split_arguments(config)
    settings = read_settings(config)
    _check_bots(settings)
    selection = selections.resolve(settings, ids)
    if selection is None:
        return None
    given = config.args_source is pytest.Config.ArgsSource.ARGS
    # without a path argument exactly the selected scenarios are collected, testpaths are not
    config.args = paths if given else []
    config.args_source = pytest.Config.ArgsSource.ARGS
    return selection


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
    except BotError as error:
        raise pytest.UsageError(str(error)) from error


def _offer_user_packs(config: pytest.Config) -> None:
    from pytest_voiceeval.packs import add_user_folder

    for folder in _user_folders(config):
        add_user_folder(folder)


def _user_folders(config: pytest.Config) -> list[Path]:
    bases = dict.fromkeys((config.rootpath, config.invocation_params.dir))
    return [folder for base in bases if (folder := base / USER_FOLDER).is_dir()]


def withdraw_user_packs(config: pytest.Config) -> None:
    """Forget the folders of this run: another may follow in the same process."""
    from pytest_voiceeval.packs import remove_user_folder, user_folders

    for folder in _user_folders(config):
        if folder.resolve() in {known.resolve() for known in user_folders()}:
            remove_user_folder(folder)


def nodes(session: pytest.Session, selection: Selection) -> list[DomainDirectory]:
    """The collectors of the packaged scenarios; none when paths were given."""
    if session.config.args and not _ids_given(session.config):
        return []
    return domain_nodes(session, selection)


def _ids_given(config: pytest.Config) -> bool:
    return any("::" in str(argument) for argument in config.invocation_params.args)


def header(config: pytest.Config, selection: Selection) -> list[str]:
    """Lines that say what is run, on which data, against which agent."""
    lines = [_domain_line(domain, len(names)) for domain, names in selection.by_domain.items()]
    return [*lines, f"voiceeval: agent: {_agent(read_settings(config))}"]


def _domain_line(domain: str, count: int) -> str:
    from pytest_voiceeval.packs import list_packs
    from pytest_voiceeval.scenario.registry import domain_info

    line = f"voiceeval: {domain}: {count} scenario{'' if count == 1 else 's'}"
    info = domain_info(domain)
    if info is not None:
        line += f", edition {info.edition} ({info.fingerprint})"
    for pack in list_packs():
        if pack.domain == domain and pack.overrides:
            line += f", pack {pack.path} overrides {', '.join(map(str, pack.overrides))}"
    return line


def _agent(settings: Settings) -> str:
    from pytest_voiceeval.wire.urls import mask_url

    if settings.agent_url:
        return ", ".join(mask_url(url) for url in settings.agent_url)
    if settings.agent_cmd:
        return settings.agent_cmd
    fault = f", fault {settings.agent_fault}" if settings.agent_fault else ""
    return f"stock bot, scripted model{fault}"


def configure_worker(node: Any) -> None:
    """xdist: tell a worker the run's folder."""
    if node.config.stash.get(SELECTION, None) is not None:
        node.workerinput[WORKER_KEY] = str(run_folder(node.config))


def summarise(terminalreporter: pytest.TerminalReporter) -> None:
    """Merge what the workers wrote, then name the folder."""
    config = terminalreporter.config
    folder = run_folder(config)
    if not folder.is_dir():
        return
    merge(folder)
    shown = folder
    if folder.is_relative_to(config.invocation_params.dir):
        shown = folder.relative_to(config.invocation_params.dir)
    terminalreporter.write_line(f"voiceeval: results in {shown}")
