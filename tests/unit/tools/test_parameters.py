"""Checking arguments with a model, and describing the model to a language model."""

from __future__ import annotations

import enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from pytest_voiceeval.tools import (
    ParameterRule,
    ToolError,
    describe_parameters,
    validate_parameters,
)


class Size(enum.StrEnum):
    """How big."""

    SMALL = "small"
    LARGE = "large"


class Order(BaseModel):
    code: Annotated[str, Field(pattern="^[A-Z]{3}$", description="The code.")]
    note: str
    size: Size
    count: Annotated[int, Field(ge=1, le=9)] = 1
    colour: Annotated[Literal["red", "blue"] | None, Field(description="Hue.")] = None
    tags: list[Annotated[str, Field(min_length=1)]] = []
    kind: Literal["food"] = "food"


RULES = {
    "code": ParameterRule("invalid_code", "3 capitals", "ABC"),
    "count": ParameterRule("invalid_count", "1 to 9"),
    "tags": ParameterRule("invalid_tags"),
}

GOOD = {"code": "ABC", "note": "n", "size": "small"}


@pytest.mark.parametrize(
    ("changes", "error_type", "message"),
    [
        (
            {"code": "abc"},
            "invalid_code",
            "Invalid code 'abc': must be 3 capitals (e.g. ABC)",
        ),
        ({"count": 10}, "invalid_count", "Invalid count '10': must be 1 to 9"),
        ({"tags": ["a", ""]}, "invalid_tags", "Invalid tags '': String should have at least 1"),
        ({"note": 5}, "invalid_parameter", "Invalid or missing parameter 'note': Input should be"),
        ({"note": 5, "count": 0}, "invalid_count", "Invalid count '0': must be 1 to 9"),
        ({"count": 0, "code": ""}, "invalid_code", "Invalid code '': must be 3 capitals"),
    ],
    ids=["example", "no example", "pydantic's words", "no rule", "rule first", "field order"],
)
def test_refusals(changes: dict[str, Any], error_type: str, message: str) -> None:
    with pytest.raises(ToolError) as caught:
        validate_parameters(Order, GOOD | changes, RULES)
    assert caught.value.error_type == error_type
    assert str(caught.value).startswith(message)


def test_a_missing_field_shows_all_arguments() -> None:
    with pytest.raises(ToolError) as caught:
        validate_parameters(Order, {"note": "n"}, RULES)
    text = "Invalid code '{'note': 'n'}': must be 3 capitals (e.g. ABC)"
    assert str(caught.value) == text


def test_lenient_reading_ignores_the_rest() -> None:
    order = validate_parameters(Order, GOOD | {"count": "3", "extra": object()}, RULES)
    assert (order.count, order.size) == (3, "small")


def test_the_description_keeps_what_every_provider_knows() -> None:
    properties, required = describe_parameters(Order)
    assert required == ["code", "note", "size"]
    assert properties == {
        "code": {"type": "string", "description": "The code."},
        "note": {"type": "string"},
        "size": {"type": "string", "description": "How big.", "enum": ["small", "large"]},
        "count": {"type": "integer"},
        "colour": {"type": "string", "description": "Hue.", "enum": ["red", "blue"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "kind": {"type": "string", "enum": ["food"]},
    }


def test_objects_in_lists_are_described_in_place() -> None:
    class Line(BaseModel):
        name: str
        price: float

    class Cart(BaseModel):
        lines: list[Line]

    properties, _ = describe_parameters(Cart)
    assert properties["lines"] == {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "price": {"type": "number"}},
            "required": ["name", "price"],
        },
    }


def test_a_description_may_be_changed_without_harm() -> None:
    describe_parameters(Order)[0]["size"]["enum"].clear()
    describe_parameters(Order)[1].clear()
    properties, required = describe_parameters(Order)
    assert properties["size"]["enum"] == ["small", "large"]
    assert required == ["code", "note", "size"]
