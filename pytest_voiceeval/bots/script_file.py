"""Tool calls from a file (`--script FILE`), for scenarios nobody wrote a dialogue for.

The file holds `{"records": {KEY: {"authentication": [CALL, …], "calls": [CALL, …]}}}`, where a
call is `{"name": …, "arguments": {…}}` and KEY names a scenario: its full name, its short name, or
the id of the record it is made from. Other entries of a record are not looked at.
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from pytest_voiceeval.bots.endpoint import BotError

if TYPE_CHECKING:
    from pytest_voiceeval.scenario.dialogue import Dialogue
    from pytest_voiceeval.scenario.model import Scenario


class ScriptFileError(BotError, ValueError):
    """A script file that cannot be played; the text names the file, the record and the place."""


def script_from_file(path: str | Path, scenario: Scenario) -> Dialogue:
    """Read a scenario's calls from a script file and put plain spoken lines around them.

    Args:
        path: the file.
        scenario: whose record is wanted.

    Raises:
        ScriptFileError: the file cannot be read, has no record of the scenario, or the record is
            malformed.
    """
    from pytest_voiceeval.scenario.dialogue import DialogueError, dialogue_from_calls, parse_calls

    path = Path(path)
    key, record = _record_of(path, scenario)
    where = f"{path}, record {key}"
    if not isinstance(record, dict):
        _fail(where, f"must be an object with 'calls', not {type(record).__name__}")
    if "calls" not in record:
        _fail(where, "has no 'calls'")
    try:
        calls = parse_calls(record["calls"], f"{where}, calls")
        known = parse_calls(record.get("authentication", []), f"{where}, authentication")
        return dialogue_from_calls(calls, authentication=known, where=where)
    except DialogueError as error:
        raise ScriptFileError(f"script file {error}") from None


def _record_of(path: Path, scenario: Scenario) -> tuple[str, Any]:
    records = read_records(path)
    names = keys_of(scenario)
    key = next((name for name in names if name in records), None)
    if key is None:
        close = difflib.get_close_matches(scenario.short_name, list(records), n=3)
        hint = f"; closest are {', '.join(close)}" if close else ""
        looked_for = ", ".join(names)
        _fail(path, f"has no record for {scenario.name} (looked for {looked_for}){hint}")
    return key, records[key]


def read_records(path: Path) -> dict[str, Any]:
    """Read the records of a script file, unchecked but for the outermost shape.

    Raises:
        ScriptFileError: it cannot be read, or has no records.
    """
    from pytest_voiceeval.data.errors import DataError
    from pytest_voiceeval.data.json_text import read_json

    try:
        data = read_json(path)
    except DataError as error:
        raise ScriptFileError(f"script file {error}") from None
    records = data.get("records") if isinstance(data, dict) else None
    if not isinstance(records, dict):
        _fail(path, 'expected {"records": {…}} with one object per scenario')
    return records


def keys_of(scenario: Scenario) -> list[str]:
    """List the keys a scenario's record may have, the most exact first.

    These are its name, `domain::short_name`, its short name, and the values of its class's own
    text attributes that end in `_id`, such as `eva_id`.
    """
    domain, _, _ = scenario.name.partition("__")
    short = scenario.short_name
    names = [scenario.name, f"{domain}::{short}", short, *_record_ids(scenario)]
    return list(dict.fromkeys(names))


def _record_ids(scenario: Scenario) -> list[str]:
    """Read the attributes without running properties, which may load data."""
    attributes: dict[str, Any] = {}
    for owner in (scenario, *type(scenario).__mro__):
        attributes = vars(owner) | attributes
    ids = {name: value for name, value in attributes.items() if name.endswith("_id")}
    return [value for name, value in ids.items() if name[0] != "_" and isinstance(value, str)]


def _fail(where: str | Path, problem: str) -> NoReturn:
    raise ScriptFileError(f"script file {where}: {problem}")
