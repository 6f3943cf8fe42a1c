"""Spoken forms that authors write as macros."""

from __future__ import annotations

import pytest

from pytest_voiceeval.scenario.authoring_words import in_words, speak


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "zero"),
        (13, "thirteen"),
        (20, "twenty"),
        (21, "twenty-one"),
        (99, "ninety-nine"),
        (100, "one hundred"),
        (125, "one hundred and twenty-five"),
        (1000, "one thousand"),
        (1005, "one thousand and five"),
        (1250, "one thousand two hundred and fifty"),
        (20_000, "twenty thousand"),
        (999_999, "nine hundred and ninety-nine thousand nine hundred and ninety-nine"),
    ],
)
def test_numbers(number, words):
    assert in_words(number) == words


@pytest.mark.parametrize("number", [-1, 1_000_000])
def test_numbers_out_of_range(number):
    with pytest.raises(ValueError, match="is not a number from 0 to"):
        in_words(number)


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("Flight {LQ512}.", "Flight L, Q, five, one, two."),
        ("{Quist}", "Q, U, I, S, T"),
        ("That is {$125} in all.", "That is one hundred and twenty-five dollars in all."),
        ("It is {$1}", "It is one dollar"),
        ("or {$13.25}", "or thirteen dollars and twenty-five cents"),
        ("or {$1.01}", "or one dollar and one cent"),
        ("or {$0.50}", "or fifty cents"),
        ("or {$4.00}", "or four dollars"),
        ("{$4} it is. {$5}? {$6}!", "Four dollars it is. Five dollars? Six dollars!"),
        ("{3HJ}, no, {3H}. {Quist}", "Three, H, J, no, three, H. Q, U, I, S, T"),
        ("nothing to replace", "nothing to replace"),
    ],
)
def test_macros(text, spoken):
    assert speak(text) == spoken


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{FL_LQ1_20260101}", r"\{FL_LQ1_20260101\} is not for the ear: spell a code, a seat"),
        ("{}", r"\{\} is not for the ear"),
        ("{$12.5}", r"\{\$12\.5\}: an amount is written like \{\$125\} or \{\$13\.25\}"),
        ("{$}", "an amount is written like"),
        ("{LQ512", "a brace without its partner"),
        ("LQ512}", "a brace without its partner"),
    ],
)
def test_bad_macros(text, problem):
    with pytest.raises(ValueError, match=problem):
        speak(text)
