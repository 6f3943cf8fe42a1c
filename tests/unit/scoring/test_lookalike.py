"""Remarks on values that a reader would take for the same."""

from __future__ import annotations

import pytest

from pytest_voiceeval.scoring.lookalike import difference_notes


@pytest.mark.parametrize(
    ("expected", "actual", "notes"),
    [
        pytest.param("1", 1, ("text", "number"), id="digits"),
        pytest.param("1.0", 1, ("text", "number"), id="the same number"),
        pytest.param(1, True, ("number", "boolean"), id="one is not true"),
        pytest.param(False, 0, ("boolean", "number"), id="false is not zero"),
        pytest.param("true", True, ("text", "boolean"), id="true as text"),
        pytest.param(None, "", ("", "text"), id="null and the empty text"),
        pytest.param("n/a", None, ("text", ""), id="a word for nothing"),
        pytest.param("Smith", "Smith ", ("", "blank at the end"), id="blank at the end"),
        pytest.param(" Smith", "Smith", ("blank at the start", ""), id="blank at the start"),
        pytest.param("x", " x ", ("", "blank at the start and the end"), id="blanks at both ends"),
        pytest.param(" ", "  ", ("", "blank at the end"), id="nothing but blanks"),
        pytest.param("a b", "a\u00a0b", ("", "only blanks inside differ"), id="blanks inside"),
        pytest.param("Ann", "ANN", ("", "only case differs"), id="case"),
        pytest.param(
            "\u00e9", "e\u0301", ("", "the same letters in another encoding"), id="two encodings"
        ),
        pytest.param("N4WZ8O", "N4WZ80", ("letter O", "digit 0"), id="letter and digit"),
        pytest.param("ab", "\u0430b", ("", "U+0430 CYRILLIC SMALL LETTER A"), id="another script"),
        pytest.param("a\u2013b", "a-b", ("U+2013 EN DASH", ""), id="another dash"),
        # these speak for themselves
        pytest.param(356, 357, ("", ""), id="numbers"),
        pytest.param("a", "b", ("", ""), id="letters"),
        pytest.param("e", "\u00e9", ("", ""), id="an accent"),
        pytest.param("abc", "abcd", ("", ""), id="lengths"),
        pytest.param("abcdef", "zyxwvu", ("", ""), id="words"),
        pytest.param(None, 5, ("", ""), id="null and a number"),
        pytest.param("nan", None, ("", ""), id="text that floats read as a number"),
        pytest.param({}, [], ("", ""), id="containers"),
        pytest.param(None, {}, ("", ""), id="null and a container"),
    ],
)
def test_difference_notes(expected, actual, notes):
    assert difference_notes(expected, actual) == notes
    assert difference_notes(actual, expected) in {notes[::-1], notes}
