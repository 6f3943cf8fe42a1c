"""Spoken forms for authors: `{LQ512}` is spelled out, and `{$125}` is said as money."""

from __future__ import annotations

import re

from pytest_voiceeval.scenario.prompts import spell_out

_WORDS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety
"""
_SMALL, _TENS = _WORDS.split()[:20], _WORDS.split()[20:]
_AMOUNT = re.compile(r"\$([0-9]{1,6})(?:\.([0-9]{2}))?")
_SPELLABLE = re.compile(r"\+?[^\W_](?:[ '@.#*+/:-]?[^\W_])*")
_MACRO = re.compile(r"\{([^{}]*)\}")
_SENTENCE_BEGINS = re.compile(r"(?:^|[.!?])\s*$")


def in_words(number: int) -> str:
    """Say a number from 0 to 999,999: 125 is `one hundred and twenty-five`."""
    if not 0 <= number < 1_000_000:
        raise ValueError(f"{number} is not a number from 0 to 999,999")
    if number >= 1000:
        thousands, rest = divmod(number, 1000)
        return f"{in_words(thousands)} thousand{_after(rest, ' ' if rest >= 100 else ' and ')}"
    if number >= 100:
        hundreds, rest = divmod(number, 100)
        return f"{_SMALL[hundreds]} hundred{_after(rest, ' and ')}"
    if number < 20:
        return _SMALL[number]
    tens, ones = divmod(number, 10)
    return f"{_TENS[tens - 2]}{_after(ones, '-')}"


def _after(rest: int, link: str) -> str:
    return f"{link}{in_words(rest)}" if rest else ""


def speak(text: str) -> str:
    """Replace every `{...}` of a line by how it is said, at the beginning of a sentence too.

    Raises:
        ValueError: a brace is left over, or an amount is not one of dollars, with cents or without.
    """
    spoken = _MACRO.sub(_in_its_place, text)
    if "{" in spoken or "}" in spoken:
        raise ValueError(f"a brace without its partner in {text!r}")
    return spoken


def _in_its_place(macro: re.Match[str]) -> str:
    spoken = _spoken(macro[1])
    begins = _SENTENCE_BEGINS.search(macro.string[: macro.start()])
    return f"{spoken[:1].upper()}{spoken[1:]}" if begins else spoken


def _spoken(content: str) -> str:
    if not content.startswith("$"):
        if not _SPELLABLE.fullmatch(content):
            raise ValueError(f"{{{content}}} is not for the ear: spell a code, a seat or a name")
        return spell_out(content)
    amount = _AMOUNT.fullmatch(content)
    if amount is None:
        raise ValueError(f"{{{content}}}: an amount is written like {{$125}} or {{$13.25}}")
    dollars, cents = int(amount[1]), int(amount[2] or 0)
    parts = [_counted(dollars, "dollar")] if dollars or not cents else []
    parts += [_counted(cents, "cent")] if cents else []
    return " and ".join(parts)


def _counted(number: int, unit: str) -> str:
    return f"{in_words(number)} {unit}" if number == 1 else f"{in_words(number)} {unit}s"
