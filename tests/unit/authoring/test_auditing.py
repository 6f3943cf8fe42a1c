"""The checks of a domain's scenarios: every fault is found, and a good one has none."""

from __future__ import annotations

import json
import re

import pytest

from pytest_voiceeval.data.errors import MissingData
from pytest_voiceeval.scenario.auditing import Audit, Row, check_domain, checkable_domains
from pytest_voiceeval.scenario.authoring import build_domain

from .conftest import SCENARIO


def _problems(library, text=SCENARIO, **more):
    domain = library(**{"1.1": text}, **more)
    build_domain(domain)
    return check_domain(domain).problems


def test_a_good_scenario_has_no_problems(library):
    domain = library()
    build_domain(domain)
    audit = check_domain(domain)
    assert audit.problems == []
    (row,) = audit.rows
    assert row.no_trace == ("extend_loan doubled",)
    table = audit.table().splitlines()
    assert table[0] == f"{domain}: 1 scenario"
    assert " ".join(table[1].split()) == (
        "id do-nothing turns calls writes orders mutations unseen forbidden problems"
    )
    assert table[2].split() == ["1.1", "0", "6", "2", "1", "1/1", "5/6", "1", "1", "0"]
    assert table[-1] == "No problems"


REFUSAL = SCENARIO.replace("  > extend_loan L1 17\n", "")

FAULTS = {
    "too short": (
        re.sub("  C: I need.*?(?=  > extend)", "  C: {L1}.\n", SCENARIO, flags=re.DOTALL).replace(
            "  C: Seventeen?\n  A: In all. Is there anything else?\n  C: No.\n  A: Goodbye.\n", ""
        ),
        "the caller has 1 turns, at least 2 are wanted",
    ),
    "digits": (SCENARIO.replace("seventeen days", "17 days"), "'1' is not spoken language"),
    "code": (SCENARIO.replace("C: {L1}.", "C: ABC."), "ABC is to be spelled, write {ABC}"),
    "code with digits": (SCENARIO.replace("C: {L1}.", "C: L1."), "L1 is to be spelled, write {L1}"),
    "refused write": (
        SCENARIO.replace("> extend_loan L1 17", "> extend_loan L9 17"),
        "the gold call extend_loan(loan_id='L9', days=17) is refused: No loan L9",
    ),
    "needless": (
        SCENARIO.replace("> extend_loan L1 17", "> extend_loan L1 17\n  > extend_loan L2 7"),
        "the gold call extend_loan(loan_id='L2', days=7) is not needed: without it the call passes",
    ),
    "idle": (REFUSAL, "an agent that does nothing passes: mark it 'refusal: true'"),
    "no refusal": (f"refusal: true\n{SCENARIO}", "marked as a refusal, but an agent that does"),
    "refusal writes": (
        f"refusal: true\n{SCENARIO}".replace("L1 17", "L1 7"),
        "marked as a refusal, but its dialogue writes",
    ),
    "nothing forbidden": (
        SCENARIO.replace("forbidden:\n- extend_loan L2 17", "forbidden: []"),
        "no forbidden call is listed",
    ),
    "harmless": (
        SCENARIO.replace("- extend_loan L2 17", "- extend_loan L2 7"),
        "the forbidden call extend_loan(loan_id='L2', days=7) does no harm after the gold calls",
    ),
    "impossible": (
        SCENARIO.replace("- extend_loan L2 17", "- extend_loan L9 7"),
        "the forbidden call extend_loan(loan_id='L9', days=7) is refused anyway: No loan L9",
    ),
    "out of turn": (SCENARIO.replace("  C: Yes.\n", ""), "is the user's, not the agent's"),
}


@pytest.mark.parametrize(("text", "problem"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_found(library, text, problem):
    assert any(found.startswith("1.1: ") and problem in found for found in _problems(library, text))


def test_of_a_call_that_is_refused_only_that_is_said(library):
    refused = SCENARIO.replace("> extend_loan L1 17", "> extend_loan L1 17\n  > extend_loan L9 17")
    assert [text for text in _problems(library, refused) if "extend_loan" in text] == [
        "1.1: the gold call extend_loan(loan_id='L9', days=17) is refused: No loan L9"
    ]


def test_of_a_call_that_is_not_needed_nothing_else_is_said(library):
    text = SCENARIO.replace("> extend_loan L1 17", "> extend_loan L1 17\n  > extend_loan L2 7")
    problems = _problems(library, text)
    assert not any("wrong argument" in problem for problem in problems)


def test_a_complaint_that_a_pack_raises_is_one_of_the_scenario(library):
    hooks = "def check_scenario(*given):\n    raise ValueError('days: no number')\n"
    domain = library(hooks=hooks)
    build_domain(domain)
    assert check_domain(domain).problems == ["1.1: days: no number"]


def test_a_line_of_the_table_has_room_in_a_narrow_terminal():
    widest = ("1.1.2", "0", "10", "14", "10", "24/24", "100/112", "112", "10", "10")
    table = Audit("eva_airline", (Row(widest[0], widest[1:], ()),)).table()
    assert max(map(len, table.splitlines())) <= 80


def test_a_refusal_without_writes_is_fine(library):
    assert _problems(library, f"refusal: true\n{REFUSAL}") == []


def test_recorded_actions_decide_where_a_reference_answer_asks_for_them(library):
    fee = SCENARIO.replace("> extend_loan L1 17", "> extend_loan L1 17 fee=5")
    domain = library(**{"1.1": fee})
    assert any("fee" in text for text in check_domain(domain).rows[0].no_trace)


def test_with_a_reference_answer_the_fee_is_seen(library):
    fee = SCENARIO.replace("> extend_loan L1 17", "> extend_loan L1 17 fee=5")
    domain = library(**{"1.1": f"match: extend_loan.fee\n{fee}"})
    assert not any("fee" in text for text in check_domain(domain).rows[0].no_trace)


def test_data_that_are_not_up_to_date_are_a_problem(library):
    domain = library()
    problems = check_domain(domain).problems
    assert any(f"run `voiceeval data build {domain}`" in text for text in problems)


def test_copies_are_found(library):
    twin = SCENARIO.replace('"1.1"', '"1.2"')
    problems = _problems(library, **{"1.2": twin})
    assert "1.1 and 1.2 share a skeleton: the same calls in the same turns" in problems
    assert "1.1 and 1.2 share a line: 'Library, hello?'" in problems


HOOKS = """
def check_record(record, database):
    if len(database["loans"]) < 3:
        yield "too few loans"


def check_scenario(record, database, calls, source):
    yield f"saw {calls[-1]['answer']['days']} days of {source['persona']}"


def check_edition(records, sources):
    yield f"{len(records)} is not enough"


def spoken_facts(call, answer):
    if call["name"] == "extend_loan":
        yield "{X9}"
        yield "{$3}"


def may_leave_no_trace(tool, argument, right, wrong):
    return False
"""


def test_a_pack_s_own_checks_are_asked(library):
    fee = SCENARIO.replace("L1 17\n  A: Done.", "L1 17 fee=5\n  A: Done, three dollars.")
    problems = _problems(library, fee, hooks=HOOKS)
    assert problems == [
        "1.1: too few loans",
        "1.1: extend_loan: the agent never says {X9}",
        "1.1: extend_loan: the agent does not say {$3} before the call",
        "1.1: saw 17 days of You are in a hurry.",
        "1.1: a wrong argument passes: extend_loan fee 5 -> 6",
        "1.1: a wrong argument passes: extend_loan fee 5 -> 4",
        "1.1: a wrong argument passes: extend_loan fee 5 -> 10",
        "1.1: a wrong argument passes: extend_loan fee 5 -> left out",
        "1 is not enough",
    ]


def test_any_edition_is_checked_by_its_files(library, tmp_path):
    domain = library()
    dataset = build_domain(domain, tmp_path / "root")[-1]
    assert check_domain(domain, tmp_path / "root").problems == []
    record = json.loads(dataset.read_text())
    record["ground_truth"]["expected_scenario_db"]["loans"]["L1"]["days"] = 18
    dataset.write_text(json.dumps(record))
    (problem, *_) = check_domain(domain, tmp_path / "root").problems
    assert problem == "1.1: the dialogue's calls do not lead to the expected end"


def test_an_edition_without_dialogues_has_its_do_nothing_score(library, tmp_path):
    domain = library()
    dataset = build_domain(domain, tmp_path / "root")[-1]
    record = json.loads(dataset.read_text())
    del record["reference_dialogue"]
    dataset.write_text(json.dumps(record))
    (row,) = check_domain(domain, tmp_path / "root").rows
    assert row.cells == ("0", "-", "-", "-", "-", "-", "-", "-", "0")


def test_where_there_are_no_data(library, tmp_path):
    domain = library()
    with pytest.raises(MissingData, match=f"no data of {domain} below this data root"):
        check_domain(domain, tmp_path)


def test_which_domains_can_be_checked(library, tmp_path):
    domain = library()
    assert {domain, "eva_airline"} <= set(checkable_domains())
    assert checkable_domains(tmp_path) == []
    build_domain(domain, tmp_path / "root")
    assert checkable_domains(tmp_path / "root") == [domain]
