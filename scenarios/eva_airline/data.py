"""Where the records, databases and the policy lie, in any of the layouts that exist."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_voiceeval import (
    DataError,
    MissingData,
    data_root_of,
    fingerprint,
    load_db_artifact,
    load_yaml,
    read_text,
    shipped_data_root,
)

from .dataset import Dataset, is_record_id, load_dataset

if TYPE_CHECKING:
    from pathlib import Path

UPSTREAM_POLICY = "58631672139be47f767c367894919d64091832b0113b099443dcd645609209bd"
"""SHA-256 of the benchmark's own `airline_agent.yaml`, trailing whitespace of lines dropped."""


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
class Policy:
    """What the data's own agent file says.

    Attributes:
        role: who the agent is, as a full sentence.
        description: what it is for.
        instructions: all of its rules, as they stand there.
    """

    role: str
    description: str
    instructions: str


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
    root = data_root_of("eva_airline")
    layouts = _layouts(root)
    for layout in layouts:
        if layout.dataset.is_file():
            return layout
    looked = " nor ".join(str(layout.dataset.relative_to(root)) for layout in layouts)
    problem = f"no data of eva_airline below this data root: found neither {looked}"
    raise MissingData(problem, path=root)


def _layouts(root: Path) -> tuple[Layout, Layout]:
    ours, benchmark = root / "eva_airline", root / "data"
    benchmark_policy = root / "configs" / "agents" / "airline_agent.yaml"
    return (
        Layout(root, ours / "eva_airline_dataset.jsonl", ours / "airline_agent.yaml", ours),
        Layout(
            root,
            benchmark / "airline_dataset.jsonl",
            benchmark_policy,
            benchmark / "airline_scenarios",
        ),
    )


def current_dataset() -> Dataset:
    """List the records of the copy in use.

    Raises:
        MissingData: there are no data.
    """
    return load_dataset(find_layout().dataset)


def read_database(eva_id: str) -> dict[str, Any]:
    """Read the initial database of one record.

    Raises:
        MissingData: there are no data, or no database of this id.
        DataError: the id cannot name a file, or the database cannot be read.
    """
    folder = find_layout().databases
    if not is_record_id(eva_id):
        raise DataError(f"the id {eva_id!r} cannot name a file", path=folder)
    return load_db_artifact(folder / f"{eva_id}.json")


def read_policy() -> Policy:
    """Read the agent file of the copy in use.

    Raises:
        MissingData: there are no data, or no such file.
        DataError: it is not YAML, or one of the three texts is missing.
    """
    file = find_layout().policy
    if not file.is_file():
        raise MissingData("the agent's policy is missing", path=file)
    stat = file.stat()
    return _policy(file, stat.st_mtime_ns, stat.st_size)


@functools.lru_cache(maxsize=4)
def _policy(file: Path, _mtime_ns: int, _size: int) -> Policy:
    content = load_yaml(file)
    found = content if isinstance(content, dict) else {}
    texts = {key: found.get(key) for key in ("role", "description", "instructions")}
    for key, text in texts.items():
        if not isinstance(text, str) or not text.strip():
            raise DataError(f"{key!r} must be a text that is not empty", path=file)
    return Policy(**{key: str(text) for key, text in texts.items()})


def edition() -> Edition:
    """Tell which copy of the data is in use; reads all of it.

    Raises:
        MissingData: there are no data, or files of it are missing.
    """
    layout = find_layout()
    files = (layout.dataset, layout.policy, *sorted(layout.databases.glob("*.json")))
    return Edition(_edition_name(layout), layout.root, fingerprint(files))


def _edition_name(layout: Layout) -> str:
    if layout.root.resolve() == shipped_data_root().resolve():
        return "voiceeval"
    text = "\n".join(line.rstrip() for line in read_text(layout.policy).split("\n"))
    return "upstream" if hashlib.sha256(text.encode()).hexdigest() == UPSTREAM_POLICY else "custom"
