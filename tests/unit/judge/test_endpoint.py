"""What endpoints do wrong is an error with its cause, never a score."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_voiceeval import LLMJudge
from tests.scripted_judge import Answer, JudgeUrl, Request, in_turn, scripted_judge, verdict
from tests.unit.judge.test_llm_judge import judge_at


def error_of(url: JudgeUrl, **more: Any) -> tuple[str, str]:
    found = judge_at(url, **more).judge_scenario(prediction="p", nl_assertions=["A"])
    assert found["score"] == 0.0
    assert found["nl_assertion_verdicts"][0]["passed"] is False
    assert found["reason"] == f"Error: {found['error']['message']}"
    assert found["nl_assertion_verdicts"][0]["reason"].startswith("Judge error: ")
    return found["error"]["code"], found["error"]["message"]


@pytest.mark.parametrize(
    ("answer", "code", "part"),
    [
        (Answer("", finish="length"), "cut_off", "used up its token limit before it began"),
        (Answer('{"score": 1.0', finish="length"), "cut_off", "--judge-max-tokens"),
        (Answer('{"score": 1.0}', finish="length"), "cut_off", "finish_reason 'length'"),
        (Answer('{"score": 1.0}', finish="content_filter"), "refused", "content_filter"),
        (Answer(None, message={"refusal": "I will not."}), "refused", "I will not."),
        (Answer(""), "empty", "the reply is empty"),
        (Answer(None, message={"reasoning_content": '{"score": 1}'}), "empty", "only reasoning"),
        (Answer("Well done!"), "no_verdict", "'Well done!'"),
        (Answer(body="garbage"), "bad_response", "no JSON: 'garbage'"),
        (Answer(body="[]"), "bad_response", "no chat completion: '[]'"),
        (Answer(body='{"choices": []}'), "bad_response", "no chat completion"),
        (Answer(body='{"error": {"message": "no GPU"}}'), "endpoint_error", "no GPU"),
        (Answer(status=401, body='{"error": "bad key"}'), "unauthorized", "bad key; check the key"),
        (Answer(status=404, body="<h1>Not  here</h1>"), "not_found", "Not here; check --judge-url"),
        (Answer(status=302, headers={"Location": "/x"}), "http_error", "the final address"),
        (
            Answer(status=400, body='{"message": "maximum context length is 8192"}'),
            "too_long",
            "--judge-compact-context shortens it",
        ),
    ],
)
def test_no_verdict_is_an_error_and_no_score(answer: Answer, code: str, part: str) -> None:
    with scripted_judge(reply=lambda request: answer) as url:
        found = error_of(url)
    assert found[0] == code
    assert part in found[1]


def test_parts_of_a_content_are_joined_without_reasoning() -> None:
    content = [
        {"type": "thinking", "text": '{"score": 1.0}'},
        {"type": "text", "text": '{"score": '},
        {"type": "text", "text": "0.4}"},
    ]
    with scripted_judge(reply=lambda request: Answer(content)) as url:
        assert judge_at(url).judge("a", "b")["score"] == 0.4


def test_an_unreadable_reply_gets_a_second_chance() -> None:
    with scripted_judge(in_turn("Great!", verdict(0.6))) as url:
        found = judge_at(url).judge("a", "b")
    assert found["score"] == 0.6
    first, second = found["attempts"]
    assert (first["outcome"], first["reply"]) == ("no_verdict", "Great!")
    assert second["outcome"] == "answered"


def test_a_cut_off_reply_gets_none_it_would_be_cut_off_again() -> None:
    with scripted_judge(reply=lambda request: Answer('{"score"', finish="length")) as url:
        error_of(url)
    assert len(url.requests) == 1


def test_response_format_is_dropped_where_it_is_refused_and_stays_dropped() -> None:
    def reply(request: Request) -> Any:
        if "response_format" in request:
            return Answer(status=400, body='{"error": "response_format is not supported"}')
        return verdict(0.7)

    with scripted_judge(reply) as url:
        judge = judge_at(url)
        assert judge.judge("a", "b")["score"] == 0.7
        assert judge.judge("a", "b")["score"] == 0.7
    assert ["response_format" in request for request in url.requests] == [True, False, False]


def test_a_refused_parameter_of_the_users_is_named() -> None:
    def reply(request: Request) -> Any:
        return Answer(status=400, body='{"error": {"message": "seed is not supported"}}')

    with scripted_judge(reply) as url:
        code, message = error_of(url, seed=1)
    assert code == "http_error"
    assert "HTTP 400: seed is not supported" in message


def test_response_format_of_ones_own_is_sent_as_it_is() -> None:
    with scripted_judge() as url:
        judge_at(url, response_format={"type": "text"}).judge("a", "b")
        judge_at(url, response_format=None).judge("a", "b")
    assert url.requests[0]["response_format"] == {"type": "text"}
    assert "response_format" not in url.requests[1]


def test_a_rate_limit_is_waited_for() -> None:
    limit = Answer(status=429, headers={"Retry-After": "0.1"}, body="slow down")
    with scripted_judge(in_turn(limit, limit, verdict(0.7))) as url:
        found = judge_at(url).judge("a", "b")
    assert found["score"] == 0.7
    outcomes = [attempt["outcome"] for attempt in found["attempts"]]
    assert outcomes == ["rate_limited", "rate_limited", "answered"]
    assert found["usage"] == {"prompt_tokens": 1000, "completion_tokens": 50}


def test_an_endless_rate_limit_has_an_end() -> None:
    limit = Answer(status=429, headers={"Retry-After": "0.05"}, body="slow down")
    with scripted_judge(reply=lambda request: limit) as url:
        code, message = error_of(url)
    assert code == "rate_limited"
    assert "HTTP 429: slow down" in message
    assert "given up after 4 attempts, it asked to wait 0.05 s" in message
    assert len(url.requests) == 4


def test_a_wait_beyond_all_patience_is_not_begun() -> None:
    limit = Answer(status=429, headers={"Retry-After": "3600"})
    with scripted_judge(reply=lambda request: limit) as url:
        assert "it asked to wait 3600 s" in error_of(url)[1]
    assert len(url.requests) == 1


@pytest.mark.parametrize("answer", [Answer(status=500, body="oops"), Answer(hang_up=True)])
def test_a_hiccup_is_tried_again(answer: Answer) -> None:
    with scripted_judge(in_turn(answer, verdict(0.7))) as url:
        assert judge_at(url).judge("a", "b")["score"] == 0.7
    assert len(url.requests) == 2


def test_an_account_without_credit_is_not_tried_again() -> None:
    spent = Answer(status=429, body='{"error": {"message": "x", "code": "insufficient_quota"}}')
    with scripted_judge(reply=lambda request: spent) as url:
        error_of(url)
    assert len(url.requests) == 1


def test_a_slow_judge_is_a_timeout_and_is_not_asked_again() -> None:
    with scripted_judge(reply=lambda request: Answer("x", delay=1.0)) as url:
        code, message = error_of(url, timeout=0.2)
    assert code == "timeout"
    assert "no complete answer within 0.2 s (--judge-timeout)" in message
    assert len(url.requests) == 1


def test_nobody_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_voiceeval.judge.endpoint.ATTEMPTS", 1)
    url = "http://127.0.0.1:9/v1/chat/completions?api_key=sesame&v=2024-01"
    code, message = error_of(JudgeUrl(url))
    assert code == "unreachable"
    assert "Connection refused" in message
    assert "http://127.0.0.1:9/v1/chat/completions?api_key=***&v=***" in message
    assert "sesame" not in message


def test_secrets_that_an_endpoint_repeats_are_masked(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")

    def reply(request: Request) -> Answer:
        body = f"no such key: {request['headers']['authorization']}, {request['path']}"
        return Answer(status=401, body=body)

    with scripted_judge(reply) as url:
        judge = LLMJudge(f"{url}?api_key=open-sesame", "m", api_key="sk-abcdefgh")
        found = judge.judge("a", "b")
    text = json.dumps(found) + repr(judge) + repr(vars(judge)) + caplog.text
    assert "no such key: Bearer ***" in text
    assert "sesame" not in text
    assert "sk-abcdefgh" not in text


def test_the_beginning_of_a_key_is_a_secret_too() -> None:
    reply = Answer(status=401, body="Incorrect API key provided: sk-abcdefg...wxyz")
    with scripted_judge(lambda request: reply) as url:
        found = LLMJudge(url, "m", api_key="sk-abcdefghijklmnopqrstuvwxyz").judge("a", "b")
    assert "provided: ***" in found["reason"]
    assert "sk-abcdef" not in json.dumps(found)


def test_usage_that_was_not_reported_is_unknown() -> None:
    with scripted_judge(reply=lambda request: Answer('{"score": 1}', usage=None)) as url:
        assert judge_at(url).judge("a", "b")["usage"] is None
