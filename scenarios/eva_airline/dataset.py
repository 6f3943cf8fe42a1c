"""The dataset file: one record per line, listed without parsing, read one at a time."""

from __future__ import annotations

import functools
import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_voiceeval import DataError, parse_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*")
_LEADING_ID = re.compile(rb'\s*\{\s*"id"\s*:\s*"([^"\\]{1,64})"')


class MissingRecord(DataError, KeyError):
    """The dataset has no record of this id."""

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True, slots=True)
class RecordLine:
    """Where one record is.

    Attributes:
        id: the record's id; `line <number>` when it has none that can be used.
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
class Dataset:
    """The records of one file.

    Attributes:
        path: the file.
        lines: its records in order, those that cannot be used included.
    """

    path: Path
    lines: tuple[RecordLine, ...]

    def find(self, eva_id: str) -> RecordLine | None:
        """Return the line of the record with this id, or None."""
        return next((line for line in self.lines if line.id == eva_id), None)

    def read(self, eva_id: str) -> dict[str, Any]:
        """Parse one record.

        Raises:
            MissingRecord: no line has this id.
            DataError: the line cannot be used; the text names file and line.
        """
        line = self.find(eva_id)
        if line is None:
            raise MissingRecord(f"no record has the id {eva_id!r}", path=self.path)
        if line.problem:
            raise DataError(line.problem, path=self.path, line=line.number)
        record = parse_json(self._text(line), path=self.path, first_line=line.number)
        if not isinstance(record, dict):
            raise DataError("a record is a JSON object", path=self.path, line=line.number)
        return record

    def place(self, eva_id: str) -> str:
        """Return `file:line` of a record, for error texts."""
        line = self.find(eva_id)
        return f"{self.path}:{line.number}" if line else str(self.path)

    def _text(self, line: RecordLine) -> str:
        with self.path.open("rb") as file:
            file.seek(line.start)
            content = file.read(line.size)
        try:
            return content.decode("utf-8-sig" if line.number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            problem = f"is not UTF-8: {error.reason} at byte {error.start} of the line"
            raise DataError(problem, path=self.path, line=line.number) from None


def load_dataset(path: Path) -> Dataset:
    """List the records of a file; a file that has not changed is not read again.

    A line without a usable id, and two lines with one id, are listed with their problem; all
    other records stay usable.

    Raises:
        OSError: the file cannot be read.
    """
    stat = path.stat()
    return _load(path, stat.st_mtime_ns, stat.st_size)


@functools.lru_cache(maxsize=4)
def _load(path: Path, _mtime_ns: int, _size: int) -> Dataset:
    lines: dict[str, RecordLine] = {}
    for line in _lines(path):
        first = lines.get(line.short_name)
        if first is None:
            lines[line.short_name] = line
        elif first.problem is None:
            ids = " and ".join(map(repr, dict.fromkeys((first.id, line.id))))
            problem = f"this record and the one in line {line.number} have the same id, {ids}"
            lines[line.short_name] = replace(first, problem=problem)
    return Dataset(path, tuple(lines.values()))


def _lines(path: Path) -> Iterator[RecordLine]:
    start = 0
    with path.open("rb") as file:
        for number, content in enumerate(file, 1):
            if content.strip():
                yield _line(content, number, start)
            start += len(content)


def _line(content: bytes, number: int, start: int) -> RecordLine:
    match = _LEADING_ID.match(content)
    found = match[1].decode("utf-8", "replace") if match else _parsed_id(content)
    place = RecordLine(f"line {number}", number, start, len(content))
    if found is None:
        return replace(place, problem="is not a record: there is no 'id' to be read")
    if not is_record_id(found):
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


def is_record_id(text: str) -> bool:
    """Tell whether an id can name a file: letters, digits, `_`, `-` and single inner dots."""
    return len(text) <= 64 and _ID.fullmatch(text) is not None
