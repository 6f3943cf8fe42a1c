"""Which edition is read: by what was asked for, what is there, and what `EVAL_DATA_ROOT` says."""

from __future__ import annotations

import pytest

from pytest_voiceeval.data.editions import EDITION_VARIABLE, UPSTREAM, edition_asked_for
from pytest_voiceeval.data.errors import DataError, MissingData
from pytest_voiceeval.data.root import data_root_of, refuse_other_edition, shipped_data_root

EVA = UPSTREAM["eva_airline"]


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    for variable in ("HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / "home"))
    for variable in ("EVAL_DATA_ROOT", EDITION_VARIABLE):
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.parametrize("asked", [None, "", "ours"])
def test_ours_is_what_ships_with_us(monkeypatch, asked):
    if asked is not None:
        monkeypatch.setenv(EDITION_VARIABLE, asked)
    assert data_root_of("eva_airline") == shipped_data_root()


def test_upstream_is_what_was_fetched_for_domains_that_have_it(monkeypatch):
    EVA.folder.mkdir(parents=True)
    monkeypatch.setenv(EDITION_VARIABLE, "upstream")
    assert data_root_of("eva_airline") == EVA.folder
    assert data_root_of("restaurant") == shipped_data_root()


def test_upstream_that_was_not_fetched_names_the_command(monkeypatch):
    monkeypatch.setenv(EDITION_VARIABLE, "upstream")
    with pytest.raises(MissingData, match="`voiceeval data fetch eva_airline`, or take --edition"):
        data_root_of("eva_airline")


def test_a_root_that_is_named_comes_first(monkeypatch, tmp_path):
    monkeypatch.setenv(EDITION_VARIABLE, "upstream")
    monkeypatch.setenv("EVAL_DATA_ROOT", str(tmp_path))
    assert data_root_of("eva_airline") == tmp_path


def test_another_edition_is_told(monkeypatch):
    monkeypatch.setenv(EDITION_VARIABLE, "theirs")
    with pytest.raises(DataError, match="VOICEEVAL_EDITION is 'theirs', not ours or upstream"):
        edition_asked_for()


@pytest.mark.parametrize(
    ("asked", "domain", "found", "problem"),
    [
        (None, "eva_airline", "upstream", None),
        ("ours", "eva_airline", "voiceeval", None),
        ("upstream", "eva_airline", "upstream", None),
        ("upstream", "my_library", "custom", None),
        ("ours", "eva_airline", "upstream", "asks for the edition 'voiceeval', but"),
        ("upstream", "eva_airline", "custom", "asks for the edition 'upstream', but"),
    ],
)
def test_data_of_another_edition_are_refused(monkeypatch, asked, domain, found, problem):
    if asked is not None:
        monkeypatch.setenv(EDITION_VARIABLE, asked)
    if problem is None:
        refuse_other_edition(domain, found, "/data")
        return
    with pytest.raises(DataError, match=f"^/data: --edition {asked} {problem} the data in use"):
        refuse_other_edition(domain, found, "/data")
    monkeypatch.setenv("EVAL_DATA_ROOT", "/data")
    with pytest.raises(DataError, match=f"EVAL_DATA_ROOT names .* '{found}': drop one of the two"):
        refuse_other_edition(domain, found, "/data")
