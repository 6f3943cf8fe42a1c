"""Characters, columns, wrapping, and sections that share one screen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_voiceeval.report.characters import (
    clean,
    columns,
    one_line,
    split_at,
    without_terminal_codes,
)
from pytest_voiceeval.report.layout import WIDTH, Section, clip, fit, join_units, wrap

# lone surrogates included, which text() leaves out
anything = st.text(st.characters(exclude_categories=()), max_size=300)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("plain ]]> <b>&amp;", "plain ]]> <b>&amp;", id="plain"),
        pytest.param("a\tb\x00c", "a b\\u0000c", id="control characters"),
        pytest.param("\x1b[31mred", "\\u001b[31mred", id="terminal colours"),
        pytest.param("\ud800", "\\ud800", id="lone surrogate"),
        pytest.param("\u202eabc\u202c", "\\u202eabc\\u202c", id="bidirectional override"),
        pytest.param("\u200b\ufeff", "\\u200b\\ufeff", id="invisible"),
        pytest.param("\ufffe\U0001ffff", "\\ufffe\\U0001ffff", id="not characters at all"),
        pytest.param("\x85\u2028", "\\u0085\\u2028", id="line breaks of other kinds"),
        pytest.param("\u05e9\u05dc \u0645\u0631", "\u05e9\u05dc \u0645\u0631", id="right to left"),
        pytest.param("\U0001f468\u200d\U0001f467", "\U0001f468\u200d\U0001f467", id="joined emoji"),
        pytest.param("one\ntwo", "one\ntwo", id="line break"),
    ],
)
def test_clean(text: str, shown: str) -> None:
    assert clean(text) == shown


@given(anything)
def test_clean_text_is_xml_and_stays_clean(text: str) -> None:
    shown = clean(text)
    assert clean(shown) == shown
    assert all(ord(char) >= 0x20 or char == "\n" for char in shown)
    assert not any(0xD800 <= ord(char) <= 0xDFFF or ord(char) in {0xFFFE, 0xFFFF} for char in shown)


@pytest.mark.parametrize(
    ("text", "width"),
    [
        pytest.param("abc", 3, id="letters"),
        pytest.param("\u822a\u7a7a", 4, id="wide"),
        pytest.param("\uff21", 2, id="full width"),
        pytest.param("e\u0301", 1, id="combining mark"),
        pytest.param("\U0001f6eb", 2, id="emoji"),
        pytest.param("\u2764\ufe0f", 2, id="symbol as an emoji"),
        pytest.param("\u2192\u2026", 2, id="arrow and ellipsis"),
    ],
)
def test_columns(text: str, width: int) -> None:
    assert columns(text) == width


def test_split_at_never_halves_a_wide_character() -> None:
    assert split_at("\u822a\u7a7a\u5238", 3) == ("\u822a", "\u7a7a\u5238")
    assert split_at("ab", 5) == ("ab", "")


def test_one_line_and_terminal_codes() -> None:
    assert one_line("a \n\n b\t\u3000c ") == "a b c"
    assert without_terminal_codes("\x1b[1;31mERROR\x1b[0m \x1b]0;title\x07x") == "ERROR x"


def test_wrap_keeps_blanks_inside_a_line_and_indents_what_follows() -> None:
    assert wrap("a  b", lead="- ") == ("- a  b",)
    lines = wrap("word " * 40, lead="  12s ", indent=6)
    assert lines[0].startswith("  12s word")
    assert all(line.startswith("      word") for line in lines[1:])
    assert max(map(len, lines)) <= WIDTH


def test_wrap_says_that_there_was_more() -> None:
    lines = wrap("word " * 100, limit=2)
    assert len(lines) == 2
    assert lines[-1].endswith(" …")


@given(anything, st.integers(0, 30), st.one_of(st.none(), st.integers(1, 4)))
def test_wrapped_lines_fit(text: str, indent: int, limit: int | None) -> None:
    lines = wrap(text, lead=" " * indent, indent=indent, limit=limit)
    assert all(columns(line) <= WIDTH for line in lines)
    assert limit is None or len(lines) <= limit
    if limit is None:
        assert "".join("".join(lines).split()) == "".join(clean(text).split())


def test_clip() -> None:
    assert clip("abcdef", 6) == "abcdef"
    assert clip("abcdefg", 6) == "abcde…"
    assert clip("\u822a" * 4, 6) == "\u822a\u822a…"


def test_units_are_never_broken() -> None:
    lines = join_units(["a" * 30, "b" * 30, "c" * 30], glue=" / ")
    assert lines == (f"  {'a' * 30} / {'b' * 30} /", f"    {'c' * 30}")
    assert join_units(["a" * 100, "b"], glue=", ", limit=1)[0].endswith("…")


def section(name: str, items: int, **more: object) -> Section:
    return Section((name,), tuple((f"{name}{n}",) for n in range(items)), **more)  # type: ignore[arg-type]


def test_what_fits_is_shown_whole() -> None:
    assert fit([section("a", 2), section("b", 1)], 6) == ["a", "a0", "a1", "", "b", "b0"]


def test_the_longest_section_gives_way_and_counts() -> None:
    lines = fit([section("a", 9, keep=2), section("b", 2)], 9)
    assert lines == ["a", "a0", "a1", "a2", "  … 6 more", "", "b", "b0", "b1"]


def test_blank_lines_go_before_items_that_a_section_keeps() -> None:
    lines = fit([section("a", 3, keep=3), section("b", 2, keep=2)], 7)
    assert lines == ["a", "a0", "a1", "a2", "b", "b0", "b1"]


def test_in_need_each_section_keeps_one_item() -> None:
    lines = fit([section("a", 5, keep=3), section("b", 5, keep=3)], 6)
    assert lines == ["a", "a0", "  … 4 more", "b", "b0", "  … 4 more"]


def test_what_does_not_fit_even_so_is_cut_with_a_count() -> None:
    lines = fit([section("abc"[n % 3], 3) for n in range(9)], 10)
    assert len(lines) == 10
    assert lines[-1] == "… 18 more lines"


def test_a_tail_is_always_shown() -> None:
    lines = fit([section("a", 9, tail=("and so on",))], 4)
    assert lines == ["a", "a0", "  … 8 more", "and so on"]


def test_things_that_were_not_even_laid_out_are_counted() -> None:
    assert section("a", 2, total=50).lines(2) == ["a", "a0", "a1", "  … 48 more"]
