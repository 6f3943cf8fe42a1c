"""The database diff for a reader: `table / record / field: expected → actual`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pytest_voiceeval.report.characters import columns, flat, one_line
from pytest_voiceeval.report.layout import (
    ELLIPSIS,
    WIDTH,
    Lines,
    Section,
    clip,
    count,
    join_units,
    wrap,
)
from pytest_voiceeval.report.values import brief, brief_pair
from pytest_voiceeval.report.writers import find_writers, record_of
from pytest_voiceeval.scoring.describe import describe_key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_voiceeval.call.result import CallResult, ToolCallSeen
    from pytest_voiceeval.scoring.db_diff import Change

DIFF_FILE = "db_diff.json"
USER_DIFF_FILE = "user_db_diff.json"
LAID_OUT = 24  # places; no screen above a transcript shows more
KEPT = 3  # while another section can give way
FEW = 3  # places that have room for details
ALIKE = 4  # records with the same change that are shown as one place
TABLES_NAMED = 4

Place = tuple["Change", ...]
"""Changes shown as one: a single one, or the same change in several records of a table."""

_ABSENT = "absent"
_STEPS = 12  # of a path; longer ones are shortened in the middle
_STEP_ROOM = 40  # columns of one step


def in_telling_order(changes: Sequence[Change], calls: Sequence[ToolCallSeen] = ()) -> list[Change]:
    """Order changes so that what matters comes first, table by table and record by record.

    Tables and records that a call wrote come before those that none did. Then those whose change
    lies highest: a record that is missing as a whole tells more than a counter deep inside
    another.
    """
    writers = find_writers(changes, calls)
    written = {record for _, records in writers.by_call for record in records}
    tables: dict[str, list[Change]] = {}
    for change in changes:
        tables.setdefault(record_of(change)[0], []).append(change)

    def rank(found: Sequence[Change]) -> tuple[bool, int]:
        unwritten = all(record_of(change) not in written for change in found)
        return unwritten, min(len(change.path) for change in found)

    ordered = []
    for table in sorted(tables.values(), key=rank):
        records: dict[object, list[Change]] = {}
        for change in table:
            records.setdefault(record_of(change), []).append(change)
        for record in sorted(records.values(), key=rank):
            ordered += sorted(record, key=lambda change: len(change.path))
    return ordered


def database_sections(
    result: CallResult, changes: Sequence[Change], artifacts: str | None
) -> list[Section]:
    """What differs, or why that is not known."""
    if result.expected_hash is None or result.db_hash == result.expected_hash:
        return []
    if result.changes is None:
        return [_unknown(result)]
    return [_differing("database", changes, _path_in(artifacts, DIFF_FILE))]


def user_database_sections(result: CallResult, artifacts: str | None) -> list[Section]:
    """The same of the caller's database, where the scenario expects one."""
    found = result.user_database
    if found is None or found.matches:
        return []
    if found.changes is None:
        return [Section(wrap(f"caller's database: {found.note}", limit=2))]
    calls = [call for call in result.tool_calls if call.side == "user"]
    changes = in_telling_order(found.changes, calls)
    return [_differing("caller's database", changes, _path_in(artifacts, USER_DIFF_FILE))]


def _differing(what: str, changes: Sequence[Change], path: str | None) -> Section:
    places = grouped(changes)
    items = tuple(place_lines(place, roomy=len(places) <= FEW) for place in places[:LAID_OUT])
    title = f"{what} (expected → actual):"
    return Section((title,), items, _rest_of(places, path), total=len(places), keep=KEPT)


def _path_in(artifacts: str | None, name: str) -> str | None:
    return None if artifacts is None else f"{artifacts}/{name}"


def _unknown(result: CallResult) -> Section:
    note = result.db_note or "the agent did not send its database"
    title = wrap(f"database: {note}", limit=2)
    if result.db_hash is None:
        return Section(title)
    hashes = (
        f"  expected hash {result.expected_hash}",
        f"  actual hash   {one_line(result.db_hash)}",
    )
    return Section((*title, *hashes))


def grouped(changes: Sequence[Change]) -> list[Place]:
    """Put changes together that are the same in many records of a table, such as a counter."""
    groups: dict[object, list[Change]] = {}
    for change in changes:
        groups.setdefault(_sameness(change), []).append(change)
    places = []
    for group in groups.values():
        if len(group) >= ALIKE and len({change.path for change in group}) == len(group):
            places.append(tuple(group))
        else:
            places += [(change,) for change in group]
    # a group stands where its first change stood
    order = {id(change): position for position, change in enumerate(changes)}
    return sorted(places, key=lambda place: order[id(place[0])])


def _sameness(change: Change) -> object:
    values = repr((change.expected, change.actual))
    return change.path[:1], change.steps[2:], change.kind, values, len(change.path) > 1


def _rest_of(places: Sequence[Place], path: str | None) -> Callable[[int], Lines]:
    def rest(shown: int) -> Lines:
        hidden = [change for place in places[shown:] for change in place]
        tables = Counter(record_of(change)[0] for change in hidden)
        where = [
            f"{clip(describe_key(name), 30)} {n}" for name, n in tables.most_common(TABLES_NAMED)
        ]
        where += [ELLIPSIS] if len(tables) > TABLES_NAMED else []
        count_of = f"  {ELLIPSIS} {count(len(hidden), 'more place')} ({', '.join(where)})"
        return _with_file(count_of, path)

    return rest


def _with_file(text: str, path: str | None) -> Lines:
    if path is None:
        return (clip(text),)
    line = f"{text}, all in {path}"
    if columns(line) <= WIDTH:
        return (line,)
    # a path is not broken, so that it can be copied
    return clip(f"{text}, all in"), f"    {path}"


def place_lines(place: Place, *, roomy: bool = False) -> Lines:
    """One place: on one line if it fits, else broken between steps, else values below.

    Table and record stay together, and so do a field and its values.

    Args:
        place: Changes that are shown as one.
        roomy: An object may take a line more.
    """
    left, right = _value_texts(place[0], WIDTH - 6)
    steps = _steps_of(place)
    last = f"{steps[-1]}: {left} → {right}"
    below_the_record = len(steps) > 1
    if columns(last) <= WIDTH - 4 and (below_the_record or columns(last) <= WIDTH - 2):
        return join_units([*steps[:-1], last], glue=" / ")
    path = join_units([*steps[:-1], f"{steps[-1]}:"], glue=" / ")
    if roomy:
        left, right = _value_texts(place[0], 2 * (WIDTH - 8))
    both = f"{left} → {right}"
    if columns(both) <= WIDTH - 6:
        return (*path, f"      {both}")
    if _ABSENT in {left, right}:
        return (*path, *join_units(both.split(", "), glue=", ", lead=" " * 6, indent=8, limit=3))
    left, right = _value_texts(place[0], WIDTH - 6)
    return (*path, f"      {left}", f"    → {right}")


def _steps_of(place: Place) -> list[str]:
    """The path in pieces that are not broken: table and record are one, then every step."""
    steps = [clip(flat(step), _STEP_ROOM) for step in place[0].steps]
    if len(place) > 1:
        steps[1] = f"{len(place)} records ({steps[1]}, {ELLIPSIS})"
    if len(steps) > _STEPS:
        half = _STEPS // 2
        between = f"{ELLIPSIS} {len(steps) - 2 * half} levels {ELLIPSIS}"
        steps = [*steps[:half], between, *steps[-half:]]
    if not steps:
        return ["the whole database"]
    return [" / ".join(steps[:2]), *steps[2:]]


def _value_texts(change: Change, room: int) -> tuple[str, str]:
    beside = room - columns(f" → {_ABSENT}")
    if change.kind == "added":
        return _ABSENT, brief(change.actual, beside)
    if change.kind == "removed":
        return brief(change.expected, beside), _ABSENT
    return brief_pair(change.expected, change.actual, room)
