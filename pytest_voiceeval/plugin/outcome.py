"""How a call becomes a pytest outcome.

Both are pytest's own kind of failure, so that they are shown as their text, wherever they are
raised, and not as a traceback through the plugin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from _pytest.outcomes import Failed
else:
    Failed = pytest.fail.Exception  # the same class under its public name


VERDICTS: dict[type[BaseException], str] = {
    pytest.xfail.Exception: "skipped",
    pytest.fail.Exception: "failed",
    pytest.skip.Exception: "skipped",
}
"""What the user's code may raise to decide the test by itself, with what becomes of the call."""

DECIDING = tuple(VERDICTS)


def outcome_of(raised: BaseException) -> str:
    """What becomes of the call whose test was decided by raising this; the first kind counts."""
    return next(outcome for kind, outcome in VERDICTS.items() if isinstance(raised, kind))


class CallFailed(Failed):
    """The agent did not do its job: a failed test."""

    __module__ = "builtins"  # what pytest does for its own, so that summaries show the bare name

    def __init__(self, text: str) -> None:
        super().__init__(text, pytrace=False)


class NotMeasured(Failed):
    """The call says nothing about the agent: raised in a fixture, it is a pytest error."""

    __module__ = "builtins"

    def __init__(self, text: str) -> None:
        super().__init__(text, pytrace=False)


def shorten_headline(report: pytest.TestReport, call: pytest.CallInfo[None]) -> None:
    """Leave of a failure's text its first line where pytest wants a headline.

    Pytest cuts headlines to the width of the terminal, but not where the environment says `CI`:
    there its short summary, and everywhere JUnit's `message`, would tell the story a second time.
    """
    ours = call.excinfo is not None and isinstance(call.excinfo.value, CallFailed | NotMeasured)
    crash = getattr(report.longrepr, "reprcrash", None)
    if ours and crash is not None:
        crash.message = crash.message.partition("\n")[0]


def settle_phase(report: pytest.TestReport, call: pytest.CallInfo[None]) -> None:
    """Report what could not be measured as an error, and what the agent did wrong as a failure.

    For pytest, and all that read its reports, an error is what fails in another phase than `call`.
    A test's body may find out that nothing was measured, and a fixture that the call failed.
    """
    raised = None if call.excinfo is None else call.excinfo.value
    if report.failed and report.when == "call" and isinstance(raised, NotMeasured):
        report.when = "setup"
    elif report.failed and report.when == "setup" and isinstance(raised, CallFailed):
        report.when = "call"
