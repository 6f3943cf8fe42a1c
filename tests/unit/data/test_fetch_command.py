"""What `voiceeval data fetch` says and ends with."""

from __future__ import annotations

import hashlib
import signal

import pytest

from pytest_voiceeval.cli import main
from pytest_voiceeval.data import editions
from pytest_voiceeval.data import fetch as fetching
from pytest_voiceeval.data.editions import Upstream
from pytest_voiceeval.scenario import fetch_command

LICENCE = "MIT License\n\nCopyright (c) 2026 Example\n"
LIBRARY = Upstream("library", "Example/library", "http://127.0.0.1:9/library", "1.0", "abc", "MIT")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Not in the checkout, whose `scenarios` the command would take for the user's own packs."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    """A plain copy of a benchmark of one file, which is all that can be fetched."""
    for variable in ("HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / "home"))
    listed = tmp_path / "library.sha256"
    listed.write_text(f"{hashlib.sha256(LICENCE.encode()).hexdigest()}  LICENSE\n")
    monkeypatch.setattr(editions, "_CHECKSUMS", tmp_path)
    monkeypatch.setattr(fetching, "UPSTREAM", {"library": LIBRARY})
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror" / "LICENSE").write_text(LICENCE)
    return tmp_path / "mirror"


def run(*words):
    return main(["data", "fetch", *map(str, words)])


def test_it_prints_commit_licence_and_how_to_go_on(mirror, capsys):
    assert run("library", "--from", mirror) == 0
    said = capsys.readouterr()
    assert said.out.splitlines() == [
        "library: Example/library 1.0, fetched",
        "commit:   not known, taken from a plain folder; published as abc",
        "licence:  MIT, Copyright (c) 2026 Example",
        "files:    1, all as published (sha256)",
        f"folder:   {LIBRARY.folder}",
        "use it:   pytest --domain library --edition upstream",
    ]
    assert said.err == "fetching Example/library 1.0 from the mirror, within 300 s\n"


def test_a_second_time_it_says_that_it_is_there(mirror, capsys):
    run("library", "--from", mirror)
    capsys.readouterr()
    assert run("library") == 0
    said = capsys.readouterr()
    assert said.out.splitlines()[0] == "library: Example/library 1.0, already there"
    assert said.err == ""


def test_a_mirror_that_is_not_needed_is_said_to_be_left_alone(mirror, tmp_path, capsys):
    run("library", "--from", mirror)
    capsys.readouterr()
    assert run("library", "--from", tmp_path / "nowhere") == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("--from:   not used, the data are")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["shop"], "voiceeval data: 'shop' has no upstream edition; domains that have one: lib"),
        (["library", "--from", "/nowhere"], "voiceeval data: --from /nowhere: there is no such"),
        (["library"], "voiceeval data: http://127.0.0.1:9/library: unable to access"),
    ],
    ids=["domain", "path", "network"],
)
def test_what_goes_wrong_is_one_line_and_status_2(mirror, capsys, words, problem):
    assert run(*words) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines()[-1].startswith(problem)


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "x"])
def test_a_deadline_is_a_positive_number(mirror, text):
    with pytest.raises(SystemExit, match="2"):
        run("library", "--timeout", text)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_an_interrupt_is_one_line_too(mirror, capsys, monkeypatch, number):
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(fetching, "_copy", lambda *_: signal.raise_signal(number))
    assert run("library", "--from", mirror) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said == "voiceeval data: interrupted; nothing was installed"
    assert list(LIBRARY.folder.parent.iterdir()) == []
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize(
    ("commit", "shown"),
    [("abcdef", "abcdef"), ("0123", "0123, of a mirror; published as abc")],
    ids=["pinned", "mirror"],
)
def test_the_commit_of_a_mirror_is_told_apart(tmp_path, commit, shown):
    found = fetching.Fetched(LIBRARY, tmp_path, commit, 1, is_new=True)
    assert fetch_command._commit(found) == shown
