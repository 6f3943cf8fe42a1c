"""Why a prediction does not match, for people; and only then."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_voiceeval.scoring.explain import ActionDifference, FieldDifference, explain_match
from pytest_voiceeval.scoring.matching import PayloadError, match_payloads

REBOOK = {"action_type": "rebook", "journey": "J1", "fare": 120}
SEAT = {"action_type": "seat", "seat": "12A"}


def test_nothing_to_explain():
    assert explain_match({"actions": [REBOOK, SEAT]}, {"actions": [SEAT, REBOOK]}) == []
    assert explain_match([], []) == []


def test_a_missing_and_an_extra_action():
    differences = explain_match({"actions": [REBOOK]}, {"actions": [SEAT]})
    assert differences == [
        ActionDifference(("actions", 0), "missing", REBOOK, None),
        ActionDifference(("actions", 0), "extra", None, SEAT, blocking=False),
    ]


def test_extra_actions_block_only_if_disallowed():
    reference, prediction = {"actions": [SEAT]}, {"actions": [REBOOK, SEAT]}
    (lenient,) = explain_match(reference, prediction)
    (strict,) = explain_match(reference, prediction, disallow_extra_items=True)
    assert (lenient.kind, lenient.path, lenient.blocking) == ("extra", ("actions", 0), False)
    assert strict.blocking


def test_the_nearest_action_and_its_fields():
    far = REBOOK | {"journey": "J9", "fare": 1}
    near = REBOOK | {"fare": 125, "note": "x"}
    (changed, extra) = explain_match({"actions": [SEAT, REBOOK]}, {"actions": [far, SEAT, near]})
    assert changed == ActionDifference(
        ("actions", 1),
        "changed",
        REBOOK,
        near,
        (
            FieldDifference(("fare",), "changed", 120, 125, blocking=True),
            FieldDifference(("note",), "extra", None, "x", blocking=False),
        ),
    )
    assert (extra.kind, extra.actual) == ("extra", far)


def test_a_match_with_an_extra_argument_is_named_but_does_not_block():
    (difference,) = explain_match({"actions": [SEAT]}, {"actions": [SEAT | {"rows": [1]}]})
    assert not difference.blocking
    assert difference.fields == (FieldDifference(("rows",), "extra", None, [1], blocking=False),)


def test_wrong_first_right_second():
    """A retried call matches; the wrong attempt is listed."""
    (extra,) = explain_match(
        [{"name": "order", "qty": 2}],
        [
            {"name": "order", "qty": 1},
            {"name": "order", "qty": 2},
        ],
    )
    assert (extra.kind, extra.path, extra.actual["qty"]) == ("extra", (0,), 1)
    assert not extra.blocking


def test_nested_fields_have_paths():
    (difference,) = explain_match(
        {"actions": [{"name": "book", "legs": [{"to": "JFK"}, {"to": "LAX"}], "pax": {"age": 3}}]},
        {"actions": [{"name": "book", "legs": [{"to": "LAX"}, {"to": "SFO"}], "pax": {}}]},
    )
    assert difference.fields == (
        FieldDifference(("legs", 0, "to"), "changed", "JFK", "SFO", blocking=True),
        FieldDifference(("pax", "age"), "missing", 3, None, blocking=True),
    )


@pytest.mark.parametrize(
    ("reference", "prediction", "path", "kind"),
    [
        ({"message": "hi"}, {"message": "ho"}, ("message",), "changed"),
        ({"message": "hi"}, {}, ("message",), "missing"),
        ({"message": "hi"}, [], (), "missing"),
        ({"message": "hi"}, "hi", (), "changed"),
        ({"message": "hi"}, [{"message": "hi"}, {"message": "ho"}], ("message",), "changed"),
        ([{"x": 1}], [], (0,), "missing"),
        ([{"x": 1}], [5], (0,), "missing"),
        ({"actions": [1]}, {"actions": None}, ("actions",), "changed"),
    ],
)
def test_other_parts_of_a_payload(reference, prediction, path, kind):
    blocking = [item for item in explain_match(reference, prediction) if item.blocking]
    assert [(item.path, item.kind) for item in blocking] == [(path, kind)]


def test_flags_are_honoured():
    reference, prediction = (
        {"actions": [{"name": "say", "text": "HI"}]},
        {"actions": [{"name": "say", "text": "hi!"}]},
    )
    assert explain_match(reference, prediction)
    flags = {"ignore_capitalization": True, "ignore_punctuation": True}
    assert explain_match(reference, prediction, **flags) == []


def test_what_cannot_be_matched_cannot_be_explained():
    with pytest.raises(PayloadError, match="must be an object or a list of objects"):
        explain_match("x", {})
    deep: Any = 1
    for _ in range(3_000):
        deep = [deep]
    with pytest.raises(PayloadError, match="nested too deeply"):
        explain_match({"x": deep}, {"x": deep})


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from(["1", "a", "A"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "b", "actions"]), inner, max_size=3)
    ),
    max_leaves=10,
)
PAYLOADS = st.dictionaries(st.sampled_from(["a", "actions"]), VALUES, max_size=2)
FLAGS = st.fixed_dictionaries(
    {name: st.booleans() for name in ("ignore_capitalization", "disallow_extra_items")}
)


@given(PAYLOADS | st.lists(PAYLOADS, max_size=3), VALUES | st.lists(PAYLOADS, max_size=4), FLAGS)
@settings(max_examples=300)
def test_something_blocks_exactly_if_nothing_matches(reference, prediction, flags):
    blocking = any(item.blocking for item in explain_match(reference, prediction, **flags))
    assert blocking is not match_payloads(reference, prediction, **flags)


@given(PAYLOADS, st.integers(0, 2), FLAGS)
def test_a_payload_differs_from_its_edited_self_only_there(payload, value, flags):
    edited = payload | {"edited": value}
    (difference,) = explain_match(edited, payload, **flags)
    assert (difference.path, difference.kind) == (("edited",), "missing")
