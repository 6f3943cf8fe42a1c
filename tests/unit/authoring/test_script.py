"""Dialogues written as screenplays, and calls written in one line."""

from __future__ import annotations

import pytest

from pytest_voiceeval.scenario.authoring_calls import CallReader
from pytest_voiceeval.scenario.authoring_dialogue import read_script

HANG_UP = {"name": "end_conversation", "arguments": {}}


def _call(line: str) -> dict:
    return {"name": line, "arguments": {}}


def test_turns_calls_and_the_end():
    script = "A: Hello?\nC: Move {LQ5}.\n\n> look\n> move\nA: Done,\n  all of it.\nC: Bye.\nA: Bye."
    assert read_script(script, _call) == [
        {"role": "agent", "text": "Hello?"},
        {"role": "user", "text": "Move L, Q, five."},
        {"role": "agent", "text": "Done, all of it.", "calls": [_call("look"), _call("move")]},
        {"role": "user", "text": "Bye."},
        {"role": "agent", "text": "Bye.", "calls": [HANG_UP]},
    ]


def test_a_transfer_ends_the_call_by_itself():
    turns = read_script("A: Hello?\nC: A person!\n> transfer_to_agent\nA: One moment.", _call)
    assert turns[-1]["calls"] == [_call("transfer_to_agent")]


def test_calls_of_the_last_turn_come_before_hanging_up():
    turns = read_script("A: Hello?\nC: Bye.\n> note\nA: Bye.", _call)
    assert turns[-1]["calls"] == [_call("note"), HANG_UP]


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("Hello?", "dialogue, line 1: a line begins with A:, C: or >"),
        ("A: x\n> look\nC: y\nA: z", "dialogue, line 3: look stands before a turn of the caller"),
        ("A: x\nC: y\nA: z\n> look", "after look the agent has to say something"),
        ("A: x\nC: y", "the agent has the last word"),
        ("", "the agent has the last word"),
        ("A: {x", "dialogue, line 1: a brace without its partner"),
    ],
)
def test_a_script_that_cannot_be_read(script, problem):
    with pytest.raises(ValueError, match=problem):
        read_script(script, _call)


@pytest.fixture
def read(library):
    domain = library()
    return CallReader(domain, {"loan_id": "L1"}, lambda name, text: text.replace("@", "L")).read


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ("extend_loan 17", {"loan_id": "L1", "days": 17}),
        ("extend_loan days=17 loan_id=@2", {"loan_id": "L2", "days": 17}),
        ("extend_loan 17 fee=2.5", {"loan_id": "L1", "days": 17, "fee": 2.5}),
        ("extend_loan 17 fee=2", {"loan_id": "L1", "days": 17, "fee": 2}),
        ("extend_loan 17 notify=yes", {"loan_id": "L1", "days": 17, "notify": True}),
        ("extend_loan 17 tags=1,2", {"loan_id": "L1", "days": 17, "tags": [1, 2]}),
        ('extend_loan 17 kind="a b"', {"loan_id": "L1", "days": 17, "kind": "a b"}),
        ("end_conversation", {}),
    ],
)
def test_a_call_in_one_line(read, line, arguments):
    found = read(line)
    assert found == {"name": line.split()[0], "arguments": arguments}
    assert list(found["arguments"]) == list(arguments), "in the order of the schema"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("extend_loan", "needs days; got 0 bare values"),
        ("extend_loan 1 2", "needs days; got 2 bare values: 1 2"),
        ("extend_loan x", "days is a number, got 'x'"),
        ("extend_loan 1.5", "days is a number, got '1.5'"),
        ("extend_loan 1 notify=maybe", "notify is true or false, got 'maybe'"),
        ("extend_loan 1 feee=2", "has no parameter 'feee'; did you mean 'fee'"),
        ("extend_loan 1 zzz=2", "has no parameter 'zzz'; it has loan_id, days"),
        ("extent_loan 1", "no tool 'extent_loan'"),
        ("", "call ''"),
        ('extend_loan "1', "No closing quotation"),
    ],
)
def test_a_call_that_cannot_be_read(read, line, problem):
    with pytest.raises(ValueError, match=problem):
        read(line)
