"""What `clean_text` takes for the same."""

from __future__ import annotations

import time

import pytest

from pytest_voiceeval.scoring.spoken import clean_label


@pytest.mark.parametrize(
    ("spoken", "written"),
    [
        ("  two   words\n", "2 words"),
        ("\u201cdon\u2019t\u201d", '"don\'t"'),
        ("10\u201312 \u2014 ok", "10-12 - ok"),
        ("\uff26\uff2c\uff39\u00a0\uff11\uff12", "FLY 12"),
        ("e\u0301", "é"),
        ("so\u00adft\u200b", "soft"),
        ("zero", "0"),
        ("Nineteen", "19"),
        ("twenty two", "22"),
        ("twenty-two", "22"),
        ("ninety nine", "99"),
        ("forty", "40"),
        ("twenty ten", "20 10"),
        ("twenty twenty", "20 20"),
        ("one hundred", "1 hundred"),
        ("someone alone at ten", "someone alone at 10"),
        ("E, P, X", "EPX"),
        ("E P X", "EPX"),
        ("E-P-X", "EPX"),
        ("E. P. X.", "EPX."),
        ("code E, P, X, four, two", "code EPX42"),
        ("S K seven oh three", "SK7 oh 3"),
        ("1, 2", "1, 2"),
        ("5 5 5", "5 5 5"),
        ("x-ray", "x-ray"),
        ("it's a b", "it's ab"),
        ("SK-703", "SK-703"),
        ("ann dot lee at example dot com", "ann.lee@example.com"),
        ("Ann Dot Lee At Example Dot Com", "Ann.Lee@Example.Com"),
        ("a n n at example dot co dot uk", "ann@example.co.uk"),
        (
            "write to ann underscore lee at my dash mail dot com now",
            "write to ann_lee@my-mail.com now",
        ),
        ("ann.lee at example.com", "ann.lee@example.com"),
        ("ann.lee@example.com", "ann.lee@example.com"),
        ("meet at noon", "meet at noon"),
        ("arrive at 9.30", "arrive at 9.30"),
        ("the dot at the end", "the dot at the end"),
        ("PARIS stays", "PARIS stays"),
        ("", ""),
    ],
)
def test_clean_label(spoken, written):
    assert clean_label(spoken) == written


@pytest.mark.parametrize(
    "text",
    ["a dot " * 20_000, "a." * 20_000, "at " * 20_000, "a at b dot " * 10_000, "x, " * 20_000],
    ids=lambda text: text[:12],
)
def test_long_texts_are_no_trap(text):
    start = time.perf_counter()
    clean_label(text)
    assert time.perf_counter() - start < 5
