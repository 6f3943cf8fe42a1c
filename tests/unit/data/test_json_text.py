"""JSON files: strict about what would be lost or changed silently, exact about the place."""

from __future__ import annotations

import pytest

from pytest_voiceeval.data.errors import DataError, MissingData
from pytest_voiceeval.data.json_text import read_json


def _read(tmp_path, content: bytes):
    file = tmp_path / "db.json"
    file.write_bytes(content)
    return read_json(file)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b'{"a": [1, 2.5, null, true, "x"]}', {"a": [1, 2.5, None, True, "x"]}),
        ('{"n": "é 日本"}'.encode(), {"n": "é 日本"}),
        (b'\xef\xbb\xbf{"bom": 1}', {"bom": 1}),
        (b'{"big": 9007199254740993}', {"big": 9007199254740993}),
    ],
    ids=["types", "utf-8", "byte order mark", "integer beyond 2^53"],
)
def test_reads_plain_json(tmp_path, content, expected):
    assert _read(tmp_path, content) == expected


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b'{"a": 1,\n "b": }', r"db\.json:2: is not JSON: Expecting value \(column 7\)"),
        (b'{"a": 1, "a": 2}', "the key 'a' appears twice; one value would overwrite the other"),
        (b'{"t": [{"r": {"x": 1, "x": 1}}]}', r"the key 'x' appears twice in t\[0\]\.r;"),
        (b'{"t": {"fare": [1, NaN]}}', r"t\.fare\[1\] is nan, which JSON cannot hold"),
        (b'{"t": -Infinity}', "t is -inf"),
        (b'{"t": 1e999}', "t is inf"),
        (b'{"a": "x",\n"b": "\xe9"}', r"db\.json:2: is not UTF-8 \(byte 0xe9\)"),
        (b"[" * 100_000, "nests too deeply"),
        (b"9" * 5000, "a number that cannot be read"),
    ],
    ids=[
        "syntax",
        "twice",
        "twice-deep",
        "nan",
        "infinity",
        "overflow",
        "latin-1",
        "deep",
        "digits",
    ],
)
def test_refuses_with_the_place(tmp_path, content, text):
    with pytest.raises(DataError, match=text) as caught:
        _read(tmp_path, content)
    assert caught.value.path == tmp_path / "db.json"


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(MissingData, match=r"nothing\.json: there is no such file"):
        read_json(tmp_path / "nothing.json")


def test_a_folder_is_not_a_file(tmp_path):
    with pytest.raises(DataError, match="cannot be read: Is a directory"):
        read_json(tmp_path)
