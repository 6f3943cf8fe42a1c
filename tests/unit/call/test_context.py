"""Context histories: read as data only, and their tool calls."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_voiceeval.call import context
from pytest_voiceeval.call.context import ContextUnreadable, parse_context, tool_calls_of

MESSAGES = [
    {"role": "system", "content": 'It\'s "you"'},
    {"role": "assistant", "content": None, "flag": True},
]


@pytest.mark.parametrize(
    "value",
    [MESSAGES, json.dumps(MESSAGES), str(MESSAGES), f" {MESSAGES} \n"],
    ids=["list", "json", "python literal", "literal with blanks"],
)
def test_three_spellings_are_read_alike(value: Any) -> None:
    assert parse_context({"context": value}) == tuple(MESSAGES)


@pytest.mark.parametrize("value", [[], "[]"])
def test_an_empty_history_is_no_message(value: Any) -> None:
    assert parse_context({"context": value}) == ()


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (None, "expected an object with 'context', got NoneType"),
        ({"logs": []}, "expected an object with 'context'"),
        ({"context": 5}, "expected a list of message objects, got int 5"),
        ({"context": ["text"]}, "expected a list of message objects, got list"),
        ({"context": "[LLMMessage(role='user')]"}, "neither JSON nor a Python literal"),
        ({"context": "[" * 5000}, "neither JSON nor a Python literal"),
        ({"context": "[1] * 10 ** 9"}, "neither JSON nor a Python literal"),
        ({"context": "{'a': 'b'"}, "neither JSON nor a Python literal (SyntaxError)"),
    ],
)
def test_what_cannot_be_read_says_so(reply: Any, says: str) -> None:
    with pytest.raises(ContextUnreadable) as caught:
        parse_context(reply)
    assert says in str(caught.value)


def test_nothing_is_evaluated(tmp_path: Any) -> None:
    target = tmp_path / "created"
    for text in (
        f"__import__('pathlib').Path({str(target)!r}).touch()",
        f"[open({str(target)!r},'w')]",
    ):
        with pytest.raises(ContextUnreadable):
            parse_context({"context": text})
    assert not target.exists()


@pytest.mark.parametrize(
    ("limit", "text", "says"),
    [
        ("MAX_JSON", "[" + " " * 100 + "]", "102 characters are more than the 50 read"),
        ("MAX_LITERAL", str([{"a": None}] * 9), "let the bot send JSON"),
    ],
)
def test_sizes_are_bounded(
    monkeypatch: pytest.MonkeyPatch, limit: str, text: str, says: str
) -> None:
    monkeypatch.setattr(context, limit, 50)
    with pytest.raises(ContextUnreadable) as caught:
        parse_context({"context": text})
    assert says in str(caught.value)


def calling(identity: str, name: str, arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {
        "role": "assistant",
        "tool_calls": [{"id": identity, "type": "function", "function": function}],
    }


def answer(identity: str, content: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identity, "content": content}


USER = {"role": "user", "content": "Hello"}


def test_calls_have_turn_arguments_and_result() -> None:
    calls = tool_calls_of(
        [
            {"role": "system", "content": "prompt"},
            USER,
            {"role": "assistant", "content": "Hi"},
            USER,
            calling("a", "get_reservation", '{"code": "EPXYEK"}'),
            answer("a", '{"status": "success"}'),
            calling("b", "rebook", {"fee": 75}),
            answer("b", "plain words"),
            USER,
            calling("c", "end_conversation", ""),
        ]
    )
    assert [(c.id, c.turn, c.name, c.arguments, c.result, c.finished) for c in calls] == [
        ("a", 2, "get_reservation", {"code": "EPXYEK"}, {"status": "success"}, True),
        ("b", 2, "rebook", {"fee": 75}, "plain words", True),
        ("c", 3, "end_conversation", {}, None, False),
    ]


def test_a_placeholder_is_no_result_and_an_id_counts_once() -> None:
    calls = tool_calls_of(
        [
            USER,
            calling("a", "f", "{}"),
            answer("a", "IN_PROGRESS"),
            calling("a", "f", "{}"),
            answer("a", '{"n": 1}'),
            answer("a", "IN_PROGRESS"),
            calling("b", "g", "{}"),
            answer("b", "IN_PROGRESS"),
        ]
    )
    assert [(c.id, c.result, c.finished) for c in calls] == [
        ("a", {"n": 1}, True),
        ("b", None, False),
    ]


@pytest.mark.parametrize(
    "arguments", ['{"order_id":"#W12', "[1, 2]", "null", "7", "{'a': 1}"], ids=repr
)
def test_malformed_arguments_are_kept_as_they_were_written(arguments: str) -> None:
    (call,) = tool_calls_of([USER, calling("a", "cancel", arguments)])
    assert call.arguments is None
    assert call.malformed == arguments


def test_odd_messages_do_not_break_the_search() -> None:
    odd: list[dict[str, Any]] = [
        {},
        {"role": "assistant", "tool_calls": "none"},
        {"role": "assistant", "tool_calls": ["text", {"id": None, "function": "f"}]},
        {"role": "tool", "content": {"a": 1}},
    ]
    (call,) = tool_calls_of(odd)
    assert (call.turn, call.name, call.arguments) == (1, "", {})


def test_a_literal_that_json_cannot_hold_is_kept_as_text() -> None:
    text = (
        "[{'role': 'user', 'content': 'x'}, {'role': 'tool', 'content': {(1, 2): {3}, 'b': b'y'}}]"
    )
    messages = parse_context({"context": text})
    assert json.loads(json.dumps(messages))[1]["content"] == {"(1, 2)": [3], "b": "b'y'"}
