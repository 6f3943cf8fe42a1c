"""`voiceeval data table`, as people see it, for a domain with and without hooks of its own."""

from __future__ import annotations

import pytest

from pytest_voiceeval.scenario.data_commands import main

from .conftest import SCENARIO

HOOKS = """
def table_columns(record):
    return {"mood": record["persona"]}

def rule_lines():
    return {"A1": "Ten days, or | more.", "B1": "Nobody needs this."}
"""
REFUSAL = (
    SCENARIO.replace('"1.1"', '"1.2"')
    .replace("  > extend_loan L1 17\n", "")
    .replace("database:", "refusal: true\ndatabase:")
)


@pytest.fixture(autouse=True)
def _in_a_project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def printed(capsys, *arguments):
    assert main(["table", *arguments]) == 0
    return capsys.readouterr().out.splitlines()


def test_a_line_for_each_scenario(library, capsys):
    domain = library(**{"1.1": SCENARIO, "1.2": REFUSAL})
    assert printed(capsys, domain) == [
        "| id | name | rules | gold calls | refusal |",
        "| --- | --- | --- | --- | --- |",
        "| 1.1 |  | A1 A2 | `extend_loan L1 17` |  |",
        "| 1.2 |  | A1 A2 | nothing may change | yes |",
    ]


def test_texts_in_calls_are_left_out(library, capsys):
    text = SCENARIO.replace("> extend_loan L1 17", '> extend_loan "L1"\n    17 kind=short')
    assert '`extend_loan "…" 17 kind=short`' in printed(capsys, library(**{"1.1": text}))[2]


def test_drafts_are_left_out(library, capsys):
    draft = REFUSAL.replace("database:", "draft: true\ndatabase:")
    domain = library(**{"1.1": SCENARIO, "1.2": draft})
    assert len(printed(capsys, domain)) == 3


def test_columns_and_rules_of_the_pack(library, capsys):
    domain = library(hooks=HOOKS)
    head, _, row = printed(capsys, domain)
    assert head == "| id | name | mood | rules | gold calls | refusal |"
    assert "| You are in a hurry. |" in row
    assert printed(capsys, domain, "--rules") == [
        "| rule | what it says | decides |",
        "| --- | --- | --- |",
        r"| A1 | Ten days, or \| more. | 1.1 |",
        "| B1 | Nobody needs this. |  |",
    ]


def test_rules_that_nobody_explains(library, capsys):
    assert printed(capsys, library(), "--rules")[2:] == ["| A1 |  | 1.1 |", "| A2 |  | 1.1 |"]


def test_a_page_is_brought_up_to_date(library, tmp_path, capsys):
    domain, page = library(), tmp_path / "page.md"
    command = f"<!-- voiceeval data table {domain} -->"
    page.write_text(f"Before.\n\n{command}\nold\n<!-- end -->\n\nAfter.\n")
    assert printed(capsys, domain, "--into", "page.md") == ["written: page.md"]
    table = "\n".join(printed(capsys, domain))
    text = f"Before.\n\n{command}\n\n{table}\n\n<!-- end -->\n\nAfter.\n"
    assert page.read_text() == text
    assert printed(capsys, domain, "--into", "page.md") == ["up to date: page.md"]
    assert page.read_text() == text


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "page.md: there is no such page"),
        ("Nothing.\n", "page.md: has no line <!-- voiceeval data table DOMAIN -->"),
        ("<!-- voiceeval data table DOMAIN -->\n", "with a line <!-- end --> below it"),
    ],
)
def test_a_page_that_cannot_be_brought_up_to_date(library, tmp_path, capsys, content, problem):
    domain = library()
    if content is not None:
        (tmp_path / "page.md").write_text(content.replace("DOMAIN", domain))
    assert main(["table", domain, "--into", "page.md"]) == 2
    assert problem.replace("DOMAIN", domain) in capsys.readouterr().err


def test_a_domain_that_is_not_written_so(capsys):
    assert main(["table", "restaurant"]) == 2
    assert "there are no authoring files" in capsys.readouterr().err
