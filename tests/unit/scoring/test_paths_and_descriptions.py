"""Paths and values as a reader sees them."""

from __future__ import annotations

import pytest

from pytest_voiceeval.scoring.describe import describe_pair, describe_value
from pytest_voiceeval.scoring.paths import format_path


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), "<root>"),
        (("orders", "#W12", "items", 0, "price"), "orders.#W12.items[0].price"),
        ((0, "a"), "[0].a"),
        (("a", "0"), "a.0"),
        (("a b", ""), '["a b"][""]'),
        (("a.b", 'c"d', "e[0]"), '["a.b"]["c\\"d"]["e[0]"]'),
        (("é", "日本"), "é.日本"),
        (
            tuple("abcdefghijklmnopqrstuvwxyz"),
            "a.b.c.d.e.f.g.h.i.j.k.l….o.p.q.r.s.t.u.v.w.x.y.z (26 levels)",
        ),
    ],
)
def test_format_path(path, text):
    assert format_path(path) == text


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("1", '"1"'),
        (1, "1"),
        (1.0, "1.0"),
        (True, "true"),
        (None, "null"),
        ("null", '"null"'),
        ("Smith ", '"Smith "'),
        ("a\tb\n", '"a\\tb\\n"'),
        ("a\u00a0b", '"a\\u00a0b"'),
        ("Zoë 日本", '"Zoë 日本"'),
        ("e\u0301", '"e\\u0301"'),
        ("x\u200b", '"x\\u200b"'),
        ("\ud800", '"\\ud800"'),
        ("\U000e0041", '"\\U000e0041"'),
        ({"a": [1, None]}, '{"a": [1, null]}'),
        ({1, 2}, "{1, 2}"),
        (Broken(), "<Broken whose repr raised RuntimeError>"),
    ],
)
def test_describe_value(value, text):
    assert describe_value(value) == text


def test_descriptions_are_bounded():
    assert describe_value("a" * 500, limit=10) == '"aaaaaaaaa … (492 more characters)'
    assert len(describe_value({"rows": list(range(100_000))})) < 250


def test_unprintable_integers_do_not_break_a_report():
    assert describe_value(10**5000) == "<int whose repr raised ValueError>"


def test_long_values_are_shown_where_they_part():
    left, right = describe_pair("x" * 300 + "1", "x" * 300 + "2", limit=40)
    assert left == "… (263 before) " + "x" * 38 + '1"'
    assert right == "… (263 before) " + "x" * 38 + '2"'
    left, right = describe_pair("1" + "x" * 300, "2" + "x" * 300, limit=40)
    assert left.startswith('"1xx')
    assert right.endswith(" more characters)")


def test_short_pairs_are_shown_whole():
    assert describe_pair("1", 1) == ('"1"', "1")
    assert describe_pair("Smith", "Smith ") == ('"Smith"', '"Smith "')
