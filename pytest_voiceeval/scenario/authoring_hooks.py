"""What a pack may add to the authoring format, in its package `authoring`.

Every hook is optional. A hook that finds the source at fault raises ValueError; the builder adds
the file's name.
"""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.packs import load_pack
from pytest_voiceeval.scenario.authoring_source import CORE_KEYS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

Json = dict[str, Any]


def _given_database(source: Mapping[str, Any]) -> Json:
    database = source.get("database")
    if isinstance(database, dict):
        return dict(database)
    raise ValueError("'database' must be an object: the tables the call begins with")


def _own_fields(
    source: Mapping[str, Any], _database: Mapping[str, Any], _dialogue: Sequence[Mapping[str, Any]]
) -> Json:
    return {key: value for key, value in source.items() if key not in CORE_KEYS}


def _no_defaults(_source: Mapping[str, Any]) -> Json:
    return {}


def _as_written(_parameter: str, text: str, _source: Mapping[str, Any]) -> str:
    return text


def _no_record_complaints(
    _record: Mapping[str, Any], _database: Mapping[str, Any]
) -> Iterator[str]:
    return iter(())


def _no_complaints(
    _record: Mapping[str, Any],
    _database: Mapping[str, Any],
    _calls: Sequence[Mapping[str, Any]],
    _source: Mapping[str, Any],
) -> Iterator[str]:
    return iter(())


def _no_edition_complaints(
    _records: Sequence[Mapping[str, Any]], _sources: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    return iter(())


def _no_facts(_call: Mapping[str, Any], _answer: Mapping[str, Any]) -> Iterator[str]:
    return iter(())


def _nothing_to_list(_database: Mapping[str, Any], _source: Mapping[str, Any]) -> Iterator[str]:
    return iter(())


def _no_columns(_record: Mapping[str, Any]) -> dict[str, str]:
    return {}


def _no_rules() -> dict[str, str]:
    return {}


def _anything(_tool: str, _argument: str, _right: Any, _wrong: Any) -> bool:
    return True


def _nowhere(_root: Path) -> None:
    return None


@dataclass(frozen=True)
class Hooks:
    """The hooks of a pack, or what stands in for them.

    Attributes:
        KEYS: keys of an authoring file that the pack reads; None lets every key pass.
        CALLER_TURNS: how often the caller speaks at least. Default: 2, because a call in which the
            agent speaks less than three times counts as stalled.
        make_database: `(source)` to the initial database. Default: the key `database`.
        make_record: `(source, database, dialogue)` to the record's own fields. Default: all keys
            that are not the builder's.
        call_defaults: `(source)` to values of parameters that calls may leave out.
        read_argument: `(parameter, text, source)` to the full form of a value.
        check_record: `(record, database)` to complaints about a record, of any edition.
        check_scenario: `(record, database, calls, source)` to complaints about one scenario of
            ours; `calls` are its dialogue's, each with its `answer`.
        check_edition: `(records, sources)` to complaints about all scenarios together.
        spoken_facts: `(call, answer)` to what the agent must say because of a call, as macros:
            `{LQ522}` somewhere, `{$125}` before the call is made.
        may_leave_no_trace: `(tool, argument, right, wrong)`: whether it is known that this wrong
            argument cannot be told from the right one at the end.
        describe: `(database, source)` to lines that show an author what was derived.
        table_columns: `(record)` to further columns of `voiceeval data table`, by heading; the same
            headings for every record.
        rule_lines: `()` to the rules that decide scenarios, each in one line, by label.
        find_data: `(root)` to dataset and folder of databases below a data root, for layouts
            other than our own; None if they are not there.
    """

    KEYS: Collection[str] | None = None
    CALLER_TURNS: int = 2
    make_database: Callable[[Mapping[str, Any]], Json] = _given_database
    make_record: Callable[
        [Mapping[str, Any], Mapping[str, Any], Sequence[Mapping[str, Any]]], Json
    ] = _own_fields
    call_defaults: Callable[[Mapping[str, Any]], Mapping[str, Any]] = _no_defaults
    read_argument: Callable[[str, str, Mapping[str, Any]], str] = _as_written
    check_record: Callable[[Mapping[str, Any], Mapping[str, Any]], Iterable[str]] = (
        _no_record_complaints
    )
    check_scenario: Callable[
        [Mapping[str, Any], Mapping[str, Any], Sequence[Mapping[str, Any]], Mapping[str, Any]],
        Iterable[str],
    ] = _no_complaints
    check_edition: Callable[
        [Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]]], Iterable[str]
    ] = _no_edition_complaints
    spoken_facts: Callable[[Mapping[str, Any], Mapping[str, Any]], Iterable[str]] = _no_facts
    may_leave_no_trace: Callable[[str, str, Any, Any], bool] = _anything
    describe: Callable[[Mapping[str, Any], Mapping[str, Any]], Iterable[str]] = _nothing_to_list
    table_columns: Callable[[Mapping[str, Any]], Mapping[str, str]] = _no_columns
    rule_lines: Callable[[], Mapping[str, str]] = _no_rules
    find_data: Callable[[Path], tuple[Path, Path] | None] = _nowhere


def load_hooks(domain: str) -> Hooks:
    """Import a pack and collect its hooks.

    Raises:
        PackError: there is no such pack, or it cannot be loaded.
    """
    load_pack(domain)
    module = f"pytest_voiceeval.packs.{domain}.authoring"
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:  # none, or a folder without code
        return Hooks()
    found = vars(importlib.import_module(module))
    return Hooks(
        **{field.name: found[field.name] for field in fields(Hooks) if field.name in found}
    )
