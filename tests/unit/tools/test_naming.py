"""Class names and function names."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_voiceeval.tools.naming import derive_function_name, function_name_of, registry_key


@pytest.mark.parametrize(
    ("class_name", "function_name"),
    [
        ("RebookFlightTool", "rebook_flight"),
        ("SendRTVIMessageTool", "send_rtvi_message"),
        ("GetMenu", "get_menu"),
        ("Tool", "tool"),
        ("Lookup2FactorTool", "lookup2_factor"),
        ("_PrivateTool", "private"),
    ],
)
def test_function_names_are_derived(class_name: Any, function_name: Any) -> None:
    assert derive_function_name(class_name) == function_name


def test_a_declared_name_is_both_key_and_function_name() -> None:
    named = type("WhateverTool", (), {"name": "do_it"})
    assert (registry_key(named), function_name_of(named)) == ("do_it", "do_it")


@pytest.mark.parametrize("name", [None, 3, property(lambda self: "x")], ids=["none", "int", "prop"])
def test_a_name_that_is_no_text_does_not_count(name: str) -> None:
    odd = type("OddTool", (), {"name": name})
    assert (registry_key(odd), function_name_of(odd)) == ("OddTool", "odd")
