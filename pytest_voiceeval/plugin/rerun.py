"""What to type after `pytest` to run one item again as it was run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.plugin.ids import SEPARATOR
from pytest_voiceeval.plugin.keys import SELECTION
from pytest_voiceeval.plugin.options import OPTIONS
from pytest_voiceeval.report.redact import redact_argv

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

    from pytest_voiceeval.plugin.option import Option

# they choose items or say where results go; the item is named by its id
NOT_REPEATED = frozenset({"--domain", "--scenarios", "--voice-concurrency", "--voice-output"})


def rerun_of(config: pytest.Config, nodeid: str) -> tuple[str, tuple[str, ...]]:
    """The item's id as it is typed here, and the arguments that matter to its call.

    Repeated are the options of this plugin that were given on the command line, secrets replaced
    by a placeholder; what an ini file says is read again anyway.
    """
    options = redact_argv([word for option in OPTIONS for word in _given(config, option)])
    if _is_packaged(config, nodeid):
        return nodeid, tuple(options)
    return _seen_from_here(config, nodeid), (*_parameter(config, nodeid), *options)


def _given(config: pytest.Config, option: Option) -> Iterator[str]:
    value: Any = config.getoption(option.dest)
    if value is None or value is False or option.flag in NOT_REPEATED:
        return
    if value is True:
        yield option.flag
        return
    for each in value if isinstance(value, list) else [value]:
        yield option.flag
        yield f"{each:g}" if isinstance(each, float) else str(each)


def _is_packaged(config: pytest.Config, nodeid: str) -> bool:
    selection = config.stash.get(SELECTION, None)
    return selection is not None and nodeid.partition(SEPARATOR)[0] in selection.by_domain


def _seen_from_here(config: pytest.Config, nodeid: str) -> str:
    """Ids are relative to the root folder, arguments to the current one."""
    path, separator, rest = nodeid.partition(SEPARATOR)
    here = os.path.relpath(config.rootpath / path, config.invocation_params.dir)
    return f"{here}{separator}{rest}"


def _parameter(config: pytest.Config, nodeid: str) -> tuple[str, ...]:
    """A test of the user's own that was parametrised over the selection needs its scenario."""
    selection = config.stash.get(SELECTION, None)
    parameters = nodeid.partition("[")[2]
    names = [name for name in (selection.names if selection else ()) if name in parameters]
    return ("--scenarios", max(names, key=len)) if names else ()
