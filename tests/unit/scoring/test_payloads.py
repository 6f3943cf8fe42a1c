"""Whole payloads: the worked table, the deliberate differences, files, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_voiceeval.scoring.matching import (
    PayloadError,
    check_if_task_success,
    match_dict,
    match_item,
    match_list,
    match_payloads,
    normalize_scenario_payload,
)

ACTION = {"action_type": "rebook", "seat": {"row": 12}}
RICHER = {"action_type": "rebook", "seat": {"row": 12, "side": "left"}, "at": "10:00"}

# (reference, prediction, lenient verdict, strict verdict)
WORKED = [
    ({"x": 1}, {"x": 1, "y": 2}, True, True),
    ({"x": 2}, [{"x": 1}, {"x": 2}], True, True),
    ({"x": 1}, [{"x": 1}, {"x": 2}], False, False),
    ([{"x": 1}, {"x": 2}], [{"x": 1}, {"x": 2}, {"x": 3}], True, False),
    ([{"x": 1}, {"x": 2}], [{"x": 2}, {"x": 1}], True, True),
    ([{"x": 1}, {"x": 2}], [{"x": 1}], False, False),
    ([{"x": 1}, {"x": 2}], {"x": 1}, False, False),
    ({"actions": [ACTION]}, [{"actions": [RICHER]}], True, True),
    ({"actions": []}, [{"actions": [{"a": 1}]}], True, False),  # strict: the reference says True
    ({"actions": [{"a": 1}]}, [{"actions": []}], False, False),
    ([], [], True, True),
    ([], [{"a": 1}], True, False),
    ({"x": 1}, [], False, False),
    ({}, [], False, False),
    ({}, {"a": 1}, True, True),
    ({"x": None}, {"x": None}, True, True),
    ({"x": None}, {}, False, False),
    ({"x": [1, 2]}, {"x": [2, 1, 3]}, True, True),
    ({"x": [1, 1]}, {"x": [1]}, False, False),
    ({"x": []}, {"x": [5]}, True, True),
    ({"message": "hello"}, [{"message": "hello"}], True, True),
    ({"m": "x"}, "x", False, False),
]

# The reference answers the lenient question the other way round, or crashes.
DELIBERATE = [
    ([{"x": 1}], [{"x": 1}, {"x": 2}], True, False),
    ([{"x": 2}], [{"x": 1}, {"x": 2}], True, False),
    (
        {"x": [{"a": 1}, {"a": 1, "b": 2}]},
        {"x": [{"a": 1, "b": 2}, {"a": 1}]},
        True,
        True,
    ),
    ([{"a": 1}, {"a": 1, "b": 2}], [{"a": 1, "b": 2}, {"a": 1}], True, True),
]

MORE = [
    ([{"x": 1}], {"x": 1}, True, True),
    ([{"x": 1}], [{"x": 1}], True, True),
    ([{"x": 3}], [{"x": 1}, {"x": 2}], False, False),
    ({"actions": [ACTION]}, {"actions": [ACTION, RICHER]}, True, False),
    ({"actions": [{"seats": ["1A"]}]}, {"actions": [{"seats": ["1A", "1B"]}]}, True, False),
    ({"actions": [{"seats": ["1A"]}]}, {"actions": [{"seats": ["1A"], "x": 1}]}, True, True),
    ({"actions": [], "x": [1]}, {"actions": [], "x": [1, 2]}, True, True),
    ({"actions": [ACTION, ACTION]}, {"actions": [ACTION]}, False, False),
    ({"actions": [1]}, {"actions": "1"}, False, False),
    ({"x": 80}, {"x": 8080}, False, False),
    ({"x": [1]}, {"x": [11]}, False, False),
    ({"arguments": {"order_id": "#W12"}}, {"arguments": '{"order_id":"#W12'}, False, False),
    ({"qty": 2}, {"qty": 1}, False, False),
    ([{"qty": 2}], [{"qty": 1}, {"qty": 2}], True, False),
    ([{"n": "A"}, {"n": "B"}], [{"n": "B"}, {"n": "A"}], True, True),
    ({"x": 1}, [{"x": 1}, 5], False, False),
    ([{"x": 1}], [5, None, {"x": 1}], True, False),
    ({"x": 1}, None, False, False),
    ({"x": {"y": 1}}, {"x": [1]}, False, False),
    ({"x": [1]}, {"x": {"y": 1}}, False, False),
]


@pytest.mark.parametrize(
    ("reference", "prediction", "lenient", "strict"), WORKED + DELIBERATE + MORE
)
def test_payloads(tmp_path, reference, prediction, lenient, strict):
    assert match_payloads(reference, prediction) is lenient
    assert match_payloads(reference, prediction, disallow_extra_items=True) is strict
    files = []
    for name, payload in (("reference", reference), ("prediction", prediction)):
        files.append(tmp_path / f"{name}.json")
        files[-1].write_text(json.dumps(payload), encoding="utf-8")
    assert check_if_task_success(str(files[0]), str(files[1])) is lenient
    assert check_if_task_success(*files, disallow_extra_items=True) is strict


def test_flags_reach_the_values():
    reference = {"actions": [{"city": "New York", "code": "E, P, X"}]}
    prediction = {"actions": [{"city": "new york!", "code": "epx"}]}
    flags = {"ignore_capitalization": True, "ignore_punctuation": True, "clean_text": True}
    assert match_payloads(reference, prediction, **flags)
    for name in flags:
        assert not match_payloads(reference, prediction, **(flags | {name: False}))


@pytest.mark.parametrize("reference", ["a", 5, None, True, [1], ["hello"], [{"x": 1}, None]])
def test_a_reference_that_is_no_payload_is_refused(reference):
    with pytest.raises(PayloadError, match="must be an object or a list of objects") as caught:
        match_payloads(reference, reference)
    assert json.dumps(reference) in str(caught.value)


def test_a_file_that_is_no_json_is_named(tmp_path):
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text("{}", encoding="utf-8")
    bad.write_text('{"order_id": "#W12', encoding="utf-8")
    with pytest.raises(PayloadError, match=r"bad\.json is not a JSON file"):
        check_if_task_success(good, bad)
    with pytest.raises(FileNotFoundError, match=r"none\.json"):
        check_if_task_success(tmp_path / "none.json", good)
    bad.write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(PayloadError, match=r"bad\.json is nested too deeply"):
        check_if_task_success(good, bad)


def test_deep_payloads_do_not_break_the_matcher():
    deep: Any = 1
    for _ in range(3_000):
        deep = [deep]
    assert not match_payloads({"x": 1}, {"x": deep})
    with pytest.raises(PayloadError, match="nested too deeply"):
        match_payloads({"x": deep}, {"x": deep})


@pytest.mark.parametrize(
    ("payload", "normal"),
    [
        ([{"a": 1}], {"a": 1}),
        ([{}], {}),
        ({"a": 1}, {"a": 1}),
        ([{"a": 1}, {"b": 2}], [{"a": 1}, {"b": 2}]),
        ([], []),
        (["hello"], ["hello"]),
        ([42], [42]),
        ([None], [None]),
        (None, None),
        ("string", "string"),
        (42, 42),
        (True, True),
    ],
)
def test_normalize_scenario_payload(payload, normal):
    assert normalize_scenario_payload(payload) == normal


def test_parts_on_their_own():
    assert match_dict({"a": "X"}, {"a": "x", "b": 1}, ignore_capitalization=True)
    assert not match_dict({"a": "X"}, {"a": "x"})
    assert not match_dict({"a": 1}, ["a"])
    assert match_list([1, "two"], ["2", 1], clean_text=True)
    assert match_list([1], [1, 2])
    assert not match_list([1], [1, 2], disallow_extra_items=True)
    assert not match_list([1], "1")
    assert match_item({"a": [1]}, {"a": [1, 2]})
    assert not match_item({"a": [1]}, {"a": [1, 2]}, disallow_extra_items=True)
    assert not match_dict({"actions": [1]}, {"actions": [1, 2]}, disallow_extra_items=True)
    assert match_dict({"other": [1]}, {"other": [1, 2]}, disallow_extra_items=True)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from(["1", "a"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "actions"]), inner, max_size=3)
    ),
    max_leaves=10,
)
PAYLOADS = st.dictionaries(st.sampled_from(["a", "actions"]), VALUES, max_size=2)


@given(PAYLOADS | st.lists(PAYLOADS, max_size=3), st.booleans())
def test_every_payload_matches_itself(payload, strict):
    found = payload if isinstance(payload, list) else [payload]
    assert match_payloads(payload, found, disallow_extra_items=strict)
    assert match_payloads(payload, payload, disallow_extra_items=strict)
