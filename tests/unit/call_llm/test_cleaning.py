"""What a model writes around the words of a caller, and how little of the words goes with it."""

from __future__ import annotations

import pytest

from pytest_voiceeval.call.caller_cleaning import cleaned, shortened, to_last_sentence
from pytest_voiceeval.call.caller_stats import Handled

T, S, M, P, B = (
    Handled.THOUGHT,
    Handled.STAGE_DIRECTION,
    Handled.MARKUP,
    Handled.PREFIX,
    Handled.BOTH_PARTS,
)


@pytest.mark.parametrize(
    ("text", "words", "handled"),
    [
        ("<think>They want my code.</think>\n\nIt is A, B, one.", "It is A, B, one.", [T]),
        ("<think>\nHm.\n</think>Yes.<think>Done?</think>", "Yes.", [T]),
        ("They want my code.\n</think>\nIt is A.", "It is A.", [T]),
        ("<THINKING>Cut off in the mid", "", [T]),
        ("<|channel|>analysis<|message|>Hm.<|end|><|channel|>final<|message|>Yes.", "Yes.", [T]),
        ("Yes.<|im_end|>", "Yes.", []),
        ("I think, therefore I call.", "I think, therefore I call.", []),
        ("*sighs* Fine.", "Fine.", [S]),
        ("(pauses for a moment) I have it here. [laughs softly]", "I have it here.", [S]),
        ("**clears throat** Hello?", "Hello?", [S]),
        ("It was *really* late.", "It was really late.", [M]),
        ("**Window**, `please`.", "Window, please.", [M]),
        ("- One bag.\n- One seat.", "One bag. One seat.", [M]),
        ("1. Land by three.\n2. Aisle.", "Land by three. Aisle.", [M]),
        ('"Yes, go ahead."', "Yes, go ahead.", [M]),
        ("“Yes.”", "Yes.", [M]),
        ("Yes. [[Say the next line.]]", "Yes.", [S]),
        ("<response>Yes.</response>", "Yes.", [M]),
        ('He said "no" and hung up.', 'He said "no" and hung up.', []),
        ("Caller: Yes.", "Yes.", [P]),
        ("**Customer:** Yes.", "Yes.", [P]),
        ("Marisol (impatient): Yes.", "Yes.", [P]),
        ("The caller: Yes.", "Yes.", [P]),
        ("*sighs* Caller: Yes.", "Yes.", [S, P]),
        ("Caller (sighs): Yes.", "Yes.", [S, P]),
        ("Here is the thing: I am late.", "Here is the thing: I am late.", []),
        ("Caller: Yes.\nAgent: Booked!\nCaller: Great.", "Yes.", [B, P]),
        ("Yes.\n**Agent:** Booked!", "Yes.", [B]),
        ("The agent: he said no.", "The agent: he said no.", []),
        ("My mail is kim_lee_x@mail.example.", "My mail is kim_lee_x@mail.example.", []),
        ("It costs 3 * 4 * 5 dollars.", "It costs 3 * 4 * 5 dollars.", []),
        ("Is it (by any chance) free?", "Is it (by any chance) free?", []),
        ("I'll wait.\n\nThank you .", "I'll wait. Thank you.", []),
    ],
)
def test_litter_goes_and_words_stay(text: str, words: str, handled: list[Handled]) -> None:
    assert cleaned(text, ["Marisol Quintanar", "Marisol"]) == (words, handled)


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("One two. Three four five six.", "One two."),
        ("One two three four five six.", "One two three four five"),
        ('He said "go." Then I did go.', 'He said "go.'),
        ("One two three.", "One two three."),
        ("It costs 3.50 dollars for sure now.", "It costs 3.50 dollars for"),
    ],
)
def test_long_replies_are_cut_at_the_end_of_a_sentence(text: str, short: str) -> None:
    assert shortened(text, 5) == short


def test_a_text_without_a_whole_sentence_stays() -> None:
    assert to_last_sentence("I would like to") == "I would like to"
