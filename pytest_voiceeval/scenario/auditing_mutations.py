"""Gold calls gone wrong in one place: each must be seen at the end."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.scenario.auditing_entry import is_write
from pytest_voiceeval.tools.registry import get_schema_tool_for_eval

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_voiceeval.scenario.auditing_entry import Entry

Json = dict[str, Any]

MOST_ORDERS = 4
"""Up to so many writes are tried in every order, more only with two neighbours swapped."""


@dataclass(frozen=True)
class Mutation:
    """One wrong way through a call.

    Attributes:
        kind: `dropped`, `doubled` or `changed`.
        call: the gold call that went wrong.
        argument: the argument that was changed.
        right: its value in the gold call.
        wrong: its value here; None if it is left out.
        calls: all calls of this way.
    """

    kind: str
    call: Json
    calls: tuple[Json, ...]
    argument: str = ""
    right: Any = None
    wrong: Any = None

    @property
    def tool(self) -> str:
        """Name of the tool that was called."""
        return str(self.call["name"])

    def __str__(self) -> str:
        if not self.argument:
            return f"{self.tool} {self.kind}"
        return f"{self.tool} {self.argument} {_shown(self.right)} -> {_shown(self.wrong)}"


def mutations(entry: Entry) -> Iterator[Mutation]:
    """Give every gold write dropped, doubled, and with each argument wrong."""
    calls = entry.needed
    for n, call in enumerate(calls):
        if is_write(entry.domain, call["name"]):
            yield from _gone_wrong(entry, calls[:n], call, calls[n + 1 :])


def _gone_wrong(
    entry: Entry, before: list[Json], call: Json, after: list[Json]
) -> Iterator[Mutation]:
    yield Mutation("dropped", call, (*before, *after))
    yield Mutation("doubled", call, (*before, call, call, *after))
    for argument, wrong in wrong_arguments(entry, call):
        right = call["arguments"][argument]
        changed = _with(call, argument, wrong)
        ways = (*before, changed, *(_following(later, right, wrong) for later in after))
        yield Mutation("changed", call, ways, argument, right, wrong)


def wrong_arguments(entry: Entry, call: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Give each argument of a call with every wrong value worth trying."""
    schema = get_schema_tool_for_eval(call["name"], domain=entry.domain, shared_state={}).schema
    for argument, value in call["arguments"].items():
        properties = schema.properties.get(argument) or {}
        wrongs = dict.fromkeys(map(json.dumps, wrong_values(value, properties, entry.database)))
        yield from ((argument, json.loads(wrong)) for wrong in wrongs if wrong != json.dumps(value))
        if argument not in schema.required:
            yield argument, None


def wrong_values(value: Any, properties: Mapping[str, Any], database: Any) -> Iterator[Any]:
    """Give the other choices, numbers close by, or names of the same form in the database."""
    choices = _choices(properties)
    if isinstance(value, bool):
        yield not value
    elif choices:
        yield from choices
    elif isinstance(value, int | float):
        yield from (value + 1, value - 1, value * 2)
    elif isinstance(value, str):
        form = _form(value)
        yield from (text for text in _texts(database) if _form(text) == form)
    elif isinstance(value, list):
        yield from _wrong_items(value, properties, database)
    elif isinstance(value, dict):
        fields = properties.get("properties") or {}
        for name, item in value.items():
            for wrong in wrong_values(item, fields.get(name) or {}, database):
                yield {**value, name: wrong}


def _wrong_items(
    value: Sequence[Any], properties: Mapping[str, Any], database: Any
) -> Iterator[list[Any]]:
    for n, item in enumerate(value):
        for wrong in wrong_values(item, properties.get("items") or {}, database):
            yield [*value[:n], wrong, *value[n + 1 :]]
    if len(value) > 1:
        yield from ([*value[:n], *value[n + 1 :]] for n in range(len(value)))


def _choices(properties: Mapping[str, Any]) -> list[Any]:
    """Read a closed set of values, through `anyOf` with null."""
    options = [properties, *(properties.get("anyOf") or ())]
    return next((option["enum"] for option in options if option.get("enum")), [])


def _form(text: str) -> str:
    """The shape of an identifier: digits are alike, and so are the parts of a list of flights."""
    shape = re.sub(r"[0-9]+", "9", text)
    return re.sub(r"(_[A-Z]+9)+", "_X9", shape) if "_" in text else shape


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from itertools.chain(value, *map(_texts, value.values()))
    elif isinstance(value, list):
        yield from itertools.chain(*map(_texts, value))


def _with(call: Mapping[str, Any], argument: str, value: Any) -> Json:
    arguments = {**call["arguments"], argument: value}
    if value is None:
        del arguments[argument]
    return {**call, "arguments": arguments}


def _following(call: Json, right: Any, wrong: Any) -> Json:
    """Let a later call follow: whoever takes the wrong flight seats the caller there, too."""
    if not (isinstance(right, str) and any(c.isdigit() for c in right)) or wrong is None:
        return call
    arguments = {k: wrong if v == right else v for k, v in call["arguments"].items()}
    return {**call, "arguments": arguments}


def orders(entry: Entry) -> tuple[int, int]:
    """Try the gold writes in other orders; return how many pass, and how many were tried."""
    writes = [entry.calls[n] for n in entry.writes]
    tried = list(_orders(writes))
    return sum(entry.outcome(order) for order in tried), len(tried)


def _orders(writes: Sequence[Json]) -> Iterator[Sequence[Json]]:
    if len(writes) <= MOST_ORDERS:
        yield from itertools.permutations(writes)
        return
    for n in range(len(writes) - 1):
        yield [*writes[:n], writes[n + 1], writes[n], *writes[n + 2 :]]


def _shown(value: Any) -> str:
    return "left out" if value is None else json.dumps(value, ensure_ascii=False)
