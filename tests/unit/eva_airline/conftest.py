"""What the tests of the shipped scenarios share: the authoring files, built and checked."""

from __future__ import annotations

import copy
import functools
from pathlib import Path
from typing import Any

import pytest

from pytest_voiceeval.packs import find_pack
from pytest_voiceeval.scenario.auditing import complaints
from pytest_voiceeval.scenario.auditing_entry import Entry
from pytest_voiceeval.scenario.authoring import compile_source
from pytest_voiceeval.scenario.authoring_hooks import load_hooks
from pytest_voiceeval.scenario.authoring_source import Source, id_order, read_source

DOMAIN = "eva_airline"
FOLDER = Path(__file__).resolve().parents[3] / "scenarios" / DOMAIN / "authoring"
IDS = sorted((path.stem for path in FOLDER.glob("[!_]*.yaml")), key=id_order)


@functools.cache
def _source(record_id: str) -> Source:
    return read_source(find_pack(DOMAIN).path, record_id, load_hooks(DOMAIN).KEYS)


def _entry(source: Source) -> Entry:
    hooks = load_hooks(DOMAIN)
    built = compile_source(DOMAIN, hooks, source)
    return Entry(DOMAIN, hooks, built.record, built.database, source)


@functools.cache
def _built(record_id: str) -> Entry:
    return _entry(_source(record_id))


@pytest.fixture
def entry_of():
    """Build one scenario, once; nobody may change it."""
    return _built


@pytest.fixture
def problems_of():
    """Change an authoring file in memory, and list what the checks say about it then.

    `problems_of("1.1.2", "note", "x")` sets a key; for a key that is a list or a text, a pair
    `("old", "new")` replaces that text in it.
    """

    def problems(record_id: str, *changes: tuple[str, Any]) -> tuple[str, ...]:
        source = _source(record_id)
        fields = copy.deepcopy(source.fields)
        for path, change in changes:
            *parents, key = path.split(".")
            place = functools.reduce(lambda value, name: value[name], parents, fields)
            place[key] = _changed(place.get(key), change)
        return tuple(complaints(_entry(Source(source.path, fields))))

    return problems


def _changed(value: Any, change: Any) -> Any:
    if not isinstance(change, tuple):
        return change
    old, new = change
    found = str(value).count(old)
    assert found, f"{old!r} is not there to be replaced"
    if isinstance(value, list):
        return [item.replace(old, new) for item in value if item.replace(old, new)]
    return value.replace(old, new)
