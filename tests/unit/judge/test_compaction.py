"""A history is shortened to its limits, and nothing but texts and old messages goes."""

from __future__ import annotations

import pytest

from pytest_voiceeval.judge.compaction import Limits, compact
from pytest_voiceeval.judge.histories import show

SMALL = Limits(messages=2, system=5, text=6)


def said(role: str, content: str, **more: object) -> dict[str, object]:
    return {"role": role, "content": content, **more}


def called(identity: str, arguments: str = "{}") -> dict[str, object]:
    function = {"name": "rebook_flight", "arguments": arguments}
    return {"role": "assistant", "tool_calls": [{"id": identity, "function": function}]}


def answered(identity: str, content: str = "ok") -> dict[str, object]:
    return said("tool", content, tool_call_id=identity)


def test_the_limits_are_those_of_the_reference() -> None:
    assert Limits() == Limits(messages=40, system=2500, text=6000)


def test_a_system_message_stays_and_the_latest_fill_the_rest() -> None:
    history = [
        said("system", "system-content"),
        said("assistant", "old-message"),
        said("assistant", "latest-message"),
    ]
    found = compact(history, SMALL)
    assert found.messages == [
        said("system", "syste\n...[truncated 9 chars for judge input]"),
        said("assistant", "latest\n...[truncated 8 chars for judge input]"),
    ]
    assert found.note == "1 of 3 messages left out, 2 texts cut by 17 characters in all"


def test_without_a_system_message_the_last_ones_stay() -> None:
    history = [said("user", str(number)) for number in range(5)]
    assert compact(history, SMALL).messages == history[3:]


def test_a_system_message_in_the_middle_stays_in_its_place() -> None:
    history = [said("user", "a"), said("user", "b"), said("system", "s"), said("user", "c")]
    assert compact(history, SMALL).messages == [history[2], history[3]]


def test_only_the_system_message_when_there_is_room_for_one() -> None:
    history = [said("system", "s"), said("user", "a"), said("user", "b")]
    assert compact(history, Limits(1, 5, 6)).messages == history[:1]


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_short_history_is_as_it_was(count: int) -> None:
    history = [said("user", "hello!")] * count
    found = compact(history, SMALL)
    assert found.messages == history
    assert found.note is None


def test_texts_at_the_limit_are_whole_and_one_more_is_cut() -> None:
    found = compact([said("user", "123456"), said("user", "1234567")], SMALL)
    assert [m["content"] for m in found.messages] == [
        "123456",
        "123456\n...[truncated 1 chars for judge input]",
    ]


def test_roles_names_ids_and_structure_are_never_touched() -> None:
    call = called("call_1234567890")
    history = [{**call, "name": "a-long-name"}, answered("call_1234567890", "a long answer")]
    found = compact(history, SMALL).messages
    assert found[0] == history[0]
    assert found[1] == {
        **history[1],
        "content": "a long\n...[truncated 7 chars for judge input]",
    }


def test_many_tool_calls_of_one_message_all_stay() -> None:
    calls = [{"id": f"call_{n}", "function": {"name": "look_up"}} for n in range(50)]
    history = [{"role": "assistant", "tool_calls": calls}]
    assert compact(history, SMALL).messages == history


def test_parts_of_a_content_are_cut_one_by_one() -> None:
    parts = [{"type": "input_text", "text": "a long text"}, {"type": "text", "text": "short"}]
    [message] = compact([{"role": "user", "content": parts}], SMALL).messages
    assert message["content"] == [
        {"type": "input_text", "text": "a long\n...[truncated 5 chars for judge input]"},
        {"type": "text", "text": "short"},
    ]


def test_a_result_goes_with_the_call_it_answers() -> None:
    history = [called("c1"), answered("c1"), said("assistant", "done")]
    found = compact(history, SMALL)
    assert found.messages == [history[2]]
    assert found.dropped == 2


def test_a_result_whose_call_was_never_there_stays() -> None:
    history = [said("user", "a"), answered("c9"), said("user", "b")]
    assert compact(history, SMALL).messages == history[1:]


@pytest.mark.parametrize("value", [0, -1, True, 2.0, "3"])
def test_a_limit_is_a_whole_number_above_0(value: object) -> None:
    with pytest.raises(ValueError, match="context_string_limit must be a whole number above 0"):
        Limits(text=value)  # type: ignore[arg-type]


def test_what_is_left_out_is_said_in_the_evidence() -> None:
    history = [said("user", "one"), said("user", "two"), said("user", "three")]
    shown = show({"agent_context_history": history, "user_context_history": history[:1]}, SMALL)
    assert shown.parts["omissions"] == "agent_context_history: 1 of 3 messages left out"
    assert set(shown.parts) == {"agent_context_history", "user_context_history", "omissions"}


def test_without_limits_everything_is_shown() -> None:
    history = [said("user", "x" * 10_000)] * 200
    shown = show({"agent_context_history": history, "user_context_history": None}, None)
    assert shown.parts["agent_context_history"].count("x" * 10_000) == 200
    assert not shown.omissions
