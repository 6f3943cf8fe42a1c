"""The files of a domain's data: the same content always gives the same bytes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.data.json_text import parse_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    Json = dict[str, Any]


def database_text(database: Mapping[str, Any]) -> str:
    """Write a database for people to read and for version control to compare."""
    return json.dumps(database, ensure_ascii=False, indent=2) + "\n"


def dataset_text(records: Iterable[Mapping[str, Any]]) -> str:
    """Write records, one on each line."""
    lines = (json.dumps(r, ensure_ascii=False, separators=(",", ":")) for r in records)
    return "".join(f"{line}\n" for line in lines)


def dataset_name(domain: str) -> str:
    """Return the name of a domain's dataset file."""
    return f"{domain}_dataset.jsonl"


@dataclass(frozen=True)
class DataFiles:
    """What the data folder of a domain is to hold.

    Attributes:
        folder: the folder, which need not exist.
        dataset: path of the dataset, inside the folder.
        texts: text of every file by its name.
    """

    folder: Path
    dataset: Path
    texts: Mapping[str, str]

    @classmethod
    def of(cls, domain: str, folder: Path, built: Iterable[tuple[Json, Json]]) -> DataFiles:
        """Plan the files for pairs of a record and its initial database."""
        pairs = list(built)
        name = dataset_name(domain)
        texts = {name: dataset_text(record for record, _ in pairs)}
        texts |= {f"{record['id']}.json": database_text(database) for record, database in pairs}
        return cls(folder, folder / name, texts)

    def outdated(self) -> list[Path]:
        """List the files that are missing or differ, and databases of records that are gone."""
        differing = [self.folder / n for n, text in self.texts.items() if self._found(n) != text]
        return sorted([*differing, *self._leftovers()])

    def write(self) -> list[Path]:
        """Bring the folder up to date and list the files that were written or removed."""
        outdated = self.outdated()
        self.folder.mkdir(parents=True, exist_ok=True)
        for path in outdated:
            if path.name in self.texts:
                path.write_bytes(self.texts[path.name].encode())
            else:
                path.unlink()
        return outdated

    def _found(self, name: str) -> str | None:
        file = self.folder / name
        return file.read_bytes().decode("utf-8", "replace") if file.is_file() else None

    def _leftovers(self) -> list[Path]:
        """Databases of records that the dataset on disk has, and the new one does not."""
        lines = (self._found(self.dataset.name) or "").split("\n")
        records = [parse_json(line, path=self.dataset) for line in lines if line.strip()]
        names = [f"{record['id']}.json" for record in records]
        stale = [self.folder / name for name in names if name not in self.texts]
        return [path for path in stale if path.is_file()]
