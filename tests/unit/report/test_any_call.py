"""Whatever an agent says, calls or leaves behind, its text fits the screen and is valid XML."""

from __future__ import annotations

import random
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

import pytest

from pytest_voiceeval.call.result import EndReason, ProcessExit, ToolCallSeen
from pytest_voiceeval.report.characters import columns
from pytest_voiceeval.report.error_text import render_error
from pytest_voiceeval.report.failure_text import HEAD_LINES, render
from pytest_voiceeval.report.layout import WIDTH
from tests.unit.report.building import call, talk

ALPHABETS = (
    "abc xyz 0123456789_-.,/\"'[]{}()",
    "abc \t\n\r\x00\x07\x1b[31m\x7f\x85\u2028",
    "\u822a\u7a7a\u5238 \uff21\U0001f6eb\u2764\ufe0f\U0001f468\u200d",
    "\u05e9\u0645 \u202e\u2066\u2069\u200b\ufeffe\u0301\ufffe\U0001ffff",
)
SURROGATES = "\ud800\udc80"


class Invention:
    """Calls nobody would think of, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)

    def words(self, longest: int = 40, more: str = "") -> str:
        alphabet = self._chance.choice(ALPHABETS) + more
        length = self._chance.choice([0, 1, 5, longest])
        return "".join(self._chance.choices(alphabet, k=length))

    def said(self, longest: int = 200) -> str:
        """Texts of events and logs may hold lone surrogates; those of databases do not."""
        return self.words(longest, SURROGATES)

    def value(self, depth: int = 3) -> Any:
        kind = self._chance.randrange(8 if depth else 6)
        if kind == 6:
            return self.table(depth - 1)
        if kind == 7:
            return [self.value(depth - 1) for _ in range(self._chance.randrange(4))]
        return self._chance.choice([None, True, self._chance.randint(-9, 10**9), 1.5, self.words()])

    def table(self, depth: int = 3) -> dict[str, Any]:
        return {self.words(): self.value(depth) for _ in range(self._chance.randrange(5))}

    def edited(self, value: Any) -> Any:
        """The value with some of its parts changed."""
        if self._chance.random() < 0.15:
            return self.value(1)
        if isinstance(value, dict):
            return {key: self.edited(item) for key, item in value.items()}
        return [self.edited(item) for item in value] if isinstance(value, list) else value

    def several(self, make: Callable[[], Any], most: int) -> list[Any]:
        return [make() for _ in range(self._chance.randrange(most + 1))]

    def perhaps(self, make: Callable[[], Any]) -> Any:
        return make() if self._chance.random() < 0.7 else None

    def tool_call(self) -> ToolCallSeen:
        refusal = {"status": "error", "error_type": self.said(), "message": self.said()}
        return ToolCallSeen(
            turn=self._chance.randint(1, 5),
            name=self.said(40),
            arguments=self.perhaps(self.table),
            result=self._chance.choice([self.value(), refusal]),
            record=self.perhaps(self.table),
            writes=tuple((self.words(), self.words()) for _ in range(self._chance.randrange(3))),
            side=self._chance.choice(["agent", "user"]),
            finished=self._chance.random() < 0.8,
            malformed=self.perhaps(self.said),
        )

    def exit(self) -> ProcessExit:
        log = tuple(self.several(self.said, 7))
        ended: list[tuple[int | None, int | None]] = [(self._chance.randrange(99), None)]
        ended += [(None, self._chance.randrange(1, 99))]
        return ProcessExit(*self._chance.choice(ended), log)

    def call(self) -> Any:
        expected = {self.words(): self.table() for _ in range(self._chance.randrange(5))}
        said = self.several(lambda: (self._chance.choice(["agent", "user"]), self.said()), 9)
        end = self._chance.choice(list(EndReason))
        return call(
            expected=expected,
            db=self._chance.choice([None, self.edited(expected), self.value()]),
            said=talk(*said, partial=bool(said)),
            calls=self.several(self.tool_call, 6),
            reference=self.perhaps(lambda: self.several(self.table, 5)),
            recorded=self.perhaps(lambda: self.several(self.table, 5)),
            strict=True,
            end=end,
            end_detail=self.said(),
            judged_by=("db_state_match", "is_action_match", "clean_exit"),
            process_exit=self.perhaps(self.exit),
            warnings=self.several(self.said, 4),
        )


def check(text: str) -> None:
    shown = text.split("\n")
    assert all(columns(line) <= WIDTH for line in shown), text
    head = next((i for i, line in enumerate(shown) if line.startswith("transcript")), 0)
    assert head <= HEAD_LINES + 1
    element = ET.Element("failure")
    element.text = text
    assert ET.fromstring(ET.tostring(element, encoding="utf-8")).text == text


@pytest.mark.parametrize("block", range(4))
def test_any_call_fits(block: int) -> None:
    for seed in range(100 * block, 100 * (block + 1)):
        invention = Invention(seed)
        scored = invention.call()
        check(render(scored, nodeid="d::s", artifacts="out/d__s"))
        error = RuntimeError(invention.said())
        error.conversation = scored.conversation  # type: ignore[attr-defined]
        check(render_error(error, nodeid="d::s", artifacts="out/d__s"))
