from __future__ import annotations

from typing import Any

import pytest

from pytest_voiceeval.bots.script_player import (
    AGENT_CLOSING,
    USER_CLOSING,
    Position,
    Reply,
    Script,
    next_reply,
    position_of,
)
from pytest_voiceeval.scenario.dialogue import DialogueTurn, ToolCall

LOOK_UP = ToolCall("get_reservation", {"confirmation_number": "ABC123"})
REBOOK = ToolCall("rebook_flight", {"journey_id": "FL_1"})
SEAT = ToolCall("assign_seat", {"seat_preference": "window"})
END = ToolCall("end_conversation", {})

DIALOGUE = (
    DialogueTurn("agent", "Hello, how can I help?"),
    DialogueTurn("user", "I want another flight."),
    DialogueTurn("agent", "Done. Anything else?", (LOOK_UP, REBOOK)),
    DialogueTurn("user", "No, thank you."),
    DialogueTurn("agent", "Goodbye.", (SEAT, END)),
)
AGENT = Script(DIALOGUE)

SYSTEM = {"role": "system", "content": "You are an agent."}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def said(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def called(*names: str) -> list[dict[str, Any]]:
    """An assistant's calls with their results."""
    calls = [{"id": name, "type": "function", "function": {"name": name}} for name in names]
    results = [{"role": "tool", "tool_call_id": name, "content": "{}"} for name in names]
    return [{"role": "assistant", "content": None, "tool_calls": calls}, *results]


GREETED = [SYSTEM, user("Hello"), said("Hello, how can I help?")]
ASKED = [*GREETED, user("I want another flight.")]
DONE = [
    *ASKED,
    *called("get_reservation"),
    *called("rebook_flight"),
    said("Done. Anything else?"),
    user("No, thank you."),
]
OVER = [*DONE, *called("assign_seat"), said("Goodbye."), *called("end_conversation")]


@pytest.mark.parametrize(
    ("messages", "reply"),
    [
        ([SYSTEM, user("Hello")], Reply(0, 0, "Hello, how can I help?")),
        (ASKED, Reply(1, 0, calls=(LOOK_UP,))),
        ([*ASKED, *called("get_reservation")], Reply(1, 1, calls=(REBOOK,))),
        (
            [*ASKED, *called("get_reservation"), *called("rebook_flight")],
            Reply(1, 2, "Done. Anything else?"),
        ),
        (DONE, Reply(2, 0, calls=(SEAT,))),
        ([*DONE, *called("assign_seat")], Reply(2, 1, "Goodbye.", (END,))),
        (OVER, Reply(2, 2)),
        ([*OVER, user("Hello?")], Reply(3, 0, AGENT_CLOSING)),
        ([*OVER, user("Hello?"), said(AGENT_CLOSING), user("Hm")], Reply(4, 0, AGENT_CLOSING)),
    ],
    ids=[
        "greets",
        "first call",
        "second call",
        "then speaks",
        "call of the last turn",
        "text and ending call together",
        "nothing to add after the ending call",
        "the caller goes on",
        "and on",
    ],
)
def test_plays_the_agents_side(messages: list[dict[str, Any]], reply: Reply) -> None:
    assert next_reply(messages, AGENT) == reply


@pytest.mark.parametrize(
    ("messages", "position"),
    [
        ([SYSTEM], Position(0, 0)),
        ([SYSTEM, user("Hello"), user("Hello?")], Position(0, 0)),
        ([SYSTEM, user("Hello"), {"role": "developer", "content": "x"}, user("a")], Position(0, 0)),
        ([*GREETED, user("a"), user("b"), user("c")], Position(1, 0)),
        ([*ASKED, *called("x", "y")], Position(1, 2)),
        ([*ASKED, *called("x"), user("wait")], Position(2, 0)),
        ([*ASKED, {"role": "assistant", "content": "hm", "tool_calls": None}], Position(1, 0)),
    ],
    ids=[
        "before anybody spoke",
        "asked twice",
        "notes between do not count",
        "three messages are one turn",
        "two calls in one message",
        "the caller cuts in on a call",
        "no calls written as null",
    ],
)
def test_finds_its_place_in_the_conversation(
    messages: list[dict[str, Any]], position: Position
) -> None:
    assert position_of(messages) == position


def test_the_same_request_gets_the_same_reply_and_results_do_not_matter() -> None:
    failed = [*ASKED, *called("get_reservation")]
    failed[-1] = failed[-1] | {"content": '{"status": "error"}'}
    assert next_reply(failed, AGENT) == next_reply(failed, AGENT) == Reply(1, 1, calls=(REBOOK,))


def test_a_last_turn_without_an_ending_is_like_any_other() -> None:
    script = Script((*DIALOGUE[:4], DialogueTurn("agent", "Goodbye.", (SEAT,))))
    assert next_reply(DONE, script) == Reply(2, 0, calls=(SEAT,))
    assert next_reply([*DONE, *called("assign_seat")], script) == Reply(2, 1, "Goodbye.")


def test_a_transfer_ends_a_call_too() -> None:
    transfer = ToolCall("transfer_to_agent", {"transfer_reason": "x"})
    script = Script((*DIALOGUE[:4], DialogueTurn("agent", "I connect you.", (transfer,))))
    assert next_reply(DONE, script) == Reply(2, 0, "I connect you.", (transfer,))


@pytest.mark.parametrize(
    ("messages", "reply"),
    [
        ([SYSTEM, user("Hello, how can I help?")], Reply(0, 0, "I want another flight.")),
        (
            [SYSTEM, user("Hello"), user("how can I help?")],
            Reply(0, 0, "I want another flight."),
        ),
        ([SYSTEM, user("a"), said("b"), user("c")], Reply(1, 0, "No, thank you.")),
        (
            [SYSTEM, user("a"), said("b"), user("c"), said("d"), user("e")],
            Reply(2, 0, USER_CLOSING),
        ),
    ],
    ids=["first line", "what was heard in two pieces is one turn", "second line", "past the end"],
)
def test_plays_the_callers_side(messages: list[dict[str, Any]], reply: Reply) -> None:
    assert next_reply(messages, Script(DIALOGUE, role="user")) == reply
