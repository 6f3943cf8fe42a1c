"""What is asked of the fifty scenarios together is found missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pytest_voiceeval.packs.eva_airline.authoring import check_edition
from pytest_voiceeval.packs.eva_airline.authoring.promises import policy_rules
from pytest_voiceeval.packs.eva_airline.authoring.whole import IDS as FIFTY
from pytest_voiceeval.packs.eva_airline.authoring.whole import was_misheard

from .conftest import IDS

Json = dict[str, Any]
Pair = tuple[Json, Json]


@pytest.fixture
def pairs(entry_of) -> dict[str, Pair]:
    """Record and authoring file of each scenario, whose keys may be set anew."""
    entries = {record_id: entry_of(record_id) for record_id in IDS}
    return {
        record_id: (dict(entry.record), dict(entry.source.fields))
        for record_id, entry in entries.items()
    }


def complaints(pairs: dict[str, Pair]) -> list[str]:
    records, sources = zip(*pairs.values(), strict=True)
    return list(check_edition(records, sources))


def test_the_fifty_are_there_and_none_is_a_draft(pairs: dict[str, Pair]) -> None:
    assert set(pairs) == FIFTY
    assert len(FIFTY) == 50
    assert not any(source.get("draft") for _, source in pairs.values())
    assert complaints(pairs) == []


@pytest.mark.parametrize("rule", sorted(policy_rules()))
def test_a_rule_that_no_scenario_uses_is_told(pairs: dict[str, Pair], rule: str) -> None:
    for record, _ in pairs.values():
        record["rules"] = [used for used in record["rules"] if used != rule]
    assert complaints(pairs) == [f"no scenario uses the rule {rule}"]
    pairs["1.1.2"][1]["draft"] = True  # it may yet come to use the rule
    assert complaints(pairs) == []


def _name(first: Json, second: Json) -> str:
    second["user_config"] = first["user_config"]
    return "two scenarios have the name 'Marisol Quintanar'"


def _code(first: Json, second: Json) -> str:
    second["ground_truth"] = first["ground_truth"]
    return "two scenarios have the confirmation code 'H7QMV4'"


def _opening(first: Json, second: Json) -> str:
    second["user_goal"] = first["user_goal"]
    return f"two scenarios have the opening {first['user_goal']['starting_utterance']!r}"


@pytest.mark.parametrize("repeat", [_name, _code, _opening])
def test_what_must_be_unique_is(
    pairs: dict[str, Pair], repeat: Callable[[Json, Json], str]
) -> None:
    told = repeat(pairs["1.1.2"][0], pairs["2.1.1"][0])
    assert complaints(pairs) == [told]


def test_a_third_has_a_misheard_identifier_or_a_refused_option(pairs: dict[str, Pair]) -> None:
    lively = [i for i, (record, source) in pairs.items() if _is_lively(record, source)]
    assert len(lively) >= 17
    for record_id in lively[16:]:
        record, source = pairs[record_id]
        source.pop("declines", None)
        record["reference_dialogue"] = []
    assert complaints(pairs) == ["only 16 of 50 have a misheard identifier or a refused option"]


def _is_lively(record: Json, source: Json) -> bool:
    return "declines" in source or was_misheard(record)


def test_an_id_of_one_s_own_stays_a_draft(pairs: dict[str, Pair]) -> None:
    record, source = map(dict, pairs["1.1.2"])
    record["id"] = source["id"] = "1.1.9"
    pairs["1.1.9"] = (record, source)
    told = "1.1.9 is not one of the fifty: leave it a draft"
    assert told in complaints(pairs)
    source["draft"] = True
    assert told not in complaints(pairs)
