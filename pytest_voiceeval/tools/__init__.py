"""Tools an agent may call: base classes, the registry and the tools every domain shares."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_voiceeval.tools.answers import ToolError, error_answer
    from pytest_voiceeval.tools.base import (
        CallParams,
        ReadScenarioTool,
        StandardSchemaTool,
        ToolSchema,
        WriteScenarioTool,
    )
    from pytest_voiceeval.tools.common import (
        EndConversationTool,
        SendExitMessageTool,
        SendRTVIMessageTool,
        SendScenarioSummaryTool,
    )
    from pytest_voiceeval.tools.parameters import (
        ParameterRule,
        describe_parameters,
        validate_parameters,
    )
    from pytest_voiceeval.tools.registry import (
        ALL_SCHEMA_TOOLS_FOR_EVAL,
        UnknownToolError,
        get_schema_tool_for_eval,
        list_schema_tools_for_eval,
        register_schema_tool_for_eval,
    )

__all__ = [
    "ALL_SCHEMA_TOOLS_FOR_EVAL",
    "CallParams",
    "EndConversationTool",
    "ParameterRule",
    "ReadScenarioTool",
    "SendExitMessageTool",
    "SendRTVIMessageTool",
    "SendScenarioSummaryTool",
    "StandardSchemaTool",
    "ToolError",
    "ToolSchema",
    "UnknownToolError",
    "WriteScenarioTool",
    "describe_parameters",
    "error_answer",
    "get_schema_tool_for_eval",
    "list_schema_tools_for_eval",
    "register_schema_tool_for_eval",
    "validate_parameters",
]

# Where each public name lives; a module is imported when one of its names is first used.
_HOMES = {
    "answers": ("ToolError", "error_answer"),
    "base": (
        "CallParams",
        "ReadScenarioTool",
        "StandardSchemaTool",
        "ToolSchema",
        "WriteScenarioTool",
    ),
    "common": (
        "EndConversationTool",
        "SendExitMessageTool",
        "SendRTVIMessageTool",
        "SendScenarioSummaryTool",
    ),
    "parameters": ("ParameterRule", "describe_parameters", "validate_parameters"),
    "registry": (
        "ALL_SCHEMA_TOOLS_FOR_EVAL",
        "UnknownToolError",
        "get_schema_tool_for_eval",
        "list_schema_tools_for_eval",
        "register_schema_tool_for_eval",
    ),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
