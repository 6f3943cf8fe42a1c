"""What is wrong with a domain's tools, as far as it shows without a model."""

from __future__ import annotations

import difflib
import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.data.errors import DataError
from pytest_voiceeval.packs import place_in_pack
from pytest_voiceeval.scenario.auditing_gold import shown
from pytest_voiceeval.scenario.replay import agent_tools, caller_tools
from pytest_voiceeval.tools.registry import (
    UnknownToolError,
    get_schema_tool_for_eval,
    list_schema_tools_for_eval,
)
from pytest_voiceeval.tools.schemas import place_of, schema_problems

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_voiceeval.scenario.model import Scenario
    from pytest_voiceeval.scenario.replay import Replay


@contextmanager
def quiet_tools() -> Iterator[None]:
    """Keep tools from logging meanwhile: the checks tell what matters, and provoke the rest."""
    logger = logging.getLogger("pytest_voiceeval.tools.base")
    was, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = was


def described(domain: str, error: Exception) -> str:
    """Name an error, and the line of the pack that it comes from."""
    place = "" if isinstance(error, DataError) else place_in_pack(domain, error)
    return f"{type(error).__name__}: {error}{place and f' ({place})'}"


def tool_complaints(domain: str) -> Iterator[str]:
    """Yield what no model could make of a domain's tools."""
    try:
        names = list_schema_tools_for_eval(domain)
    except UnknownToolError:  # it has none
        return
    for name in names:
        try:
            tool = get_schema_tool_for_eval(name, domain=domain, shared_state={})
            schema = tool.schema
        except Exception:  # noqa: BLE001, S112 - it needs arguments, or its scenarios tell
            continue
        for problem in schema_problems(schema.properties, schema.required):
            yield f"{place_of(type(tool))}: {problem}"


def call_complaints(scenario: Scenario, end: Replay) -> Iterator[str]:
    """Yield the calls of the dialogue that no good agent could make as well."""
    for step in end.steps:
        call = shown({"name": step.call.name, "arguments": step.call.arguments})
        if step.crash is not None:
            yield f"{call} crashes: {described(scenario.domain, step.crash)}"
        elif step.result.get("error_type") == "unknown_tool":
            yield f"{call} calls a tool that agent_resources does not name"


def kind_complaints(scenario: Scenario, end: Replay) -> Iterator[str]:
    """Yield the kinds of actions that no tool says it records."""
    tools = [*agent_tools(scenario, {}).values(), *caller_tools(scenario, {}).values()]
    known = sorted({kind for tool in tools for kind in getattr(tool, "ACTION_TYPES", ())})
    for kind in dict.fromkeys(_kinds(end.actions)):
        if kind not in known:
            yield f"the action_type {kind!r} is recorded, but no tool has it in ACTION_TYPES"
    answer: Any = scenario.reference_answer
    wanted = answer.get("actions") if isinstance(answer, dict) else None
    for kind in dict.fromkeys(_kinds(wanted if known else None)):
        if kind not in known:
            close = difflib.get_close_matches(kind, known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"they record {', '.join(known)}"
            yield f"reference_answer has the action_type {kind!r}, which no tool records; {hint}"


def _kinds(actions: Any) -> Iterator[str]:
    for action in actions if isinstance(actions, list) else ():
        if isinstance(action, dict) and isinstance(kind := action.get("action_type"), str):
            yield kind
