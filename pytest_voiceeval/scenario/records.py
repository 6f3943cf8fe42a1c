"""Scenarios from a data file: one record each, and one class for what they have in common."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

from pytest_voiceeval.data.artifacts import load_records
from pytest_voiceeval.data.errors import DataError
from pytest_voiceeval.packs import pack_of_module
from pytest_voiceeval.scenario.authoring_calls import CallReader
from pytest_voiceeval.scenario.authoring_dialogue import read_script
from pytest_voiceeval.scenario.dialogue import Dialogue, ToolCall, parse_calls, parse_dialogue
from pytest_voiceeval.scenario.model import Scenario
from pytest_voiceeval.scenario.origins import Origin
from pytest_voiceeval.scenario.registry import register_scenario_factory

_KINDS = {str: "a text", int: "a whole number", list: "a list", dict: "an object"}


@dataclass(frozen=True)
class Record:
    """One record of a data file.

    Attributes:
        path: the file.
        line: the line on which it begins, from 1.
        fields: its content.
    """

    path: Path
    line: int
    fields: Mapping[str, Any]

    def __getitem__(self, key: str) -> Any:
        return self.fields[key]

    def error(self, problem: str) -> DataError:
        """An error that names file, line and record."""
        name = f"{self.fields['id']}: " if "id" in self.fields else ""
        return DataError(f"{name}{problem}", path=self.path, line=self.line)


class RecordScenario(Scenario):
    """A scenario that a record describes; a domain subclasses it for what its calls share.

    A record has an `id`. It may have a `description`, a `dialogue` and `forbidden` calls in the
    notation of `docs/authoring.md`, and a `note` for people. A subclass names the keys it reads
    itself, and takes them from `self.record`.

    Attributes:
        KEYS: keys that every record must have, with the type of their values.
        OPTIONAL: keys that it may have, likewise.
        record: the record.
    """

    KEYS: ClassVar[Mapping[str, type]] = {}
    OPTIONAL: ClassVar[Mapping[str, type]] = {}

    def __init__(self, record: Record, **kwargs: Any) -> None:
        self.record = record
        super().__init__(name=f"{self.domain}__{record['id']}", **kwargs)

    @property
    def description(self) -> str | None:
        """What the record says about itself."""
        return self.record.fields.get("description")

    @cached_property
    def reference_dialogue(self) -> Dialogue | None:
        """The record's dialogue."""
        text = self.record.fields.get("dialogue")
        if text is None:
            return None
        try:
            return parse_dialogue(read_script(text, self._calls.read), "dialogue")
        except ValueError as error:
            raise self.record.error(str(error)) from error

    @cached_property
    def forbidden_calls(self) -> tuple[ToolCall, ...]:
        """The calls that a careless agent might make."""
        lines = self.record.fields.get("forbidden", ())
        try:
            return parse_calls([self._calls.read(line) for line in lines], "forbidden")
        except ValueError as error:
            raise self.record.error(f"forbidden: {error}") from error

    @property
    def _calls(self) -> CallReader:
        return CallReader(self.domain, {}, lambda _parameter, text: text)


_COMMON: Mapping[str, type] = {"description": str, "dialogue": str, "forbidden": list, "note": str}


def register_records(scenario_class: type[RecordScenario], path: str | Path) -> None:
    """Register a scenario for each record of a file, named `<domain>__<id>`.

    Args:
        scenario_class: what makes a scenario of a record; has the domain.
        path: a YAML list of objects, a JSON list, or JSON Lines (`*.jsonl`).

    Raises:
        DataError: the file cannot be read or has no records, or a record lacks a key, has an
            unknown one, or a value of another type; the text names file and line.
        TypeError: `KEYS` or `OPTIONAL` of the class do not name types.
        DuplicateScenario: two records have one id; the text names both lines.
        BadScenarioName: the name cannot be used.
    """
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None  # noqa: S101, PT018 - CPython has frames
    origin = Origin.of_frame(frame.f_back)
    file = Path(path)
    # in a pack the pack's: a class that names another domain is then refused, not lost
    domain = pack_of_module(origin.module) or scenario_class.domain
    _check_keys(scenario_class)
    records = load_records(file)
    if not records:
        raise DataError("has no records", path=file)
    for line, fields in records:
        record = Record(file, line, fields)
        _check(record, scenario_class)
        make = partial(scenario_class, record)
        name = f"{scenario_class.domain}__{record['id']}"
        register_scenario_factory(name, domain, make, (file, line), origin=origin)


def _check(record: Record, scenario_class: type[RecordScenario]) -> None:
    required = {"id": str, **scenario_class.KEYS}
    known = {**_COMMON, **scenario_class.OPTIONAL, **required}
    for key in required:
        if key not in record.fields:
            raise record.error(f"the key {key!r} is missing")
    for key, value in record.fields.items():
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}"
            raise record.error(f"unknown key {key!r}; {hint}")
        if type(value) is not known[key]:
            raise record.error(f"{key!r} must be {_kind(known[key])}, got {value!r:.40}")
    for line in record.fields.get("forbidden", ()):
        if not isinstance(line, str):
            raise record.error(f"'forbidden' must hold texts, each a call, got {line!r:.40}")


def _check_keys(scenario_class: type[RecordScenario]) -> None:
    for attribute in ("KEYS", "OPTIONAL"):
        keys: Any = getattr(scenario_class, attribute)
        if not isinstance(keys, Mapping) or not all(
            isinstance(kind, type) for kind in keys.values()
        ):
            name = f"{scenario_class.__name__}.{attribute}"
            raise TypeError(f"{name} must map keys to types, such as {{'wish': str}}, not {keys!r}")


def _kind(wanted: type) -> str:
    return _KINDS.get(wanted, wanted.__name__)
