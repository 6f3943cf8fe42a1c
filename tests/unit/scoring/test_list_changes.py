"""Changes for people: aligned, leaf by leaf, with the full path."""

from __future__ import annotations

import copy
import json
import random
import time
from itertools import pairwise
from typing import Any

import pytest

from pytest_voiceeval.scoring.alignment import TABLE_LIMIT, align, common_subsequence
from pytest_voiceeval.scoring.changes import Change
from pytest_voiceeval.scoring.db_diff import list_changes
from pytest_voiceeval.scoring.db_hash import get_dict_hash


def brief(expected: Any, actual: Any) -> list[tuple[str, str, Any, Any]]:
    return [
        (change.where, change.kind, change.expected, change.actual)
        for change in list_changes(expected, actual)
    ]


@pytest.mark.parametrize(
    ("expected", "actual", "changes"),
    [
        pytest.param({"a": 1}, {"a": 2}, [("a", "changed", 1, 2)], id="value"),
        pytest.param({"a": 2500}, {"a": 2500.5}, [("a", "changed", 2500, 2500.5)], id="fraction"),
        pytest.param({"a": "1"}, {"a": 1}, [("a", "changed", "1", 1)], id="type"),
        pytest.param({"a": True}, {"a": 1}, [("a", "changed", True, 1)], id="true-is-not-1"),
        pytest.param({"a": None}, {}, [("a", "removed", None, None)], id="null-is-not-missing"),
        pytest.param({}, {"a": None}, [("a", "added", None, None)], id="added-null"),
        pytest.param({"a": []}, {"a": {}}, [("a", "changed", [], {})], id="empty-containers"),
        pytest.param(
            {"t": {"r": {"x": 1, "y": 2}}},
            {"t": {}},
            [("t.r", "removed", {"x": 1, "y": 2}, None)],
            id="a-whole-record-is-one-change",
        ),
        pytest.param([1], {"a": 1}, [("<root>", "changed", [1], {"a": 1})], id="root"),
        pytest.param("x", "y", [("<root>", "changed", "x", "y")], id="scalar-states"),
        pytest.param(
            {"odd key": {"a.b": 1}},
            {"odd key": {"a.b": 2}},
            [('["odd key"]["a.b"]', "changed", 1, 2)],
            id="quoted-keys",
        ),
        # ordered lists
        pytest.param([1, 2, 3], [1, 9, 3], [("[1]", "changed", 2, 9)], id="edited-in-place"),
        pytest.param([1, 2], [1, 7, 2], [("[1]", "added", None, 7)], id="inserted"),
        pytest.param([7, 1, 2], [1, 2], [("[0]", "removed", 7, None)], id="deleted-at-front"),
        pytest.param(
            ["a", "b", "c"],
            ["c", "a", "b"],
            [("[0]", "added", None, "c"), ("[2]", "removed", "c", None)],
            id="moved",
        ),
        pytest.param(
            [{"id": 1, "x": 1}, {"id": 2, "x": 1}],
            [{"id": 9, "x": 0}, {"id": 1, "x": 1}, {"id": 2, "x": 5}],
            [("[id=9]", "added", None, {"id": 9, "x": 0}), ("[id=2].x", "changed", 1, 5)],
            id="inserted-and-edited-by-identity",
        ),
        pytest.param(
            {"segments": [{"flight_number": "SK1"}, {"flight_number": "SK2"}]},
            {"segments": [{"flight_number": "SK2"}, {"flight_number": "SK1"}]},
            [
                ('segments[flight_number="SK1"]', "removed", {"flight_number": "SK1"}, None),
                ('segments[flight_number="SK1"]', "added", None, {"flight_number": "SK1"}),
            ],
            id="reordered-by-identity",
        ),
        pytest.param(
            [{"item_id": "a", "price": 1, "size": "M"}],
            [{"item_id": "b", "price": 1, "size": "M"}],
            [('[item_id="a"].item_id', "changed", "a", "b")],
            id="only-the-identity-changed",
        ),
        pytest.param(
            [{"x": 1, "y": 2, "z": 3}, {"x": 5, "y": 6, "z": 7}],
            [{"x": 5, "y": 6, "z": 8}],
            [("[0]", "removed", {"x": 1, "y": 2, "z": 3}, None), ("[0].z", "changed", 7, 8)],
            id="no-identity-most-alike",
        ),
        # unordered lists
        pytest.param(
            {"bookings": [{"id": "X"}, {"id": "Y"}]},
            {"bookings": [{"id": "Y"}, {"id": "Z"}]},
            [
                ('bookings[id="X"]', "removed", {"id": "X"}, None),
                ('bookings[id="Z"]', "added", None, {"id": "Z"}),
            ],
            id="unordered-by-identity",
        ),
        pytest.param(
            {"standby_list": ["X", "Y"]},
            {"standby_list": ["Y", "Z"]},
            [("standby_list[0]", "removed", "X", None), ("standby_list[1]", "added", None, "Z")],
            id="unordered-texts",
        ),
        pytest.param(
            {"standby_list": [1, 2.5]},
            {"standby_list": [2.5, 1.5]},
            [("standby_list[1]", "changed", 1, 1.5)],
            id="unordered-numbers",
        ),
        pytest.param(
            {"bookings": [{"journey_id": "J1", "fare": 1}, {"journey_id": "J2", "fare": 2}]},
            {"bookings": [{"journey_id": "J2", "fare": 2.5}, {"journey_id": "J1", "fare": 1.0}]},
            [('bookings[journey_id="J2"].fare', "changed", 2, 2.5)],
            id="unordered-edited",
        ),
        pytest.param(
            {"notifications": [{"to": "a", "text": "hi"}, {"to": "b", "text": "ho"}]},
            {"notifications": [{"to": "b", "text": "ho"}, {"to": "a", "text": "hey"}]},
            [("notifications[1].text", "changed", "hi", "hey")],
            id="unordered-without-identity",
        ),
        pytest.param(
            {"bookings": ["a", "a", "b"]},
            {"bookings": ["b", "a", "b"]},
            [("bookings[1]", "removed", "a", None), ("bookings[2]", "added", None, "b")],
            id="unordered-multiset",
        ),
        pytest.param(
            {"itinerary": {"bookings": [1, 2]}},
            {"itinerary": {"bookings": [2, 1]}},
            [],
            id="unordered-at-any-depth",
        ),
    ],
)
def test_changes(expected, actual, changes):
    assert sorted(brief(expected, actual), key=repr) == sorted(changes, key=repr)


def test_paths_point_into_the_states():
    """Positions are those of the actual state as it is, not of the sorted one."""
    expected = {"bookings": [{"id": "Z", "x": 1}, {"id": "A", "x": 1}]}
    actual = {"bookings": [{"id": "Z", "x": 2}, {"id": "A", "x": 1}]}
    (change,) = list_changes(expected, actual)
    assert change == Change(
        ("bookings", 0, "x"), "changed", 1, 2, 'bookings[id="Z"].x', ("bookings", "Z", "x")
    )


@pytest.mark.parametrize(
    ("expected", "actual", "steps"),
    [
        pytest.param({"a b": {"c.d": 1}}, {"a b": {"c.d": 2}}, ("a b", "c.d"), id="odd-keys"),
        pytest.param({"t": [1, 2]}, {"t": [1, 3]}, ("t", "[1]"), id="position"),
        pytest.param(
            {"t": [{"id": 7, "x": 1}]}, {"t": [{"id": 7, "x": 2}]}, ("t", "7", "x"), id="number"
        ),
        pytest.param({"": 1}, {"": 2}, ('""',), id="empty-key"),
        pytest.param({"[0]": 1}, {"[0]": 2}, ('"[0]"',), id="like-a-position"),
        pytest.param({"a / b": 1}, {"a / b": 2}, ('"a / b"',), id="like-two-steps"),
        pytest.param({"a ": 1}, {"a ": 2}, ('"a "',), id="blank-at-the-end"),
        pytest.param({"a\u202e": 1}, {"a\u202e": 2}, ('"a\\u202e"',), id="invisible"),
        pytest.param({'a"b': 1}, {'a"b': 2}, ('"a\\"b"',), id="quote"),
        pytest.param([1], {"a": 1}, (), id="root"),
    ],
)
def test_steps_are_the_path_for_a_reader(expected, actual, steps):
    (change,) = list_changes(expected, actual)
    assert change.steps == steps
    assert len(change.steps) == len(change.path)


def test_changes_come_in_the_order_of_their_paths():
    expected = {"b": [1, 2, 3], "a": {"z": 1, "y": 1}}
    actual = {"b": [1, 2, 4, 5], "a": {"z": 2, "x": 1}}
    paths = [change.path for change in list_changes(expected, actual)]
    assert paths == [("a", "x"), ("a", "y"), ("a", "z"), ("b", 2), ("b", 2), ("b", 3)]


def test_generated_ids_that_were_swapped_show_as_a_swap():
    """Two equivalent actions in the other order: the diff shows the fields, not whole tables."""
    expected = {"vouchers": {"V1": {"kind": "meal"}, "V2": {"kind": "hotel"}}, "other": {"k": 1}}
    actual = {"vouchers": {"V1": {"kind": "hotel"}, "V2": {"kind": "meal"}}, "other": {"k": 1}}
    assert brief(expected, actual) == [
        ("vouchers.V1.kind", "changed", "meal", "hotel"),
        ("vouchers.V2.kind", "changed", "hotel", "meal"),
    ]


def test_identity_must_be_unique_on_both_sides():
    expected = [{"id": 1, "x": 1}, {"id": 2, "x": 2}]
    actual = [{"id": 1, "x": 1}, {"id": 1, "x": 1}, {"id": 2, "x": 2}]
    assert align(expected, expected, ordered=True).field == "id"
    assert align(expected, actual, ordered=True).field is None
    assert len(list_changes(expected, actual)) == 1


@pytest.mark.parametrize(
    ("rows", "field"),
    [
        ([{"name": "n", "item_id": "i"}], "item_id"),
        ([{"code": "c", "name": "n"}], "code"),
        ([{"id": True}], None),
        ([{"id": 1.5}], None),
        ([{"id": [1]}], None),
        ([{"id": 1}, {"x": 1}], None),
        ([{"id": 1}, 5], None),
        ([{"first_name": "a"}], None),
        ([], None),
    ],
)
def test_identity_field(rows, field):
    assert align(rows, rows, ordered=True).field == field


def test_the_field_that_most_elements_share_is_the_identity():
    expected = [{"id": n, "flight_number": f"SK{n}"} for n in range(4)]
    actual = [{"id": n + 10, "flight_number": f"SK{n}"} for n in range(4)]
    assert align(expected, actual, ordered=True).field == "flight_number"


def test_longest_common_subsequence_is_longest():
    chance = random.Random(7)
    for _ in range(200):
        left = [chance.randrange(4) for _ in range(chance.randrange(8))]
        right = [chance.randrange(4) for _ in range(chance.randrange(8))]
        pairs = common_subsequence(left, right)
        assert all(left[i] == right[j] for i, j in pairs)
        assert pairs == sorted(pairs)
        assert all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(pairs))
        assert len(pairs) == longest(tuple(left), tuple(right))


def longest(left: tuple[int, ...], right: tuple[int, ...]) -> int:
    if not left or not right:
        return 0
    if left[0] == right[0]:
        return 1 + longest(left[1:], right[1:])
    return max(longest(left[1:], right), longest(left, right[1:]))


def test_very_long_lists_are_aligned_by_their_unique_elements():
    count = 1_500
    left = list(range(count))
    right = [-1, *left[500:], *left[:500], -2]
    assert count * len(right) > TABLE_LIMIT
    start = time.perf_counter()
    pairs = common_subsequence(left, right)
    assert time.perf_counter() - start < 1
    assert pairs == [(i, i - 499) for i in range(500, count)]


def test_many_rewritten_elements_do_not_take_for_ever():
    left = {"notifications": [{"a": n, "b": n, "c": n} for n in range(3_000)]}
    right = {"notifications": [{"a": -n, "b": n, "c": -n} for n in range(1, 3_000)]}
    start = time.perf_counter()
    changes = list_changes(left, right)
    assert time.perf_counter() - start < 5
    assert len(changes) == 3_000 + 2_999


@pytest.fixture(scope="module")
def retail(upstream_root) -> Any:
    path = upstream_root / "tau2" / "data" / "tau2" / "domains" / "retail" / "db.json"
    return json.loads(path.read_text(encoding="utf-8"))


def test_one_leaf_of_a_large_database(retail):
    order = "#W2611340"
    actual = copy.deepcopy(retail)
    actual["orders"][order]["status"] = "cancelled"
    start = time.perf_counter()
    (change,) = list_changes(retail, actual)
    assert time.perf_counter() - start < 1
    assert (change.path, change.where) == (
        ("orders", order, "status"),
        "orders.#W2611340.status",
    )
    assert (change.expected, change.actual) == (retail["orders"][order]["status"], "cancelled")


def leaf_paths(value: Any) -> list[tuple[str | int, ...]]:
    """Paths of all scalars and empty containers."""
    found, todo = [], [((), value)]
    while todo:
        path, item = todo.pop()
        rows = item.items() if isinstance(item, dict) else enumerate(item)
        for key, child in rows:
            if isinstance(child, dict | list) and child:
                todo.append(((*path, key), child))
            else:
                found.append((*path, key))
    return found


def other_value(value: Any) -> Any:
    if isinstance(value, list):
        return {}
    if isinstance(value, dict):
        return []
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str):
        return f"{value}."
    return value + 0.25


def test_random_leaves_of_a_large_database(retail):
    """Whatever leaf changes, the hash changes, and the changes name exactly that leaf."""
    state = copy.deepcopy(retail)
    deep: dict[str, Any] = {"leaf": 1, "list": [[]]}
    for level in range(10):
        deep = {f"level{level}": [deep, level]}
    state["orders"]["#W2611340"]["deep"] = deep
    original = copy.deepcopy(state)
    before = get_dict_hash(state)
    paths = leaf_paths(state)
    chance = random.Random(20260101)
    chosen = [
        *chance.sample([path for path in paths if "deep" in path], 8),
        *chance.sample([p for p in paths if value_at(state, p) in ([], {})], 4),
        *chance.sample(paths, 38),
    ]
    assert max(map(len, chosen)) >= 8
    for number, path in enumerate(chosen):
        holder, key = value_at(state, path[:-1]), path[-1]
        kept, holder[key] = holder[key], other_value(holder[key])
        assert get_dict_hash(state) != before, path
        if number % 5 == 0:
            (change,) = list_changes(original, state)
            assert (change.path, change.kind) == (path, "changed")
        holder[key] = kept
    assert get_dict_hash(state) == before


def value_at(value: Any, path: tuple[str | int, ...]) -> Any:
    for key in path:
        value = value[key]
    return value
