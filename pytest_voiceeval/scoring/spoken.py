"""Text as it is spoken and text as it is written, brought to one form.

This is what the flag ``clean_text`` does. In this order, and the same on both sides:

1. Unicode NFKC; invisible characters dropped; curly quotes and long dashes made plain.
2. Number words from zero to ninety-nine become digits: ``twenty-two`` is ``22``.
3. A spelled-out run of single letters and digits that holds a letter is joined:
   ``E, P, X`` and ``E-P-X`` are ``EPX``; ``S K seven oh`` is ``SK7 oh``.
4. A spoken e-mail address is written: ``ann dot lee at example dot com``.
5. Blanks are collapsed and trimmed.

Upper and lower case stay as they are (``ignore_capitalization`` is another flag).
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_PLAIN: Final = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u00b4`", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff"),  # dropped
    }
)
_UNITS: Final = (  # noqa: SIM905 - a table of words reads better in lines
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
    " fifteen sixteen seventeen eighteen nineteen"
).split()
_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety".split()  # noqa: SIM905
_NUMBERS: Final = {word: number for number, word in enumerate(_UNITS)} | {
    word: 10 * number for number, word in enumerate(_TENS, start=2)
}
_NUMBER_WORDS: Final = re.compile(
    rf"\b(?:(?P<tens>{'|'.join(_TENS)})(?:[ -](?P<unit>{'|'.join(_UNITS[1:10])}))?"
    rf"|(?P<single>{'|'.join(_UNITS)}))\b",
    re.IGNORECASE,
)
_SPELLED: Final = re.compile(r"(?<![\w'])[A-Za-z0-9](?:(?:, ?| |-|\. ?)[A-Za-z0-9]\b)+")
_JOINT: Final = re.compile(r" (dot|underscore|dash|hyphen) ", re.IGNORECASE)
_SPOKEN_SIGNS: Final = {"dot": ".", "underscore": "_", "dash": "-", "hyphen": "-"}
# Bounded repeats: a model's text must not make this slow.
_EMAIL: Final = re.compile(
    r"(?<![\w+.-])[\w+.-]{1,64}(?: (?:dot|underscore|dash|hyphen) [\w+.-]{1,64}){0,8}"
    r"(?P<at> at |@)"
    r"[\w-]{1,64}(?:(?: dot | dash | hyphen |\.)[\w-]{1,64}){0,8}(?: dot |\.)[a-z]{2,24}\b",
    re.IGNORECASE,
)


def clean_label(text: str) -> str:
    """Bring spoken and written forms of a text to one form (see the module's rules)."""
    text = unicodedata.normalize("NFKC", text.translate(_PLAIN)).translate(_PLAIN)
    text = " ".join(text.split())
    text = _NUMBER_WORDS.sub(_digits, text)
    text = _SPELLED.sub(_joined, text)
    return _EMAIL.sub(_address, text)


def _digits(match: re.Match[str]) -> str:
    words = [word.lower() for word in match.groupdict().values() if word]
    return str(sum(_NUMBERS[word] for word in words))


def _joined(match: re.Match[str]) -> str:
    letters = re.sub(r"[^A-Za-z0-9]", "", match[0])
    return match[0] if letters.isdigit() else letters


def _address(match: re.Match[str]) -> str:
    at = match.start("at") - match.start()
    name, domain = match[0][:at], match[0][at + len(match["at"]) :]
    return f"{_written(name)}@{_written(domain)}"


def _written(spoken: str) -> str:
    return _JOINT.sub(lambda match: _SPOKEN_SIGNS[match[1].lower()], spoken)
