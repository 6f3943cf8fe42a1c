"""The reference dialogues of our edition: convention, spoken form, agreement with the tools."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pytest_voiceeval.data.artifacts import load_db_artifact
from pytest_voiceeval.scenario.dialogue import parse_dialogue
from pytest_voiceeval.tools import get_schema_tool_for_eval

FOLDER = Path(__file__).resolve().parents[3] / "fixtures" / "eva_airline"
ENDINGS = ("end_conversation", "transfer_to_agent")

Json = dict[str, Any]

LINES = (FOLDER / "eva_airline_dataset.jsonl").read_text(encoding="utf-8").splitlines()
RECORDS: dict[str, Json] = {record["id"]: record for record in map(json.loads, LINES)}
each_record = pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS)


def calls(record: Json) -> list[tuple[str, Json]]:
    """The calls of the dialogue before the one that ends it."""
    made = [call for turn in record["reference_dialogue"] for call in turn.get("calls", ())]
    return [(c["name"], c["arguments"]) for c in made if c["name"] != "end_conversation"]


def run(record: Json) -> list[Json]:
    """What the tools answer to the calls of the dialogue."""
    state = {"db": load_db_artifact(FOLDER / f"{record['id']}.json"), "actions": []}
    tool = partial(get_schema_tool_for_eval, domain="eva_airline", shared_state=state)
    return [tool(name).invoke(**arguments) for name, arguments in calls(record)]


def spoken(record: Json, role: str) -> str:
    return " ".join(turn["text"] for turn in record["reference_dialogue"] if turn["role"] == role)


WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety"
)


def spelled(code: str) -> str:
    return ", ".join(in_words(int(c)) if c.isdigit() else c for c in code)


def in_words(number: int) -> str:
    if number >= 100:
        rest = f" and {in_words(number % 100)}" if number % 100 else ""
        return f"{in_words(number // 100)} hundred{rest}"
    if number > 20 and number % 10:
        return f"{in_words(number - number % 10)}-{in_words(number % 10)}"
    return WORDS.split()[number if number <= 20 else 18 + number // 10]


@each_record
def test_a_dialogue_follows_the_convention(record: Json) -> None:
    roles = [turn["role"] for turn in record["reference_dialogue"]]
    names = [[c["name"] for c in turn.get("calls", ())] for turn in record["reference_dialogue"]]
    flat = [name for turn in names for name in turn]
    assert roles == ["agent", "user"] * (len(roles) // 2) + ["agent"]
    assert roles.count("user") >= 6
    assert all(turn["text"].strip() == turn["text"] != "" for turn in record["reference_dialogue"])
    assert not any(calls for role, calls in zip(roles, names, strict=True) if role == "user")
    assert names[-1][-1:] == [flat[-1]]
    assert [name for name in flat if name in ENDINGS] == [flat[-1]]
    assert len(parse_dialogue(record["reference_dialogue"], record["id"])) == len(roles)


@each_record
def test_nothing_happens_before_the_caller_is_identified(record: Json) -> None:
    names = [name for name, _ in calls(record)]
    identified = [answer["status"] for answer in run(record)].index("success")
    assert set(names[: identified + 1]) == {"get_reservation"}
    assert "get_reservation" not in names[identified + 1 :]


@each_record
def test_identifiers_are_spelled_and_never_spoken_as_written(record: Json) -> None:
    known = record["user_goal"]["information_required"]
    for turn in record["reference_dialogue"]:
        text = turn["text"]
        assert not re.search(r"[0-9_*#`\[\]{}|\n]", text), f"not spoken language: {text}"
        assert not re.search(r"\b[A-Z]{2,}\b", text), f"a code spoken as written: {text}"
    assert spelled(known["confirmation_number"]) in spoken(record, "user")


@each_record
def test_what_the_agent_says_is_what_the_tools_answered(record: Json) -> None:
    said = spoken(record, "agent")
    for (name, arguments), answer in zip(calls(record), run(record), strict=True):
        for fact in spoken_facts(name, arguments, answer):
            assert fact in said


@each_record
def test_money_is_named_before_the_caller_agrees(record: Json) -> None:
    answers, said = iter(run(record)), ""
    for turn in record["reference_dialogue"]:
        for call in turn.get("calls", ()):
            if call["name"] not in ENDINGS:
                assert all(sum_ in said for sum_ in amounts(call["name"], next(answers)))
        said += turn["text"] if turn["role"] == "agent" else ""


def spoken_facts(name: str, arguments: Mapping[str, Any], answer: Json) -> Iterator[str]:
    """What a caller must hear about one call."""
    yield from (f"{amount} dollars" for amount in amounts(name, answer))
    if name == "get_reservation" and answer["status"] == "error":
        missed = {"not_found": "confirmation_number", "authentication_failed": "last_name"}
        yield spelled(arguments[missed[answer["error_type"]]].upper())
    if name == "rebook_flight":
        yield from (spelled(s["flight_number"]) for s in answer["new_journey"]["segments"])
    if name == "assign_seat":
        yield spelled(answer["seat_assigned"])


def amounts(name: str, answer: Json) -> Iterator[str]:
    """The money one call moves, in words."""
    if name == "rebook_flight" and answer["cost_summary"]["total_collected"]:
        yield in_words(round(answer["cost_summary"]["total_collected"]))
    if name == "process_refund":
        yield in_words(round(answer["refund_amount"]))
    if name == "issue_meal_voucher":
        yield in_words(answer["amount"])


def test_the_calls_differ_from_one_another() -> None:
    skeletons = [tuple(name for name, _ in calls(record)) for record in RECORDS.values()]
    lines = [t["text"] for record in RECORDS.values() for t in record["reference_dialogue"]]
    misheard = [r for r in RECORDS.values() if calls(r)[0][1] != dict(calls(r))["get_reservation"]]
    assert len(set(skeletons)) == len(skeletons)
    assert len(set(lines)) == len(lines)
    assert len(misheard) >= 2, "an identifier is misheard and corrected"
