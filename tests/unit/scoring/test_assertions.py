"""Predicates over the database."""

from __future__ import annotations

import uuid
from decimal import Decimal

import pytest

from pytest_voiceeval.scoring.assertions import (
    assertion_pass_rate,
    evaluate_db_state_assertion,
    register_db_state_predicate,
)


@pytest.fixture
def domain():
    """A domain of its own with a few predicates."""
    name = f"domain-{uuid.uuid4().hex}"

    @register_db_state_predicate(name)
    def has(db, key):
        return key in db

    @register_db_state_predicate(name)
    def value_of(db, key):
        return db[key]

    @register_db_state_predicate(name)
    def explode(db):
        raise RuntimeError("boom")

    return name


def assertion(func_name, value=True, side="agent", **arguments):
    return {
        "side": side,
        "func_name": func_name,
        "arguments": arguments,
        "assert_value": value,
        "message": "why",
    }


def test_a_verdict_in_full(domain):
    assert evaluate_db_state_assertion(domain, assertion("has", key="a"), {"a": 1}, None) == {
        "func_name": "has",
        "side": "agent",
        "passed": True,
        "expected": True,
        "actual": True,
        "message": "why",
        "error": None,
    }


@pytest.mark.parametrize(
    ("record", "passed", "actual"),
    [
        (assertion("has", key="b"), False, False),
        (assertion("has", False, key="b"), True, False),
        (assertion("has", False, key="a"), False, True),
        (assertion("has", side="user", key="u"), True, True),
        (assertion("value_of", 1, key="a"), True, 1),
        (assertion("value_of", 1.0, key="a"), True, 1),
        (assertion("value_of", True, key="a"), False, 1),
        (assertion("value_of", None, key="none"), True, "none"),
        (assertion("value_of", [2, 1], key="list"), False, [1, 2]),
        (assertion("value_of", Decimal("1.0"), key="a"), True, 1),
    ],
)
def test_answers_are_compared_by_the_rules_of_the_hash(domain, record, passed, actual):
    db = {"a": 1, "none": "none", "list": [1, 2]}
    verdict = evaluate_db_state_assertion(domain, record, db, {"u": 1})
    assert (verdict["passed"], verdict["actual"], verdict["error"]) == (passed, actual, None)


@pytest.mark.parametrize(
    ("record", "error"),
    [
        (assertion("has", side="nobody"), "Unknown side 'nobody'; expected 'user' or 'agent'."),
        ({"func_name": "has"}, "Unknown side 'None'; expected 'user' or 'agent'."),
        (assertion("has", side=[]), "Unknown side '[]'; expected 'user' or 'agent'."),
        (assertion("has", side="user", key="a"), "No user DB available"),
        (assertion("hass", key="a"), "No predicate 'hass' registered under domain="),
        (assertion("hass", key="a"), "; did you mean 'has'?"),
        (assertion(["has"]), "No predicate \"['has']\" registered"),
        (assertion("explode"), "Predicate raised: RuntimeError: boom"),
        (assertion("value_of", key="zz"), "Predicate raised: KeyError: 'zz'"),
        (assertion("has", wrong=1), "Predicate raised: TypeError: "),
        (assertion("has") | {"arguments": [1]}, "The arguments must be an object, not list"),
        (assertion("has") | {"arguments": {1: 2}}, "Predicate raised: TypeError: "),
        ("no record", "Unknown side 'None'"),
    ],
)
def test_what_cannot_be_answered(domain, record, error):
    verdict = evaluate_db_state_assertion(domain, record, {"a": 1}, None)
    assert verdict["passed"] is False
    assert verdict["actual"] is None
    assert error in verdict["error"]


def test_no_agent_database(domain):
    verdict = evaluate_db_state_assertion(domain, assertion("has", key="a"), None, {"a": 1})
    assert verdict["error"] == "No agent DB available"


def test_missing_arguments_are_none(domain):
    @register_db_state_predicate(domain)
    def empty(db):
        return not db

    record = {"side": "agent", "func_name": "empty", "assert_value": True, "arguments": None}
    assert evaluate_db_state_assertion(domain, record, {}, None)["passed"]
    del record["arguments"]
    verdict = evaluate_db_state_assertion(domain, record, {}, None)
    assert (verdict["passed"], verdict["message"]) == (True, None)


class Odd:
    def __eq__(self, other: object) -> bool:
        raise RuntimeError("cannot say")

    __hash__ = None


def test_answers_that_are_no_json(domain):
    same = object()
    db = {"set": {1, 2}, "odd": Odd(), "same": same}
    equal = evaluate_db_state_assertion(domain, assertion("value_of", {2, 1}, key="set"), db, None)
    assert equal["passed"]
    odd = evaluate_db_state_assertion(domain, assertion("value_of", 1, key="odd"), db, None)
    assert odd["error"] == "The predicate's answer, a Odd, cannot be compared"
    assert not odd["passed"]


def test_names_are_taken_once(domain):
    with pytest.raises(ValueError, match="'has' is already registered under domain="):

        @register_db_state_predicate(domain)
        def has(db):
            return True

    @register_db_state_predicate(f"{domain}-other")
    def value_of(db):
        return True

    assert value_of({}) is True


def test_coroutines_are_refused(domain):
    with pytest.raises(TypeError, match=r"'later' of .* must be a plain function"):

        @register_db_state_predicate(domain)
        async def later(db):
            return True


def test_pass_rate():
    assert assertion_pass_rate([]) is None
    assert assertion_pass_rate([{"passed": True}, {"passed": False}]) == 0.5
    assert assertion_pass_rate([{"passed": True}]) == 1.0
