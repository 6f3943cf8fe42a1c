"""The two names of a tool: the class name scenarios use and the function name the model sees."""

from __future__ import annotations

import re

_WORD_STARTS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def derive_function_name(class_name: str) -> str:
    """`RebookFlightTool` -> `rebook_flight`, `SendRTVIMessageTool` -> `send_rtvi_message`."""
    stem = class_name.removesuffix("Tool") or class_name
    return _WORD_STARTS.sub("_", stem).lower().strip("_")


def declared_name(tool_class: type) -> str | None:
    """The class attribute `name` if it is a text, else None (a property does not count)."""
    name = getattr(tool_class, "name", None)
    return name if isinstance(name, str) else None


def function_name_of(tool_class: type) -> str:
    """The function name of a class: its declared name, else one derived from the class name."""
    return declared_name(tool_class) or derive_function_name(tool_class.__name__)


def registry_key(tool_class: type) -> str:
    """The name a class is registered under: its declared name, else its class name."""
    return declared_name(tool_class) or tool_class.__name__
