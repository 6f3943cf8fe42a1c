"""A language model as the caller, by the options: an endpoint that plays the caller's side."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pytest_voiceeval.bots.script_player import Script
from pytest_voiceeval.bots.scripted_model import serve_scripted_model
from pytest_voiceeval.plugin.engine import Engine
from pytest_voiceeval.scenario.registry import get_eval_scenario
from tests.integration.conftest import Run
from tests.integration.endpoints import Serve, hold, serve
from tests.integration.packs import write_pack
from tests.unit.call_llm.provider import Request, Rule, Say, hang_up

__all__ = ["hold", "serve"]

ITEM = "eva_airline::cancellation_refund"
Results = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def endpoint() -> Iterator[str]:
    scenario = get_eval_scenario("eva_airline__cancellation_refund")
    assert scenario is not None
    assert scenario.reference_dialogue is not None
    engine = Engine()
    model = engine.hold(serve_scripted_model())
    model.play("caller", Script(scenario.reference_dialogue, role="user"))
    yield model.url("caller")
    engine.stop()


def test_a_model_calls_the_agent(run: Run, results: Results, endpoint: str) -> None:
    result = run(ITEM, "--caller-url", endpoint, "--caller-model", "scripted")
    result.assert_outcomes(passed=1)
    [line] = results()
    assert line["tokens"]["user"]["calls"] >= 8


def test_a_caller_without_its_key_is_not_the_agents_fault(run: Run, endpoint: str) -> None:
    options = ["--caller-url", endpoint, "--caller-model", "x", "--caller-api-key-name", "NO_KEY"]
    result = run(ITEM, *options)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["caller_failed: *", "*NO_KEY*"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--caller-url", "http://x/v1"], "--caller-url and --caller-model go together*"),
        (
            ["--caller-url", "ftp://x", "--caller-model", "m"],
            "the caller's model: 'ftp://x' is not its address*",
        ),
        (
            ["--caller-url", "http://x/v1", "--caller-model", "m", "--user-url", "ws://x"],
            "--caller-url lets a model call the agent*",
        ),
    ],
)
def test_wrong_caller_options_are_one_usage_error(
    run: Run, options: list[str], message: str
) -> None:
    result = run(ITEM, *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*ERROR: {message}"])


KEY = "sk-planted-in-the-environment"


def by_rule(request: Request) -> Say:
    """A caller of one of two kinds: one talks and says goodbye, one hangs up at once."""
    prompt, *talk = [message["content"] for message in request.body["messages"]]
    if "to hang up" in prompt:
        return hang_up("<think>Nothing for me.</think>", reason="refused", last_words="No. Bye.")
    return Say("<think>They greet me.</think>How are you?" if len(talk) == 1 else "Fine. Bye.")


def test_a_model_calls_with_sound(
    run: Run,
    results: Results,
    serve: Serve,
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A bot of ours is its voice; what it thinks is not spoken, its end is one of its own."""
    monkeypatch.setenv("CALLER_KEY", KEY)
    write_pack(
        pytester.path, ["talks", "leaves"], extra='\nS1.user_task = Task(goal="to hang up")\n'
    )
    provider = serve(Rule(by_rule))
    model = ["--caller-url", provider.url, "--caller-model", "m", "--caller-seed", "7"]
    options = [*model, "--caller-rpm", "600", "--caller-api-key-name", "CALLER_KEY"]
    result = run("--domain", "shop", "--modality", "audio", *options, "--min-agent-turns", "0")
    result.assert_outcomes(passed=1, failed=1)

    ended = {line["scenario"]: line for line in results()}
    talks, leaves = ended["shop__talks"], ended["shop__leaves"]
    assert (talks["end_reason"], talks["modality"]) == ("exit", "audio")
    assert (leaves["end_reason"], leaves["signals"]["clean_exit"]) == ("caller_hangup", False)
    assert leaves["end_detail"] == "the caller hung up: refused"
    for line, said in ((talks, ["How are you?", "Fine. Bye."]), (leaves, ["No. Bye."])):
        assert line["tokens"]["user"]["prompt"] == 100 * line["tokens"]["user"]["calls"]
        assert any("thinking was left out" in text for text in line["warnings"])
        folder = pytester.path / "out" / line["artifacts"]
        turns = json.loads((folder / "transcript.json").read_text(encoding="utf-8"))
        assert [t["text"] for t in turns if t["role"] == "user"] == said
    asked = [
        sum(line["tokens"]["user"]["calls"] for line in ended.values()),
        len(provider.requests),
    ]
    assert asked[0] == asked[1], "each answer is counted"
    assert all(r.headers["authorization"] == f"Bearer {KEY}" for r in provider.requests)
    assert {request.body["seed"] for request in provider.requests} == {7}
    written = [path for path in (pytester.path / "out").rglob("*") if path.is_file()]
    assert not [path for path in written if KEY.encode() in path.read_bytes()]
    assert KEY not in result.stdout.str() + result.stderr.str()
