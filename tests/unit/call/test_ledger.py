"""What a bot's events tell about its side, and how the sources of tool calls become one list."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_voiceeval.call.ledger import Ledger
from pytest_voiceeval.call.messages import (
    Applied,
    Exit,
    FinalResponse,
    error_text,
    parse_server_message,
)
from pytest_voiceeval.call.result import Tokens
from pytest_voiceeval.call.tool_calls import merge_tool_calls
from pytest_voiceeval.wire.backlog import Event
from pytest_voiceeval.wire.frames import AudioFrame
from pytest_voiceeval.wire.rtvi import Envelope


def noted(*events: tuple[str, Any], turn: int = 1, ledger: Ledger | None = None) -> Ledger:
    ledger = ledger or Ledger()
    for kind, data in events:
        ledger.note(Event(0.0, Envelope(kind, data)), turn)
    return ledger


# -- tokens


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([[{"prompt_tokens": 10, "completion_tokens": 3}]], Tokens(1, 10, 3)),
        (
            [[{"prompt_tokens": 10, "completion_tokens": 3}, {"prompt_tokens": "2"}]],
            Tokens(2, 12, 3),
        ),
        ([[{"prompt_tokens": None}], [{"completion_tokens": 4}]], Tokens(2, 0, 4)),
        ([[{"prompt_tokens": "many", "completion_tokens": -3}]], Tokens(1, 0, 0)),
        ([["text"], "text", None], None),
        ([], None),
    ],
)
def test_each_usage_entry_is_one_model_call(entries: list[Any], expected: Tokens | None) -> None:
    ledger = noted(*(("metrics", {"tokens": entry}) for entry in entries))
    assert ledger.tokens == expected
    assert ledger.model_runs == (expected.calls if expected else 0)


def test_warm_up_metrics_count_for_nothing() -> None:
    ledger = noted(
        ("metrics", {"ttfb": [{"processor": "LLM#0", "value": 0.0}]}),
        ("metrics", {"processing": [{"processor": "LLM#0", "value": 0.0}]}),
        ("metrics", None),
    )
    assert (ledger.tokens, ledger.model_runs) == (None, 0)


def test_runs_are_counted_from_events_when_no_usage_is_reported() -> None:
    ledger = noted(("bot-llm-started", None), ("bot-llm-stopped", None), ("bot-llm-started", None))
    assert (ledger.tokens, ledger.model_runs) == (None, 2)


def test_audio_is_nothing_to_note() -> None:
    assert Ledger().note(Event(0.0, AudioFrame(b"\1\2", 16000, 1)), 1) is None


# -- server messages and errors


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"text": "<exit>The task is finished.</exit>"}, Exit("The task is finished.")),
        ({"text": " <exit></exit>\n"}, Exit("")),
        ("<exit>bare text</exit>", Exit("bare text")),
        ({"text": "he said <exit>x</exit>"}, None),
        ({"text": "<exit>"}, None),
        ({"text": "<final_response>{}</final_response>"}, FinalResponse("{}")),
        ({"text": "goodbye to high prices"}, None),
        ({"text": 5}, None),
        (None, None),
        ([], None),
        (
            {"type": "action-applied", "action": {"a": 1}, "text": "<exit>no</exit>"},
            Applied({"a": 1}, ()),
        ),
        ({"type": "action-applied", "action": "none"}, None),
        (
            {"type": "action-applied", "action": {}, "writes": [["t", "r"], ["t"], "x", ["n", 5]]},
            Applied({}, (("t", "r"), ("n", "5"))),
        ),
        (
            {
                "type": "action-applied",
                "action": {},
                "fields": [["t", "r", "x"], [], "x", ["t", 5]],
            },
            Applied({}, (), (("t", "r", "x"), ("t", "5"))),
        ),
    ],
)
def test_server_messages(data: Any, expected: Any) -> None:
    assert parse_server_message(data) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"error": "context too long", "fatal": True}, ("context too long", True)),
        ({"error": "hiccup", "fatal": False}, ("hiccup", False)),
        ({"message": "old form"}, ("old form", False)),
        ({"error": "", "fatal": "yes"}, ("no text given", False)),
        ("bare", ("bare", False)),
        (None, ("no text given", False)),
    ],
)
def test_error_messages_are_fatal_only_when_they_say_so(
    data: Any, expected: tuple[str, bool]
) -> None:
    assert error_text(data) == expected
    fatal = Ledger().note(Event(0.0, Envelope("error", data)), 1)
    assert fatal == (expected[0] if expected[1] else None)
    assert noted(("error", data)).errors == ([] if expected[1] else [expected[0]])


def test_final_responses_are_collected_in_order() -> None:
    ledger = noted(
        ("server-message", {"text": "<final_response>one</final_response>"}),
        ("server-message", {"text": "<final_response>two</final_response>"}),
    )
    assert ledger.final_responses == ["one", "two"]


# -- tool calls


def started(identity: str, **data: Any) -> tuple[str, dict[str, Any]]:
    return "llm-function-call-in-progress", {"tool_call_id": identity, **data}


def stopped(identity: str, **data: Any) -> tuple[str, dict[str, Any]]:
    return "llm-function-call-stopped", {"tool_call_id": identity, **data}


def applied(record: dict[str, Any], *writes: list[str]) -> tuple[str, dict[str, Any]]:
    return "server-message", {"type": "action-applied", "action": record, "writes": list(writes)}


def context_of(*calls: tuple[str, str, str]) -> tuple[dict[str, Any], ...]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Hello"}]
    for identity, name, arguments in calls:
        function = {"name": name, "arguments": arguments}
        messages.append(
            {"role": "assistant", "tool_calls": [{"id": identity, "function": function}]}
        )
        messages.append({"role": "tool", "tool_call_id": identity, "content": '{"ok": true}'})
    return tuple(messages)


def test_a_call_delivered_twice_counts_once_and_keeps_its_real_result() -> None:
    event = started("c", function_name="pay", arguments={"amount": 5})
    ledger = noted(
        event, event, stopped("c", result={"paid": 5}), stopped("c"), stopped("c", result=None)
    )
    (call,) = merge_tool_calls("agent", None, ledger)
    assert (call.name, call.arguments, call.result) == ("pay", {"amount": 5}, {"paid": 5})
    assert call.finished


def test_nameless_events_alone_are_no_call() -> None:
    assert merge_tool_calls("agent", None, noted(started("c"), stopped("c"))) == ()
    assert noted(("llm-function-call-started", {}), ("llm-function-call-stopped", None)).calls == {}


def test_the_context_names_the_call_and_the_events_its_turn() -> None:
    ledger = noted(started("c"), stopped("c"), turn=4)
    (call,) = merge_tool_calls("agent", context_of(("c", "pay", '{"amount": 5}')), ledger)
    assert (call.turn, call.name, call.arguments, call.result) == (
        4,
        "pay",
        {"amount": 5},
        {"ok": True},
    )


def test_calls_only_one_source_knows_are_all_listed_by_turn() -> None:
    ledger = noted(started("late", function_name="b"), turn=3)
    noted(started("early", function_name="a"), turn=2, ledger=ledger)
    calls = merge_tool_calls("user", context_of(("first", "z", "{}")), ledger)
    assert [(c.turn, c.name, c.side) for c in calls] == [
        (1, "z", "user"),
        (2, "a", "user"),
        (3, "b", "user"),
    ]


def test_an_action_belongs_to_the_call_that_was_running() -> None:
    record = {"action_type": "refund"}
    ledger = noted(
        started("a"), stopped("a"), started("b"), applied(record, ["refunds", "R1"]), stopped("b")
    )
    first, second = merge_tool_calls(
        "agent", context_of(("a", "refund", "{}"), ("b", "refund", "{}")), ledger
    )
    assert (first.record, first.writes) == (None, ())
    assert (second.record, second.writes) == (record, (("refunds", "R1"),))


def test_without_events_an_action_belongs_to_the_call_it_resembles() -> None:
    record = {"action_type": "rebook", "data": {"code": "ABC", "items": [{"fee": 75}]}}
    calls = merge_tool_calls(
        "agent",
        context_of(
            ("a", "lookup", '{"code": "ABC"}'),
            ("b", "rebook", '{"code": "ABC", "fee": 75}'),
        ),
        noted(applied(record)),
    )
    assert [call.record for call in calls] == [None, record]


def test_a_name_in_the_record_decides_over_shared_values() -> None:
    record = {"name": "b", "arguments": {"x": 1}}
    calls = merge_tool_calls(
        "agent", context_of(("1", "a", '{"x": 1}'), ("2", "b", "{}")), noted(applied(record))
    )
    assert [call.record for call in calls] == [None, record]


def test_two_actions_never_share_a_call() -> None:
    record = {"name": "b"}
    calls = merge_tool_calls(
        "agent", context_of(("1", "b", "{}")), noted(applied(record), applied(record))
    )
    assert [(call.name, call.record) for call in calls] == [("b", record), ("b", record)]


def test_an_action_without_a_call_stands_for_itself() -> None:
    ledger = noted(
        applied({"name": "pay", "arguments": {"amount": 5}}),
        applied({"action_type": "refund"}),
        turn=2,
    )
    first, second = merge_tool_calls("agent", None, ledger)
    assert (first.turn, first.name, first.arguments) == (2, "pay", {"amount": 5})
    assert (second.name, second.arguments) == ("refund", {"action_type": "refund"})


def test_unknown_tools_are_listed_like_any_other() -> None:
    (call,) = merge_tool_calls("agent", context_of(("1", "../../x", '{"a": 1}')), Ledger())
    assert call.name == "../../x"


def test_runs_without_usage_are_counted() -> None:
    usage = ("metrics", {"tokens": [{"prompt_tokens": 10, "completion_tokens": 3}]})
    started = ("bot-llm-started", None)
    assert noted(started, usage).uncounted_runs == 0
    assert noted(started, usage, started).uncounted_runs == 1
    assert noted(usage, usage, started).uncounted_runs == 0


# -- results that were handed in


def handed_in(text: str) -> tuple[str, dict[str, Any]]:
    return "server-message", {"text": f"<final_response>{text}</final_response>"}


ORDER = '{"dish": "soup", "count": "2"}'
RESULT = {"dish": "soup", "count": "2"}


def test_a_result_belongs_to_the_call_that_was_running() -> None:
    ledger = noted(started("a"), stopped("a"), started("b"), handed_in(ORDER), stopped("b"))
    context = context_of(("a", "order", ORDER), ("b", "order", "{}"))
    assert [call.record for call in merge_tool_calls("agent", context, ledger)] == [None, RESULT]
    assert ledger.final_responses == [ORDER]
    assert ledger.applied == []


def test_without_events_a_result_belongs_to_the_call_it_resembles() -> None:
    context = context_of(("a", "menu", '{"dish": "tart"}'), ("b", "order", ORDER))
    calls = merge_tool_calls("agent", context, noted(handed_in(ORDER)))
    assert [call.record for call in calls] == [None, RESULT]


def test_a_call_that_recorded_an_action_keeps_it_and_no_other_gets_its_result() -> None:
    action = {"action_type": "close", "dish": "soup", "count": "2"}
    context = context_of(("a", "look", '{"dish": "soup"}'), ("b", "close", ORDER))
    ledger = noted(applied(action), handed_in(ORDER))
    calls = merge_tool_calls("agent", context, ledger)
    assert [call.record for call in calls] == [None, action]


@pytest.mark.parametrize(
    ("text", "record"), [("words", {"message": "words"}), ("[1]", None)], ids=["words", "a list"]
)
def test_a_result_in_words_is_a_message_and_a_list_belongs_to_no_call(
    text: str, record: Any
) -> None:
    ledger = noted(handed_in(text))
    (call,) = merge_tool_calls("agent", context_of(("a", "order", ORDER)), ledger)
    assert call.record == record
    assert ledger.final_responses == [text]
