"""What a model thinks aloud before it answers is nothing an agent says."""

from __future__ import annotations

import re

TAGS = ("think", "thinking", "thought", "reasoning")
"""What open models put around it."""

_OPENING = re.compile(rf"<({'|'.join(TAGS)})>")


class Thoughts:
    """Leaves out a block such as `<think>…</think>` at the beginning of an answer.

    One that is never closed takes the whole answer: the model was cut off while it thought.
    """

    def __init__(self) -> None:
        self._lead = ""  # of which it is not known yet whether it is said
        self._thought = False  # and has ended; blanks may follow
        self._over = False

    def feed(self, text: str) -> str:
        """What is said of the next piece."""
        if self._over:
            return text
        if self._thought:
            return self._begin(text.lstrip())
        self._lead += text
        lead = self._lead.lstrip()
        opening = _OPENING.match(lead)
        if opening is None:
            return "" if _may_open(lead) else self._begin(self._lead)
        _, closing, said = lead.partition(f"</{opening[1]}>")
        self._thought = bool(closing)
        return self._begin(said.lstrip())

    def end(self) -> str:
        """What is said of the last piece."""
        held = not (self._over or self._thought or _OPENING.match(self._lead.lstrip()))
        return self._lead if held else ""

    def _begin(self, said: str) -> str:
        self._over = bool(said)
        return said


def _may_open(lead: str) -> bool:
    return any(f"<{tag}>".startswith(lead) for tag in TAGS)
