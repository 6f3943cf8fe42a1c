"""Which conftest files see the packaged items: those of the root folder, not of sub-folders."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    import pytest


def conftests(config: pytest.Config) -> Iterator[tuple[Path, ModuleType]]:
    """Every conftest file that was loaded so far, with its module."""
    for plugin in config.pluginmanager.get_plugins():
        file = getattr(plugin, "__file__", None)
        if isinstance(file, str) and Path(file).name == "conftest.py":
            yield Path(file), plugin


def sees_everything(config: pytest.Config, conftest: Path) -> bool:
    """Whether a conftest applies to the whole session: the root's, and any from outside of it."""
    folder = conftest.parent
    return folder == config.rootpath or not folder.is_relative_to(config.rootpath)


class SessionHooks:
    """Hook callers without what goes by the path of a test file.

    A packaged item may be installed anywhere. The root conftest's hooks must see it all the same,
    those of sub-folders must not; and `--lf` must not skip a domain because other files failed.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._manager = config.pluginmanager
        self._foreign: list[Any] = [
            module for path, module in conftests(config) if not sees_everything(config, path)
        ]
        self._foreign.append(self._manager.get_plugin("lfplugin-collskip"))

    def __getattr__(self, name: str) -> Any:
        caller = self._manager.subset_hook_caller(name, remove_plugins=self._foreign)
        setattr(self, name, caller)
        return caller
