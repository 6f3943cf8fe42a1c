"""A planted key is in no text that could be printed, kept or logged."""

from __future__ import annotations

import asyncio
import logging
import pickle
import traceback
from typing import Any

import pytest

from pytest_voiceeval.call.caller_model import CallerModel
from pytest_voiceeval.call.errors import CallerFailed
from pytest_voiceeval.call.limits import CallLimits
from pytest_voiceeval.call.listening import blaming_caller
from pytest_voiceeval.call.llm_caller import LLMCaller
from pytest_voiceeval.wire.secret import Secret
from tests.unit.call_llm.conftest import GREETING, CallerScenario
from tests.unit.call_llm.provider import (
    Provider,
    Say,
    error,
    never,
    raw,
    reset,
    serving,
    status,
    streamed_error,
)

KEY = "sk-planted-5f2c9e77a1b04d"
QUERY = "q-planted-0d1e2f3a"
NAME = "VOICEEVAL_TEST_KEY"

ECHO = f"Incorrect API key provided: {KEY}. See {QUERY}"
FAULTS = {
    "401 with the key": error(401, ECHO),
    "the key where the text is cut": error(400, "x" * 285 + ECHO),
    "500 page with the key": status(500, f"<html><title>{ECHO}</title></html>"),
    "no JSON but the key": raw(ECHO.encode()),
    "web page with the key": raw(f"<html>{ECHO}".encode(), "text/html"),
    "the key in the stream": streamed_error(ECHO),
    "redirect with the key": status(302, "", Location=f"http://e.example/?key={KEY}"),
    "reset": reset,
    "broken off": Say("One two three four five six", cut_after=1),
    "no HTTP": raw(b"", "x/y\r\nContent-Length: many"),
    "too late": never,
}


def everything_of(error: BaseException) -> str:
    """What pytest could show of an exception: chain, source, variables of each frame."""
    found = traceback.TracebackException.from_exception(error, capture_locals=True)
    chained = [error.__cause__, error.__context__]
    texts = ["".join(found.format()), repr(error), repr(error.__dict__)]
    return "\n".join([*texts, *(everything_of(other) for other in chained if other)])


@pytest.fixture
def logs(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG)
    for name in ("asyncio", "aiohttp", "aiohttp.client", "openai", "httpx", "httpcore", "filelock"):
        caplog.set_level(logging.DEBUG, logger=name)
    return caplog


async def reply_of(answer: Any, limits: CallLimits, **settings: Any) -> LLMCaller:
    """One reply, through what a call puts around it."""
    asyncio.get_running_loop().set_debug(True)
    async with serving(Provider(answer)) as provider:
        model = CallerModel(
            f"{provider.url}?api_key={QUERY}", "m", api_key_env=NAME, attempts=2, **settings
        )
        caller = LLMCaller(CallerScenario(), model)
        try:
            async with blaming_caller("replying", limits, "caller"):
                await caller.start()
                await caller.reply(GREETING)
        finally:
            await caller.close()
        assert all(r.headers["authorization"] == f"Bearer {KEY}" for r in provider.requests)
        return caller


@pytest.mark.parametrize("name", FAULTS)
async def test_whatever_fails(
    name: str, logs: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(NAME, KEY)
    with pytest.raises(CallerFailed) as raised:
        await reply_of(FAULTS[name], CallLimits(), timeout=0.3)
    shown = everything_of(raised.value) + logs.text
    for secret in (KEY, QUERY, KEY[:12], QUERY[:12]):
        assert secret not in shown


@pytest.mark.parametrize(
    "settings", [{}, {"patience": 0.2}], ids=["cancelled from outside", "out of patience"]
)
async def test_a_request_that_is_cancelled(
    logs: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    monkeypatch.setenv(NAME, KEY)
    with pytest.raises(CallerFailed) as raised:
        await reply_of(never, CallLimits(caller=0.4), **settings)
    told = everything_of(raised.value)
    assert "/aiohttp/" not in told
    shown = told + logs.text
    assert KEY not in shown
    assert QUERY not in shown


async def test_a_call_that_works(
    logs: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(NAME, KEY)
    caller = await reply_of(Say("Hi."), CallLimits())
    side = await caller.read_out(include_db=True)
    objects = (caller, caller._client, caller._model, caller._client._key, caller.stats)
    shown = repr(side) + logs.text + "".join(f"{item!r} {item}" for item in objects[:2])
    shown += "".join(map(repr, objects[3:])) + str(objects[3])
    assert KEY not in shown
    assert QUERY not in shown
    assert KEY not in repr(objects[2])


def test_a_secret_masks_itself() -> None:
    secret = Secret(KEY)
    assert repr(secret) == "Secret('***')"
    assert f"{secret} {secret!s} {secret:}" == "*** *** ***"
    assert secret.reveal() == KEY
    assert secret == Secret(KEY) != Secret("other")
    assert len({secret, Secret(KEY)}) == 1
    with pytest.raises(TypeError, match="a secret is not pickled"):
        pickle.dumps(secret)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (f"a {KEY} b {KEY}", "a *** b ***"),
        (f"a {KEY[:-3]}", "a ***"),
        (f"a {KEY[:9]} …", "a *** …"),
        (f"a {KEY[:7]} b", f"a {KEY[:7]} b"),
        ("nothing", "nothing"),
    ],
)
def test_what_is_masked(text: str, masked: str) -> None:
    assert Secret(KEY).redact(text) == masked


def test_short_and_empty_secrets() -> None:
    assert Secret("abc").redact("abcd abc") == "***d ***"
    assert Secret("").redact("abc") == "abc"
