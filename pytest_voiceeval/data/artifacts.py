"""Reading a domain's data files: databases and YAML, both as plain JSON values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_voiceeval.data.errors import DataError, MissingData
from pytest_voiceeval.data.json_text import parse_json, read_json, read_text

_RUNS_CODE = frozenset({".pkl", ".pickle", ".p", ".joblib", ".dill", ".shelve", ".npy", ".pt"})


def load_db_artifact(path: str | Path) -> dict[str, Any]:
    """Load a database: the file `<path>.json`, else the folder `<path>` with a file per table.

    Args:
        path: with or without the ending `.json`. In a folder each `*.json` is one top-level table
            named after the file.

    Raises:
        MissingData: neither is there.
        DataError: a file is not plain JSON, or the whole is not an object; pickles are refused,
            because reading one runs the code inside it.
    """
    given = Path(path)
    if given.suffix.lower() in _RUNS_CODE:
        problem = f"a database is JSON; reading a {given.suffix} file would run code from it"
        raise DataError(problem, path=given)
    base = given.with_suffix("") if given.suffix == ".json" else given
    file = base.with_name(f"{base.name}.json")
    if file.is_file():
        return _load_file(file)
    if base.is_dir():
        return _load_tables(base)
    raise MissingData(f"no database here: neither {file.name} nor a folder {base.name}/", path=base)


def _load_file(file: Path) -> dict[str, Any]:
    database = read_json(file)
    if not isinstance(database, dict):
        kind = type(database).__name__
        raise DataError(f"a database is a JSON object of tables, not a {kind}", path=file)
    return database


def _load_tables(folder: Path) -> dict[str, Any]:
    files = sorted(folder.glob("*.json"))
    if not files:
        raise MissingData("the folder of a database holds no *.json table", path=folder)
    return {file.stem: read_json(file) for file in files}


def load_yaml(path: str | Path) -> Any:
    """Load one YAML document as JSON would type it (see `data/yaml_text.py`).

    Raises:
        MissingData: there is no such file.
        DataError: it is not UTF-8 or YAML, has tags or repeated keys, or aliases that explode.
    """
    from pytest_voiceeval.data.yaml_text import parse_yaml

    file = Path(path)
    return parse_yaml(read_text(file), path=file)


def load_records(path: str | Path) -> list[tuple[int, dict[str, Any]]]:
    """Load a list of objects, each with the line it begins on (1 for all of a JSON list).

    Args:
        path: JSON Lines if it ends so (`*.jsonl`), JSON (`*.json`), else YAML.

    Raises:
        MissingData: there is no such file.
        DataError: it cannot be read, or is not a list of objects.
    """
    file = Path(path)
    items = _read_items(file)
    for line, item in items:
        if not isinstance(item, dict):
            raise DataError(f"a record is an object, not {item!r:.40}", path=file, line=line)
    return items


def _read_items(file: Path) -> list[tuple[int, Any]]:
    if file.suffix == ".jsonl":
        lines = enumerate(read_text(file).split("\n"), 1)
        return [(n, parse_json(line, path=file, first_line=n)) for n, line in lines if line.strip()]
    if file.suffix == ".json":
        values = read_json(file)
        if not isinstance(values, list):
            raise DataError("must be a list of records", path=file)
        return [(1, value) for value in values]
    from pytest_voiceeval.data.yaml_text import parse_yaml_list

    return parse_yaml_list(read_text(file), path=file)
