"""Which tools there are, by domain and name.

Scenarios and the wire name a tool by its class (`RebookFlightTool`); the function name the model
sees (`rebook_flight`) is accepted as well. A domain's pack is imported when it is first asked for.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import logging
import sys
from typing import TYPE_CHECKING, Any, TypeVar, overload

from pytest_voiceeval.tools.base import StandardSchemaTool
from pytest_voiceeval.tools.naming import declared_name, function_name_of, registry_key
from pytest_voiceeval.tools.schemas import place_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

logger = logging.getLogger(__name__)

ToolClass = type[StandardSchemaTool]
T = TypeVar("T", bound=ToolClass)

DEFAULT_DOMAIN = "default"
PACKS = "pytest_voiceeval.packs"

ALL_SCHEMA_TOOLS_FOR_EVAL: dict[str, dict[str, ToolClass]] = {}
"""Every registered tool class: `{domain: {key: class}}`."""

# The module object each class was registered from. A pack that was unloaded, or loaded anew from
# elsewhere, has another one, and its old classes are out.
_homes: dict[ToolClass, ModuleType | None] = {}


class UnknownToolError(KeyError):
    """No tool, or no domain, of that name. Its text lists what there is."""

    def __str__(self) -> str:
        # KeyError would show the repr of the text.
        return str(self.args[0])


@overload
def register_schema_tool_for_eval(domain: T) -> T: ...
@overload
def register_schema_tool_for_eval(domain: str = DEFAULT_DOMAIN) -> Callable[[T], T]: ...
def register_schema_tool_for_eval(domain: Any = DEFAULT_DOMAIN) -> Any:
    """Register a tool class: `@register_schema_tool_for_eval` or `...(domain="my_domain")`.

    Raises:
        ValueError: The class is not a `StandardSchemaTool`, the domain is not an identifier, or
            the domain already has a tool of that name (`Tool name collision in domain ...`).
    """
    if not isinstance(domain, str):
        return _register(domain, DEFAULT_DOMAIN)
    _check_domain(domain)
    return lambda tool_class: _register(tool_class, domain)


def get_schema_tool_for_eval(
    name: str,
    domain: str = DEFAULT_DOMAIN,
    rtvi: Any = None,
    shared_state: dict[str, Any] | None = None,
    **tool_args: Any,
) -> StandardSchemaTool:
    """Make a tool by class or function name, looked up in `domain`, then in `default`.

    Args:
        name: `RebookFlightTool` or `rebook_flight`.
        domain: Its pack is imported on first use; the errors of a broken pack are raised.
        rtvi: Given to the constructor only if that has a parameter `rtvi`.
        shared_state: Likewise.
        tool_args: Further arguments of the constructor.

    Raises:
        UnknownToolError: Neither domain has it.
        TypeError: The constructor does not take `tool_args`.
    """
    _check_domain(domain)
    tool_class = _find(name, domain)
    if tool_class is None and domain != DEFAULT_DOMAIN:
        tool_class = _find(name, DEFAULT_DOMAIN)
        if tool_class is not None:
            logger.debug("tool %r is not in domain %r, taken from 'default'", name, domain)
    if tool_class is None:
        raise UnknownToolError(_unknown_text(name, domain))
    return _build(tool_class, tool_args, rtvi=rtvi, shared_state=shared_state)


def list_schema_tools_for_eval(domain: str | None = None) -> list[str]:
    """The registered names of one domain, or `domain.name` for all domains loaded so far.

    Raises:
        UnknownToolError: There is no such domain.
    """
    if domain is None:
        _load(DEFAULT_DOMAIN)
        return [f"{known}.{key}" for known in ALL_SCHEMA_TOOLS_FOR_EVAL for key in _tools_of(known)]
    _check_domain(domain)
    _load(domain)
    if domain not in ALL_SCHEMA_TOOLS_FOR_EVAL:
        raise UnknownToolError(_unknown_domain_text(domain))
    return list(_tools_of(domain))


def _check_domain(domain: str) -> None:
    # The name becomes part of a module name, so it must not be able to be a path.
    if not isinstance(domain, str) or not domain.isidentifier():
        raise ValueError(f"a tool domain must be an identifier such as 'my_domain', got {domain!r}")


def _register(tool_class: T, domain: str) -> T:
    if not (inspect.isclass(tool_class) and issubclass(tool_class, StandardSchemaTool)):
        raise ValueError(f"{tool_class!r} is not a subclass of StandardSchemaTool")
    tools = _tools_of(domain)
    key, function_name = registry_key(tool_class), function_name_of(tool_class)
    for taken, other in tools.items():
        if key == taken or function_name == function_name_of(other):
            raise ValueError(
                f"Tool name collision in domain {domain!r}: {_origin(tool_class)} and "
                f"{_origin(other)} are both {key if key == taken else function_name!r}"
                f"{_same_class_twice(tool_class, other)}; "
                "rename one or register it in another domain"
            )
    ALL_SCHEMA_TOOLS_FOR_EVAL[domain] = {**tools, key: tool_class}
    _homes[tool_class] = sys.modules.get(tool_class.__module__)
    return tool_class


def _tools_of(domain: str) -> dict[str, ToolClass]:
    """The tools of a domain, without those of a pack that was unloaded since."""
    tools = ALL_SCHEMA_TOOLS_FOR_EVAL.get(domain, {})
    return {key: tool for key, tool in tools.items() if not _is_leftover(tool)}


def _is_leftover(tool_class: ToolClass) -> bool:
    return sys.modules.get(tool_class.__module__) is not _homes[tool_class]


def _same_class_twice(tool_class: type, other: type) -> str:
    """Where both were defined, if their names do not tell."""
    if _origin(tool_class) != _origin(other):
        return ""
    lines = sorted({_line_of(tool_class), _line_of(other)} - {0})
    return f" (lines {' and '.join(map(str, lines))})" if lines else ""


def _line_of(tool_class: type) -> int:
    code = getattr(vars(tool_class).get("_execute"), "__code__", None)
    return getattr(code, "co_firstlineno", 0)


def _origin(tool_class: type) -> str:
    return f"{tool_class.__module__}.{tool_class.__qualname__}"


def _find(name: str, domain: str) -> ToolClass | None:
    found = _find_loaded(name, domain)
    if found is None:
        _load(domain)
        found = _find_loaded(name, domain)
    return found


def _find_loaded(name: str, domain: str) -> ToolClass | None:
    tools = _tools_of(domain)
    if name in tools:
        return tools[name]
    named = [tool for tool in tools.values() if name in (function_name_of(tool), tool.__name__)]
    if len(named) > 1:
        keys = ", ".join(sorted(str(declared_name(tool)) for tool in named))
        raise UnknownToolError(f"{name!r} names several tools of domain {domain!r}: use {keys}")
    return named[0] if named else None


def _load(domain: str) -> None:
    """Import the module that registers a domain's tools, unless it is imported already."""
    if domain == DEFAULT_DOMAIN:
        importlib.import_module("pytest_voiceeval.tools.common")
        return
    module = f"{PACKS}.{domain}"
    if module in sys.modules:
        return
    # A pack that fails half way must not leave half of its tools behind.
    registered = {name: dict(tools) for name, tools in ALL_SCHEMA_TOOLS_FOR_EVAL.items()}
    try:
        importlib.import_module(module)
    except Exception as error:
        ALL_SCHEMA_TOOLS_FOR_EVAL.clear()
        ALL_SCHEMA_TOOLS_FOR_EVAL.update(registered)
        if isinstance(error, ModuleNotFoundError) and error.name == module:
            return
        error.add_note(f"while importing the pack of tool domain {domain!r}")
        raise


def _build(tool_class: ToolClass, tool_args: dict[str, Any], **offered: Any) -> StandardSchemaTool:
    if inspect.isabstract(tool_class):
        missing = ", ".join(sorted(tool_class.__abstractmethods__))
        raise TypeError(f"tool {place_of(tool_class)} does not define {missing}")
    accepted = inspect.signature(tool_class).parameters
    arguments = {key: value for key, value in offered.items() if key in accepted} | tool_args
    try:
        inspect.signature(tool_class).bind(**arguments)
    except TypeError as error:
        takes = ", ".join(accepted) or "no arguments"
        raise TypeError(f"tool {tool_class.__name__}: {error}; it takes {takes}") from None
    return tool_class(**arguments)


def _unknown_text(name: str, domain: str) -> str:
    if domain not in ALL_SCHEMA_TOOLS_FOR_EVAL and not _has_pack(domain):
        return f"no tool {name!r}: {_unknown_domain_text(domain)}"
    own, shared = _tools_of(domain), _tools_of(DEFAULT_DOMAIN)
    where = f"domain {domain!r}" + ("" if domain == DEFAULT_DOMAIN else " or in 'default'")
    functions = [function_name_of(tool) for tool in (*own.values(), *shared.values())]
    hint = _closest(name, functions if name.islower() else [*own, *shared])
    return f"no tool {name!r} in {where}.{hint} Available: {', '.join(sorted({*own, *shared}))}"


def _has_pack(domain: str) -> bool:
    return f"pytest_voiceeval.packs.{domain}" in sys.modules


def _unknown_domain_text(domain: str) -> str:
    known = sorted(ALL_SCHEMA_TOOLS_FOR_EVAL)
    hint = _closest(domain, known)
    return (
        f"domain {domain!r} has no pack and no registered tools.{hint} "
        f"Domains with tools: {', '.join(known)}"
    )


def _closest(name: str, choices: list[str]) -> str:
    close = difflib.get_close_matches(name, choices, n=3)
    return f" Did you mean {' or '.join(close)}?" if close else ""
