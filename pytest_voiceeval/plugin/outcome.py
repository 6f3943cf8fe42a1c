"""How a call becomes a pytest outcome, and the text that explains it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_voiceeval.call.result import CallResult


class CallFailed(AssertionError):
    """The agent did not do its job. `report_text` is the one-screen explanation."""

    def __init__(self, result: CallResult, report_text: str) -> None:
        super().__init__("; ".join(result.why_failed))
        self.result = result
        self.report_text = report_text


class CallNotMeasured(Exception):
    """The call says nothing about the agent: set-up, caller, wire or harness failed."""

    def __init__(self, summary: str, report_text: str) -> None:
        super().__init__(summary)
        self.report_text = report_text
