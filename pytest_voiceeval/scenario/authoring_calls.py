"""Calls in one line: `assign_seat LQ522 window` with everything that can be derived left out."""

from __future__ import annotations

import difflib
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.tools.registry import UnknownToolError, get_schema_tool_for_eval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pytest_voiceeval.tools.base import ToolSchema

    ReadArgument = Callable[[str, str], str]

_BOOLEANS = {"true": True, "yes": True, "false": False, "no": False}


@dataclass(frozen=True)
class CallReader:
    """Reads calls of a domain's tools.

    A line is a function's name and its arguments, `name=value` or bare. Bare ones are the required
    parameters in order, without those that have a default. Texts with blanks stand in double
    quotes, lists are written with commas, lists of objects as YAML in single quotes.

    Attributes:
        domain: whose tools are called.
        defaults: values of required parameters that may be left out.
        read_argument: turns the short form of a parameter's value into the full one.
    """

    domain: str
    defaults: Mapping[str, Any]
    read_argument: ReadArgument
    _schemas: dict[str, ToolSchema] = field(default_factory=dict, repr=False)

    def read(self, line: str) -> dict[str, Any]:
        """Read one line into `{"name", "arguments"}`, arguments in the order of the schema.

        Raises:
            ValueError: no such tool or parameter, a value missing, left over or of another type.
        """
        try:
            return self._read(line)
        except ValueError as error:
            raise ValueError(f"call {line!r}: {error}") from None

    def _read(self, line: str) -> dict[str, Any]:
        name, *words = shlex.split(line) or [""]
        schema = self._schema(name)
        named, bare = self._sort(schema, words)
        free = [p for p in schema.required if p not in named and p not in self.defaults]
        if len(bare) != len(free):
            wanted = ", ".join(free) or "nothing"
            raise ValueError(f"needs {wanted}; got {len(bare)} bare values: {' '.join(bare)}")
        given = {**dict(zip(free, bare, strict=True)), **named}
        arguments = {p: self._value(schema, p, text) for p, text in given.items()}
        defaults = {p: self.defaults[p] for p in schema.required if p in self.defaults}
        order = [*schema.required, *(p for p in schema.properties if p not in schema.required)]
        merged = {**defaults, **arguments}
        return {"name": name, "arguments": {p: merged[p] for p in order if p in merged}}

    def _schema(self, name: str) -> ToolSchema:
        if name not in self._schemas:
            try:
                tool = get_schema_tool_for_eval(name, domain=self.domain, shared_state={})
            except UnknownToolError as error:
                raise ValueError(str(error)) from None
            schema = tool.schema
            if unknown := [p for p in schema.required if p not in schema.properties]:
                has = ", ".join(schema.properties) or "none"
                raise ValueError(f"it requires {unknown[0]!r}, but its parameters are {has}")
            self._schemas[name] = schema
        return self._schemas[name]

    @staticmethod
    def _sort(schema: ToolSchema, words: Iterable[str]) -> tuple[dict[str, str], list[str]]:
        named: dict[str, str] = {}
        bare: list[str] = []
        for word in words:
            key, equals, value = word.partition("=")
            if not equals or not key.isidentifier():
                bare.append(word)
            elif key in schema.properties:
                named[key] = value
            else:
                raise ValueError(_unknown(key, schema.properties))
        return named, bare

    def _value(self, schema: ToolSchema, parameter: str, text: str) -> Any:
        properties = schema.properties[parameter]
        kind = properties.get("type")
        if kind == "object" or (properties.get("items") or {}).get("type") == "object":
            return _structured(parameter, text, properties)
        if kind == "array":
            items = [self.read_argument(parameter, item) for item in text.split(",")]
            item_kind = (properties.get("items") or {}).get("type")
            return [_typed(parameter, item, item_kind) for item in items]
        return _typed(parameter, self.read_argument(parameter, text), kind)


def _structured(parameter: str, text: str, properties: Mapping[str, Any]) -> Any:
    """Read an object or a list of objects, every value as its schema says: `14.50` may be text."""
    import yaml  # a tenth of the tools' callers need it

    try:
        value = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 - gives texts only
    except yaml.YAMLError as error:
        problem = getattr(error, "problem", None) or error
        raise ValueError(f"{parameter} is not YAML: {problem}") from None
    return _as_schema(parameter, value, properties)


def _as_schema(name: str, value: Any, schema: Mapping[str, Any]) -> Any:
    kind = schema.get("type")
    wanted = {"object": dict, "array": list}.get(str(kind), str)
    if not isinstance(value, wanted):
        problem = f"{name} is to be of the type {kind or 'string'}, got {value!r:.60}"
        raise ValueError(problem)  # noqa: TRY004 - what an author wrote, not what a caller passed
    if isinstance(value, list):
        items = schema.get("items") or {}
        return [_as_schema(f"{name}[{n}]", item, items) for n, item in enumerate(value)]
    if isinstance(value, dict):
        known = schema.get("properties") or {}
        if unknown := next((key for key in value if key not in known), None):
            raise ValueError(f"{name} {_unknown(unknown, known)}")
        return {key: _as_schema(f"{name}.{key}", item, known[key]) for key, item in value.items()}
    return _typed(name, value, kind)


def _typed(parameter: str, text: str, kind: Any) -> Any:
    """Read a value as its parameter's type; a whole number stays one."""
    if kind == "boolean":
        if text.lower() not in _BOOLEANS:
            raise ValueError(f"{parameter} is true or false, got {text!r}")
        return _BOOLEANS[text.lower()]
    if kind not in ("integer", "number"):
        return text
    try:
        return int(text) if kind == "integer" or "." not in text else float(text)
    except ValueError:
        raise ValueError(f"{parameter} is a number, got {text!r}") from None


def _unknown(key: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(key, list(known), n=1)
    hint = f"; did you mean {close[0]!r}?" if close else f"; it has {', '.join(known)}"
    return f"has no parameter {key!r}{hint}"
