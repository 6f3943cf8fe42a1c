"""Signals and what they make of a call."""

from __future__ import annotations

import math

import pytest

from pytest_voiceeval.scoring.signals import (
    NOT_APPLICABLE,
    SuccessSignal,
    coerce_verdict,
    compute_is_successful,
    compute_is_task_successful,
    success_breakdown,
)

DB, NL, JUDGE = SuccessSignal.DB_STATE_MATCH, SuccessSignal.NL_ASSERTION, SuccessSignal.JUDGE_PASSED
ACTION, EXIT = SuccessSignal.ACTION_MATCH, SuccessSignal.CLEAN_EXIT


def test_members_are_their_values():
    values = {member.name: member.value for member in SuccessSignal}
    assert values == {
        "ACTION_MATCH": "is_action_match",
        "DB_STATE_MATCH": "db_state_match",
        "DB_STATE_ASSERTION": "db_state_assertion",
        "NL_ASSERTION": "nl_assertion",
        "JUDGE_PASSED": "judge_passed",
        "CLEAN_EXIT": "clean_exit",
    }
    assert ACTION == "is_action_match"
    assert f"{DB}" == str(DB) == "db_state_match"


@pytest.mark.parametrize(
    ("whitelist", "signals", "verdict"),
    [
        ((JUDGE,), dict.fromkeys(SuccessSignal), "N/A"),
        ((DB, NL), {DB: True, NL: True}, True),
        ((DB, NL), {DB: True, NL: False, JUDGE: True, ACTION: True}, False),
        ((DB,), {DB: True, ACTION: False, JUDGE: False}, True),
        ((DB, EXIT), {DB: True, EXIT: False}, False),
        ((DB, EXIT), {DB: True, EXIT: True}, True),
        ((DB, EXIT), {DB: None, EXIT: True}, True),
        ((DB, EXIT), {}, "N/A"),
        (("db_state_match",), {"db_state_match": True}, True),
        (["db_state_match"], {DB: False}, False),
        ({DB}, {"db_state_match": "N/A"}, "N/A"),
        ((NL,), {NL: 0.99}, False),
        ((NL,), {NL: 1.0}, True),
    ],
)
def test_compute_is_successful(whitelist, signals, verdict):
    assert compute_is_successful(whitelist, signals) == verdict
    assert type(compute_is_successful(whitelist, signals)) in (bool, str)


@pytest.mark.parametrize(
    ("whitelist", "signals", "problem"),
    [
        ((), {}, "no success signals given"),
        (("is_action_match", "fake_signal_name"), {}, "unknown success signal 'fake_signal_name'"),
        (("db_state_mach",), {}, "did you mean db_state_match"),
        (("zzz",), {}, "known are is_action_match, db_state_match"),
        ((DB,), {"clean_exitt": True}, "unknown success signal 'clean_exitt'; did you mean clean"),
        ((5,), {}, "unknown success signal '5'"),
    ],
)
def test_names_that_do_not_exist(whitelist, signals, problem):
    for work in (compute_is_successful, compute_is_task_successful, success_breakdown):
        with pytest.raises(ValueError, match=problem):
            work(whitelist, signals)


@pytest.mark.parametrize("whitelist", ["db_state_match", DB])
def test_one_text_is_no_whitelist(whitelist):
    with pytest.raises(TypeError, match="must be a list of names, not the text 'db_state_match'"):
        compute_is_successful(whitelist, {})


def test_a_verdict_that_is_none_is_refused():
    with pytest.raises(TypeError, match="the verdict of 'db_state_match' must be true, false"):
        compute_is_successful((DB,), {DB: "yes"})


def test_whitelist_may_be_an_iterator():
    assert compute_is_successful(iter([DB]), {DB: True}) is True
    assert compute_is_task_successful(iter([DB]), {DB: True}) is True


@pytest.mark.parametrize(
    ("signals", "verdict"),
    [
        ({DB: True, EXIT: True}, True),
        ({DB: True, EXIT: False}, True),
        ({EXIT: False}, True),
        ({DB: False, EXIT: True}, False),
        ({}, NOT_APPLICABLE),
    ],
)
def test_compute_is_task_successful(signals, verdict):
    assert compute_is_task_successful((DB, EXIT), signals) == verdict


@pytest.mark.parametrize(
    ("raw", "verdict"),
    [
        (None, None),
        ("N/A", None),
        (True, True),
        (False, False),
        (1, True),
        (1.0, True),
        (0.999, False),
        (0, False),
        (math.nan, False),
        ("true", None),
        ([], None),
    ],
)
def test_coerce_verdict(raw, verdict):
    assert coerce_verdict(raw) is verdict


def test_four_buckets():
    signals = {EXIT: True, DB: False, NL: None, JUDGE: 0.5, ACTION: "N/A"}
    assert success_breakdown((EXIT, DB, NL, ACTION), signals) == {
        "passed": ["clean_exit"],
        "failed": ["db_state_match"],
        "not_applicable": ["is_action_match", "nl_assertion"],
        "excluded": ["judge_passed"],
    }
    breakdown = success_breakdown(list(SuccessSignal), dict.fromkeys(SuccessSignal, True))
    assert breakdown["passed"] == [signal.value for signal in SuccessSignal]
    assert all(type(name) is str for name in breakdown["passed"])
