from __future__ import annotations

from typing import Any

import pytest

from pytest_voiceeval.bots.endpoint import (
    Bot,
    BotUrlError,
    ExitInfo,
    coerce_bots,
    parse_bot_urls,
    session_url,
)


def test_a_plain_url_is_a_bot_of_one_call() -> None:
    assert Bot("ws://host:8765").max_calls == 1
    assert Bot("wss://host/path", 3).max_calls == 3


def test_a_session_url_is_a_bot_of_many_calls_unless_told_otherwise() -> None:
    assert Bot("ws://host/ws/{session}").max_calls == 16
    assert Bot("ws://host/ws/{session}", 1).max_calls == 1


def test_bots_are_values() -> None:
    assert Bot("ws://h:1", 2) == Bot("ws://h:1", max_calls=2)
    assert len({Bot("ws://h:1"), Bot("ws://h:1"), Bot("ws://h:2")}) == 2


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://h:1", "its scheme is 'http'"),
        ("h:8765", "it has no scheme"),
        ("ws://", "it names no host"),
        ("ws://h:99999", "host or port is malformed"),
        ("ws://h:1/a b", "blanks or control characters"),
        ("ws://h:1/{call}", "only {session} may stand in braces"),
        ("ws://{session}:1/", "only {session} may stand in braces, and not in the host"),
        (7, "must be a text, not int"),
        (None, "must be a text, not NoneType"),
    ],
)
def test_refuses_what_is_no_websocket_address(url: Any, problem: str) -> None:
    with pytest.raises(BotUrlError) as caught:
        Bot(url)
    assert problem in str(caught.value)


@pytest.mark.parametrize("number", [0, -1, 1.5, True, "2"])
def test_refuses_numbers_of_calls_that_are_none(number: Any) -> None:
    with pytest.raises(BotUrlError, match="max_calls must be 1 or more, not"):
        Bot("ws://h:1", number)


def test_secrets_of_a_url_are_never_shown() -> None:
    bot = Bot("wss://me:hunter2@h:1/ws?token=t0ps3cret")
    assert bot.url == "wss://me:hunter2@h:1/ws?token=t0ps3cret"
    assert "hunter2" not in repr(bot)
    assert "t0ps3cret" not in repr(bot)
    with pytest.raises(BotUrlError) as caught:
        Bot("http://me:hunter2@h:1/ws?token=t0ps3cret")
    assert "hunter2" not in str(caught.value)
    assert "t0ps3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("session", "path"),
    [
        ("abc-1", "abc-1"),
        ("eva_airline::1_1_3#2", "eva_airline%3A%3A1_1_3%232"),
        ("a/b c?", "a%2Fb%20c%3F"),
        ("..", "%2E%2E"),
        ("é", "%C3%A9"),
    ],
)
def test_a_calls_id_is_encoded_into_the_url(session: str, path: str) -> None:
    assert session_url("ws://h:1/ws/{session}", session) == f"ws://h:1/ws/{path}"


def test_a_url_without_session_stays_and_an_empty_id_is_refused() -> None:
    assert session_url("ws://h:1/ws", "abc") == "ws://h:1/ws"
    with pytest.raises(BotUrlError, match="the id of the call is empty"):
        session_url("ws://h:1/{session}", "")


def test_urls_given_as_texts() -> None:
    assert parse_bot_urls(["ws://a:1", "ws://b:1"], "--agent-url") == [
        Bot("ws://a:1"),
        Bot("ws://b:1"),
    ]


@pytest.mark.parametrize(
    "value",
    ["ws://a:1", Bot("ws://a:1"), ["ws://a:1"], ("ws://a:1",), [Bot("ws://a:1")]],
    ids=["url", "bot", "list of urls", "tuple", "list of bots"],
)
def test_what_a_fixture_may_return(value: Any) -> None:
    assert coerce_bots(value, "agent_bot") == [Bot("ws://a:1")]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "agent_bot gave a NoneType; expected a WebSocket URL, a Bot(url, max_calls), or"),
        ({"url": "ws://a:1"}, "agent_bot gave a dict"),
        ([], "agent_bot: the list of bots is empty"),
        ([b"ws://a:1"], "agent_bot gave a bytes"),
        ("localhost:8765", "agent_bot: 'localhost:8765' is not a bot's address"),
        (["ws://a:1", "ws://a:1"], "agent_bot names ws://a:1 twice; a bot that takes several"),
    ],
)
def test_says_what_a_fixture_may_return(value: Any, text: str) -> None:
    with pytest.raises(BotUrlError) as caught:
        coerce_bots(value, "agent_bot")
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize(
    ("exit_info", "text"),
    [
        (ExitInfo(3, None, asked=False), "exit code 3"),
        (ExitInfo(None, 9, asked=False), "killed by SIGKILL"),
        (ExitInfo(None, 15, asked=True), "killed by SIGTERM, as the harness asked"),
        (ExitInfo(None, 999, asked=False), "killed by signal 999"),
    ],
)
def test_an_exit_in_words(exit_info: ExitInfo, text: str) -> None:
    assert exit_info.describe() == text
