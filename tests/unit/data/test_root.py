"""Where data are looked for, and which paths below the root are refused."""

from __future__ import annotations

import pytest

from pytest_voiceeval.data.errors import DataError, MissingData
from pytest_voiceeval.data.root import (
    get_eval_data_root,
    resolve_data_path,
    shipped_data_root,
)


def test_environment_names_the_root_and_is_read_each_time(tmp_path, monkeypatch):
    monkeypatch.setenv("EVAL_DATA_ROOT", str(tmp_path))
    assert get_eval_data_root() == tmp_path
    monkeypatch.delenv("EVAL_DATA_ROOT")
    assert get_eval_data_root() == shipped_data_root()


def test_shipped_root_holds_the_shipped_domains(monkeypatch):
    monkeypatch.delenv("EVAL_DATA_ROOT", raising=False)
    assert (get_eval_data_root() / "eva_airline").is_dir()


@pytest.mark.parametrize("value", ["", "  "], ids=["empty", "blank"])
def test_an_empty_setting_is_an_error_and_not_the_current_folder(value, monkeypatch):
    monkeypatch.setenv("EVAL_DATA_ROOT", value)
    with pytest.raises(MissingData, match="EVAL_DATA_ROOT is set but empty; unset it"):
        get_eval_data_root()


def test_a_root_that_is_no_folder_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("EVAL_DATA_ROOT", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match=r"nowhere: EVAL_DATA_ROOT names no folder"):
        get_eval_data_root()


def test_a_relative_path_is_joined(tmp_path, monkeypatch):
    monkeypatch.setenv("EVAL_DATA_ROOT", str(tmp_path))
    assert resolve_data_path("shop/db.json") == tmp_path / "shop" / "db.json"


@pytest.mark.parametrize(
    "path", ["", "../x.json", "a/../../x", "/etc/passwd", r"..\x", r"C:\x", r"\\host\x", "C:x"]
)
def test_a_path_that_leaves_the_root_is_refused(path, tmp_path, monkeypatch):
    monkeypatch.setenv("EVAL_DATA_ROOT", str(tmp_path))
    with pytest.raises(DataError, match="does not name a file below the data root"):
        resolve_data_path(path)
