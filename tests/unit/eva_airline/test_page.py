"""docs/eva_airline.md: its tables are what the commands print, and what it says of them is true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pytest_voiceeval.packs.eva_airline.authoring import rule_lines, table_columns
from pytest_voiceeval.packs.eva_airline.authoring.promises import rules_of

from pytest_voiceeval.scenario.data_table import NOTHING, DataTable
from pytest_voiceeval.scenario.registry import scenarios_of

from .conftest import DOMAIN, IDS

PAGE = Path(__file__).resolve().parents[3] / "docs" / "eva_airline.md"
SHORT = "No voucher. No refund either."
LONG = "After one whole day the ticket can no longer be moved; it can only be given up."
FIFTY, RULES = DataTable(DOMAIN), DataTable(DOMAIN, rules=True)


@pytest.fixture(autouse=True)
def _our_edition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EVAL_DATA_ROOT", raising=False)


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def on_the_page(table: DataTable) -> list[str]:
    text = PAGE.read_text(encoding="utf-8")
    _, found, rest = text.partition(f"<!-- {table.command} -->\n")
    assert found, f"{PAGE.name} has no place for {table.command}"
    return rest.partition("<!-- end -->")[0].strip().splitlines()


@pytest.mark.parametrize("table", [FIFTY, RULES], ids=["scenarios", "rules"])
def test_the_page_is_up_to_date(table: DataTable) -> None:
    update = f"{table.command} --into docs/{PAGE.name}"
    assert on_the_page(table) == table.lines(), f"not up to date: run `{update}`"


def test_all_fifty_are_listed_with_names_that_can_be_run() -> None:
    rows = [cells(line) for line in FIFTY.lines()[2:]]
    assert [row[0] for row in rows] == IDS
    assert {f"{DOMAIN}__{row[1]}" for row in rows} == set(scenarios_of(DOMAIN))
    assert len({len(row) for row in rows}) == 1


def test_no_cell_but_the_mark_is_empty_and_refusals_change_nothing() -> None:
    for line in FIFTY.lines()[2:]:
        *facts, refusal = cells(line)
        assert all(facts), line
        assert (facts[-1] == NOTHING) == (refusal == "yes"), line


def test_every_rule_is_a_line_and_decides_something() -> None:
    rows = [cells(line) for line in RULES.lines()[2:]]
    assert [row[0] for row in rows] == list(rule_lines())
    assert all(set(row[2].split()) <= set(IDS) and row[2] for row in rows)


@pytest.mark.parametrize(
    ("policy", "line"),
    [
        ("- **A1 Be kind.** Always.", "Be kind. Always."),
        ("- **A1 Fee**, for each cabin:\n\n  | a |", "Fee, for each cabin."),
        ("- **A1 Papers are needed** here: offer help.", "Papers are needed here: offer help."),
        (f"- **A1 Short.** {SHORT} {LONG} Cut.", f"Short. {SHORT} {LONG}"),
        (f"- **A1 Long.** {LONG} Cut.", f"Long. {LONG}"),
        ("Text.\n- **A1 Alone.**\nMore text.", "Alone."),
    ],
)
def test_a_rule_in_one_line(policy: str, line: str) -> None:
    assert rules_of(policy) == {"A1": line}


def test_the_columns_of_this_domain() -> None:
    premise = "It is 9:25 a.m. in St. Louis, $7.50 a cup. It rains."
    record = {"id": "4.9.9", "scenario_context": {"premise": premise}}
    situation = premise.removesuffix(" It rains.")
    assert table_columns(record) == {"flow": "same day, standby", "situation": situation}
