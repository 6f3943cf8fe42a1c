"""Initialization functions and sync appliers: registered per domain, applied in order."""

from __future__ import annotations

import pytest

from pytest_voiceeval.scenario.initialization import (
    apply_initialization_actions,
    register_initialization_function,
)
from pytest_voiceeval.scenario.sync import apply_sync_delta, register_sync_applier

DOMAIN = "init_tests"


@register_initialization_function(DOMAIN)
def set_count(db, count):
    db["count"] = count


@register_initialization_function(DOMAIN)
def explode(db):
    raise ValueError("no luck")


def _action(name, **arguments):
    return {"func_name": name, "arguments": arguments, "side": "agent"}


def test_actions_are_applied_in_order():
    db = {}
    outcome = apply_initialization_actions(
        DOMAIN, [_action("set_count", count=1), _action("set_count", count=2)], db
    )
    assert (outcome, db) == ({"success": True, "errors": []}, {"count": 2})


def test_a_failure_is_collected_and_later_actions_still_run():
    db = {}
    actions = [_action("set_count", count=1), _action("set_cuont"), _action("set_count", count=2)]
    outcome = apply_initialization_actions(DOMAIN, actions, db)
    assert outcome["success"] is False
    assert outcome["errors"] == [
        (
            "[action 1] No initialization function 'set_cuont' registered under "
            "domain='init_tests'; did you mean 'set_count'?"
        )
    ]
    assert db == {"count": 2}


@pytest.mark.parametrize(
    ("action", "error"),
    [
        (_action("explode"), "[action 0] 'explode' raised: ValueError: no luck"),
        (_action("set_count"), "[action 0] 'set_count' raised: TypeError"),
        ({}, "[action 0] No initialization function 'None' registered"),
        (_action("other"), "[action 0] No initialization function 'other' registered"),
    ],
    ids=["raises", "wrong arguments", "no name", "unknown"],
)
def test_what_went_wrong_is_told(action, error):
    outcome = apply_initialization_actions(DOMAIN, [action], {})
    assert outcome["success"] is False
    assert outcome["errors"][0].startswith(error)


@pytest.mark.parametrize("actions", [None, []])
def test_nothing_to_do_succeeds(actions):
    assert apply_initialization_actions(DOMAIN, actions, {})["success"] is True


def test_arguments_may_be_left_out():
    outcome = apply_initialization_actions(DOMAIN, [{"func_name": "explode"}], {})
    assert "no luck" in outcome["errors"][0]


def test_without_a_database_nothing_can_be_applied():
    outcome = apply_initialization_actions(DOMAIN, [_action("set_count", count=1)], None)
    assert outcome["success"] is False
    assert outcome["errors"][0].startswith("No db provided")


def test_functions_of_another_domain_are_not_used():
    outcome = apply_initialization_actions("another", [_action("set_count", count=1)], {})
    assert "registered under domain='another'" in outcome["errors"][0]


def test_a_name_can_be_registered_once():
    def set_count(db):
        raise AssertionError

    text = r"'set_count' is already registered under domain='init_tests': at .*:\d+ and at .*:\d+"
    with pytest.raises(ValueError, match=text):
        register_initialization_function(DOMAIN)(set_count)
    assert register_initialization_function("init_tests_other")(set_count) is set_count


class TestSync:
    @pytest.mark.parametrize(
        ("db", "delta", "after"),
        [
            ({}, {"x": 1}, {"x": 1}),
            ({"a": {"b": {}}}, {"a.b.c": [1], "a.d": None}, {"a": {"b": {"c": [1]}, "d": None}}),
            ({"a": 1}, {}, {"a": 1}),
        ],
        ids=["top level", "nested", "empty"],
    )
    def test_dotted_paths_are_assigned(self, db, delta, after):
        apply_sync_delta("sync_default", delta, db)
        assert db == after

    def test_a_missing_parent_is_named(self):
        with pytest.raises(KeyError, match=r"no 'a\.b' to set 'a\.b\.c' in"):
            apply_sync_delta("sync_default", {"a.b.c": 1}, {"a": {}})

    def test_a_domain_s_own_applier_is_used(self):
        @register_sync_applier("sync_own")
        def double(db, delta):
            db.update({key: value * 2 for key, value in delta.items()})

        db = {}
        apply_sync_delta("sync_own", {"x": 2}, db)
        assert db == {"x": 4}
        with pytest.raises(ValueError, match="already registered under domain='sync_own'"):
            register_sync_applier("sync_own")(lambda db, delta: None)
