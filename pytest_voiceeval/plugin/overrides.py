"""Overrides of our fixtures: which ones count, and the refusal of those that could not.

A root conftest may replace any of them. What would be passed over in silence (a conftest that
packaged items do not see, a bot that is started for every call) is an error that names the place.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_voiceeval.plugin.conftests import conftests, sees_everything
from pytest_voiceeval.plugin.options import read_settings
from pytest_voiceeval.plugin.variants import definitions_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_voiceeval.plugin.collection import DomainModule, ScenarioItem
    from pytest_voiceeval.plugin.options import Settings

BOTS = ("agent_bot", "caller_bot")
FOR_THE_RUN = (*BOTS, "agent_state")
FIXTURES = (*FOR_THE_RUN, "voice_scenario", "call")
OUR_MODULE = "pytest_voiceeval.plugin.fixtures"

_OPTIONS_OF = {
    "agent_bot": ("agent_url", "agent_cmd", "agent_model", "agent_fault"),
    "caller_bot": ("user_url", "user_cmd", "caller_url"),
}


@dataclass(frozen=True, slots=True)
class Override:
    """A fixture of somebody's own that has the name of one of ours."""

    fixture: str
    file: Path
    line: int

    def shown(self, config: pytest.Config) -> str:
        """Where it is, as a reader in the current directory would type it."""
        base = config.invocation_params.dir
        inside = self.file.is_relative_to(base)
        return f"{self.file.relative_to(base) if inside else self.file}:{self.line}"


def refuse_ineffective(module: DomainModule, item: ScenarioItem) -> None:
    """Raise if an override cannot do for packaged items what its author means it to.

    Args:
        module: the domain; everything else of the run is collected by now.
        item: one of its items.

    Raises:
        pytest.Collector.CollectError: names file, fixture and the way out.
    """
    config = module.config
    settings = read_settings(config)
    for fixture in FIXTURES:
        definitions = definitions_of(item, fixture)
        if not definitions:
            continue  # an override of `call` that calls nobody
        used = definitions[-1]
        if _is_ours(used):
            problem = _hidden(definitions, config) or _unseen_one(module.session, fixture, settings)
        else:
            problem = _unusable(_override(fixture, used.func), used, config)
        if problem is not None:
            raise module.CollectError(problem)


def _is_ours(definition: pytest.FixtureDef[Any]) -> bool:
    return definition.func.__module__ == OUR_MODULE


def named_by_options(config: pytest.Config, fixture: str) -> list[str]:
    """The options on the command line that name the bot of this fixture: they beat it."""
    dests = _OPTIONS_OF.get(fixture, ())
    given = [name for name in dests if config.getoption(f"voiceeval_{name}") is not None]
    return ["--" + name.replace("_", "-") for name in given]


def root_override(config: pytest.Config, fixture: str) -> Override | None:
    """The override in a conftest that packaged items see, before anything is collected."""
    found = None
    for path, module in conftests(config):
        if sees_everything(config, path):
            found = _overrides_in(vars(module)).get(fixture, found)
    return found


class CommandLineBots:
    """Plugin: a bot named on the command line is used, an overriding fixture is not run."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> None:
        """Put what the command line names in the place of a user's `agent_bot`."""
        config, fixture = request.config, fixturedef.argname
        if fixture not in BOTS or _is_ours(fixturedef) or not named_by_options(config, fixture):
            return

        def by_command_line(**_arguments: object) -> Any:
            from pytest_voiceeval.plugin.runtime import runtime_of

            runtime = runtime_of(config)
            return runtime.default_agent() if fixture == "agent_bot" else runtime.default_caller()

        fixturedef.func = by_command_line  # type: ignore[misc]


def _unusable(
    override: Override, used: pytest.FixtureDef[Any], config: pytest.Config
) -> str | None:
    """What is wrong with an override that packaged items do see."""
    where = f"{override.shown(config)}: the fixture {override.fixture!r}"
    wanted = "session" if override.fixture in FOR_THE_RUN else "function"
    if used.scope != wanted:
        what = "a bot" if override.fixture in BOTS else "it"
        why = f"{what} serves the whole run" if wanted == "session" else "each item has its own"
        return (
            f"{where} has the scope {used.scope!r}, but {why}: "
            f'write @pytest.fixture(scope="{wanted}")'
        )
    options = named_by_options(config, override.fixture)
    if options and used.params is not None:
        return (
            f"{where} has parameters, and {options[0]} names one bot for all of them: drop the "
            "option, or select one parameter by its id"
        )
    return None


def _hidden(definitions: Sequence[pytest.FixtureDef[Any]], config: pytest.Config) -> str | None:
    """Name an override in a plugin that was loaded before ours, so that the default hides it."""
    for definition in definitions:
        if not _is_ours(definition):
            where = _override(definition.argname, definition.func).shown(config)
            return (
                f"{where}: the fixture {definition.argname!r} is hidden by the default one, which "
                "was loaded later: name its module in pytest_plugins of the root conftest"
            )
    return None


def _unseen_one(session: pytest.Session, fixture: str, settings: Settings) -> str | None:
    """Name an override that packaged items do not see, unless options name the bot anyway."""
    options = _OPTIONS_OF.get(fixture, ())
    if any(getattr(settings, name) for name in options):
        return None
    for override in _unseen(session):
        if override.fixture == fixture:
            instead = " or ".join("--" + name.replace("_", "-") for name in options[:2])
            return (
                f"{override.shown(session.config)}: the fixture {fixture!r} is not seen by "
                f"packaged scenarios. Move it to {session.config.rootpath / 'conftest.py'}"
                + (f", or name the bot with {instead}" if instead else "")
            )
    return None


def _unseen(session: pytest.Session) -> Iterator[Override]:
    loaded = dict(conftests(session.config))
    for path, module in loaded.items():
        if not sees_everything(session.config, path):
            yield from _overrides_in(vars(module)).values()
    for namespace in _test_namespaces(session):
        yield from _overrides_in(namespace).values()
    for path in _conftests_of_packs():
        if path not in loaded:
            yield from _overrides_in_source(path)


def _test_namespaces(session: pytest.Session) -> Iterator[Mapping[str, Any]]:
    """The modules and classes of the user's own tests that were collected."""
    from pytest_voiceeval.plugin.collection import ScenarioItem

    tests = [item for item in session.items if not isinstance(item, ScenarioItem)]
    nodes = [item.getparent(kind) for item in tests for kind in (pytest.Module, pytest.Class)]
    return (vars(node.obj) for node in dict.fromkeys(nodes) if node is not None)


def _conftests_of_packs() -> Iterator[Path]:
    """Conftest files beside packs of the user's: pytest reads none of them."""
    from pytest_voiceeval.packs import list_packs

    folders: dict[Path, None] = {}
    for pack in list_packs():
        if pack.source == "user":
            folders |= dict.fromkeys((pack.path.parent, pack.path))
    return (path for folder in folders if (path := folder / "conftest.py").is_file())


def _overrides_in(namespace: Mapping[str, Any]) -> dict[str, Override]:
    found = {}
    for value in namespace.values():
        # pytest does not export the class of what its decorator returns
        if type(value).__name__ == "FixtureFunctionDefinition" and value.name in FIXTURES:
            found[value.name] = _override(value.name, value)
    return found


def _override(fixture: str, function: Any) -> Override:
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = getattr(function, "__code__", None)
    if code is None:
        return Override(fixture, Path(str(getattr(function, "__module__", "?"))), 0)
    return Override(fixture, Path(code.co_filename), code.co_firstlineno)


def _overrides_in_source(path: Path) -> Iterator[Override]:
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return  # pytest does not read it either
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in FIXTURES:
            yield Override(node.name, path, node.lineno)
