"""The errors and settings: texts, facts, and that they survive a trip between processes."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from pytest_voiceeval.wire import errors
from pytest_voiceeval.wire.errors import ConnectionLost, WireError, describe_close
from pytest_voiceeval.wire.settings import Deadlines, WireOptions

SAMPLES: list[WireError] = [
    errors.FrameError("t"),
    errors.EnvelopeError("t"),
    errors.ForeignLabel("t"),
    errors.ConnectFailed("t"),
    errors.HandshakeFailed("t", 1011, "r"),
    errors.BotBusy("t", 1013, "r"),
    errors.WrongProtocol("t"),
    errors.ProtocolBroken("t"),
    errors.MessageTooLarge("t", None, 5),
    errors.SendTimeout("t"),
    errors.RequestTimeout("t", "n", 1.5),
    errors.RequestRefused("t", "n", "e"),
    errors.ConnectionLost(1006, "r", "agent at ws://x", by_peer=False),
]


def test_every_class_has_a_sample() -> None:
    classes = {
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, WireError) and value is not WireError
    }
    assert {type(sample) for sample in SAMPLES} == classes


@pytest.mark.parametrize("error", SAMPLES, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("trip", [copy.copy, lambda e: pickle.loads(pickle.dumps(e))])
def test_errors_can_be_copied_and_pickled(error: WireError, trip: Any) -> None:
    back = trip(error)
    assert back is not error
    assert type(back) is type(error)
    assert str(back) == str(error)
    assert vars(back) == vars(error)


@pytest.mark.parametrize(
    ("code", "reason", "text"),
    [
        (1013, "busy", "1013 (try again later), reason 'busy'"),
        (1000, "", "1000 (normal closure)"),
        (4321, "a\nb", "4321 (application code), reason 'a\\nb'"),
    ],
)
def test_close_codes_in_words(code: int, reason: str, text: str) -> None:
    assert describe_close(code, reason) == text


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            ConnectionLost(1001, "restart", "agent at ws://x"),
            "agent at ws://x: the bot closed the connection: 1001 (going away), reason 'restart'",
        ),
        (
            ConnectionLost(1006),
            (
                "the bot: connection lost without a close frame (1006, abnormal closure); the "
                "bot's process ended or the network dropped"
            ),
        ),
        (
            ConnectionLost(1009),
            (
                "the bot: the bot closed the connection: 1009 (message too big); a message of ours "
                "was above the bot's own limit: send less at once"
            ),
        ),
        (
            ConnectionLost(1011, "keepalive ping timeout", by_peer=False),
            (
                "the bot: this side closed the connection: 1011 (internal error), reason "
                "'keepalive ping timeout'"
            ),
        ),
    ],
)
def test_connection_lost(error: ConnectionLost, text: str) -> None:
    assert str(error) == text
    assert error.abnormal is (error.code == 1006)


@pytest.mark.parametrize("value", [0, -1.0, float("inf"), float("nan")])
@pytest.mark.parametrize("name", ["connect", "ready", "request", "send", "close"])
def test_deadlines_are_positive(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"the {name} deadline must be above 0 s, got {value!r}"):
        Deadlines(**{name: value})


def test_defaults() -> None:
    assert WireOptions().max_outgoing == 1_048_576
    assert WireOptions().max_incoming == 64 * 1_048_576
    assert WireOptions().ping_timeout is None
    assert WireOptions().use_proxy is False
    assert Deadlines().request == 15.0
