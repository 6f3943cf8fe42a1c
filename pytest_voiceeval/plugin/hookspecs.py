"""The hooks that others may implement, in a conftest or a plugin; see docs/hooks.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pytest

    from pytest_voiceeval.call.result import CallResult, Verdict
    from pytest_voiceeval.scenario.model import Scenario


def pytest_voiceeval_scenarios(config: pytest.Config, domain: str, names: list[str]) -> None:
    """Choose which scenarios of a domain run, and in which order, by changing `names` in place.

    Called once per selected domain, before collection, in every process of a run; so what it does
    must not depend on chance.

    Args:
        config: the run's configuration.
        domain: the domain.
        names: full names of the selected scenarios. Remove some, reorder them, or add others of
            the same domain.
    """


def pytest_voiceeval_signals(
    config: pytest.Config, scenario: Scenario, result: CallResult
) -> Iterable[Verdict] | None:
    """Judge a call by signals of your own, once it is scored and before it is recorded.

    Args:
        config: the run's configuration.
        scenario: the scenario of the call.
        result: everything about the call; `passed` is still without these signals.

    Returns:
        Any number of verdicts. Those with `gates=True` decide together with the scenario's own
        signals; the others are recorded and shown.
    """


def pytest_voiceeval_call_finished(config: pytest.Config, nodeid: str, result: CallResult) -> None:
    """Take note of a scored call, after its files and its line in `results.jsonl` were written.

    Called in the process that held the call. A call that could not be measured has no result; it
    is an error of its item.

    Args:
        config: the run's configuration.
        nodeid: id of the pytest item.
        result: everything about the call.
    """


def pytest_voiceeval_report_section(result: CallResult) -> Iterable[str] | None:
    """Add lines to the failure text of a call.

    Args:
        result: a call that did not pass, or whose test failed.

    Returns:
        Lines; they are filled to 80 columns, and cut after 20 of one plugin.
    """
