"""The lines above a run: what is run, on which data, against which agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_voiceeval.plugin.options import read_settings
from pytest_voiceeval.plugin.overrides import named_by_options, root_override
from pytest_voiceeval.plugin.selecting import COLLECTING

if TYPE_CHECKING:
    import pytest

    from pytest_voiceeval.plugin.options import Settings
    from pytest_voiceeval.plugin.selection import Selection


def header(config: pytest.Config, selection: Selection) -> list[str]:
    """One line per domain, and one about the agent."""
    lines = [_domain(domain, len(names)) for domain, names in selection.by_domain.items()]
    lines.append(f"agent: {_agent(config)}")
    probe = root_override(config, "agent_state")
    if probe is not None:
        lines.append(f"state: the fixture agent_state in {probe.shown(config)}")
    settings = read_settings(config)
    lines += [*_judge(settings), *_models(settings), *_sound(config, settings)]
    collecting = config.pluginmanager.get_plugin(COLLECTING)
    if collecting is not None and not collecting.packaged:
        lines.append("paths were given: the scenarios are called by the tests there alone")
    return [f"voiceeval: {line}" for line in lines]


def _domain(domain: str, count: int) -> str:
    from pytest_voiceeval.packs import list_packs

    line = f"{domain}: {count} scenario{'' if count == 1 else 's'}{_edition(domain)}"
    for pack in list_packs():
        if pack.domain == domain and pack.overrides:
            line += f", pack {pack.path} overrides {', '.join(map(str, pack.overrides))}"
    return line


def _edition(domain: str) -> str:
    from pytest_voiceeval.scenario.registry import domain_info

    try:
        info = domain_info(domain)
    except Exception as error:  # noqa: BLE001 - a pack's own code; its items will say it again
        return f", data not usable: {error}"
    return "" if info is None else f", edition {info.edition} ({info.fingerprint})"


def _agent(config: pytest.Config) -> str:
    """Which agent is called: the command line beats a fixture, a fixture beats the ini file."""
    override = root_override(config, "agent_bot")
    options = named_by_options(config, "agent_bot")
    if override is None:
        return _by_settings(read_settings(config))
    where = f"the fixture agent_bot in {override.shown(config)}"
    if not options:
        return where
    return f"{_by_settings(read_settings(config))} ({options[0]} beats {where})"


def _judge(settings: Settings) -> list[str]:
    from pytest_voiceeval.wire.urls import mask_url

    judge = settings.judge
    if not judge.on or judge.url is None:
        return []
    return [f"judge: model {judge.model} at {mask_url(judge.url)}, threshold {judge.threshold:g}"]


def _models(settings: Settings) -> list[str]:
    """The model that calls, what all models may cost, and that nothing else is connected to."""
    from pytest_voiceeval.wire.urls import mask_url

    lines = []
    if settings.caller_url is not None:
        lines.append(f"caller: model {settings.caller_model} at {mask_url(settings.caller_url)}")
    if settings.models.max_cost is not None:
        lines.append(f"cost limit: ${settings.models.max_cost:g}")
    if settings.models.offline:
        lines.append("offline: nothing beyond this machine is connected to")
    return lines


def _sound(config: pytest.Config, settings: Settings) -> list[str]:
    """On which clock the calls of a run with sound are held."""
    if not settings.audio.on:
        return []
    from pytest_voiceeval.plugin.embedding import obstacle_of_run

    bots = ("agent_bot", "caller_bot")
    ours = all(root_override(config, name) is None for name in bots)
    why = ""
    if settings.audio.clock == "virtual" and ours:
        obstacle = obstacle_of_run(settings)
        if obstacle is None:
            return ["sound: agent and caller speak, on a virtual clock"]
        why = f": {obstacle}"
    return [f"sound: agent and caller speak, in real time{why}"]


def _by_settings(settings: Settings) -> str:
    from pytest_voiceeval.report.redact import redact_text
    from pytest_voiceeval.wire.urls import mask_url

    if settings.agent_url:
        return ", ".join(mask_url(url) for url in settings.agent_url)
    if settings.agent_cmd:
        return redact_text(settings.agent_cmd)
    if settings.agent_model is not None:
        return f"stock bot, model {settings.agent_model.model} at {settings.agent_model.shown_url}"
    fault = f", fault {settings.agent_fault}" if settings.agent_fault else ""
    return f"stock bot, scripted model{fault}"
