"""The 15 tools of the airline's agent; importing this module registers them all."""

from __future__ import annotations

from .booking_tools import CancelReservationTool, RebookFlightTool
from .compensation_tools import (
    IssueHotelVoucherTool,
    IssueMealVoucherTool,
    IssueTravelCreditTool,
    ProcessRefundTool,
    TransferToAgentTool,
)
from .lookup_tools import (
    GetDisruptionInfoTool,
    GetFlightStatusTool,
    GetReservationTool,
    SearchRebookingOptionsTool,
)
from .service_tools import (
    AddBaggageAllowanceTool,
    AddMealRequestTool,
    AddToStandbyTool,
    AssignSeatTool,
)
from .tool_base import AIRLINE_ACTION_TYPES, AirlineTool, WriteAirlineTool

__all__ = [
    "AIRLINE_ACTION_TYPES",
    "AddBaggageAllowanceTool",
    "AddMealRequestTool",
    "AddToStandbyTool",
    "AirlineTool",
    "AssignSeatTool",
    "CancelReservationTool",
    "GetDisruptionInfoTool",
    "GetFlightStatusTool",
    "GetReservationTool",
    "IssueHotelVoucherTool",
    "IssueMealVoucherTool",
    "IssueTravelCreditTool",
    "ProcessRefundTool",
    "RebookFlightTool",
    "SearchRebookingOptionsTool",
    "TransferToAgentTool",
    "WriteAirlineTool",
]
