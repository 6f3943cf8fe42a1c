"""Item names: one id per scenario, whatever its name, in every tool that takes ids apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_voiceeval.plugin.ids import ItemNames, item_name, keywords_of, may_be_item

NAMES = {
    "refund": "refund",
    "two words": "two words",
    "a/b": "a%2Fb",
    r"a\b": "a%5Cb",
    "a::b": "a%3A%3Ab",
    "10:30": "10:30",
    "x[1]": "x%5B1%5D",
    "naïve": "naïve",
    "日本": "日本",
    " lead": "%20lead",
    "tab\there": "tab%09here",
    "100% sure": "100% sure",
    "a%2Fb": "a%252Fb",
    "<img src=x onerror=alert(1)>": "<img src=x onerror=alert(1)>",
}


@pytest.mark.parametrize(("short", "shown"), NAMES.items(), ids=repr)
def test_what_an_item_is_called(short: str, shown: str) -> None:
    assert item_name(short) == shown


def test_different_scenarios_have_different_items() -> None:
    assert len({item_name(short) for short in NAMES}) == len(NAMES)


@pytest.mark.parametrize("short", NAMES, ids=repr)
def test_every_scenario_is_found_by_its_item_and_by_its_variants(short: str) -> None:
    names = ItemNames(NAMES)
    assert names.find(item_name(short)) == (short, None)
    assert names.find(f"{item_name(short)}[fast-2]") == (short, "fast-2")


@pytest.mark.parametrize("short", [short for short in NAMES if short != "a%2Fb"], ids=repr)
def test_the_plain_spelling_will_do_unless_another_is_shown_so(short: str) -> None:
    assert ItemNames(NAMES).find(short) == (short, None)
    assert ItemNames(NAMES).find("a%2Fb") == ("a/b", None)


def test_accents_are_found_in_either_form() -> None:
    assert ItemNames(["naïve"]).find("nai\u0308ve") == ("naïve", None)


def test_what_is_not_there_is_not_found() -> None:
    assert ItemNames(NAMES).find("refunds") is None
    assert ItemNames(NAMES).find("refunds[1]") is None


@pytest.mark.parametrize(
    ("short", "keyword"),
    [("two words", "two_words"), ("a/b", "a_b"), ("naïve", "naïve"), ("1.2-3", "1.2-3")],
    ids=repr,
)
def test_keywords_can_be_spelled_in_an_expression(short: str, keyword: str) -> None:
    assert keywords_of(short) == {short, keyword}


def test_ids_of_ordinary_test_files_are_none_of_ours(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").touch()
    pack = tmp_path / "scenarios" / "shop"
    pack.mkdir(parents=True)
    (pack / "pack.toml").touch()
    (pack / "tools.py").touch()
    answers = {
        "test_mine.py": False,
        "test_mine.py::test_it[a::b]": False,
        "scenarios/shop/tools.py::apples": True,
        "scenarios/shop::apples": True,
        "../shop::apples": True,
    }
    assert {argument: may_be_item(tmp_path, argument) for argument in answers} == answers
