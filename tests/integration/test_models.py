"""A language model as the agent, by options alone: `--agent-model` and what goes with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.integration.conftest import Run
from tests.integration.endpoints import ITEM, Serve, hold, players, serve
from tests.unit.call_llm.provider import Say, error

__all__ = ["hold", "players", "serve"]

Results = Callable[[], list[dict[str, Any]]]


def as_agent(url: str, *more: str) -> list[str]:
    return ["--agent-model", "scripted", "--agent-llm-url", url, *more]


def test_models_on_both_sides(
    pytester: pytest.Pytester,
    run: Run,
    results: Results,
    players: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://proxy.example:3128")
    pytester.makefile(
        ".toml", own='date = 2026-11-30\n[[model]]\nnames=["scripted"]\ninput=1\noutput=2\n'
    )
    caller = ["--caller-url", players["user"], "--caller-model", "scripted"]
    options = [*as_agent(players["agent"], "--agent-seed", "7"), *caller]
    report = ["--price-table", "own.toml", "--junitxml", "junit.xml", "--agent-rpm", "600"]
    result = run(ITEM, *options, *report, "--voice-offline")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [
            f"voiceeval: agent: stock bot, model scripted at {players['agent']}",
            f"voiceeval: caller: model scripted at {players['user']}",
            "voiceeval: offline: nothing beyond this machine is connected to",
            "cost:     $0.* in all, agent $0.*, caller $0.*, prices of 2026-11-30",
        ]
    )
    [line] = results()
    rate = json.loads((pytester.path / "out" / ".shared" / "agent-rate.json").read_text())
    assert sum(asked for _, asked in rate["asked"]) == line["model_runs"]
    assert rate["held"] == {}
    assert line["models"] == {"agent": "scripted", "user": "scripted"}
    for side in ("agent", "user"):
        tokens = line["tokens"][side]
        dollars = (tokens["prompt"] + 2 * tokens["completion"]) / 1e6
        assert line["cost"][side] == pytest.approx(dollars)
    assert line["cost"]["total"] == pytest.approx(line["cost"]["agent"] + line["cost"]["user"])
    junit = (pytester.path / "junit.xml").read_text(encoding="utf-8")
    assert '"voiceeval.agent_model" value="scripted"' in junit
    assert '"voiceeval.cost" value="0.' in junit


def test_a_model_that_runs_out_of_context(run: Run, results: Results, serve: Serve) -> None:
    provider = serve(Say("Hello, how may I help?"), error(400, "context length exceeded"))
    result = run(ITEM, *as_agent(provider.url))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*HTTP 400: context length exceeded*"])
    [line] = results()
    assert line["reasons"][0] == "agent_error"
    assert len(provider.requests) == 2, "it is not asked again"


def test_an_endpoint_that_is_overloaded_and_then_gone(
    pytester: pytest.Pytester, run: Run, results: Results, serve: Serve
) -> None:
    """It says nothing about the model, whatever was heard of it; the options beat a fixture."""
    pytester.makeconftest(
        """
        import pytest

        @pytest.fixture(scope="session")
        def agent_bot():
            raise RuntimeError("not asked for")
        """
    )
    busy = error(503, "Overloaded", Retry_After="0")
    provider = serve(busy, busy, Say("Hello, how may I help?"), error(404, "No model 'x'"))
    result = run(ITEM, *as_agent(provider.url))
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "voiceeval: agent: stock bot, model * (--agent-model beats the fixture *)",
            "agent_model_failed: the agent's model ('scripted'): the endpoint",
            f"  {provider.url} answered HTTP 404: No model 'x'; check",
            "  --agent-llm-url (the base, such as http://HOST/v1) and --agent-model",
        ]
    )
    [line] = results()
    assert line["error"]["code"] == "agent_model_failed"
    assert line["agent_turns"] == 1
    again = [text for text in line["warnings"] if "HTTP 503: Overloaded; asked again after" in text]
    assert 1 <= len(again) <= 2  # one if both pauses came out alike: a warning is given once


def test_a_key_that_is_not_there(run: Run) -> None:
    result = run(ITEM, *as_agent("http://127.0.0.1:9/v1", "--agent-api-key-name", "NO_KEY"))
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["agent_model_failed: the environment variable NO_KEY, which is to*"]
    )


def test_two_agents_are_a_usage_error(run: Run) -> None:
    result = run(ITEM, *as_agent("http://127.0.0.1:9/v1"), "--agent-fault", "hangs")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*ERROR: --agent-model lets a language model be the agent and*"])
