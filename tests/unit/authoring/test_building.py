"""Building a domain's data files from its authoring files, for a user's own domain."""

from __future__ import annotations

import json

import pytest

from pytest_voiceeval.data.errors import DataError
from pytest_voiceeval.packs import find_pack
from pytest_voiceeval.scenario.authoring import build_domain, compile_domain

from .conftest import SCENARIO


@pytest.fixture
def folder(tmp_path):
    """Where the data of the test's domain go."""
    return lambda domain: tmp_path / "fixtures" / domain


def _records(folder, domain):
    lines = (folder / f"{domain}_dataset.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_a_domain_without_hooks(library, folder):
    domain = library()
    written = build_domain(domain)
    assert [path.name for path in written] == ["1.1.json", f"{domain}_dataset.jsonl"]
    assert {path.parent for path in written} == {folder(domain)}
    (record,) = _records(folder(domain), domain)
    assert list(record) == [
        "id", "persona", "ground_truth", "reference_dialogue", "forbidden_calls", "gold_note",
        "rules", "refusal",
    ]  # fmt: skip
    assert record["ground_truth"]["expected_scenario_db"]["loans"]["L1"] == {"days": 17}
    assert json.loads((folder(domain) / "1.1.json").read_text())["loans"]["L1"] == {"days": 7}
    assert (record["rules"], record["refusal"]) == (["A1", "A2"], False)
    assert record["reference_dialogue"][3]["text"] == "L, one."
    assert "reference_answer" not in record


def test_building_again_writes_nothing_and_other_bytes_are_noticed(library, folder):
    domain = library()
    build_domain(domain)
    assert build_domain(domain) == []
    database = folder(domain) / "1.1.json"
    database.write_text(database.read_text().replace("7", "8"))
    assert build_domain(domain, check=True) == [database]
    assert "8" in database.read_text(), "checking changes nothing"
    assert build_domain(domain) == [database]
    assert build_domain(domain, check=True) == []


KINDS = {
    "draft": ("id:", 'draft: "no"\nid:', "draft is true or false, got 'no'"),
    "refusal": ("id:", "refusal: 3\nid:", "refusal is true or false, got 3"),
    "dialogue": ("dialogue: |", "dialogue: []\nx: |", "dialogue is a text: write `dialogue: |`"),
    "forbidden call": ("forbidden:\n- ", "forbidden:\n- 5\n- ", "forbidden is a list of calls"),
    "rules": ("rules: A1 A2", "rules: 7", "rules is a text of labels or a list of them, got 7"),
    "forbidden": ("forbidden:\n- ", "forbidden: ", "forbidden is a list of calls"),
}


@pytest.mark.parametrize(("old", "new", "problem"), KINDS.values(), ids=KINDS)
def test_a_key_of_another_type_is_refused(library, old, new, problem):
    domain = library(**{"1.1": SCENARIO.replace(old, new, 1)})
    with pytest.raises(DataError, match=r"1\.1\.yaml") as caught:
        compile_domain(domain)
    assert problem in str(caught.value)


def test_a_refused_gold_call_is_the_reason_why_a_reference_answer_cannot_be_made(library):
    text = f"match: extend_loan.fee\n{SCENARIO}".replace(
        "> extend_loan L1 17", "> extend_loan L9 17"
    )
    with pytest.raises(DataError, match=r"the gold call extend_loan\(.*\) is refused: No loan L9"):
        compile_domain(library(**{"1.1": text}))


def test_another_root(library, tmp_path):
    domain = library()
    assert {path.parent for path in build_domain(domain, tmp_path / "x")} == {
        tmp_path / "x" / domain
    }


def test_drafts_are_compiled_but_not_built(library, folder):
    domain = library(**{"1.1": SCENARIO, "1.2": SCENARIO.replace('"1.1"', '"1.2"\ndraft: true')})
    assert [one.record["id"] for one in compile_domain(domain)] == ["1.1", "1.2"]
    build_domain(domain)
    assert [record["id"] for record in _records(folder(domain), domain)] == ["1.1"]
    assert not (folder(domain) / "1.2.json").exists()
    build_domain(domain, drafts=True)
    assert [record["id"] for record in _records(folder(domain), domain)] == ["1.1", "1.2"]


def test_the_database_of_a_record_that_is_gone_goes_too(library, folder):
    domain = library(**{"1.1": SCENARIO, "1.2": SCENARIO.replace('"1.1"', '"1.2"')})
    build_domain(domain)
    stranger = folder(domain) / "prices.json"
    stranger.write_text("{}")
    source = find_pack(domain).path / "authoring" / "1.2.yaml"
    source.unlink()
    gone = folder(domain) / "1.2.json"
    assert gone in build_domain(domain)
    assert (gone.exists(), stranger.exists()) == (False, True)


def test_records_come_in_the_order_of_their_numbers(library):
    names = ("1.2", "1.10", "1.1")
    domain = library(**{name: SCENARIO.replace('"1.1"', f'"{name}"') for name in names})
    assert [one.record["id"] for one in compile_domain(domain)] == ["1.1", "1.2", "1.10"]


def test_a_reference_answer_of_what_the_gold_calls_recorded(library):
    domain = library(**{"1.1": f"match: extend_loan.fee\n{SCENARIO}"})
    (one,) = compile_domain(domain)
    assert one.record["reference_answer"] == {"actions": [{"action_type": "extend_loan", "fee": 0}]}


def _without(key):
    return "\n".join(line for line in SCENARIO.splitlines() if not line.startswith(key))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (SCENARIO.replace('"1.1"', '"1.2"'), r"1\.1\.yaml: the id '1\.2' must be the file's name"),
        ("- 1", r"1\.1\.yaml: an authoring file is an object"),
        (_without("note"), r"1\.1\.yaml: the key 'note' is missing"),
        (SCENARIO.replace("database:", "databas:"), r"1\.1\.yaml: 'database' must be an object"),
        (
            SCENARIO.replace("> extend_loan L1 17", "> extend_loan L1"),
            r"1\.1\.yaml:16: dialogue: call 'extend_loan L1': needs loan_id, days",
        ),
        (SCENARIO.replace("- extend_loan L2", "- extend L2"), "call 'extend L2 17': no tool"),
        (f"match: extend_loan.fees\n{SCENARIO}", "a record of extend_loan has no 'fees'"),
        (f"match: find_loan\n{SCENARIO}", "match: no gold call records find_loan"),
        ("id: [", r"1\.1\.yaml:\d: is not YAML"),
    ],
)
def test_an_authoring_file_at_fault_is_named(library, text, problem):
    domain = library(**{"1.1": text})
    with pytest.raises(DataError, match=problem):
        build_domain(domain)


def test_no_authoring_files(library):
    domain = library(_shared="x: 1\n")
    with pytest.raises(DataError, match="there are no authoring files"):
        build_domain(domain)


HOOKS = """
KEYS = {"stock", "persona"}


def make_database(source):
    return {"loans": {name: {"days": 7} for name in source["stock"].split()}}


def make_record(source, database, dialogue):
    return {"opening": dialogue[1]["text"], "size": len(database["loans"])}


def call_defaults(source):
    return {"loan_id": "L1"}


def read_argument(parameter, text, source):
    return {"week": "7"}.get(text, text)
"""
HOOKED = """\
id: a
stock: L1 L2
dialogue: |
  A: Hello?
  C: Longer, please.
  > extend_loan week
  A: Done.
forbidden:
- extend_loan 9
note: x
"""


def test_hooks_make_what_they_are_asked_for(library):
    domain = library(hooks=HOOKS, a=HOOKED)
    (one,) = compile_domain(domain)
    assert list(one.record)[:3] == ["id", "opening", "size"]
    assert (one.record["opening"], one.record["size"]) == ("Longer, please.", 2)
    assert one.record["reference_dialogue"][2]["calls"][0]["arguments"] == {
        "loan_id": "L1",
        "days": 7,
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (HOOKED.replace("stock:", "stok:"), "unknown key 'stok'; did you mean 'stock'"),
        (HOOKED.replace("stock: L1 L2\n", "persona: x\n"), "a.yaml: the key 'stock' is missing"),
        (f"colour: red\n{HOOKED}", "unknown key 'colour'; known are database"),
    ],
)
def test_hooks_state_which_keys_there_are(library, text, problem):
    domain = library(hooks=HOOKS, a=text)
    with pytest.raises(DataError, match=problem):
        compile_domain(domain)
