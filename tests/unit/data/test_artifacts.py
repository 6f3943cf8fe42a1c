"""Databases as one file or as a folder of tables, and the fingerprint of files."""

from __future__ import annotations

import json
import pickle

import pytest

from pytest_voiceeval.data.artifacts import load_db_artifact, load_records
from pytest_voiceeval.data.errors import DataError
from pytest_voiceeval.data.fingerprint import fingerprint


def _write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")


@pytest.mark.parametrize("name", ["db", "db.json"])
def test_one_file(tmp_path, name):
    _write(tmp_path / "db.json", {"users": {"u1": {}}})
    assert load_db_artifact(tmp_path / name) == {"users": {"u1": {}}}


@pytest.mark.parametrize("name", ["db", "db.json"])
def test_a_folder_of_tables(tmp_path, name):
    _write(tmp_path / "db" / "users.json", {"u1": {}})
    _write(tmp_path / "db" / "orders.json", {})
    (tmp_path / "db" / "README.md").write_text("not a table")
    assert load_db_artifact(str(tmp_path / name)) == {"orders": {}, "users": {"u1": {}}}


def test_the_file_wins_over_the_folder(tmp_path):
    _write(tmp_path / "db.json", {"from": "file"})
    _write(tmp_path / "db" / "from.json", "folder")
    assert load_db_artifact(tmp_path / "db") == {"from": "file"}


def test_dots_in_the_name_are_part_of_it(tmp_path):
    _write(tmp_path / "1.1.2.json", {"id": 112})
    assert load_db_artifact(tmp_path / "1.1.2") == load_db_artifact(tmp_path / "1.1.2.json")


def test_nothing_there_names_both_forms(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"neither db\.json nor a folder db/"):
        load_db_artifact(tmp_path / "db")


def test_an_empty_folder_is_no_database(tmp_path):
    (tmp_path / "db").mkdir()
    with pytest.raises(FileNotFoundError, match=r"holds no \*\.json table"):
        load_db_artifact(tmp_path / "db")


def test_a_list_is_no_database(tmp_path):
    _write(tmp_path / "db.json", [1])
    with pytest.raises(DataError, match="a database is a JSON object of tables, not a list"):
        load_db_artifact(tmp_path / "db")


class _Bomb:
    def __reduce__(self):
        return (pytest.fail, ("the pickle was loaded",))


@pytest.mark.parametrize("name", ["db.pkl", "db.PICKLE"])
def test_a_pickle_is_refused_and_not_opened(tmp_path, name):
    (tmp_path / name).write_bytes(pickle.dumps(_Bomb()))
    with pytest.raises(DataError, match="would run code from it"):
        load_db_artifact(tmp_path / name)


def test_an_error_in_a_table_names_its_file(tmp_path):
    _write(tmp_path / "db" / "users.json", {})
    (tmp_path / "db" / "orders.json").write_text('{"a": 1, "a": 2}')
    with pytest.raises(DataError, match=r"orders\.json:1: the key 'a' appears twice"):
        load_db_artifact(tmp_path / "db")


def test_fingerprint_depends_on_names_and_content_only(tmp_path):
    for folder in ("one", "two"):
        _write(tmp_path / folder / "a.json", {"x": 1})
        _write(tmp_path / folder / "sub" / "b.json", {"y": 2})
    one, two = tmp_path / "one", tmp_path / "two"
    assert fingerprint([one]) == fingerprint([two])
    assert len(fingerprint([one])) == 12
    files = [one / "a.json", one / "sub" / "b.json"]
    assert fingerprint(files) == fingerprint(reversed(files))
    before = fingerprint(files)
    (one / "a.json").write_text('{"x": 2}')
    assert fingerprint(files) != before


def test_fingerprint_survives_a_checkout_with_other_line_ends(tmp_path):
    (tmp_path / "unix").write_bytes(b"a\nb\n")
    first = fingerprint([tmp_path / "unix"])
    (tmp_path / "unix").write_bytes(b"a\r\nb\r\n")
    assert fingerprint([tmp_path / "unix"]) == first


def test_lines_of_records_end_where_json_lines_end(tmp_path):
    file = tmp_path / "records.jsonl"
    file.write_text('{"said": "a\u2028b\u0085c"}\n{"said": "d"}\n', encoding="utf-8")
    assert load_records(file) == [(1, {"said": "a\u2028b\u0085c"}), (2, {"said": "d"})]
