"""What a model may give a tool of the small domains, and what a tool may say of its parameters."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from pytest_voiceeval.scenario.replay import agent_tools, initial_state
from pytest_voiceeval.tools import ReadScenarioTool
from pytest_voiceeval.tools.registry import list_schema_tools_for_eval
from pytest_voiceeval.tools.schemas import schema_problems

from .conftest import NAMES, scenario_of

GOOD: dict[str, Any] = {
    "items": [{"name": "Pepperoni Pizza", "unit_price": "13.25", "quantity": "1"}],
    "account_id": "NL-2041",
    "order_id": "N-70312",
    "amount": "$1.00",
    "date": "2026-03-12",
    "new_plan": "Home 500",
    "resolution_type": "refund",
    "total_price": "13.25",
    "party_size": 2,
    "city_name": "Chicago",
}
ODD: list[Any] = [
    *(None, "", " ", 0, -1, 1.5, True, 1e308, "NaN", "\u0663", "2026-02-30", "x" * 9999),
    *([], {}, [1], ["a"], [{}], [[]], {"a": 1}, [{"name": 1}]),
    [{"name": "pepperoni pizza", "unit_price": 13.25, "quantity": 0}],
]


@pytest.mark.parametrize("domain", NAMES)
def test_odd_values_are_refused_and_crash_nothing(domain: str) -> None:
    scenario = scenario_of(f"{domain}__{NAMES[domain][0]}")
    names = list(agent_tools(scenario, initial_state(scenario)))
    assert len(names) == len(list_schema_tools_for_eval(domain)) + 1  # and the one that hangs up
    for name in names:
        schema = agent_tools(scenario, initial_state(scenario))[name].schema
        needed = {key: GOOD.get(key, "text") for key in schema.required}
        for parameter in schema.properties:
            for odd in ODD:
                tool = agent_tools(scenario, initial_state(scenario))[name]
                tool.invoke(**{**needed, parameter: odd})
                assert tool.crash is None, (name, parameter, odd)


@pytest.mark.parametrize("date", ["2026-02-30", "12 March", "20260312", "2025-08-09"])
def test_a_refund_is_of_today(date: str) -> None:
    scenario = scenario_of("customer_service__billing_dispute")
    tool = agent_tools(scenario, initial_state(scenario))["process_refund"]
    answer = tool.invoke(account_id="NL-2041", amount="$18.90", description="x", date=date)
    wanted = scenario.reference_answer["actions"][0]["date"]
    assert answer.get("error_type") == "invalid_date" or answer["date"] != wanted


TEXT = {"type": "string"}


@pytest.mark.parametrize(
    ("properties", "required", "problem"),
    [
        ({"a": {"type": "float"}}, (), "a has the type 'float'; JSON Schema knows string, "),
        ({"a": {"type": ["string", "None"]}}, (), "a has the type 'None'"),
        ({"a": TEXT}, ["b"], "the tool requires 'b', which is none of its properties: a"),
        (
            {"a": {"type": "array", "items": TEXT | {"enum": "x"}}},
            (),
            "the enum of a.items must",
        ),
        ({"a": {"type": "array", "items": "text"}}, (), "the schema of a.items must be an object"),
        ({"a": {"properties": {"b": {"type": "list"}}}}, (), "a.b has the type 'list'"),
        ({"a": {"properties": ["b"]}}, (), "the properties of a must be an object, not ['b']"),
        ({"a": {"required": "b"}}, (), "what a requires must be a list of names, not 'b'"),
        ({"a": {"anyOf": [TEXT, {"type": "int"}]}}, (), "a.anyOf.1 has the type 'int'"),
    ],
)
def test_what_is_no_json_schema(properties: Any, required: Any, problem: str) -> None:
    [found] = schema_problems(properties, required)
    assert found.startswith(problem)


def test_what_is_json_schema() -> None:
    nested = {"type": ["object", "null"], "properties": {"b": TEXT}, "required": ["b"]}
    limits = {"type": "integer", "minimum": 1, "enum": [1, 2]}
    properties = {
        "a": nested,
        "n": limits,
        "c": {"type": "array", "items": {"anyOf": [TEXT, limits]}},
    }
    assert (
        schema_problems({**properties, "any": {}, "o": {"additionalProperties": False}}, ["a"])
        == []
    )


@pytest.mark.parametrize(
    ("properties", "required", "problem"),
    [
        (["a"], [], "properties must be an object of schemas by parameter, not ['a']"),
        ({"a": "text"}, [], "the schema of 'a' must be an object, not 'text'"),
        ({"a": TEXT}, "a", "required_properties must be a list of names, not 'a'"),
        ({"a": {"enum": {1}}}, [], "properties are not JSON: Object of type set is not JSON"),
    ],
)
def test_a_tool_that_no_model_could_be_given(properties: Any, required: Any, problem: str) -> None:
    given, needed = properties, required

    class OddTool(ReadScenarioTool):
        description = "Odd."
        properties: ClassVar = given
        required_properties: ClassVar = needed

        def _execute(self) -> None:
            """Do nothing."""

    with pytest.raises(ValueError, match=r"OddTool \(.*test_tool_arguments\.py:\d+\): ") as error:
        _ = OddTool().schema
    assert problem in str(error.value)
