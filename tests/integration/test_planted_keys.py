"""A key planted wherever one can be is in nothing that a run prints, keeps or leaves behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.conftest import Run
from tests.integration.endpoints import ITEM, Serve, hold, serve
from tests.unit.call_llm.provider import Say, error

__all__ = ["hold", "serve"]

KEYS = {
    "AGENT_KEY": "ag-9c1f-planted-8f0e1d2c3b4a",
    "CALLER_KEY": "cl-2e7b-planted-7a6b5c4d3e2f",
    "JUDGE_API_KEY": "jd-4d8a-planted-1b2c3d4e5f60",
}
IN_QUERY = "qr-6b3e-planted-99aa88bb77cc"
IN_USER = "us-1a5d-planted-55ee44dd33ff"
TALKATIVE = ("-vv", "--tb=long", "-l", "--full-trace", "-rA", "--junitxml", "out/junit.xml")

CONFTEST = """
import logging

def pytest_voiceeval_call_finished(config, nodeid, result):
    logging.getLogger("mine").warning("finished %s with %r", nodeid, config)
    raise RuntimeError("raised in a hook, under frames of the plugin")
"""
OWN_TEST = """
import pytest

@pytest.mark.voiceeval(scenario="eva_airline::cancellation_refund")
def test_mine(call, agent_bot, caller_bot, pytestconfig):
    everything = vars(pytestconfig)
    assert call.passed is None
"""


@pytest.fixture(autouse=True)
def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, key in KEYS.items():
        monkeypatch.setenv(name, key)


def agent(url: str) -> list[str]:
    return [
        *("--agent-model", "m", "--agent-llm-url", f"{url}?api_key={IN_QUERY}"),
        *("--agent-api-key-name", "AGENT_KEY"),
    ]


def caller(url: str) -> list[str]:
    return [
        *("--caller-url", f"{url}?api_key={IN_QUERY}", "--caller-model", "m"),
        *("--caller-api-key-name", "CALLER_KEY"),
    ]


def judge(url: str) -> list[str]:
    return ["--judge-url", f"{url}?api_key={IN_QUERY}", "--judge-model", "m"]


def echo(name: str) -> str:
    """What an endpoint says that repeats what it was sent."""
    return f"Bad credentials: {KEYS[name]} at /v1?api_key={IN_QUERY}"


def everything_of(result: pytest.RunResult, folder: Path) -> Iterator[tuple[str, str]]:
    """What was printed, and every file of the run, by name."""
    yield "stdout", "\n".join(result.outlines)
    yield "stderr", "\n".join(result.errlines)
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix not in {".py", ".pyc"} and path.parent != folder:
            yield str(path.relative_to(folder)), path.read_bytes().decode("utf-8", "replace")


def check(result: pytest.RunResult, folder: Path) -> None:
    """Look for the keys, and for their beginnings and ends."""
    looked_at = dict(everything_of(result, folder))
    for secret in (*KEYS.values(), IN_QUERY, IN_USER):
        for part in (secret[:12], secret[-10:]):
            leaks = [name for name, text in looked_at.items() if part in text]
            assert not leaks, secret


def test_the_agents_model(pytester: pytest.Pytester, run: Run, serve: Serve) -> None:
    provider = serve(error(401, echo("AGENT_KEY")))
    result = run(ITEM, *TALKATIVE, *agent(provider.url))
    assert "agent_model_failed" in str(result.stdout)
    assert provider.request.headers["authorization"] == f"Bearer {KEYS['AGENT_KEY']}"
    assert provider.request.path == f"/v1/chat/completions?api_key={IN_QUERY}"
    check(result, pytester.path)


def test_the_callers_model(pytester: pytest.Pytester, run: Run, serve: Serve) -> None:
    """It breaks off in mid-call, in two workers; a test of the user's own shows its variables."""
    pytester.makepyfile(test_own=OWN_TEST)
    provider = serve(Say("Thanks."), error(403, echo("CALLER_KEY")))
    result = run(ITEM, "test_own.py", *TALKATIVE, "-n", "2", *caller(provider.url))
    result.assert_outcomes(errors=2)
    assert provider.request.headers["authorization"] == f"Bearer {KEYS['CALLER_KEY']}"
    assert "caller_failed" in str(result.stdout)
    check(result, pytester.path)


def test_the_judge(pytester: pytest.Pytester, run: Run, serve: Serve) -> None:
    """It refuses its key; a hook raises below frames of ours, and all variables are shown."""
    pytester.makeconftest(CONFTEST)
    provider = serve(error(401, echo("JUDGE_API_KEY")))
    result = run(ITEM, *TALKATIVE, *judge(provider.url))
    assert provider.request.headers["authorization"] == f"Bearer {KEYS['JUDGE_API_KEY']}"
    assert "raised in a hook" in str(result.stdout)
    check(result, pytester.path)


def test_addresses_of_bots(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(test_own=OWN_TEST)
    url = f"ws://me:{IN_USER}@127.0.0.1:9/{{session}}?token={IN_QUERY}"
    result = run(ITEM, "test_own.py", *TALKATIVE, "--agent-url", url)
    result.assert_outcomes(errors=2)
    check(result, pytester.path)


def test_usage_errors(pytester: pytest.Pytester, run: Run) -> None:
    result = run(ITEM, *agent("https://api.example.org/v1"), "--voice-offline")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "--voice-offline" in str(result.stderr)
    check(result, pytester.path)
