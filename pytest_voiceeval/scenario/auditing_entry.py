"""One scenario of an edition as the checks see it, and where an edition's scenarios are found."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.data.artifacts import load_db_artifact
from pytest_voiceeval.data.build import dataset_name
from pytest_voiceeval.data.errors import DataError, MissingData
from pytest_voiceeval.data.json_text import parse_json, read_text
from pytest_voiceeval.scenario.authoring_play import Played, calls_of, play_text
from pytest_voiceeval.scoring.db_hash import get_dict_hash
from pytest_voiceeval.scoring.matching import match_payloads
from pytest_voiceeval.tools.base import WriteScenarioTool
from pytest_voiceeval.tools.registry import UnknownToolError, get_schema_tool_for_eval

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

    from pytest_voiceeval.scenario.authoring_hooks import Hooks
    from pytest_voiceeval.scenario.authoring_source import Source

Json = dict[str, Any]


@dataclass(frozen=True)
class Entry:
    """A scenario to check.

    Attributes:
        domain: whose tools its calls use.
        hooks: the pack's hooks.
        record: its line of the dataset.
        database: its initial database.
        source: its authoring file, None in an edition that was not written in the format.
    """

    domain: str
    hooks: Hooks
    record: Json
    database: Json
    source: Source | None = None

    @property
    def id(self) -> str:
        """The record's id."""
        return str(self.record["id"])

    @property
    def expected(self) -> Json:
        """The database as it must be at the end."""
        found: Json = self.record["ground_truth"]["expected_scenario_db"]
        return found

    @property
    def has_dialogue(self) -> bool:
        """Whether the record says how a good call goes."""
        return bool(self.record.get("reference_dialogue"))

    @cached_property
    def calls(self) -> list[Json]:
        """The calls of its dialogue, but for hanging up."""
        return calls_of(self.record)

    @cached_property
    def gold(self) -> Played:
        """Where those calls lead."""
        return self.play(self.calls)

    @cached_property
    def writes(self) -> list[int]:
        """Positions of the calls whose tools write."""
        return [n for n, call in enumerate(self.calls) if is_write(self.domain, call["name"])]

    @cached_property
    def needed(self) -> list[Json]:
        """The calls that lead to the end: without those that only read, if they do nothing."""
        writes = [self.calls[n] for n in self.writes]
        same = get_dict_hash(self.play(writes).db) == get_dict_hash(self.gold.db)
        return writes if same else self.calls

    @cached_property
    def _database_text(self) -> str:
        return json.dumps(self.database)

    @cached_property
    def _expected_hash(self) -> str:
        return get_dict_hash(self.expected)

    def play(self, calls: Iterable[Mapping[str, Any]]) -> Played:
        """Make calls on the initial database."""
        return play_text(self.domain, self._database_text, calls)

    def passes(self, played: Played) -> bool:
        """Judge an end: the database, and the recorded actions if there is a reference answer."""
        if get_dict_hash(played.db) != self._expected_hash:
            return False
        answer = self.record.get("reference_answer")
        return answer is None or match_payloads(answer, {"actions": played.actions})

    def outcome(self, calls: Iterable[Mapping[str, Any]]) -> bool:
        """Whether these calls pass."""
        return self.passes(self.play(calls))


def is_write(domain: str, name: str) -> bool:
    """Whether a tool writes; one that does not exist does not."""
    try:
        tool = get_schema_tool_for_eval(name, domain=domain, shared_state={})
    except UnknownToolError:
        return False
    return isinstance(tool, WriteScenarioTool)


def read_entries(
    domain: str, hooks: Hooks, root: Path, folder: str, ids: Collection[str] | None = None
) -> list[Entry]:
    """Read an edition from its data files.

    Args:
        domain: whose tools the calls use.
        hooks: the pack's hooks.
        root: the data root.
        folder: name of the domain's folder below it.
        ids: only these records; None reads all.

    Raises:
        MissingData: the domain has no data there, or a record has no database.
        DataError: a file cannot be read.
    """
    dataset, databases = find_data(domain, hooks, root, folder)
    return [
        _entry(domain, hooks, record, dataset, databases)
        for record in _records(dataset)
        if ids is None or _id_of(record) in ids
    ]


def read_ids(domain: str, hooks: Hooks, root: Path, folder: str) -> list[str]:
    """List the ids of an edition's records.

    Raises:
        MissingData: the domain has no data there.
        DataError: its dataset cannot be read.
    """
    dataset, _ = find_data(domain, hooks, root, folder)
    return [_id_of(record) for record in _records(dataset)]


def _records(dataset: Path) -> list[Any]:
    lines = enumerate(read_text(dataset).split("\n"), 1)
    return [parse_json(line, path=dataset, first_line=n) for n, line in lines if line.strip()]


def _id_of(record: Any) -> str:
    return str(record.get("id")) if isinstance(record, dict) else ""


def find_data(domain: str, hooks: Hooks, root: Path, folder: str) -> tuple[Path, Path]:
    """Return dataset and folder of databases of a domain below a data root.

    Raises:
        MissingData: they are not there.
    """
    ours = root / folder
    if (ours / dataset_name(domain)).is_file():
        return ours / dataset_name(domain), ours
    found = hooks.find_data(root)
    if found is None:
        raise MissingData(f"no data of {domain} below this data root", path=root)
    return found


def _entry(domain: str, hooks: Hooks, record: Any, dataset: Path, databases: Path) -> Entry:
    try:
        name = record["id"]
        json.dumps(record["ground_truth"]["expected_scenario_db"])
    except (KeyError, TypeError) as error:
        raise DataError(f"a record has no {error}", path=dataset) from None
    return Entry(domain, hooks, record, load_db_artifact(databases / f"{name}.json"))
