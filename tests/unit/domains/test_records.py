"""Scenarios from a data file: what is read, what is refused, and what the texts say."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from pytest_voiceeval.data.errors import DataError
from pytest_voiceeval.scenario.records import RecordScenario, register_records
from pytest_voiceeval.scenario.registry import (
    BadScenarioName,
    DuplicateScenario,
    get_eval_scenario,
    location_of,
    scenarios_of,
)
from pytest_voiceeval.scoring.signals import SuccessSignal

GOOD = """
- id: first
  size: 1
  wish: "012"
- id: second
  size: 2
  wish: 12:30
"""

Register = Callable[..., str]


@pytest.fixture
def register(tmp_path: Path, request: pytest.FixtureRequest) -> Register:
    """Register the records of a file, under a domain of the test's own; gives the domain."""
    own = "records_" + "".join(char for char in request.node.name if char.isalnum())

    def register(text: str, name: str = "calls.yaml") -> str:
        class Sized(RecordScenario):
            domain = own
            success_signals = (SuccessSignal.CLEAN_EXIT,)
            KEYS: ClassVar = {"size": int, "wish": str}
            OPTIONAL: ClassVar = {"tags": list}

        file = tmp_path / name
        file.write_text(text, encoding="utf-8")
        register_records(Sized, file)
        return own

    return register


def made(domain: str, short: str) -> Any:
    return get_eval_scenario(f"{domain}__{short}")


def test_each_record_is_a_scenario(register: Register, tmp_path: Path) -> None:
    domain = register(GOOD)
    assert scenarios_of(domain) == [f"{domain}__first", f"{domain}__second"]
    assert location_of(f"{domain}__second") == (tmp_path / "calls.yaml", 5)
    second = made(domain, "second")
    # what is not quoted is what JSON would make of it, and never something else
    assert (second.record["size"], second.record["wish"]) == (2, "12:30")
    assert second.short_name == "second"
    assert (second.description, second.reference_dialogue) == (None, None)
    assert second.forbidden_calls == ()


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        (
            "calls.jsonl",
            '{"id": "a", "size": 1, "wish": "é"}\n\n{"id": "b", "size": 1, "wish": "日"}',
            3,
        ),
        (
            "calls.json",
            '[{"id": "a", "size": 1, "wish": "é"}, {"id": "b", "size": 1, "wish": "日"}]',
            1,
        ),
    ],
    ids=["jsonl", "json"],
)
def test_json_does_as_well(register: Register, name: str, text: str, line: int) -> None:
    domain = register(text, name)
    assert made(domain, "b").record["wish"] == "日"
    assert location_of(f"{domain}__b")[1] == line


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("- size: 1\n  wish: x", "calls.yaml:1: the key 'id' is missing"),
        ("- id: a\n  size: 1", "calls.yaml:1: a: the key 'wish' is missing"),
        (f"{GOOD}  whish: 1", "calls.yaml:5: second: unknown key 'whish'; did you mean 'wish'?"),
        (
            f"{GOOD}  zzz: 1",
            "second: unknown key 'zzz'; known are description, dialogue, forbidden",
        ),
        (f"{GOOD}  tags: one", "second: 'tags' must be a list, got 'one'"),
        (f"{GOOD}  forbidden: [7]", "second: 'forbidden' must hold texts, each a call, got 7"),
        ("- id: 7\n  size: 1\n  wish: x", "7: 'id' must be a text, got 7"),
        ("- id: a\n  size: true\n  wish: x", "a: 'size' must be a whole number, got True"),
        ("id: a", "calls.yaml:1: must be a list of records, each beginning with '- '"),
        ("- a\n- b", "calls.yaml:1: a record is an object, not 'a'"),
        ("- id: a\n- id: [", "calls.yaml:3: is not YAML: "),
        ("- id: a\n  id: b", "calls.yaml:2: the key 'id' appears twice"),
    ],
)
def test_what_is_wrong_is_told_with_file_and_line(register: Register, text: str, says: str) -> None:
    with pytest.raises(DataError) as error:
        register(text)
    assert says in str(error.value)


def test_a_record_without_a_name(register: Register) -> None:
    with pytest.raises(BadScenarioName, match=r"calls\.yaml:2\) has nothing after the domain"):
        register(GOOD.replace("first", "''"))


def test_two_records_of_one_name(register: Register) -> None:
    with pytest.raises(DuplicateScenario, match=r"calls\.yaml:2 and .*calls\.yaml:5"):
        register(GOOD.replace("second", "first"))


@pytest.mark.parametrize(
    ("field", "says"),
    [
        (
            {"dialogue": "A: Hi.\n> fly_away\nA: Bye."},
            r"dialogue, line 2: call 'fly_away': no tool",
        ),
        ({"dialogue": "C: Hi."}, "dialogue: the agent has the last word"),
        ({"dialogue": "A: Hi.\nA: Bye."}, r"dialogue, turn 2: is the user's, not the agent's"),
        ({"forbidden": ["end_conversation now"]}, "forbidden: call .*: needs nothing; got 1 bare"),
    ],
)
def test_a_dialogue_that_cannot_be_read(
    register: Register, field: dict[str, Any], says: str
) -> None:
    line = json.dumps({"id": "a", "size": 1, "wish": "x", **field})
    scenario = made(register(line, "calls.jsonl"), "a")
    with pytest.raises(DataError, match=f"calls.jsonl:1: a: {says}"):
        _ = scenario.reference_dialogue or scenario.forbidden_calls


@pytest.mark.parametrize("name", ["calls.yaml", "calls.jsonl"])
def test_an_empty_file_is_a_mistake(register: Register, name: str) -> None:
    with pytest.raises(DataError, match=rf"{name}: has no records"):
        register("", name)


@pytest.mark.parametrize(
    ("attribute", "keys"), [("KEYS", {"wish": "str"}), ("OPTIONAL", ["wish"]), ("KEYS", None)]
)
def test_keys_that_name_no_types(tmp_path: Path, attribute: str, keys: Any) -> None:
    odd = type("Odd", (RecordScenario,), {"domain": "odd", attribute: keys})
    with pytest.raises(TypeError, match=rf"Odd\.{attribute} must map keys to types, such as"):
        register_records(odd, tmp_path / "calls.yaml")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone\.yaml: there is no such file"):
        register_records(RecordScenario, tmp_path / "gone.yaml")


def test_an_error_of_the_pack_names_the_record(register: Register) -> None:
    error = made(register(GOOD), "second").record.error("is too large")
    assert str(error).endswith("calls.yaml:5: second: is too large")
