"""Codes a caller made up are found, everything it may say is left alone."""

from __future__ import annotations

import pytest

from pytest_voiceeval.call.caller_identifiers import identifiers, invented

FACTS = (
    "Your confirmation number is H7QMV4 (spelled out as H, seven, Q, M, V, four), your last name "
    "is Quintanar. Your order is ORD-8815. Your phone is +1-612-555-0143. You travel on 2026-11-04."
)
AGENT = "I have flight L, Q, five, two, two. Your case is number 60 12 99, or CASE_60-1."


@pytest.mark.parametrize(
    ("words", "codes"),
    [
        ("It is H, seven, Q, M, V, four.", []),
        ("H7QMV4", []),
        ("h 7 q m v 4", []),
        ("It is H, seven, Q, N, V, four.", ["H7QNV4"]),
        ("My order is ORD-9917, not ORD-8815.", ["ORD9917"]),
        ("O, R, D, dash, nine, nine, one, seven.", ["ORD9917"]),
        ("Flight LQ522, please.", []),
        ("Then look at L, Q, five, two, two. I want that.", []),
        ("L, Q, five, two, two, I think.", []),
        ("Flight LQ1200, please.", ["LQ1200"]),
        ("Quintanar: Q, U, I, N, T, A, N, A, R.", []),
        ("Q, U, I, N, T, E, R, O.", ["QUINTERO"]),
        ("You can call 6 1 2 5 5 5 0 1 4 3.", []),
        ("You can call 6125550199.", ["6125550199"]),
        ("The case was 601299.", []),
        ("Not more than $140, or 1,400 or 14000.50 dollars.", []),
        ("On November 4th 2026 at 10:15am or 1530hrs.", []),
        ("A 24-hour rule, I, a 7-day trip, seat 14C.", []),
        ("One two three, here I go, no one to blame.", []),
    ],
)
def test_invented(words: str, codes: list[str]) -> None:
    assert invented(words, [FACTS, AGENT]) == codes


def test_a_code_is_named_once() -> None:
    assert identifiers("AB12C, I said A, B, one, two, C, or AB12C.") == ["AB12C"]
