"""`voiceeval data check --id`: only some scenarios, named as they are told apart by people."""

from __future__ import annotations

import pytest

from pytest_voiceeval.scenario.data_commands import main

from .conftest import SCENARIO

BROKEN = "id: '1.3'\n"


def scenario(record_id: str) -> str:
    return SCENARIO.replace('id: "1.1"', f'id: "{record_id}"')


@pytest.fixture(autouse=True)
def _in_a_project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def shelf(library):
    """Three scenarios: two are copies of each other, and one cannot be read. Nothing is built."""
    return library(**{"1.1": scenario("1.1"), "1.2": scenario("1.2"), "1.3": BROKEN})


def test_only_what_was_asked_for_is_looked_at(shelf, capsys):
    assert main(["check", "--domain", shelf, "--id", "1.2"]) == 0
    first, *rest = capsys.readouterr().out.splitlines()
    assert first == f"{shelf}: 1 scenario"
    assert [line.split()[0] for line in rest[1:2]] == ["1.2"]
    assert rest[-1] == "No problems"


def test_what_was_left_out_is_said(shelf, capsys):
    main(["check", "--domain", shelf, "--id", "1.1"])
    _, _, skipped = capsys.readouterr().out.partition("Not checked, because of --id:\n")
    assert skipped.startswith("what holds for all scenarios together: no name, code or line used ")


def test_without_ids_everything_is_checked(library, capsys):
    domain = library(**{"1.1": scenario("1.1"), "1.2": scenario("1.2")})
    assert main(["check", "--domain", domain]) == 1
    said = capsys.readouterr().out
    assert "Not checked" not in said
    assert "1.1 and 1.2 share a skeleton" in said


def test_several_ids_come_in_the_order_of_the_domain(shelf, capsys):
    assert main(["check", "--domain", shelf, "--id", "1.2", "--id", "1.1", "--id", "1.2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{shelf}: 2 scenarios"
    assert [line.split()[0] for line in lines[2:4]] == ["1.1", "1.2"]


def test_a_problem_of_one_still_counts(shelf, capsys):
    assert main(["check", "--domain", shelf, "--id", "1.3"]) == 2
    assert "1.3.yaml: the key 'dialogue' is missing" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("wanted", "hint"),
    [
        ("1.4", "the closest are "),
        ("1_2", "the closest are 1.2, "),
        ("returning", "there are 3, from 1.1 to 1.3"),
    ],
)
def test_an_unknown_id(shelf, capsys, wanted, hint):
    assert main(["check", "--domain", shelf, "--id", "1.1", "--id", wanted]) == 2
    said = capsys.readouterr()
    assert not said.out
    assert said.err.startswith(f"voiceeval data: no scenario {wanted!r} in {shelf}; {hint}")
    assert said.err.count("\n") == 1


def test_domains_without_it_are_left_out(shelf, capsys):
    assert main(["check", "--id", "1.1"]) == 0
    said = capsys.readouterr().out
    assert f"{shelf}: 1 scenario\n" in said
    assert "eva_airline" not in said


def test_scenarios_that_were_not_authored_have_short_names(capsys):
    assert main(["check", "--domain", "restaurant", "--id", "no_such_thing"]) == 2
    assert "no scenario 'no_such_thing' in restaurant; " in capsys.readouterr().err


def test_below_a_data_root(library, tmp_path, capsys):
    domain = library(**{"1.1": scenario("1.1"), "1.2": scenario("1.2")})
    main(["build", domain, "--root", "root"])
    capsys.readouterr()
    (tmp_path / "root" / domain / "1.1.json").unlink()  # is not even looked at
    assert main(["check", "root", "--domain", domain, "--id", "1.2"]) == 0
    assert capsys.readouterr().out.startswith(f"{domain}: 1 scenario\n")
    assert main(["check", "root", "--id", "1.3"]) == 2
    assert f"no scenario '1.3' in {domain}; the closest are " in capsys.readouterr().err
