"""The `voiceeval` program."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_voiceeval.cli import main
from pytest_voiceeval.packs import remove_user_folder
from tests.integration.packs import write_pack


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a pack of the user's own."""
    monkeypatch.chdir(tmp_path)
    write_pack(tmp_path, ["two words", "a_plain_one"])
    return tmp_path


@pytest.fixture(autouse=True)
def forget(tmp_path: Path) -> None:
    yield
    remove_user_folder(tmp_path / "scenarios")


def test_domains_with_their_descriptions(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = project / "scenarios" / "broken"
    broken.mkdir()
    (broken / "pack.toml").write_text("description = 1\n")
    (broken / "__init__.py").touch()
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    described = dict(line.split(maxsplit=1) for line in lines)
    assert described["eva_airline"].startswith("Airline reservations by phone")
    assert {"restaurant", "customer_service", "qa"} <= set(described)
    assert described["shop"] == "A shop"
    assert len({len(line) - len(described[line.split()[0]]) for line in lines}) == 1  # in a column
    [line] = [line for line in lines if line.startswith("broken")]
    assert described["broken"].startswith("cannot be used: ")
    assert "'description' must be a text" in line


def test_scenarios_as_ids_that_pytest_takes(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["list", "shop"]) == 0
    assert capsys.readouterr().out == "shop::two words\nshop::a_plain_one\n"


def test_without_a_folder_of_packs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["list", "eva_airline"]) == 0
    assert "eva_airline::cancellation_refund" in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["list", "shpo"], "voiceeval: no domain named 'shpo'; did you mean 'shop'?"),
        (["lst"], "invalid choice: 'lst'"),
        ([], "the following arguments are required: COMMAND"),
    ],
    ids=["domain", "command", "nothing"],
)
def test_a_wrong_word_is_status_2(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    try:
        status = main(arguments)
    except SystemExit as ended:
        status = int(str(ended.code))
    assert status == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--help"], ["bot", "list", "pytest --domain NAME"]),
        (["list", "--help"], ["./scenarios", "domain"]),
        (["bot", "--help"], ["--role", "--llm-url", "--port"]),
    ],
    ids=["program", "list", "bot"],
)
def test_help(capsys: pytest.CaptureFixture[str], arguments: list[str], words: list[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(arguments)
    text = " ".join(capsys.readouterr().out.split())
    assert all(word in text for word in words)


def test_data_that_are_not_there(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EVAL_DATA_ROOT", str(project / "nowhere"))
    assert main(["list", "eva_airline"]) == 2
    assert "EVAL_DATA_ROOT names no folder" in capsys.readouterr().err
