"""Every way in which models end a call, and words that do not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_voiceeval.call.caller_ending import called_ending, unknown_tools, written_ending
from pytest_voiceeval.call.chat_reply import FunctionCall


@pytest.mark.parametrize(
    ("text", "words", "reason", "last_words"),
    [
        ("Bye now.\n[[HANG UP: goal_met]]", "Bye now.\n", "goal_met", ""),
        ("Bye. [hang up]", "Bye. ", "other", ""),
        ("Bye. [[End call: goal met]] Agent: Bye!", "Bye. ", "goal_met", ""),
        ("Yes, go ahead. ###STOP###", "Yes, go ahead. ", "goal_met", ""),
        ("###TRANSFER###", "", "transferred", ""),
        ("No way. ###OUT-OF-SCOPE###", "No way. ", "failed", ""),
        ("Goodbye. *hangs up*", "Goodbye. ", "other", ""),
        ("Goodbye. (The caller hangs up the phone.)", "Goodbye. ", "other", ""),
        ('hang_up(reason="refused", last_words="So be it.")', "", "refused", "So be it."),
        (
            'Thanks!<tool_call>\n{"name": "hang_up", "arguments": {"reason": "goal_met"}}',
            "Thanks!",
            "goal_met",
            "",
        ),
        ('Bye. ```json\n{"name": "hang_up", "arguments": {}}```', "Bye.", "other", ""),
        ("Bye. <function=hang_up>{}</function>", "Bye.", "other", ""),
        ("Bye. functions.hang_up({})", "Bye.", "other", ""),
    ],
)
def test_written_endings(text: str, words: str, reason: str, last_words: str) -> None:
    left, ending = written_ending(text)
    assert ending is not None
    assert (left, ending.reason, ending.last_words, ending.written) == (
        words,
        reason,
        last_words,
        True,
    )


@pytest.mark.parametrize(
    "text",
    [
        "Goodbye.",
        "Say goodbye to high prices.",
        "My sister always says goodbye and never hangs up.",
        "I had to hang up the last time, stop laughing.",
        "Stop. Is that the end of the call?",
        "# Stop",
    ],
)
def test_words_end_nothing(text: str) -> None:
    assert written_ending(text) == (text, None)


@pytest.mark.parametrize(
    ("name", "arguments", "reason", "last_words"),
    [
        ("hang_up", {"reason": "goal_met", "last_words": "Bye."}, "goal_met", "Bye."),
        ("hang_up", {"reason": "Goal met."}, "goal_met", ""),
        ("hang_up", {}, "other", ""),
        ("hang_up", "", "other", ""),
        ("hang_up", '{"reason": "refused", "last_words": "So be', "refused", ""),
        ("hang_up", '{"reason": "refused", "last_words": "So be it."', "refused", "So be it."),
        ("hang_up", "[1]", "other", ""),
        ("hang_up", {"reason": 3, "last_words": None}, "3", ""),
        ("functions.hang_up", {"reason": "x" * 500}, "x" * 80, ""),
        ("End-Conversation", {}, "other", ""),
    ],
)
def test_called_endings(name: str, arguments: Any, reason: str, last_words: str) -> None:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    ending = called_ending([FunctionCall("dance"), FunctionCall(name, text)])
    assert ending is not None
    assert (ending.reason, ending.last_words, ending.written) == (reason, last_words, False)


def test_other_tools_end_nothing() -> None:
    calls = [FunctionCall("get_reservation", "{}"), FunctionCall("hang_up", "{}")]
    assert called_ending(calls[:1]) is None
    assert unknown_tools(calls) == ["get_reservation"]
