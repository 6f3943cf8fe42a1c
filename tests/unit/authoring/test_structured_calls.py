"""Calls whose arguments are objects or lists of them, written as YAML in single quotes."""

from __future__ import annotations

import pytest

from pytest_voiceeval.scenario.authoring_calls import CallReader

ITEMS = {"items": [{"name": "Onion Soup", "unit_price": "6.40", "quantity": "2"}]}


@pytest.fixture
def read():
    return CallReader("restaurant", {}, lambda _name, text: text).read


def test_values_are_of_the_types_of_the_schema(read):
    call = read(
        "place_order '[{name: Onion Soup, unit_price: 6.40, quantity: 2}]' \"Ana\" 12.80 "
        "customer_phone=555-0142"
    )
    assert call["arguments"] == {
        **ITEMS,
        "customer_name": "Ana",
        "total_price": "12.80",
        "customer_phone": "555-0142",
    }


def test_json_does_as_well(read):
    text = '[{"name": "Onion Soup", "unit_price": "6.40", "quantity": "2"}]'
    assert read(f"place_order '{text}' Ana 12.80")["arguments"]["items"] == ITEMS["items"]


@pytest.mark.parametrize(
    ("items", "problem"),
    [
        ("[{name: Soup", r"items is not YAML: "),
        ("{name: Soup}", r"items is to be of the type array, got \{'name': 'Soup'\}"),
        ("[Soup]", r"items\[0\] is to be of the type object, got 'Soup'"),
        ("[{name: [a]}]", r"items\[0\]\.name is to be of the type string, got \['a'\]"),
        ("[{nam: Soup}]", r"items\[0\] has no parameter 'nam'; did you mean 'name'\?"),
    ],
)
def test_what_cannot_be_read(read, items, problem):
    with pytest.raises(ValueError, match=f"call .*: {problem}"):
        read(f"place_order '{items}' Ana 12.80")
