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
        ("{$1}", "one dollar"),
        ("{$13.25}", "thirteen dollars and twenty-five cents"),
        ("{$1.01}", "one dollar and one cent"),
        ("{$0.50}", "fifty cents"),
        ("{$4.00}", "four dollars"),
        ("nothing to replace", "nothing to replace"),
    ],
)
def test_macros(text, spoken):
    assert speak(text) == spoken


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{$12.5}", r"\{\$12\.5\}: an amount is written like \{\$125\} or \{\$13\.25\}"),
        ("{$}", "an amount is written like"),
        ("{LQ512", "a brace without its partner"),
        ("LQ512}", "a brace without its partner"),
    ],
)
def test_bad_macros(text, problem):
    with pytest.raises(ValueError, match=problem):
        speak(text)
