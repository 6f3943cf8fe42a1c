"""Check a tool's arguments with a pydantic model, and describe them to a language model.

Pydantic is imported by whoever defines the model, not here, so that listing tools stays cheap.
"""

from __future__ import annotations

import copy
import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_voiceeval.tools.answers import ToolError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel
    from pydantic_core import ErrorDetails

    M = TypeVar("M", bound=BaseModel)

# The keywords every provider's function calling understands; Gemini refuses others.
_PORTABLE_KEYWORDS = ("type", "description", "enum", "items", "properties", "required")


@dataclass(frozen=True)
class ParameterRule:
    """How a bad value of one parameter is refused.

    Attributes:
        error_type: The `error_type` of the refusal.
        expected: What a good value looks like. Default: pydantic's own words.
        example: One good value, shown after `expected`.
    """

    error_type: str
    expected: str = ""
    example: str = ""

    def message(self, field: str, error: ErrorDetails) -> str:
        """`Invalid <field> '<value>': must be <expected> (e.g. <example>)`."""
        expected = f"must be {self.expected}" if self.expected else error["msg"]
        example = f" (e.g. {self.example})" if self.example else ""
        return f"Invalid {field} '{error['input']}': {expected}{example}"


def validate_parameters(
    model: type[M], arguments: Mapping[str, Any], rules: Mapping[str, ParameterRule]
) -> M:
    """Read `arguments` into `model`; arguments it does not know are ignored.

    Args:
        model: A pydantic model, its fields in the order in which they are checked.
        arguments: What the language model gave.
        rules: By field. The first bad field that has a rule decides the refusal; for a missing
            field the message shows all arguments.

    Raises:
        ToolError: A field is bad: with its rule's `error_type`, or `invalid_parameter` when no
            bad field has a rule.
    """
    from pydantic import ValidationError

    try:
        return model.model_validate(dict(arguments))
    except ValidationError as error:
        raise _refusal(error.errors(include_url=False), rules) from None


def describe_parameters(model: type[BaseModel]) -> tuple[dict[str, Any], list[str]]:
    """The JSON Schema of each field of `model`, and the names of the required ones.

    Limits and patterns are left out because not every provider accepts them: say them in the
    field's description. An optional field has the schema of its value, without null.
    """
    schema = copy.deepcopy(_schema_of(model))
    definitions = schema.get("$defs", {})
    properties = {
        name: _portable(field, definitions) for name, field in schema.get("properties", {}).items()
    }
    return properties, list(schema.get("required", []))


@functools.cache
def _schema_of(model: type[BaseModel]) -> dict[str, Any]:
    # Milliseconds each, and every bot session asks for every tool.
    return model.model_json_schema()


def _refusal(errors: list[ErrorDetails], rules: Mapping[str, ParameterRule]) -> ToolError:
    for error in errors:
        field = _field_of(error)
        if field in rules:
            return ToolError(rules[field].error_type, rules[field].message(field, error))
    first = errors[0]
    message = f"Invalid or missing parameter '{_field_of(first)}': {first['msg']}"
    return ToolError("invalid_parameter", message)


def _field_of(error: ErrorDetails) -> str:
    return str(error["loc"][0]) if error["loc"] else "arguments"


def _portable(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    whole = dict(schema)
    if "$ref" in whole:
        whole = {**definitions[whole["$ref"].rsplit("/", 1)[-1]], **whole}
    choices = [choice for choice in whole.get("anyOf", []) if choice.get("type") != "null"]
    if len(choices) == 1:
        whole = {**_portable(choices[0], definitions), **whole}
    if "const" in whole:
        whole["enum"] = [whole["const"]]
    kept = {key: whole[key] for key in _PORTABLE_KEYWORDS if key in whole}
    if "items" in kept:
        kept["items"] = _portable(kept["items"], definitions)
    if "properties" in kept:
        kept["properties"] = {
            name: _portable(field, definitions) for name, field in kept["properties"].items()
        }
    return kept
