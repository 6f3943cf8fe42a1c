"""Reference dialogues: reading them, refusing impossible ones, making plain ones around calls."""

from __future__ import annotations

import pytest

from pytest_voiceeval.scenario.dialogue import (
    DialogueError,
    DialogueTurn,
    ToolCall,
    check_dialogue,
    dialogue_from_calls,
    parse_calls,
    parse_dialogue,
)

END = {"name": "end_conversation"}


def _data(*turns):
    """Alternating turns: texts, or (text, calls)."""
    pairs = [turn if isinstance(turn, tuple) else (turn, None) for turn in turns]
    return [
        {"role": "user" if n % 2 else "agent", "text": text} | ({"calls": calls} if calls else {})
        for n, (text, calls) in enumerate(pairs)
    ]


def test_parse():
    look_up = {"name": "get_reservation", "arguments": {"last_name": "Ito"}}
    data = _data("Hello.", "Hi, it is Ito.", ("Found you. Bye.", [look_up, END]))
    assert parse_dialogue(data, "here") == (
        DialogueTurn("agent", "Hello."),
        DialogueTurn("user", "Hi, it is Ito."),
        DialogueTurn(
            "agent",
            "Found you. Bye.",
            (ToolCall("get_reservation", {"last_name": "Ito"}), ToolCall("end_conversation", {})),
        ),
    )


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({}, r"data\.jsonl:3: a dialogue is a list of turns, got dict '\{\}'"),
        ([], "a dialogue is a list of turns, got an empty list"),
        (["hi"], "turn 1: must be an object, got str 'hi'"),
        ([{"role": "bot", "text": "x"}], "turn 1: 'role' must be 'agent' or 'user', got 'bot'"),
        ([{"role": "agent", "txt": "x"}], "turn 1: unknown key 'txt', did you mean 'text'"),
        ([{"role": "agent", "text": 3}], "turn 1: 'text' must be a text, got int '3'"),
        ([{"role": "agent", "text": " "}], "turn 1: has neither text nor calls"),
        ([{"role": "agent", "calls": {}}], "turn 1: expected a list of calls, got dict"),
        ([{"role": "agent", "calls": [{"name": ""}]}], "turn 1, call 1: 'name' must be the name"),
        (
            [{"role": "agent", "calls": [{"name": "f", "arguments": [1]}]}],
            "turn 1, call 1: 'arguments' of f must be an object",
        ),
        ([{"role": "user", "text": "x"}], "turn 1: is the agent's, not the user's"),
        (
            [{"role": "agent", "text": "x"}, {"role": "agent", "text": "y"}],
            "turn 2: is the user's, not the agent's",
        ),
        (_data("Hello.", "Bye."), "the agent must have the last turn"),
        (_data("Hello.", ("Hi.", [END]), "Bye."), "turn 2: end_conversation ends the call, so it"),
        (
            _data("Hello.", ("", [{"name": "find"}]), "Bye."),
            "turn 2: the caller must also say something",
        ),
        (_data(("Hello.", [END]), "Hi.", "Bye."), "turn 1: end_conversation ends the call"),
        (
            _data(("Bye.", [{"name": "transfer_to_agent"}, END])),
            "turn 1: transfer_to_agent ends the call, so it must come last of all",
        ),
    ],
)
def test_refused_with_place(data, problem):
    with pytest.raises(DialogueError, match=problem):
        parse_dialogue(data, "data.jsonl:3")


def test_calls_are_read_alone():
    assert parse_calls([{"name": "f", "arguments": {"a": 1}}, {"name": "g"}], "x") == (
        ToolCall("f", {"a": 1}),
        ToolCall("g", {}),
    )
    with pytest.raises(DialogueError, match=r"forbidden, call 2: unknown key 'argumnets', did you"):
        parse_calls([{"name": "f"}, {"name": "g", "argumnets": {}}], "forbidden")


AUTHENTICATION = [
    ToolCall("get_reservation", {"confirmation_number": "ZK3FFW", "last_name": "Rodriguez"})
]


def _calls(dialogue):
    return [call for turn in dialogue for call in turn.calls]


@pytest.mark.parametrize("count", range(6))
@pytest.mark.parametrize("authentication", [[], AUTHENTICATION], ids=["anonymous", "identified"])
def test_any_number_of_calls_makes_a_playable_dialogue(count, authentication):
    calls = [ToolCall(f"tool_{n}", {"n": n}) for n in range(count)]
    dialogue = dialogue_from_calls(calls, authentication=authentication)
    check_dialogue(dialogue, "generated")
    assert _calls(dialogue) == [*authentication, *calls, ToolCall("end_conversation")]
    assert len([turn for turn in dialogue if turn.role == "agent"]) >= 3
    assert all(turn.text for turn in dialogue)
    assert max(len(turn.calls) for turn in dialogue) <= 2
    assert [call.name for call in dialogue[-1].calls] == ["end_conversation"]


def test_the_caller_says_who_they_are_with_identifiers_spelled():
    dialogue = dialogue_from_calls([], authentication=AUTHENTICATION, opening="Hello there.")
    assert [turn.text for turn in dialogue[1:5]] == [
        "Hello there.",
        "Of course. Could you give me your confirmation number and last name, please?",
        "Sure, my confirmation number is Z, K, three, F, F, W and my last name is Rodriguez.",
        "Thank you, I have found you. Shall I go ahead?",
    ]
    assert dialogue[4].calls == tuple(AUTHENTICATION)


def test_a_hand_over_ends_the_call_by_itself():
    calls = [ToolCall("a"), ToolCall("transfer_to_agent", {"reason": "asked"})]
    dialogue = dialogue_from_calls(calls)
    assert _calls(dialogue) == calls
    assert dialogue[-1].calls == (calls[1],)
    assert "colleague" in dialogue[-1].text


def test_nothing_can_follow_a_hand_over():
    calls = [ToolCall("transfer_to_agent"), ToolCall("a")]
    with pytest.raises(DialogueError, match=r"script\.json, turn \d: transfer_to_agent ends"):
        dialogue_from_calls(calls, where="script.json")
