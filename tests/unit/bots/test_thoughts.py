from __future__ import annotations

import pytest

from pytest_voiceeval.bots.thoughts import Thoughts


def said(text: str, size: int) -> str:
    thoughts = Thoughts()
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    return "".join(map(thoughts.feed, pieces)) + thoughts.end()


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Good morning.", "Good morning."),
        ("<think>They called.</think>\n\nGood morning.", "Good morning."),
        ("\n<think>\na < b\n</think>Yes.", "Yes."),
        ("<thinking>Hm.</thinking>Yes.", "Yes."),
        ("<think>Cut off in the mid", ""),
        ("<think></think>", ""),
        ("<thin", "<thin"),
        ("<b>Yes</b>, I think.", "<b>Yes</b>, I think."),
        ("Yes. <think>No.</think>", "Yes. <think>No.</think>"),
        ("", ""),
        (" \n", " \n"),
    ],
)
def test_thoughts_are_not_said(text: str, words: str, size: int) -> None:
    assert said(text, size) == words
