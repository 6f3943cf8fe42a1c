"""What must hold of all scenarios of our edition together."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from .promises import policy_rules

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    Json = Mapping[str, Any]

_IDS = """
1.1.2 1.1.3 1.1.4 1.1.5 1.2.1 1.2.2 1.2.3 1.3.1 1.3.2 2.1.1 2.1.2 2.1.6 2.2.2 2.2.4 2.2.5 2.3.2
2.3.4 2.4.1 2.4.2 3.1.3 3.1.5 3.3.4 4.1.1 4.1.2 4.1.3 4.1.5 4.2.1 4.2.4 4.2.5 5.1.1 5.1.2 5.1.3
5.1.5 5.2.1 5.2.2 5.2.5 5.2.6 6.1.1 6.1.4 6.3.1 6.3.4 7.1.1 7.2.1 7.2.2 7.2.5 7.2.6 7.2.8 7.2.9
7.3.1 7.4.1
"""
IDS = frozenset(_IDS.split())
"""The ids of the public benchmark, which this edition has as well."""

LIVELY_SHARE = 1 / 3
"""So many scenarios at least hold a misheard identifier or a refused option."""


def check_edition(records: Sequence[Json], sources: Sequence[Json]) -> Iterator[str]:
    """Yield what is wrong with the scenarios as a whole."""
    yield from _twice("name", (r["user_config"]["name"] for r in records))
    yield from _twice("confirmation code", map(_code, records))
    yield from _twice("opening", (r["user_goal"]["starting_utterance"] for r in records))
    pairs = zip(records, sources, strict=True)
    lively = [r["id"] for r, source in pairs if "declines" in source or was_misheard(r)]
    if len(lively) < LIVELY_SHARE * len(records):
        yield f"only {len(lively)} of {len(records)} have a misheard identifier or a refused option"
    done = {source["id"] for source in sources if not source.get("draft")}
    yield from (
        f"{extra} is not one of the fifty: leave it a draft" for extra in sorted(done - IDS)
    )
    if done >= IDS:  # a draft may yet come to need one of them
        unused = policy_rules() - {rule for r in records for rule in r["rules"]}
        yield from (f"no scenario uses the rule {rule}" for rule in sorted(unused))


def _twice(what: str, values: Iterable[str]) -> Iterator[str]:
    counts = Counter(values)
    return (f"two scenarios have the {what} {value!r}" for value, n in counts.items() if n > 1)


def _code(record: Json) -> str:
    reservations: Mapping[str, Any] = record["ground_truth"]["expected_scenario_db"]["reservations"]
    return next(iter(reservations))


def was_misheard(record: Json) -> bool:
    """Whether the agent first looks for a reservation that is not the caller's."""
    calls = [call for turn in record["reference_dialogue"] for call in turn.get("calls", ())]
    looked = [call["arguments"] for call in calls if call["name"] == "get_reservation"]
    return any(arguments != looked[-1] for arguments in looked)
