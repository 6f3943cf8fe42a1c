"""`voiceeval data ...`, as people see it."""

from __future__ import annotations

import pytest

from pytest_voiceeval.scenario.data_commands import main

from .conftest import SCENARIO


@pytest.fixture(autouse=True)
def _in_a_project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # whose `scenarios`, if there are any, are the library's


def test_build_says_what_it_wrote(library, capsys):
    domain = library()
    assert main(["build", domain, "--check"]) == 1
    assert capsys.readouterr().out.count("not up to date: ") == 2
    assert main(["build", domain]) == 0
    assert capsys.readouterr().out.count("written: ") == 2
    assert main(["build", domain, "--check"]) == 0
    assert capsys.readouterr().out == f"{domain}: everything is up to date\n"


def test_check_prints_a_table_and_fails_on_problems(library, capsys):
    domain = library()
    assert main(["check", "--domain", domain]) == 1
    assert "is not up to date: run" in capsys.readouterr().out
    main(["build", domain])
    assert main(["check", "--domain", domain]) == 0
    assert "No problems" in capsys.readouterr().out


def test_check_of_a_root_without_data(tmp_path, capsys):
    assert main(["check", str(tmp_path)]) == 1
    assert capsys.readouterr().out == f"nothing to check in {tmp_path}\n"


def test_show_speaks_the_dialogue(library, capsys):
    domain = library(**{"1.1": SCENARIO.replace("> find_loan L1", "> find_loan L8")})
    assert main(["show", domain, "1.1"]) == 0
    out = capsys.readouterr().out
    assert "  user: L, one.\n  > find_loan(loan_id=L8): refused: No loan L8\n" in out
    assert "  > extend_loan(loan_id=L1, days=17): ok\n" in out


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["build", "no_such_domain"], "no pack named 'no_such_domain'"),
        (["show", "eva_airline", "9.9.9"], "9.9.9.yaml: there is no such file"),
    ],
)
def test_what_cannot_be_done_is_said(capsys, arguments, problem):
    assert main(arguments) == 2
    assert problem in capsys.readouterr().err
