"""Calling the hooks of `hookspecs`, and checking what comes back: it is somebody else's code."""

from __future__ import annotations

import difflib
import threading
import traceback
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from pytest_voiceeval.call.errors import CallError
from pytest_voiceeval.call.result import Verdict
from pytest_voiceeval.report.layout import wrap

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_voiceeval.call.result import CallResult
    from pytest_voiceeval.plugin.selection import Selection
    from pytest_voiceeval.scenario.model import Scenario
    from pytest_voiceeval.scoring.signals import SuccessSignal

SECTION_LINES = 20
"""Lines of one plugin's report section."""


class HookFailed(CallError):
    """A hook of the user's raised, or gave something that is no verdict."""

    code = "hook_failed"


# -- scenarios


def arrange(config: pytest.Config, selection: Selection) -> Selection:
    """Let `pytest_voiceeval_scenarios` choose and order the scenarios of every domain.

    Raises:
        pytest.UsageError: a hook left a name that is unknown in its domain, or one twice.
    """
    by_domain = dict(selection.by_domain)
    for domain, names in by_domain.items():
        changed = list(names)
        config.hook.pytest_voiceeval_scenarios(config=config, domain=domain, names=changed)
        if changed != list(names):
            _check_names(domain, changed)
            by_domain[domain] = tuple(changed)
    return replace(selection, by_domain=by_domain)


def _check_names(domain: str, names: Sequence[str]) -> None:
    from pytest_voiceeval.scenario.registry import scenarios_of

    hook = f"pytest_voiceeval_scenarios, domain {domain!r}"
    known = dict.fromkeys(scenarios_of(domain))
    for name, times in Counter(names).items():
        if times > 1:
            raise pytest.UsageError(f"{hook}: {name!r} stands {times} times in the list")
        if name not in known:
            close = difflib.get_close_matches(str(name), known, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise pytest.UsageError(f"{hook}: there is no scenario {name!r}{hint}")


# -- signals


class Judges:
    """Asks `pytest_voiceeval_signals` about each call, one call at a time.

    Calls end on several threads; an implementation need not care.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._one_at_a_time = threading.Lock()

    @property
    def present(self) -> bool:
        """Whether anybody implements the hook."""
        return bool(self._config.hook.pytest_voiceeval_signals.get_hookimpls())

    def judge(self, scenario: Scenario, result: CallResult) -> CallResult:
        """Add the verdicts of plugins to a scored call.

        Raises:
            HookFailed: one raised, or gave something that is no verdict.
        """
        if not self.present:
            return result
        hook = self._config.hook.pytest_voiceeval_signals
        try:
            with self._one_at_a_time:
                answers = hook(config=self._config, scenario=scenario, result=result)
                given = [verdict for answer in answers for verdict in answer]
        except Exception as error:
            raise HookFailed(_describe("pytest_voiceeval_signals", error)) from error
        _check_verdicts(given, result)
        return with_verdicts(result, given)


def with_verdicts(result: CallResult, verdicts: Sequence[Verdict]) -> CallResult:
    """A result with more signals: those that gate decide together with the scenario's own."""
    signals: dict[str, bool | None] = {str(name): holds for name, holds in result.signals.items()}
    signals |= {verdict.name: verdict.holds for verdict in verdicts}
    gating = {verdict.holds for verdict in verdicts if verdict.gates}
    breakdown = {key: list(names) for key, names in result.breakdown.items()}
    for verdict in verdicts:
        breakdown[_bucket(verdict)].append(verdict.name)
    return replace(
        result,
        signals=cast("Mapping[SuccessSignal, bool | None]", signals),
        passed=_together(result.passed, gating),
        task_passed=_together(result.task_passed, gating),
        breakdown=breakdown,
        verdicts=(*result.verdicts, *verdicts),
    )


def _bucket(verdict: Verdict) -> str:
    if not verdict.gates:
        return "not_applicable" if verdict.holds is None else "excluded"
    return {True: "passed", False: "failed", None: "not_applicable"}[verdict.holds]


def _together(passed: bool | None, gating: set[bool | None]) -> bool | None:
    verdicts = {passed, *gating} - {None}
    return all(verdicts) if verdicts else None


def _check_verdicts(given: Sequence[Any], result: CallResult) -> None:
    taken = {str(name) for name in result.signals}
    for verdict in given:
        if not isinstance(verdict, Verdict) or verdict.holds not in (True, False, None):
            raise HookFailed(
                f"pytest_voiceeval_signals gave {verdict!r:.80}; it gives a list of "
                "Verdict(name, holds), where holds is True, False or None"
            )
        if not verdict.name.isidentifier() or verdict.name in taken:
            why = "is taken" if verdict.name in taken else "is no identifier"
            raise HookFailed(f"pytest_voiceeval_signals: the name {verdict.name!r} {why}")
        taken.add(verdict.name)


# -- after a call


def tell_finished(config: pytest.Config, nodeid: str, result: CallResult) -> None:
    """Call `pytest_voiceeval_call_finished`; what it raises is an error of the item."""
    config.hook.pytest_voiceeval_call_finished(config=config, nodeid=nodeid, result=result)


def extra_text(config: pytest.Config, result: CallResult) -> str:
    """What hooks have to say about a call: evidence of their signals, and report sections."""
    lines = [line for verdict in result.verdicts for line in _evidence(verdict)]
    try:
        for section in config.hook.pytest_voiceeval_report_section(result=result):
            shown = [part for line in section for part in wrap(str(line))]
            more = len(shown) - SECTION_LINES
            shown[SECTION_LINES:] = [f"… {more} more lines"] if more > 0 else []
            lines += ["", *shown] if lines and shown else shown
    except Exception as error:  # noqa: BLE001 - the verdict must not be lost over its decoration
        lines += wrap(_describe("pytest_voiceeval_report_section", error))
    return "\n".join(lines)


def _evidence(verdict: Verdict) -> Iterable[str]:
    if not verdict.why or (verdict.gates and verdict.holds is False):  # the headline has those
        return []
    said = {True: "passed", False: "failed", None: "does not apply"}[verdict.holds]
    return wrap(f"{verdict.name} ({said}): {verdict.why}")


def _describe(hook: str, error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(frame.filename).name}:{frame.lineno}"
    return f"{hook} raised {type(error).__name__} ({place}): {error}"
