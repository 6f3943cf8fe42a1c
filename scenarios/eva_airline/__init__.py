"""Airline reservations by phone, scored by the final database.

The records come from the edition in use: ours by default, the public benchmark's own with
`--edition upstream`, or any copy that `EVAL_DATA_ROOT` names. To add a scenario, subclass
`EvaAirlineBaseScenario`.
"""

from __future__ import annotations

from pytest_voiceeval import DomainInfo, register_domain_info

from . import tools as tools  # registers the airline's tools
from .base import EvaAirlineBaseScenario
from .data import edition
from .derived import RecordScenario, register_records
from .seeds import (
    SEEDS,
    CancellationRefund,
    EscalationEdgeCase,
    IrropsCancellation,
    MissedFlightStandby,
    VoluntaryDateChange,
)

__all__ = [
    "CancellationRefund",
    "EscalationEdgeCase",
    "EvaAirlineBaseScenario",
    "IrropsCancellation",
    "MissedFlightStandby",
    "RecordScenario",
    "VoluntaryDateChange",
]


def _describe() -> DomainInfo:
    found = edition()
    return DomainInfo(found.name, found.fingerprint, str(found.root))


register_records(SEEDS)
register_domain_info("eva_airline", _describe)
