"""How the talk tells its own end."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_voiceeval.call.result import EndReason


class Ended(Exception):
    """The conversation is over."""

    def __init__(self, reason: EndReason, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail
