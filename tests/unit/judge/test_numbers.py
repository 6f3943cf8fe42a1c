"""Numbers are checked before anything is sent, and named when they are wrong."""

from __future__ import annotations

import math

import pytest

from pytest_voiceeval import LLMJudge, validate_judge_numeric_options

URL = "http://127.0.0.1:9/v1/chat/completions"


@pytest.mark.parametrize(
    "accepted",
    [
        {},
        {"judge_threshold": 0.0},
        {"judge_threshold": 1},
        {"judge_timeout": 0.1},
        {"judge_max_tokens": 1},
        {"judge_thinking_token_budget": 1},
        {"judge_top_p": 0.0},
        {"judge_top_p": 1.0},
        {"judge_temperature": 0},
        {"judge_seed": -3},
        {"judge_concurrency": 1},
    ],
)
def test_accepted(accepted: dict[str, float]) -> None:
    validate_judge_numeric_options(**accepted)


WHOLE = [
    "thinking-token-budget",
    "context-message-limit",
    "context-system-string-limit",
    "context-string-limit",
    "max-tokens",
    "concurrency",
]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("threshold", value) for value in (-0.1, 1.1, math.nan, True, "0.9")),
        *(("timeout", value) for value in (0, -1, math.inf, math.nan, True)),
        *((name, value) for name in WHOLE for value in (0, -1, 1.5, True)),
        *(("top-p", value) for value in (-0.1, 1.1, math.nan)),
        *(("temperature", value) for value in (-0.1, math.inf, math.nan, False)),
        *(("seed", value) for value in (1.5, True, "42")),
    ],
)
def test_refused_by_name(option: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"--judge-{option} must be "):
        validate_judge_numeric_options(**{f"judge_{option.replace('-', '_')}": value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("timeout", value) for value in (0, -1, math.inf, True)),
        *(
            (name, value)
            for name in ("max_tokens", "thinking_token_budget", "context_message_limit")
            for value in (0, -1, True, 2.0)
        ),
        ("context_system_string_limit", 0),
        ("context_string_limit", 0),
    ],
)
def test_the_class_names_its_parameter(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be "):
        LLMJudge(URL, "m", **{name: value})  # type: ignore[arg-type]


def test_none_means_the_default() -> None:
    judge = LLMJudge(URL, "m", timeout=None, max_tokens=None)
    assert judge.timeout == 120.0
    assert judge.context_message_limit == 40
    assert judge.context_system_string_limit == 2500
    assert judge.context_string_limit == 6000
    assert "max_tokens" not in judge._get_payload("x")


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("ws://host/v1", "its scheme is 'ws'"),
        ("host:8000/v1", "it has no scheme"),
        ("http://", "names no host"),
        ("http://host:99999/v1", "port is malformed"),
        ("http://host:0/v1", "port 0"),
        ("http://a:secret@host/v1", "environment variable"),
        ("http://host/ v1", "blanks"),
        ("", "it has no scheme"),
    ],
)
def test_an_address_that_is_none(url: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem) as error:
        LLMJudge(url, "m")
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("http://h/v1/chat/completions", "http://h/v1/chat/completions"),
        ("http://h/v1", "http://h/v1/chat/completions"),
        ("http://h/v1/?key=a", "http://h/v1/chat/completions?key=a"),
        ("http://h/judge", "http://h/judge"),
        ("http://h", "http://h"),
    ],
)
def test_a_base_address_is_completed(given: str, used: str) -> None:
    assert LLMJudge(given, "m").url == used
