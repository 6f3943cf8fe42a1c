"""Whether the parameters of a tool are a JSON Schema that a model can be given."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Mapping
from typing import Any

TYPES = ("string", "integer", "number", "boolean", "object", "array", "null")
"""The types of JSON Schema."""

_SUBSCHEMAS = ("items", "additionalProperties", "not")
_LISTS = ("anyOf", "oneOf", "allOf")


def unusable(properties: Any, required: Any) -> str | None:
    """What makes parameters unusable, whatever model they are given to; None if nothing does.

    Args:
        properties: The schema of each parameter, by its name.
        required: The names of those that must be given.
    """
    if not isinstance(properties, Mapping):
        return f"properties must be an object of schemas by parameter, not {properties!r:.60}"
    if bad := [name for name, schema in properties.items() if not isinstance(schema, Mapping)]:
        return f"the schema of {bad[0]!r} must be an object, not {properties[bad[0]]!r:.60}"
    is_list = isinstance(required, list | tuple) and all(isinstance(name, str) for name in required)
    if not is_list:
        return f"required_properties must be a list of names, not {required!r:.60}"
    try:
        json.dumps(dict(properties), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        return f"properties are not JSON: {error}"
    return None


def schema_problems(properties: Mapping[str, Any], required: Any) -> list[str]:
    """List what is not valid JSON Schema in parameters that are usable otherwise."""
    schema = {"type": "object", "properties": properties, "required": required}
    return list(_problems(schema, ""))


def place_of(cls: type) -> str:
    """Return a class's name, with file and line if they are known."""
    try:
        place = f" ({inspect.getsourcefile(cls)}:{inspect.getsourcelines(cls)[1]})"
    except (OSError, TypeError):
        place = ""
    return f"{cls.__name__}{place}"


def _problems(schema: Any, where: str) -> Iterator[str]:
    if isinstance(schema, bool) and where:
        return
    here = where or "the tool"
    if not isinstance(schema, Mapping):
        yield f"the schema of {here} must be an object, not {schema!r:.60}"
        return
    yield from _bad_type(schema.get("type"), here)
    if "enum" in schema and not (isinstance(schema["enum"], list | tuple) and schema["enum"]):
        yield f"the enum of {here} must be a list of values, not {schema['enum']!r:.60}"
    yield from _bad_required(schema, here)
    for name, inner in _children(schema):
        yield from _problems(inner, ".".join(filter(None, (where, name))))


def _bad_type(kind: Any, here: str) -> Iterator[str]:
    kinds = kind if isinstance(kind, list | tuple) else [kind]
    for one in kinds:
        if one is not None and one not in TYPES:
            yield f"{here} has the type {one!r}; JSON Schema knows {', '.join(TYPES)}"


def _bad_required(schema: Mapping[str, Any], here: str) -> Iterator[str]:
    required, properties = schema.get("required", []), schema.get("properties", {})
    if not isinstance(properties, Mapping):
        yield f"the properties of {here} must be an object, not {properties!r:.60}"
    elif not isinstance(required, list | tuple):
        yield f"what {here} requires must be a list of names, not {required!r:.60}"
    else:
        for name in required:
            if name not in properties:
                known = ", ".join(properties) or "none"
                yield f"{here} requires {name!r}, which is none of its properties: {known}"


def _children(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    properties = schema.get("properties", {})
    yield from properties.items() if isinstance(properties, Mapping) else ()
    for key in _SUBSCHEMAS:
        if key in schema:
            yield key, schema[key]
    for key in _LISTS:
        inners = schema.get(key) or ()
        # what is no list is complained of like what is no object in one
        for number, inner in enumerate(inners if isinstance(inners, list | tuple) else [inners]):
            yield f"{key}.{number}", inner
