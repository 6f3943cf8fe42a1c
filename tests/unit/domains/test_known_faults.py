"""Faults other tools had in comparing actions, tried on the customer service and a restaurant."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import pytest

from pytest_voiceeval.call.prediction import action_match, differences, prediction_of
from pytest_voiceeval.call.result import Conversation, SideRecord
from pytest_voiceeval.scenario.checks import problems_of
from pytest_voiceeval.scenario.dialogue import ToolCall
from pytest_voiceeval.scenario.replay import replay
from pytest_voiceeval.scoring.matching import match_payloads

from .conftest import gold_calls, passes, scenario_of

BILLING = "customer_service__billing_dispute"
PIZZA = "restaurant__pizza_pepperoni"
WAITLIST = "restaurant__waitlist_join_then_drop"


def actions_of(name: str) -> list[dict[str, Any]]:
    return copy.deepcopy(replay(scenario_of(name), gold_calls(name)).actions)


def judged(name: str, actions: Any, *handed_in: str) -> tuple[bool | None, list[Any]]:
    """The verdict about what a bot answered and pushed, and what differs."""
    side = SideRecord(actions=None if actions is None else tuple(actions))
    talk = Conversation("x", "y", agent=side, final_responses=handed_in)
    prediction = prediction_of(talk)
    matched = action_match(scenario_of(name), prediction, strict=False)
    found = differences(scenario_of(name), prediction, strict=False) if matched is False else ()
    return matched, list(found)


def test_what_the_tools_record_passes() -> None:
    assert judged(BILLING, actions_of(BILLING)) == (True, [])


@pytest.mark.parametrize(
    ("wanted", "recorded"),
    [
        ("NL-2041", "NL-2042"),
        ("1656367028", "1656367029"),
        ("80", "8080"),
        ("18.90", "18.91"),
    ],
    ids=["AM-01 ids", "AM-01 long ids", "AM-03 substrings", "cents"],
)
def test_values_that_are_close_are_not_the_same(wanted: str, recorded: str) -> None:
    # with the flags of the customer service, the most lenient there are
    flags = {"ignore_capitalization": True, "ignore_punctuation": True, "clean_text": True}
    assert match_payloads({"actions": [{"id": wanted}]}, [{"actions": [{"id": wanted}]}], **flags)
    assert not match_payloads(
        {"actions": [{"id": wanted}]}, [{"actions": [{"id": recorded}]}], **flags
    )


def test_am_05_an_argument_nobody_asked_for_is_fine() -> None:
    actions = [{**action, "priority": "high"} for action in actions_of(BILLING)]
    assert judged(BILLING, actions)[0] is True


def test_am_07_and_09_compare_args() -> None:
    wrong = {"name": "refund", "arguments": {"amount": "2"}}
    reference = {"name": "refund", "arguments": {"amount": "1"}}
    predicted = [{"actions": [wrong]}]
    assert match_payloads({"actions": [{**reference, "compare_args": []}]}, predicted)
    assert not match_payloads({"actions": [reference]}, predicted)

    class Misspelled(type(scenario_of(BILLING))):  # type: ignore[misc]
        reference_answer = {"actions": [{**reference, "compare_args": ["amuont"]}]}  # noqa: RUF012

    assert problems_of(Misspelled(scenario_of(BILLING).record)) == [  # type: ignore[attr-defined]
        "reference action 1 (refund) compares arguments it does not have: amuont"
    ]


def test_am_11_a_corrected_order_counts_and_a_corrected_refund_does_not() -> None:
    first = gold_calls(PIZZA)[1]
    wrong = replace(first, arguments={**first.arguments, "customer_phone": "555-0199"})
    calls = gold_calls(PIZZA)
    assert passes(PIZZA, [wrong, *calls]) is True
    assert passes(PIZZA, [*calls[:-1], wrong]) is False
    # money that was paid out is not taken back by paying once more
    refund = next(call for call in gold_calls(BILLING) if call.name == "process_refund")
    wrong = replace(refund, arguments={**refund.arguments, "amount": "$1.00"})
    matched, found = judged(
        BILLING, replay(scenario_of(BILLING), [wrong, *gold_calls(BILLING)]).actions
    )
    assert matched is False
    assert {each.kind for each in found} == {"extra", "changed"}


def test_am_13_a_forbidden_call_in_the_last_turn_fails() -> None:
    scenario = scenario_of(BILLING)
    actions = replay(scenario, [*gold_calls(BILLING), *scenario.forbidden_calls]).actions
    matched, [extra] = judged(BILLING, actions)
    assert (matched, extra.kind, extra.recorded["amount"]) == (False, "extra", "$37.80")


def test_am_15_the_order_of_actions_is_free() -> None:
    assert judged(BILLING, reversed(actions_of(BILLING))) == (True, [])


def test_am_21_a_tool_that_does_not_exist_is_answered_once_and_harms_nobody() -> None:
    calls = [ToolCall("undo_everything", {"why": "x"}), *gold_calls(BILLING)]
    outcome = replay(scenario_of(BILLING), calls)
    assert [step.result["error_type"] for step in outcome.refused] == ["unknown_tool"]
    assert passes(BILLING, calls) is True


def test_am_24_arguments_that_are_cut_off_match_nothing() -> None:
    broken = actions_of(BILLING)
    broken[0] = {"action_type": "process_refund", "arguments": '{"amount": "$18.90'}
    matched, _ = judged(BILLING, broken)
    assert matched is False


# -- what was handed in


ORDER = (
    '{"items": [{"name": "pepperoni pizza", "unit_price": 13.25, "quantity": 1}], "customer_name": '
    '"Dana Whitlock", "customer_phone": "5550142", "total_price": "$13.25"}'
)


@pytest.mark.parametrize("actions", [None, []], ids=["not known", "none recorded"])
def test_a_result_counts_when_no_action_was_recorded(actions: Any) -> None:
    assert judged(PIZZA, actions, ORDER) == (True, [])


def test_a_bot_whose_actions_are_not_known_hands_in_a_ticket() -> None:
    outcome = replay(scenario_of(BILLING), gold_calls(BILLING))
    assert judged(BILLING, None, json.dumps(outcome.handed_in[-1])) == (True, [])


def test_recorded_actions_come_before_a_result() -> None:
    matched, found = judged(PIZZA, [{"action_type": "x"}], ORDER)
    assert matched is False
    assert {each.path for each in found} == {
        ("items",),
        ("customer_name",),
        ("customer_phone",),
        ("total_price",),
    }


@pytest.mark.parametrize(
    ("payloads", "kinds"),
    [
        ((), ["missing"]),
        (("not JSON",), ["missing"] * 4),
        ((ORDER.replace("13.25, ", "13.26, "),), ["changed"]),
        ((ORDER, ORDER.replace("Dana", "Dora")), ["changed"]),
    ],
    ids=["nothing", "words", "a cent", "the last one counts"],
)
def test_what_is_wrong_with_a_result_is_named(payloads: tuple[str, ...], kinds: list[str]) -> None:
    matched, found = judged(PIZZA, [], *payloads)
    assert matched is False
    assert [each.kind for each in found] == kinds


def test_every_snapshot_of_the_waiting_list_counts() -> None:
    outcome = replay(scenario_of(WAITLIST), gold_calls(WAITLIST))
    joined, left = (json.dumps(result) for result in outcome.handed_in)
    assert judged(WAITLIST, [], joined, left)[0] is True
    assert [each.kind for each in judged(WAITLIST, [], joined)[1]] == ["missing"]
    assert [each.kind for each in judged(WAITLIST, [], joined, left, joined)[1]] == ["extra"]
    assert judged(WAITLIST, [], left, left)[0] is False
