"""Hash equal, diff empty, no changes: the three say the same about every pair of states."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest
from deepdiff import DeepDiff
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pytest_voiceeval.scoring.db_diff import Change, compute_db_diff, is_empty_diff, list_changes
from pytest_voiceeval.scoring.db_hash import ORDER_INDEPENDENT_LIST_FIELDS, get_dict_hash
from pytest_voiceeval.scoring.normalize import canonical_copy, same_state

KEYS = ["session", "bookings", "standby_list", "t", "id", "flight_number", "name", "", "é", "1"]
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.sampled_from([0.0, 1.0, 1.5, -0.0, 2.5, 1e20, 100000000000000000000]),
    st.sampled_from(["none", " NULL ", "None", "x", "y", "1", "true", "", "e\u0301", "\u00e9"]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=3),
)


def states(keys: list[str] = KEYS) -> st.SearchStrategy[Any]:
    names = st.sampled_from(keys)
    rows = st.lists(
        st.dictionaries(names, LEAVES, max_size=4), max_size=4
    )  # lists of records, with and without identities
    return st.recursive(
        LEAVES | rows,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
        max_leaves=24,
    )


def respelled(value: Any, chance: random.Random, key: str = "") -> Any:
    """An equal state, written differently wherever the rules allow it."""
    if isinstance(value, dict):
        items = [(name, respelled(item, chance, name)) for name, item in value.items()]
        chance.shuffle(items)
        return dict(items)
    if isinstance(value, list):
        items = [respelled(item, chance) for item in value]
        if key in ORDER_INDEPENDENT_LIST_FIELDS:
            chance.shuffle(items)
        return tuple(items) if chance.random() < 0.2 else items
    if value is None:
        return chance.choice([None, "none", "Null "])
    if type(value) is int and abs(value) < 2**53:
        return chance.choice([value, float(value)])
    return value


def mutated(value: Any, chance: random.Random) -> Any:
    """A copy with one edit somewhere; it may come out equal by the rules."""
    if isinstance(value, dict | list) and value and chance.random() < 0.8:
        out = copy.copy(value)
        key = (
            chance.choice(list(value)) if isinstance(value, dict) else chance.randrange(len(value))
        )
        act = chance.random()
        if act < 0.2:
            del out[key]
        elif act < 0.35 and isinstance(out, list):
            out.insert(key, chance.choice([None, True, 1, "x", {}, value[key]]))
        elif act < 0.45 and isinstance(out, list):
            chance.shuffle(out)
        else:
            out[key] = mutated(value[key], chance)
        return out
    return chance.choice([None, True, 1, 1.5, "none", "x", [], {}, [value], {"id": value}])


def assert_agreement(left: Any, right: Any) -> None:
    equal = get_dict_hash(left) == get_dict_hash(right)
    assert is_empty_diff(compute_db_diff(left, right)) is equal
    assert (list_changes(left, right) == []) is equal
    assert is_empty_diff(compute_db_diff(right, left)) is equal
    assert (list_changes(right, left) == []) is equal


@given(states(), states())
@example({"x": True}, {"x": 1})
@example({"x": [True]}, {"x": [1.0]})
@example([True], [1])
@example({"session": 1}, {})
@example({"session": 1}, [])
@example({"t": {"session": 1}}, {"t": {}})
@example({"t": ["none"]}, {"t": [None]})
@example({"t": {"a": None}}, {"t": {}})
@example({"a": None}, {})
@example({"t": {}}, {"t": []})
@example({}, [])
@example({}, None)
@example("none", None)
@example({"bookings": [{"bookings": [1, 2]}]}, {"bookings": [{"bookings": [2, 1]}]})
@example({"t": {"bookings": [2, 1]}}, {"t": {"bookings": [1, 2]}})
@example([2], [2.0])
def test_any_two_states(left, right):
    assert_agreement(left, right)


@given(states(), st.integers(0, 2**32))
def test_the_same_state_spelled_differently(state, seed):
    other = respelled(state, random.Random(seed))
    assert get_dict_hash(state) == get_dict_hash(other)
    assert_agreement(state, other)


@given(states(), st.integers(0, 2**32))
@settings(max_examples=300)
def test_a_state_and_an_edited_copy(state, seed):
    assert_agreement(state, mutated(state, random.Random(seed)))


@given(states(), states())
def test_changes_say_what_they_mean(left, right):
    for change in list_changes(left, right):
        assert change.where
        if change.kind == "changed":
            assert not same_state(change.expected, change.actual)
        elif change.kind == "added":
            assert change.expected is None
        else:
            assert change.actual is None


def patched(value: Any, changes: list[tuple[tuple[str | int, ...], Change]]) -> Any:
    """Apply changes to the expected state, which must give the actual one."""
    if not changes:
        return value
    if changes[0][0] == ():
        (only,) = changes
        return only[1].actual
    deeper: dict[str | int, list[tuple[tuple[str | int, ...], Change]]] = {}
    removed = {path[0] for path, change in changes if len(path) == 1 and change.kind == "removed"}
    added = {
        path[0]: change.actual
        for path, change in changes
        if len(path) == 1 and change.kind == "added"
    }
    for path, change in changes:
        if len(path) > 1 or change.kind == "changed":
            deeper.setdefault(path[0], []).append((path[1:], change))
    if isinstance(value, dict):
        out = {key: item for key, item in value.items() if key not in removed} | added
        return out | {key: patched(out[key], inner) for key, inner in deeper.items()}
    kept = iter([item for index, item in enumerate(value) if index not in removed])
    length = len(value) - len(removed) + len(added)
    rows = [added[index] if index in added else next(kept) for index in range(length)]
    return [patched(row, deeper.get(index, [])) for index, row in enumerate(rows)]


ORDERED = [key for key in KEYS if key not in ORDER_INDEPENDENT_LIST_FIELDS and key != "session"]


@given(states(ORDERED), states(ORDERED), st.integers(0, 2**32), st.booleans())
@settings(max_examples=300)
def test_changes_are_complete(state, other, seed, edit):
    """Where order counts, the changes turn the expected state into the actual one."""
    actual = mutated(state, random.Random(seed)) if edit else other
    changes = [(change.path, change) for change in list_changes(state, actual)]
    assert same_state(patched(canonical_copy(state), changes), actual)


@pytest.mark.parametrize("work", [compute_db_diff, list_changes])
@pytest.mark.parametrize("bad_side", [0, 1])
def test_a_state_that_is_not_json_is_refused(work, bad_side):
    sides: list[Any] = [{"t": {"a": 1}}, {"t": {"a": 1}}]
    sides[bad_side] = {"t": {"a": {1}}}
    with pytest.raises(ValueError, match=r"at t\.a: a value of type set"):
        work(*sides)


@settings(max_examples=60)
@given(states(), st.integers())
def test_whatever_deepdiff_sees_is_a_change(state: Any, seed: int) -> None:
    """An independent library as a witness; it is blind to some changes, so only one way round."""
    other = mutated(state, random.Random(seed))
    seen = DeepDiff(canonical_copy({"t": state}), canonical_copy({"t": other}))
    if seen:
        assert list_changes({"t": state}, {"t": other})
