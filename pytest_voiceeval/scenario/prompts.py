"""Guidance every spoken scenario shares, and the spelled form of identifiers it asks for."""

from __future__ import annotations

from pytest_voiceeval.scoring.identifiers import DIGITS

GENERAL_PROMPT = (
    "This is a phone call, and everything you write is read aloud. "
    "Keep each reply short and speak in plain sentences. "
    "Use no Markdown at all: no bold or italics, no headings, no bullet points, no numbered "
    "prefixes, no brackets and no backticks. "
    "Offer several things as spoken choices, such as first, second and third. "
    "Say a symbol by its name, as a word, and spell the symbols inside an identifier. "
    "End every sentence with a punctuation mark. "
    "Use no emoji. "
    "Never make anything up: if you do not know something, say so."
)
"""How to speak on the phone; one line, so that it fits into a persona."""

VOICE_ALPHANUMERIC_RULE = """\
Spell every identifier, such as a confirmation code, a flight number or an airport code, one \
character at a time. Say letters as letters, digits as words, and name each punctuation mark in \
it: _ is underscore, - is dash, @ is at, . is dot, # is hash, * is star. These examples show the \
written form on the left and what to say on the right:
LAX (spelled out as L, A, X)
JFK (spelled out as J, F, K)
H7QD2M (spelled out as H, seven, Q, D, two, M)
BA2490 (spelled out as B, A, two, four, nine, zero)
14C (spelled out as one, four, C)
ORD-8815 (spelled out as O, R, D, dash, eight, eight, one, five)
#3309 (spelled out as hash, three, three, zero, nine)
kim_lee@mail.example (spelled out as K, I, M, underscore, L, E, E, at, M, A, I, L, dot, E, X, A, \
M, P, L, E)
*86 (spelled out as star, eight, six)
Say the spelled form alone: never say the written code before it, after it or instead of it. The \
notation "CODE (spelled out as ...)" in these instructions is a note for you and not a way to \
answer. Names of people are ordinary words: say them as they are, and spell them only when asked."""
"""How to say identifiers; both sides of a call follow it."""

END_CONVERSATION_GUIDELINE = (
    "Before you end the call, ask whether there is anything else you can do. Once the caller has "
    "confirmed that there is nothing more, say goodbye and call end_conversation. Never call it "
    "before that confirmation. After a caller has been handed over to a person successfully, end "
    "the conversation in the same way."
)
"""When an agent may end the call."""

EXECUTION_HONESTY_GUIDELINE = (
    "Report a step as done only after the tool call that does it has succeeded in this call. If a "
    "tool refuses or fails, say so and say what you can do instead. Never promise, imply or invent "
    "a result that no tool has returned."
)
"""An agent may claim only what its tools did."""

_MARKS = {"_": "underscore", "-": "dash", "@": "at", ".": "dot", "#": "hash", "*": "star"}
_SPOKEN = {**DIGITS, **_MARKS, "+": "plus", "/": "slash", ":": "colon"}


def spell_out(text: str) -> str:
    """Return an identifier as it is spoken: `LAX-7` is `L, A, X, dash, seven`."""
    return ", ".join(_SPOKEN.get(char, char.upper()) for char in text if not char.isspace())


def with_spelling(text: str) -> str:
    """Return an identifier with its spoken form, as prompts write it."""
    return f"{text} (spelled out as {spell_out(text)})"
