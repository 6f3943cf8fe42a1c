"""Authoring files: which there are, and what the builder itself reads in them."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.data.artifacts import load_yaml
from pytest_voiceeval.data.errors import DataError, MissingData

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from pytest_voiceeval.packs import Pack

FOLDER = "authoring"
CORE_KEYS = frozenset(
    {"id", "draft", "rules", "refusal", "database", "dialogue", "forbidden", "match", "note"}
)
REQUIRED = ("id", "dialogue", "forbidden", "note")

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*")


@dataclass(frozen=True)
class Source:
    """One authoring file.

    Attributes:
        path: the file.
        fields: its content.
    """

    path: Path
    fields: dict[str, Any]

    @property
    def id(self) -> str:
        """The record's id."""
        return str(self.fields["id"])

    @property
    def is_draft(self) -> bool:
        """Whether the built data leave it out."""
        return bool(self.fields.get("draft"))

    @property
    def rules(self) -> list[str]:
        """Labels of the policy's rules that decide it."""
        return words_of(self.fields.get("rules"))

    @property
    def is_refusal(self) -> bool:
        """Whether nothing may change."""
        return bool(self.fields.get("refusal"))


def words_of(value: Any) -> list[str]:
    """Read a list, or a text of words, as a list of texts."""
    return value.split() if isinstance(value, str) else [str(item) for item in value or ()]


def has_sources(pack: Pack) -> bool:
    """Whether a pack is written in the authoring format."""
    return bool(source_ids(pack.path))


def source_ids(pack: Path) -> list[str]:
    """List the ids of a pack's authoring files in their order; `_...` are no scenarios."""
    files = (pack / FOLDER).glob("*.yaml")
    return sorted((path.stem for path in files if path.name[0] != "_"), key=id_order)


def read_sources(
    pack: Path, keys: Collection[str] | None, ids: Collection[str] | None = None
) -> list[Source]:
    """Read a pack's authoring files in the order of their ids.

    Args:
        pack: the pack's folder.
        keys: the keys it knows beside the builder's; None lets every key pass.
        ids: only these; None reads all.

    Raises:
        MissingData: the pack has no authoring files.
        DataError: one cannot be read, lacks a key, has an unknown one, or an id that is not its
            file's name.
    """
    known = source_ids(pack)
    if not known:
        raise MissingData("there are no authoring files *.yaml", path=pack / FOLDER)
    return [read_source(pack, name, keys) for name in known if ids is None or name in ids]


def read_source(pack: Path, record_id: str, keys: Collection[str] | None) -> Source:
    """Read one authoring file of a pack.

    Raises:
        MissingData: there is none of this id.
        DataError: see `read_sources`.
    """
    return _read(pack / FOLDER / f"{record_id}.yaml", keys)


def id_order(record_id: str) -> list[tuple[int, str]]:
    """Sort key of ids: numbers in them count as numbers, so 2.10 comes after 2.9."""
    parts = re.split(r"[._-]", record_id)
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]


def _read(path: Path, keys: Collection[str] | None) -> Source:
    fields = load_yaml(path)
    if not isinstance(fields, dict):
        raise DataError("an authoring file is an object", path=path)
    for key in REQUIRED:
        if key not in fields:
            raise DataError(f"the key {key!r} is missing", path=path)
    if fields["id"] != path.stem or not _ID.fullmatch(path.stem):
        problem = f"the id {fields['id']!r} must be the file's name, letters and digits with dots"
        raise DataError(problem, path=path)
    _check_kinds(fields, path)
    known = CORE_KEYS.union(keys or fields)
    for key in fields:
        if key not in known:
            raise DataError(f"unknown key {key!r}{_hint(key, known)}", path=path)
    return Source(path, fields)


def _check_kinds(fields: dict[str, Any], path: Path) -> None:
    for key in ("draft", "refusal"):
        if not isinstance(fields.get(key, False), bool):
            raise DataError(f"{key} is true or false, got {fields[key]!r}", path=path)
    if not isinstance(fields["dialogue"], str):
        raise DataError("dialogue is a text: write `dialogue: |` and lines below it", path=path)
    forbidden, rules = fields["forbidden"], fields.get("rules", "")
    if not isinstance(forbidden, list) or not all(isinstance(line, str) for line in forbidden):
        raise DataError("forbidden is a list of calls, a line with a dash for each", path=path)
    if not isinstance(rules, str | list):
        raise DataError(f"rules is a text of labels or a list of them, got {rules!r}", path=path)


def _hint(key: str, known: Collection[str]) -> str:
    close = difflib.get_close_matches(key, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; known are {', '.join(sorted(known))}"
