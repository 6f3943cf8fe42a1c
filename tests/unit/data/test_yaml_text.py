"""YAML files: typed as JSON would type them, no code, no bombs."""

from __future__ import annotations

import time

import pytest

from pytest_voiceeval.data.artifacts import load_yaml
from pytest_voiceeval.data.errors import DataError


@pytest.fixture
def load(tmp_path):
    def load(text: str):
        file = tmp_path / "policy.yaml"
        file.write_text(text, encoding="utf-8")
        return load_yaml(file)

    return load


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        ("0123456789", "0123456789"),
        ("0012", "0012"),
        ("1_000", "1_000"),
        ("12:30:00", "12:30:00"),
        ("2026-03-17", "2026-03-17"),
        ("0x1F", "0x1F"),
        ("yes", "yes"),
        ("off", "off"),
        ("+15551234", "+15551234"),
        (".5", ".5"),
        (".inf", ".inf"),
        ("1e999", "1e999"),
        ("!!str 12", "12"),
        ('"12"', "12"),
        ("9" * 5000, "9" * 5000),
        ("-12", -12),
        ("1.50", 1.5),
        ("1e3", 1000.0),
        ("true", True),
        ("FALSE", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("é 日本", "é 日本"),
    ],
    ids=lambda value: str(value)[:12],
)
def test_a_scalar_is_a_number_only_where_json_would_say_so(load, scalar, value):
    loaded = load(f"key: {scalar}\n")["key"]
    assert loaded == value
    assert type(loaded) is type(value)


def test_keys_are_texts(load):
    assert load("1: a\nnull: b\n12:30: c\n") == {"1": "a", "null": "b", "12:30": "c"}


def test_anchors_and_merges_work_and_share_nothing(load):
    loaded = load("a: &a {k: [1]}\nb: *a\nc: {<<: *a, z: 2}\nd: {<<: [*a, {k: 9, y: 8}]}\n")
    assert loaded == {"a": {"k": [1]}, "b": {"k": [1]}, "c": {"k": [1], "z": 2},
                      "d": {"k": [1], "y": 8}}  # fmt: skip
    loaded["a"]["k"].append(2)
    assert loaded["b"] == {"k": [1]}


def test_literal_blocks_are_kept_whole(load):
    assert load("t: |\n  a: b\n\n    c\n")["t"] == "a: b\n\n  c\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: 1\nb: [1,\n", r"policy\.yaml:3: is not YAML"),
        ("a: 1\na: 2\n", r"policy\.yaml:2: the key 'a' appears twice"),
        ("a: !!python/object/apply:os.system [ls]\n", r"policy\.yaml:1: the tag '!!python/obj"),
        ("a: !thing 1\n", "the tag '!thing' is not allowed"),
        ("a: &a [*a]\n", "an alias refers to the value it is part of"),
        ("a: *nowhere\n", "is not YAML"),
        ("? [1]\n: 2\n", "a key must be a text"),
        ("a: {<<: 3}\n", "'<<' merges mappings only"),
        ("[" * 3000, "nest"),
        ("a: 1\n---\nb: 2\n", "is not YAML"),
    ],
    ids=[
        "syntax",
        "twice",
        "python",
        "tag",
        "cycle",
        "alias",
        "key",
        "merge",
        "deep",
        "two-documents",
    ],
)
def test_refuses_with_file_and_line(load, text, problem):
    with pytest.raises(DataError, match=problem):
        load(text)


def _nested_aliases(levels: int, width: int) -> str:
    lines = [f"a0: &a0 [{', '.join('x' * width)}]"]
    for level in range(1, levels):
        lines.append(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * width)}]")
    return "\n".join(lines) + "\n"


def test_an_alias_bomb_is_refused_at_once(load):
    bomb = _nested_aliases(levels=9, width=9)
    assert len(bomb) < 600
    began = time.perf_counter()
    with pytest.raises(DataError, match="aliases write out to 490,329,064 values"):
        load(bomb)
    assert time.perf_counter() - began < 2


def test_moderate_aliases_and_large_documents_load(load):
    assert len(load(_nested_aliases(levels=4, width=4))["a3"]) == 4
    assert len(load("".join(f"- {n}\n" for n in range(30_000)))) == 30_000
