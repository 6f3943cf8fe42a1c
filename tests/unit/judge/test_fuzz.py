"""Ten thousand broken replies: none crashes the reader, none is given a score it does not have."""

from __future__ import annotations

import random
import re

import pytest

from pytest_voiceeval.judge.faults import JudgeFault
from pytest_voiceeval.judge.reply import read_verdict
from tests.unit.judge.replies import GOOD, READ, REFUSED

SEED = 20260301
MUTATIONS = 10_000
LONGEST = 400
TEXTS = [text for text, *_ in (*READ.values(), *REFUSED.values()) if len(text) <= LONGEST]
PIECES = [
    *"{}[]\"'`,:\\/<>#%.0123456789-+eE \n\t",
    *("score", '"score": 1.0', "</think>", "<think>", "```", "true", "null", "NaN", "\\", "\u2028"),
    *('{"score": 1}', "1e999", "'score'", "“", "\x00", "\ud800", "٠٫٨", "０．９"),  # noqa: RUF001
]
# a number behind the word `score`, whatever stands between them, in any form that is read
NUMBER = re.compile(
    r"(?i)score\W{0,8}?(\+?(?:[\d０-９]+[.．,]?[\d０-９]*|[.．][\d０-９]+)(?:e[+-]?\d+)?)\s*(%?)"  # noqa: RUF001
)
FRACTION = re.compile(r"(?i)score\W{0,8}?([\d.]+(?:e[+-]?\d+)?)\s*(?:/|out of)\s*([\d.]+)")


def mutated(rng: random.Random) -> str:
    text = rng.choice(TEXTS)
    for _ in range(rng.choice((1, 1, 2, 3, 6))):
        at = rng.randint(0, len(text))
        span = rng.randint(0, 6)
        match rng.randrange(6):
            case 0:
                text = text[:at] + text[at + span :]
            case 1:
                text = text[:at] + rng.choice(PIECES) + text[at:]
            case 2:
                text = text[:at] + rng.choice(PIECES) + text[at + span :]
            case 3:
                text = text[:at]
            case 4:
                text = text[:at] + text[at : at + span * 5] + text[at:]
            case 5:
                text += rng.choice(TEXTS)
    return text


def numbers_of(text: str) -> set[float]:
    """Every score that a generous reader might find in a text."""
    found = set()
    for number, percent in NUMBER.findall(text):
        plain = number.translate(str.maketrans("０１２３４５６７８９．,", "0123456789.."))  # noqa: RUF001
        try:
            value = float(plain)
        except ValueError:
            continue
        found |= {value, value / 100} if percent else {value}
    for above, below in FRACTION.findall(text):
        try:
            found.add(float(above) / float(below))
        except (ValueError, ZeroDivisionError):
            continue
    return found


def test_no_mutation_crashes_the_reader_or_makes_up_a_score() -> None:
    rng = random.Random(SEED)
    read = refused = 0
    for _ in range(MUTATIONS):
        text = mutated(rng)
        try:
            reading = read_verdict(text)
        except JudgeFault:
            refused += 1
            continue
        read += 1
        assert type(reading.score) is float
        assert 0 <= reading.score <= 1
        assert reading.score in numbers_of(text), text
    assert read > MUTATIONS / 5
    assert refused > MUTATIONS / 5


@pytest.mark.parametrize("length", range(1, len(GOOD)))
def test_no_beginning_of_a_verdict_is_one(length: int) -> None:
    with pytest.raises(JudgeFault):
        read_verdict(GOOD[:length])


@pytest.mark.parametrize("hostile", ['{"' * 60_000, "{a:</think>" * 15_000, "'{" * 60_000])
def test_no_reply_takes_long(hostile: str) -> None:
    with pytest.raises(JudgeFault):
        read_verdict(hostile)
