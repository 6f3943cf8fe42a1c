"""URLs: what is masked, and what cannot be connected to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_voiceeval.wire.errors import ConnectFailed
from pytest_voiceeval.wire.urls import check_url, mask_url


@pytest.mark.parametrize(
    ("url", "masked"),
    [
        ("ws://127.0.0.1:8765/ws/abc", "ws://127.0.0.1:8765/ws/abc"),
        ("ws://host/ws?token=s3cret&room=s3cret", "ws://host/ws?token=***&room=***"),
        ("ws://host/ws?a=s3;b=s3cret", "ws://host/ws?a=***&b=***"),
        ("ws://host/ws?s3cret", "ws://host/ws?***"),
        ("ws://host/ws?", "ws://host/ws?***"),
        ("ws://host/ws?to=a@s3cret", "ws://host/ws?to=***"),
        ("wss://me:s3cret@host:1/ws", "wss://***@host:1/ws"),
        ("wss://s3cret@[::1]:1/ws", "wss://***@[::1]:1/ws"),
        ("ws://host/#s3cret", "ws://host/#***"),
        ("ws://me:s3/cret@host/ws", "ws://***@host/ws"),
        ("ws://me:s3?cret@host/ws", "ws://***"),
        ("ws://me:s3#cret@host/ws", "ws://***"),
        ("ws://me:33?44@host/ws", "ws://***"),
        ("ws://me:33#44@host/ws", "ws://***"),
        ("me:s3?cret@host", "***"),
        ("me:s3cret@host/ws", "***@host/ws"),
        ("ws://[::1/ws", "ws://***"),
        ("ws://ho\nst/ws\x1b[31m", "ws://ho_st/ws_[31m"),
        ("ws://me:a://s3cret@host/ws", "ws://***@host/ws"),
        ("ws://host/to/http://other", "ws://host/to/http://other"),
        ("me:s3cret://host", "***"),
        ("", ""),
    ],
)
def test_mask(url: str, masked: str) -> None:
    assert mask_url(url) == masked
    assert "s3" not in masked


secret = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1).map(
    "QZ{}ZQ".format
)


@given(secret, secret)
def test_secrets_never_pass(user: str, value: str) -> None:
    masked = mask_url(f"ws://me:{user}@host:8765/ws?token={value}#{value}")
    assert "QZ" not in masked
    assert "ZQ" not in masked


@given(st.text())
def test_any_text_is_masked_to_one_line(url: str) -> None:
    assert len(mask_url(url).splitlines()) <= 1


@pytest.mark.parametrize(
    "url",
    [
        "ws://localhost",
        "wss://bot.example.org/ws?token=x",
        "ws://[::1]:8765/ws",
        "WS://1.2.3.4:1",
        "ws://me:pw@host/ws",
    ],
)
def test_good_addresses(url: str) -> None:
    check_url(url)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        (
            "http://host/?key=s3cret",
            "'http://host/?key=***' is not a bot's address: its scheme is 'http'",
        ),
        ("localhost:8765", "it has no scheme"),
        ("", "it has no scheme"),
        ("ws://", "it names no host"),
        ("ws://:80/", "it names no host"),
        ("ws://::1:8765/ws", "an IPv6 address needs brackets, as in ws://[::1]:8765"),
        ("ws://host:99999", "its host or port is malformed"),
        ("ws://host:port", "its host or port is malformed"),
        ("ws://[::1", "its host or port is malformed"),
        ("ws://host:0", "port 0 cannot be connected to"),
        ("ws://host/#s3cret", "it has a fragment"),
        ("ws://host/a b", "it holds blanks or control characters"),
        ("ws://host/\r\nX: s3cret", "it holds blanks or control characters"),
    ],
)
def test_bad_addresses(url: str, told: str) -> None:
    with pytest.raises(ConnectFailed) as caught:
        check_url(url)
    assert told in str(caught.value)
    assert "expected ws://HOST:PORT/PATH" in str(caught.value)
