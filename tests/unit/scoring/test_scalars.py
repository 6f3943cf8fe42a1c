"""Single values: the worked table, and where we answer differently on purpose."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_voiceeval.scoring.describe import describe_value
from pytest_voiceeval.scoring.matching import match_item, match_str_and_float

CASE = {"ignore_capitalization": True}
PUNCTUATION = {"ignore_punctuation": True}
CLEAN = {"clean_text": True}
ALL = CASE | PUNCTUATION | CLEAN

WORKED = [
    ("1.0", 1, {}, True),
    ("9.990", 9.99, {}, True),
    ("1,000", 1000, {}, False),
    (100, 100.0005, {}, True),
    (1, 1.0001, {}, False),
    (math.nan, math.nan, {}, False),
    (math.inf, math.inf, {}, True),
    ("true", True, CASE, True),
    (None, "None", {}, True),
    ("$9.99", "9.99", {}, False),
    ("$9.99", "9.99", PUNCTUATION, True),
    ("1-2", "12", PUNCTUATION, True),
    ("a_b", "ab", PUNCTUATION, False),
    ("Paris", "paris", {}, False),
    ("Paris", "paris", CASE, True),
    ("Flight SK-703!", "flight sk703", ALL, True),
    ("[]", [], {}, True),
]

# The reference answers each of these the other way round.
DELIBERATE = [
    ("1e3", 1000, {}, False),
    ("1_000", 1000, {}, False),
    ("٣", 3, {}, False),
    ("007", 7, {}, False),
    (True, 1, {}, False),
    (True, "1", {}, False),
    (False, 0, {}, False),
    (1, True, {}, False),
    ("1656367028", "1656367029", {}, False),
    (1656367028, 1656367029, {}, False),
    ("1656367028", 1656367029, {}, False),
    (1656367028.0, 1656367029, {}, False),
    (9007199254740993, 9007199254740992, {}, False),
    ("A  b", "A b", CLEAN, True),
    ("null", None, {}, True),
    ("none", " NULL ", {}, True),
    ("$3.50", "$350", PUNCTUATION, False),
    ("$3.50", 350, PUNCTUATION, False),
]

MORE = [
    (33, 33.0, {}, True),
    (2500, 2500.5, {}, False),
    (80, 8080, {}, False),
    ("80", "8080", {}, False),
    ("1", 1, {}, True),
    (1, "1", {}, True),
    ("12", "12.0", {}, True),
    ("0", "-0.0", {}, True),
    ("-3", -3, {}, True),
    ("-5", "5", PUNCTUATION, False),
    ("1.5", "15", PUNCTUATION, False),
    ("007", "7", {}, False),
    ("007", "007", {}, True),
    ("1e3", "1000", {}, False),
    (" 1", 1, {}, False),
    ("+1", 1, {}, False),
    (".5", 0.5, {}, False),
    ("5.", 5, {}, False),
    ("", 0, {}, False),
    ("12345678901234", "12345678901234.0", {}, True),
    ("1234567890123456", "1234567890123456.0", {}, False),
    ("1234567890123456", "1234567890123456", {}, True),
    ("1234567890123456789", 1234567890123456789, {}, True),
    ("1234567890123456788", 1234567890123456789, {}, False),
    ("9" * 5000, 9, {}, False),
    (10**400, 0.5, {}, False),
    (0.5, 10**400, {}, False),
    (math.inf, 1.5, {}, False),
    (1.5, math.inf, {}, False),
    (0.30000000000000004, 0.3, {}, True),
    (1e20, 100000000000000000000, {}, True),
    ("$9.990", 9.99, PUNCTUATION, True),
    ("1,000.00", 1000, PUNCTUATION, True),
    ("twenty two", 22, CLEAN, True),
    ("Twenty-two", "22.0", CLEAN, True),
    (True, True, {}, True),
    (True, False, {}, False),
    (True, "True", {}, True),
    ("yes", True, {}, False),
    (None, None, {}, True),
    (None, 0, {}, False),
    (None, "", {}, False),
    ("None", "none", {}, True),
    ("nonevent", None, {}, False),
    ("straße", "STRASSE", CASE, True),
    ("e\u0301", "\u00e9", {}, False),
    ("e\u0301", "\u00e9", CLEAN, True),
    (1, [1], {}, False),
    (1, [1], PUNCTUATION, False),
    (None, [], {}, False),
    ("{}", {}, {}, True),
    (5, {"a": 5}, {}, False),
]


@pytest.mark.parametrize(
    ("reference", "prediction", "flags", "matches"),
    WORKED + DELIBERATE + MORE,
    ids=lambda value: describe_value(value, limit=24),
)
def test_scalars(reference, prediction, flags, matches):
    assert match_str_and_float(reference, prediction, **flags) is matches
    assert match_item(reference, prediction, **flags) is matches


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=8)
)
FLAGS = st.fixed_dictionaries(
    {name: st.booleans() for name in ("ignore_capitalization", "ignore_punctuation", "clean_text")}
)


@given(SCALARS, FLAGS)
def test_everything_matches_itself(value, flags):
    assert match_str_and_float(value, value, **flags)


@given(SCALARS, SCALARS, FLAGS)
def test_any_two_values_have_a_verdict(left, right, flags):
    assert match_str_and_float(left, right, **flags) in (True, False)


@given(st.from_regex(r"[0-9]{1,15}", fullmatch=True), st.from_regex(r"[0-9]{1,15}", fullmatch=True))
def test_digit_texts_match_only_themselves(left, right):
    assert match_str_and_float(left, right) is (left == right)
