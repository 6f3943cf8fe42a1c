"""How long an item took by itself, wherever its call was held."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

    from pytest_voiceeval.plugin.measuring import Measured


@dataclass(frozen=True, slots=True)
class Timing:
    """What a phase of an item waited for its call, and what that call took by itself.

    Attributes:
        waited: Seconds the phase stood still: with a call that ran ahead less than it took, with
            one that had to wait for others more.
        seconds: Seconds the call took.
        ended_at: When it was over, seconds since the epoch.
    """

    waited: float
    seconds: float
    ended_at: float

    @classmethod
    def of(cls, measured: Measured, *, waited: float) -> Timing:
        """Of a call that the phase waited for."""
        return cls(waited, measured.seconds, measured.ended_at)

    def apply(self, report: pytest.TestReport) -> None:
        """Make the report that of an item which had the process, and the bots, to itself."""
        report.duration = max(0.0, report.duration - self.waited) + self.seconds
        report.stop = self.ended_at
        report.start = report.stop - report.duration
