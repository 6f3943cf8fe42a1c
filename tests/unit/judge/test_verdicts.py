"""One verdict a statement; whatever is missing, malformed or there twice does not pass."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_voiceeval.judge.verdicts import counts, read_verdicts

A, B, C = "is polite", "ends the call", "names the price"


def of(index: Any, passed: Any, **more: Any) -> dict[str, Any]:
    return {"index": index, "passed": passed, "reason": f"because {index}", **more}


@pytest.mark.parametrize(
    ("raw", "passed", "problems"),
    [
        ([of(1, True), of(2, False), of(3, True)], [True, False, True], []),
        ([of(3, True), of(1, True), of(2, True)], [True, True, True], []),
        ([of("1", True), of("2", True), of(3.0, True)], [True, True, True], []),
        ([of(1, True), of(3, True)], [True, False, True], ["assertion 2 is missing"]),
        (
            [of(0, True), of(99, True), of("foo", True), of(2, True)],
            [False, True, False],
            ["about no assertion", "assertion 1 is missing", "assertion 3 is missing"],
        ),
        (
            [of(1, 1), of(2, "true"), of(3, True)],
            [False, False, True],
            ["assertion 1 is 1, not", "assertion 2 is 'true', not"],
        ),
        ([of(1, True), of(2, None), of(3, True)], [True, False, True], ["assertion 2 is None"]),
        (
            [of(1, True), of(1, True), of(2, True), of(3, True)],
            [False, True, True],
            ["2 verdicts about assertion 1"],
        ),
        (
            [of(1, True), of(1, False), of(2, True), of(3, True)],
            [False, True, True],
            ["2 verdicts about assertion 1"],
        ),
        (
            [of(1, True), of(2, True), of(3, True), of(4, True)],
            [True, True, True],
            ["about no assertion of the 3"],
        ),
        (
            [of(True, True), of(2, True), of(3, True)],
            [False, True, True],
            ["about no assertion", "assertion 1 is missing"],
        ),
        (
            [of(1, True, abstain=True), of(2, True), of(3, True)],
            [False, True, True],
            ["assertion 1 says that there is none"],
        ),
        ([], [False] * 3, ["an empty list"]),
        (None, [False] * 3, ["no list"]),
        ("all passed", [False] * 3, ["no list"]),
        ({"1": True}, [False] * 3, ["no list"]),
        ([True, True, True], [False] * 3, ["about no assertion", "1 is", "2 is", "3 is"]),
        ([None], [False] * 3, ["about no assertion", "1 is", "2 is", "3 is"]),
        ([of(float("nan"), True)], [False] * 3, ["about no assertion", "1 is", "2 is", "3 is"]),
        ([of(1e300, True)], [False] * 3, ["about no assertion", "1 is", "2 is", "3 is"]),
    ],
)
def test_table(raw: Any, passed: list[bool], problems: list[str]) -> None:
    verdicts, found = read_verdicts(raw, [A, B, C])
    assert [verdict["passed"] for verdict in verdicts] == passed
    assert [(v["index"], v["assertion"]) for v in verdicts] == [(1, A), (2, B), (3, C)]
    assert len(found) == len(problems)
    assert all(part in problem for part, problem in zip(problems, found, strict=True))


def test_the_reason_stands_beside_its_verdict_whatever_it_says() -> None:
    raw = [{"index": 1, "passed": True, "reason": "violated"}]
    [verdict], problems = read_verdicts(raw, [A])
    assert verdict == {"index": 1, "assertion": A, "passed": True, "reason": "violated"}
    assert not problems


def test_counts() -> None:
    verdicts, _ = read_verdicts([of(1, True), of(2, False), of(3, True)], [A, B, C])
    found = counts(verdicts)
    assert found["nl_assertion_pass_count"] == 2
    assert found["nl_assertion_total"] == 3
    assert found["nl_assertion_pass_rate"] == 2 / 3
    assert found["nl_assertion_verdicts"] == verdicts
