"""Which records of a database one tool call changed, told cheaply from the outside."""

from __future__ import annotations

import marshal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

Record = tuple[str, str | None]
"""A table and the key of a record in it; None stands for the table as a whole."""

Fingerprints = dict[Record, bytes]

# Version 2 of marshal writes no back references, so equal values give equal bytes. It takes a
# third of the time of json.dumps: about 10 ms for a database of 2.8 MB.
_MARSHAL_VERSION = 2


def fingerprint_records(db: Any) -> Fingerprints:
    """Serialise every record of `db` by itself.

    Returns:
        One entry a record of a table that is an object; a table that is anything else, or is
        empty, is one entry by itself. Empty when there is no database.
    """
    if not isinstance(db, dict):
        return {}
    return {record: _serialise(value) for record, value in _records_of(db)}


def changed_records(before: Fingerprints, after: Fingerprints) -> list[list[str | None]]:
    """The records that were changed, added or removed, as `[[table, key or None], ...]`.

    A table that got its first record, or lost its last, is named by that record alone.
    """
    changed = [r for r in {**before, **after} if before.get(r) != after.get(r)]
    named = {table for table, key in changed if key is not None}
    return [[table, key] for table, key in changed if key is not None or table not in named]


def _records_of(db: dict[Any, Any]) -> Iterator[tuple[Record, Any]]:
    for table, content in db.items():
        if isinstance(content, dict) and content:
            for key, value in content.items():
                yield (str(table), str(key)), value
        else:
            yield (str(table), None), content


def _serialise(value: Any) -> bytes:
    try:
        return marshal.dumps(value, _MARSHAL_VERSION)
    except ValueError:  # not of the built-in types, or nested too deeply for marshal
        return repr(value).encode("utf-8", "surrogatepass")
