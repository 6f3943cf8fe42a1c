"""Whose turn it is, from events and sound."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from pytest_voiceeval.call.audio.activity import Span
from pytest_voiceeval.call.audio.talk import Talk
from pytest_voiceeval.call.limits import CallLimits
from pytest_voiceeval.call.turns import BotHabits
from pytest_voiceeval.wire.backlog import Event
from pytest_voiceeval.wire.frames import InterruptionFrame
from pytest_voiceeval.wire.rtvi import Envelope

Who = Literal["agent", "user"]


class Scene:
    """Drives a talk by the clock: speech of both sides is given ahead, events as they come."""

    def __init__(self, agent: list[tuple[float, float]], user: list[tuple[float, float]]) -> None:
        self.speech = {"agent": agent, "user": user}
        self.talk = Talk(CallLimits(), {"agent": BotHabits(), "user": BotHabits()})
        self.now = 0.0

    def until(self, at: float) -> Scene:
        while self.now < at:
            self.now = round(self.now + 0.016, 6)
            for side in ("agent", "user"):
                self._sound(side)
        return self

    def _sound(self, side: Who) -> None:
        begun = [s for s in self.speech[side] if s[0] + 0.03 <= self.now]
        latest = Span(begun[-1][0], min(begun[-1][1], self.now)) if begun else None
        on = latest is not None and self.now <= latest.end + 0.2
        self.talk.sound(side, self.now, latest, speaking=on)

    def event(self, side: Who, kind: Any, data: Any = None, *, audible: bool = False) -> Scene:
        message = Envelope(kind, data) if isinstance(kind, str) else kind
        self.talk.event(side, Event(self.now, message), audible=audible)
        return self

    def reply(self, side: Who, text: str) -> Scene:
        for kind, data in (
            ("bot-llm-started", None),
            ("bot-llm-text", {"text": text}),
            ("bot-llm-stopped", None),
        ):
            self.event(side, kind, data)
        return self

    @property
    def turns(self) -> list[tuple[str, int, str]]:
        return [(t.side, t.number, t.collector.text) for t in self.talk.turns]


def test_turns_alternate_and_the_caller_opens_exchanges() -> None:
    scene = Scene([(1.0, 2.0), (5.0, 6.0)], [(3.0, 4.0), (7.0, 8.0)])
    scene.until(0.9).reply("agent", "Hello.").until(2.9).reply("user", "Hi.")
    scene.until(4.9).reply("agent", "Yes?").until(6.9).reply("user", "Bye.").until(9)
    assert scene.turns == [
        ("agent", 1, "Hello."),
        ("user", 2, "Hi."),
        ("agent", 2, "Yes?"),
        ("user", 3, "Bye."),
    ]
    assert scene.talk.opens == [3.0, 7.0]
    assert scene.talk.completed == 2


def test_a_pause_or_a_late_event_opens_no_other_turn() -> None:
    scene = Scene([(1.0, 2.0), (3.5, 4.0)], [(5.0, 6.0)])
    scene.until(0.9).reply("agent", "One.").until(4.5)
    scene.until(5.5).event("agent", "bot-tts-text", {"text": "One."})
    scene.event("agent", "bot-stopped-speaking").until(7)
    assert [(side, number) for side, number, _ in scene.turns] == [("agent", 1), ("user", 2)]


def test_an_interrupted_turn_is_cut_and_the_next_one_is_another() -> None:
    scene = Scene([(1.0, 3.2), (5.0, 6.0)], [(3.0, 4.0)])
    scene.until(0.9).reply("agent", "A long story.").until(3.2)
    scene.event("agent", InterruptionFrame(), audible=True).event("agent", "bot-interrupted")
    scene.until(4.8).reply("agent", "Pardon?").until(8)
    agent = [turn for turn in scene.talk.turns if turn.side == "agent"]
    assert [(t.number, t.cut, t.collector.text) for t in agent] == [
        (1, True, "A long story."),
        (2, False, "Pardon?"),
    ]


def test_a_reply_that_was_dropped_before_it_was_heard_leaves_nothing() -> None:
    scene = Scene([(5.0, 6.0)], [(1.0, 2.0), (2.5, 3.5)])
    scene.until(2.3).reply("agent", "Too early.").until(2.6)
    scene.event("agent", "bot-interrupted").until(4.9).reply("agent", "Now.").until(7)
    assert [text for side, _, text in scene.turns if side == "agent"] == ["Now."]
    # the caller's pause is inside of one turn
    assert scene.talk.exchange == 2


def test_a_callers_word_while_the_agent_speaks_on_is_a_turn_of_its_own() -> None:
    scene = Scene([(1.0, 6.0)], [(3.0, 3.3), (7.0, 8.0)])
    scene.until(0.9).reply("agent", "On and on.").until(9)
    assert [(side, number) for side, number, _ in scene.turns] == [
        ("agent", 1),
        ("user", 2),
        ("user", 3),
    ]


@pytest.mark.parametrize("side", ["agent", "user"])
def test_an_exit_is_remembered_with_its_words_once(side: Who) -> None:
    scene = Scene([], []).until(1.0)
    scene.event(side, "server-message", {"text": "<exit>Done.</exit>"}).until(2.0)
    scene.event(side, "server-message", {"text": "<exit>Again.</exit>"})
    assert scene.talk.exits == {side: (pytest.approx(1.0, abs=0.02), "Done.")}
