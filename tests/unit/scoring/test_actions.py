"""Tool calls and the arguments that count."""

from __future__ import annotations

import math

import pytest

from pytest_voiceeval.scoring.db_hash import StateError
from pytest_voiceeval.scoring.explain import explain_match
from pytest_voiceeval.scoring.matching import (
    PayloadError,
    filter_arguments,
    match_action,
    match_payloads,
    unknown_compare_args,
)

ARGUMENTS = {"user_id": "u1", "city": "NYC", "amount": 42}


@pytest.mark.parametrize(
    ("arguments", "compare_args", "kept"),
    [
        (ARGUMENTS, None, ARGUMENTS),
        ({"summary": "x", "user_id": "u1"}, [], {}),
        (ARGUMENTS, ["user_id"], {"user_id": "u1"}),
        (ARGUMENTS, ["user_id", "city"], {"user_id": "u1", "city": "NYC"}),
        ({"user_id": "u1"}, ["nonexistent"], {"nonexistent": None}),
    ],
)
def test_filter_arguments(arguments, compare_args, kept):
    assert filter_arguments(arguments, compare_args) == kept


def test_filter_arguments_gives_back_the_same_object():
    assert filter_arguments(ARGUMENTS, None) is ARGUMENTS


def test_compare_args_as_text_is_refused():
    with pytest.raises(PayloadError, match="compare_args must be a list of names or null"):
        filter_arguments(ARGUMENTS, "user_id")


def call(name, arguments=None, **more):
    return {"name": name, "arguments": {} if arguments is None else arguments, **more}


JFK = {"user_id": "u1", "from": "JFK"}
LAX = {"user_id": "u1", "from": "LAX"}


@pytest.mark.parametrize(
    ("ref", "pred", "matches"),
    [
        (call("rebook"), call("cancel"), False),
        (call("rebook"), {"name": "rebook"}, True),
        ({"name": "rebook"}, {"name": "rebook", "arguments": None}, True),
        (call("rebook", JFK), call("rebook", JFK), True),
        (call("rebook", JFK), call("rebook", LAX), False),
        (call("rebook", JFK, compare_args=None), call("rebook", JFK), True),
        (call("rebook", JFK, compare_args=None), call("rebook", LAX), False),
        (call("transfer", {"summary": "a"}, compare_args=[]), call("transfer", {"x": 1}), True),
        (call("get", {"id": 1}, compare_args=["id"]), call("get", {"id": 1, "x": 2}), True),
        (call("get", {"id": 1}, compare_args=["id"]), call("get", {"id": 2}), False),
        (call("get", {"id": 1}), call("get", {"id": 1, "x": 2}), False),
        (call("pay", {"price": 33}), call("pay", {"price": 33.0}), True),
        (call("pay", {"price": 33}), call("pay", {"price": "33"}), False),
        (call("set", {"on": True}), call("set", {"on": 1}), False),
        (call("set", {"meal": "none"}), call("set", {"meal": None}), True),
        (call("get", {"id": "#W12"}), call("get", '{"id":"#W12'), False),
        (call("get", {"id": "#W12"}, compare_args=[]), call("get", '{"id":"#W12'), False),
        (call("get", {"id": 1}), call("get", {"id": math.nan}), False),
        (call("get"), {}, False),
    ],
)
def test_match_action(ref, pred, matches):
    assert match_action(ref, pred) is matches


@pytest.mark.parametrize(
    ("ref", "error", "problem"),
    [
        ({"arguments": {}}, PayloadError, r"needs a name, found \['arguments'\]"),
        (call("get", ["x"]), PayloadError, "arguments of the reference action get are no object"),
        (call("get", compare_args="id"), PayloadError, "compare_args must be a list"),
        (call("get", {"x": math.nan}), StateError, "at x: nan"),
    ],
)
def test_a_malformed_reference_is_refused(ref, error, problem):
    with pytest.raises(error, match=problem):
        match_action(ref, call("get"))


def test_compare_args_that_name_nothing():
    assert unknown_compare_args(call("get", {"order_id": 1}, compare_args=["order_idd"])) == (
        "order_idd",
    )
    assert unknown_compare_args(call("get", {"order_id": 1}, compare_args=["order_id"])) == ()
    assert unknown_compare_args({"name": "get"}) == ()
    assert unknown_compare_args({"name": "get", "compare_args": None}) == ()


def _payload(compare_args, **arguments):
    return {"actions": [{"name": "do", "arguments": arguments, "compare_args": compare_args}]}


@pytest.mark.parametrize(
    ("reference", "arguments", "matches"),
    [
        (_payload([], id="7"), {"id": "8"}, True),
        (_payload(["id"], id="7", note="x"), {"id": "7", "note": "y"}, True),
        (_payload(["id"], id="7", note="x"), {"id": "8", "note": "x"}, False),
        (_payload(None, id="7"), {"id": "7", "extra": 1}, True),
        (_payload(None, id="7"), {"id": "8"}, False),
        (_payload(["id"], id="7"), {}, False),
    ],
)
def test_compare_args_count_in_whole_payloads(reference, arguments, matches):
    prediction = [{"actions": [{"name": "do", "arguments": arguments}]}]
    assert match_payloads(reference, prediction) is matches
    blocking = [item for item in explain_match(reference, prediction) if item.blocking]
    assert (not blocking) is matches
