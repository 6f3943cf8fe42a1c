"""Wrong values for a tool's arguments that the tool may well accept."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

SIMILAR = 20
"""At most so many other values of the same form are taken from the database."""

Json = Any

_WRITTEN_NUMBER = re.compile(r"(-?\$?)(0|[1-9][0-9]{0,5})((?:\.[0-9]+)?)")
_SIMPLEST = {"boolean": False, "integer": 1, "number": 50.0}


def wrong_values(value: Json, schema: Mapping[str, Any], database: Json) -> Iterator[Json]:
    """Give plausible wrong values, the most plausible first, always in the same order.

    Args:
        value: the right one.
        schema: JSON schema of the argument, as the tool shows it to the model.
        database: where other names of the same form (`FL_SK703_20260325`) are looked for.

    Yields:
        Values of the same type: the schema's other choices; numbers close by; other names of the
        same form, in the order of the database, then those in the same place of other records; a
        list with one item changed or left out; an object with one field changed.
    """
    choices = _choices(schema)
    if isinstance(value, bool):
        yield not value
    elif choices:
        yield from (choice for choice in choices if choice != value)
    elif isinstance(value, (int, float)):
        near_by = dict.fromkeys((value + 1, value - 1, value * 2))
        yield from (near for near in near_by if near != value)
    elif isinstance(value, str):
        names = (*_similar_names(value, database), *_siblings(value, database))
        yield from dict.fromkeys((*names, *_written_numbers(value)))
    elif isinstance(value, list):
        yield from _wrong_lists(value, schema, database)
    elif isinstance(value, dict):
        yield from _wrong_objects(value, schema, database)


def plausible_arguments(
    properties: Mapping[str, Any],
    required: Sequence[str],
    known: Mapping[str, Json],
    database: Json,
) -> dict[str, Json] | None:
    """Fill in a tool's required arguments for a call that nobody asked for.

    Args:
        properties: JSON schema of each argument.
        required: those to fill in.
        known: values that were used in this conversation, by the arguments' names.
        database: where a value is looked for under the argument's name.

    Returns:
        The arguments, or None if one of them cannot be guessed.
    """
    arguments: dict[str, Json] = {}
    for name in required:
        schema = properties.get(name) or {}
        guesses = (known.get(name), _stored(name, database), _simplest(schema))
        value = next((guess for guess in guesses if guess is not None), None)
        if value is None:
            return None
        arguments[name] = value
    return arguments


def _simplest(schema: Mapping[str, Any]) -> Json:
    choices = _choices(schema)
    return choices[0] if choices else _SIMPLEST.get(str(schema.get("type")))


def _stored(name: str, value: Json) -> str | None:
    """Find the first text that is stored under a name."""
    if isinstance(value, dict) and isinstance(value.get(name), str):
        return str(value[name])
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    found = (_stored(name, item) for item in items)
    return next((text for text in found if text is not None), None)


def _choices(schema: Mapping[str, Any]) -> list[Json]:
    """Read a schema's closed set of values, through `anyOf` with null."""
    if isinstance(schema.get("enum"), list):
        return list(schema["enum"])
    for option in schema.get("anyOf") or ():
        if isinstance(option, dict) and (found := _choices(option)):
            return found
    return []


def _wrong_lists(
    value: list[Json], schema: Mapping[str, Any], database: Json
) -> Iterator[list[Json]]:
    items = schema.get("items")
    item_schema = items if isinstance(items, dict) else {}
    for index, item in enumerate(value):
        for wrong in wrong_values(item, item_schema, database):
            yield [*value[:index], wrong, *value[index + 1 :]]
    if len(value) > 1:
        yield value[:-1]


def _wrong_objects(
    value: dict[str, Json], schema: Mapping[str, Any], database: Json
) -> Iterator[dict[str, Json]]:
    fields = schema.get("properties")
    fields = fields if isinstance(fields, dict) else {}
    for name, field in value.items():
        for wrong in wrong_values(field, fields.get(name) or {}, database):
            yield {**value, name: wrong}


def _written_numbers(value: str) -> Iterator[str]:
    """Give the next number to one that is written as a text: `2` to `1`, `$15.50` to `$14.50`."""
    found = _WRITTEN_NUMBER.fullmatch(value)
    if found:
        yield f"{found[1]}{int(found[2]) + 1}{found[3]}"


def _siblings(value: str, database: Json) -> Iterable[str]:
    """Give at most `SIMILAR` other values that stand where this one stands in another record."""
    others = _once(text for text in _same_place(value, database) if text != value)
    return islice(others, SIMILAR)


def _once(texts: Iterable[str]) -> Iterator[str]:
    """Give each text the first time it comes."""
    seen: set[str] = set()
    for text in texts:
        if text not in seen:
            seen.add(text)
            yield text


def _same_place(value: str, database: Json) -> Iterator[str]:
    """Walk the tables that know a value, by the records' keys or in one of their fields."""
    if not isinstance(database, dict | list):
        return
    items = list(database.values() if isinstance(database, dict) else database)
    records = [item for item in items if isinstance(item, dict)]
    if isinstance(database, dict) and value in database and len(records) == len(items):
        yield from database
    for field in dict.fromkeys(key for record in records for key in record):
        texts = [record[field] for record in records if isinstance(record.get(field), str)]
        yield from texts if value in texts else ()
    for item in items:
        yield from _same_place(value, item)


def _similar_names(value: str, database: Json) -> Iterator[str]:
    form, seen = _form(value), {value}
    for text in _texts(database):
        if text not in seen and _form(text) == form:
            seen.add(text)
            yield text
        if len(seen) > SIMILAR:
            return


def _form(text: str) -> str:
    """Describe how a name is built: capitals A, small letters a, digits 9."""
    return re.sub("[0-9]", "9", re.sub("[a-z]", "a", re.sub("[A-Z]", "A", text)))


def _texts(value: Json) -> Iterator[str]:
    """Walk all texts of a JSON value, keys among them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _texts(key)
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
