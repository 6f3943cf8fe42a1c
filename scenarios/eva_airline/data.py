"""Where the records, databases and the policy lie, in any of the layouts that exist."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_voiceeval.data.artifacts import load_db_artifact, load_yaml
from pytest_voiceeval.data.errors import DataError, MissingData
from pytest_voiceeval.data.fingerprint import fingerprint
from pytest_voiceeval.data.json_text import parse_json, read_text
from pytest_voiceeval.data.root import get_eval_data_root, shipped_data_root

UPSTREAM_POLICY = "58631672139be47f767c367894919d64091832b0113b099443dcd645609209bd"
"""SHA-256 of the benchmark's own `airline_agent.yaml`, trailing whitespace of lines dropped."""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*")
_LEADING_ID = re.compile(rb'\s*\{\s*"id"\s*:\s*"([^"\\]{1,64})"')


class MissingRecord(DataError, KeyError):
    """The dataset has no record of this id."""

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True, slots=True)
class Layout:
    """The files of one copy of the data.

    Attributes:
        root: the data root they were found under.
        dataset: one record per line.
        policy: the agent's role and instructions.
        databases: the folder of `<id>.json` files, each an initial database.
    """

    root: Path
    dataset: Path
    policy: Path
    databases: Path


@dataclass(frozen=True, slots=True)
class RecordLine:
    """Where one record is, found without reading it.

    Attributes:
        id: the record's id; for a line without a readable one, `line <number>`.
        number: the line, counted from 1.
        start: its first byte.
        size: its length in bytes.
        problem: why the record cannot be used, or None.
    """

    id: str
    number: int
    start: int
    size: int
    problem: str | None = None

    @property
    def short_name(self) -> str:
        """The id as part of a scenario's name: `1.1.2` is `1_1_2`."""
        return re.sub(r"\W", "_", self.id)


@dataclass(frozen=True, slots=True)
class Edition:
    """Which copy of the data is in use.

    Attributes:
        name: `voiceeval` for the data that ship with us, `upstream` for the benchmark's own,
            else `custom`.
        root: the data root.
        fingerprint: 12 hexadecimal digits of dataset, policy and databases.
    """

    name: str
    root: Path
    fingerprint: str


def find_layout() -> Layout:
    """Find the data under the data root.

    Ours and the reference harness's lie in `eva_airline/`; a checkout of the benchmark itself may
    be the data root as well.

    Raises:
        MissingData: neither is there; the text names both places.
    """
    root = get_eval_data_root()
    layouts = _layouts(root)
    for layout in layouts:
        if layout.dataset.is_file():
            return layout
    looked = " nor ".join(str(layout.dataset.relative_to(root)) for layout in layouts)
    problem = f"no eva_airline data below the data root: found neither {looked}"
    raise MissingData(problem, path=root)


def _layouts(root: Path) -> tuple[Layout, ...]:
    ours = root / "eva_airline"
    benchmark = root / "data"
    return (
        Layout(root, ours / "eva_airline_dataset.jsonl", ours / "airline_agent.yaml", ours),
        Layout(
            root,
            benchmark / "airline_dataset.jsonl",
            root / "configs" / "agents" / "airline_agent.yaml",
            benchmark / "airline_scenarios",
        ),
    )


def record_lines(layout: Layout) -> list[RecordLine]:
    """List the records of the dataset in order, without parsing what follows their ids.

    A line without a usable id, and both lines of an id that appears twice, are listed with their
    problem; all others stay usable.

    Raises:
        MissingData: there is no such file.
    """
    first: dict[str, int] = {}
    lines: list[RecordLine] = []
    for line in _lines(layout.dataset):
        earlier = first.setdefault(line.short_name, len(lines))
        if earlier != len(lines):
            other = lines[earlier]
            problem = f"the records of lines {other.number} and {line.number} have one id"
            lines[earlier] = replace(other, problem=f"{problem}, {line.id!r}")
            continue
        lines.append(line)
    return lines


def _lines(dataset: Path) -> Iterator[RecordLine]:
    start = 0
    with dataset.open("rb") as file:
        for number, content in enumerate(file, 1):
            if content.strip():
                yield _line(content, number, start)
            start += len(content)


def _line(content: bytes, number: int, start: int) -> RecordLine:
    match = _LEADING_ID.match(content)
    found = match[1].decode("utf-8", "replace") if match else _parsed_id(content)
    place = RecordLine(f"line {number}", number, start, len(content))
    if found is None:
        return replace(place, problem="the record has no readable 'id'")
    if not _ID.fullmatch(found):
        return replace(place, problem=f"the id {found!r} cannot name a file and a scenario")
    return replace(place, id=found)


def _parsed_id(content: bytes) -> str | None:
    """Read the id of a record that does not begin with it."""
    try:
        record = json.loads(content)
    except ValueError:
        return None
    found = record.get("id") if isinstance(record, dict) else None
    return found if isinstance(found, str) else None


def read_record(layout: Layout, eva_id: str) -> dict[str, Any]:
    """Read one record of the dataset.

    Raises:
        MissingRecord: no line has this id.
        DataError: the line cannot be used; the text names file and line.
    """
    line = next((line for line in _index(layout.dataset) if line.id == eva_id), None)
    if line is None:
        raise MissingRecord(f"no record has the id {eva_id!r}", path=layout.dataset)
    if line.problem:
        raise DataError(line.problem, path=layout.dataset, line=line.number)
    return _parse_record(layout.dataset, line)


def _parse_record(dataset: Path, line: RecordLine) -> dict[str, Any]:
    with dataset.open("rb") as file:
        file.seek(line.start)
        content = file.read(line.size)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"is not UTF-8: {error}", path=dataset, line=line.number) from None
    record = parse_json(text, path=dataset, first_line=line.number)
    if not isinstance(record, dict):
        raise DataError("a record is a JSON object", path=dataset, line=line.number)
    return record


def _index(dataset: Path) -> list[RecordLine]:
    stat = dataset.stat()
    return _index_of(dataset, stat.st_mtime_ns, stat.st_size)


@functools.lru_cache(maxsize=4)
def _index_of(dataset: Path, _mtime_ns: int, _size: int) -> list[RecordLine]:
    return record_lines(Layout(dataset.parent, dataset, dataset, dataset.parent))


def record_place(layout: Layout, eva_id: str) -> str:
    """Return `file:line` of a record, for error texts."""
    line = next((line for line in _index(layout.dataset) if line.id == eva_id), None)
    return f"{layout.dataset}:{line.number}" if line else str(layout.dataset)


def read_database(layout: Layout, eva_id: str) -> dict[str, Any]:
    """Read the initial database of one record.

    Raises:
        DataError: the id cannot name a file, or the database cannot be read.
        MissingData: there is no such file.
    """
    if not _ID.fullmatch(eva_id):
        raise DataError(f"the id {eva_id!r} cannot name a file", path=layout.databases)
    return load_db_artifact(layout.databases / f"{eva_id}.json")


def read_policy(layout: Layout) -> dict[str, str]:
    """Read `role`, `description` and `instructions` of the agent.

    Raises:
        MissingData: there is no such file.
        DataError: it is not YAML, or one of the three is not a text.
    """
    content = load_yaml(layout.policy)
    keys = ("role", "description", "instructions")
    found = content if isinstance(content, dict) else {}
    for key in keys:
        if not isinstance(found.get(key), str) or not found[key].strip():
            raise DataError(f"{key!r} must be a text that is not empty", path=layout.policy)
    return {key: found[key] for key in keys}


def edition() -> Edition:
    """Tell which copy of the data is in use; reads all of it.

    Raises:
        MissingData: there are none, or files are missing.
    """
    layout = find_layout()
    files = (layout.dataset, layout.policy, *sorted(layout.databases.glob("*.json")))
    return Edition(_edition_name(layout), layout.root, fingerprint(files))


def _edition_name(layout: Layout) -> str:
    if layout.root.resolve() == shipped_data_root().resolve():
        return "voiceeval"
    lines = read_text(layout.policy).split("\n")
    text = "\n".join(line.rstrip() for line in lines)
    return "upstream" if hashlib.sha256(text.encode()).hexdigest() == UPSTREAM_POLICY else "custom"
