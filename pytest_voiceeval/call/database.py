"""The final database against the expected one: by hash, and in detail where they differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.call.errors import ScenarioInvalid, StateUnreadable
from pytest_voiceeval.call.result import SideRecord
from pytest_voiceeval.scoring.db_diff import Change, compute_db_diff, list_changes
from pytest_voiceeval.scoring.db_hash import StateError, get_dict_hash

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_voiceeval.call.result import Conversation
    from pytest_voiceeval.scenario.model import Scenario


@dataclass(frozen=True)
class Database:
    """What is known about one side's final database.

    Attributes:
        matches: None if the scenario expects none.
        expected: The expected database.
        expected_hash: Its hash.
        actual_hash: Hash of the database the side sent, else the one it reported.
        diff: In the reference's shape; None if unknown.
        changes: The same, one entry a leaf; None if unknown.
        note: Why the difference is unknown although there is one, else empty.
        warnings: What looked odd.
    """

    matches: bool | None
    expected: Any = None
    expected_hash: str | None = None
    actual_hash: str | None = None
    diff: Mapping[str, Any] | None = None
    changes: tuple[Change, ...] | None = None
    note: str = ""
    warnings: tuple[str, ...] = ()


def judge_database(scenario: Scenario, conversation: Conversation) -> Database:
    """Compare the agent's final database.

    Raises:
        ScenarioInvalid: The expected database cannot be hashed.
        StateUnreadable: The agent sent a database that is not JSON.
    """
    expected = scenario.expected_scenario_db
    if expected is None:
        expected_hash = None
    else:
        expected_hash = conversation.expected_hash or hash_expected(scenario, expected)
    return _judge(expected, expected_hash, conversation.agent, conversation, "agent")


def judge_user_database(scenario: Scenario, conversation: Conversation) -> Database:
    """Compare the caller's, whose hash the reference harness pulls and compares with nothing.

    Raises:
        ScenarioInvalid: The expected database cannot be hashed.
        StateUnreadable: The caller sent a database that is not JSON.
    """
    expected = scenario.expected_user_db
    expected_hash = None if expected is None else hash_expected(scenario, expected)
    record = conversation.user or SideRecord()
    return _judge(expected, expected_hash, record, conversation, "caller")


def _judge(
    expected: Any,
    expected_hash: str | None,
    record: SideRecord,
    conversation: Conversation,
    who: str,
) -> Database:
    actual_hash, warnings = _actual_hash(record, conversation, who)
    if expected_hash is None:
        return Database(None, actual_hash=actual_hash, warnings=warnings)
    matches = actual_hash == expected_hash
    diff, changes, note = _compare(expected, record, who, matches=matches)
    return Database(
        matches=matches,
        expected=expected,
        expected_hash=expected_hash,
        actual_hash=actual_hash,
        diff=diff,
        changes=changes,
        note=note,
        warnings=warnings,
    )


def _compare(
    expected: Any, record: SideRecord, who: str, *, matches: bool
) -> tuple[Mapping[str, Any] | None, tuple[Change, ...] | None, str]:
    """Difference in both shapes, or why it is unknown."""
    if matches:
        # equal hashes mean an empty difference, for every pair of states
        return {"tables_added": [], "tables_removed": [], "tables_modified": {}}, (), ""
    if record.db is None:
        return None, None, _why_unknown(record, who)
    return compute_db_diff(expected, record.db), tuple(list_changes(expected, record.db)), ""


def hash_expected(scenario: Scenario, expected: Any) -> str:
    """Hash of the scenario's expected database.

    Raises:
        ScenarioInvalid: It is not JSON; the text names the scenario and the place.
    """
    try:
        return get_dict_hash(expected)
    except StateError as error:
        raise ScenarioInvalid(
            f"scenario {scenario.name!r} has no usable expected database: {error}"
        ) from error


def _actual_hash(
    record: SideRecord, conversation: Conversation, who: str
) -> tuple[str | None, tuple[str, ...]]:
    """Hash of what a side sent, which counts more than the hash it reported."""
    reported, db = record.db_hash, record.db
    if db is None:
        return reported, ()
    try:
        own = get_dict_hash(db)
    except StateError as error:
        raise StateUnreadable(f"the {who}'s database is not JSON: {error}", conversation) from error
    if reported in {None, own}:
        return own, ()
    return own, (
        (
            f"the {who} reported the database hash {reported}, but what it sent hashes to {own}: "
            f"the database decides, check the {who}'s hash function"
        ),
    )


def _why_unknown(record: SideRecord, who: str) -> str:
    if record.actions is None:
        return f"the {who}'s final state could not be read"
    if record.db_hash is None:
        return f"the {who} reported no database"
    return f"the {who} reported another hash but did not send its database"
