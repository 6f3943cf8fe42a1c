"""Options of models, cost and offline runs: what they come to, and what is refused."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from pytest_voiceeval.plugin import model_options
from pytest_voiceeval.plugin.model_agent import AgentModel
from pytest_voiceeval.plugin.options import OPTIONS, Settings
from pytest_voiceeval.wire import urls

KEY = "sk-planted-0123456789"
LLM: dict[str, Any] = {"--agent-model": "m", "--agent-llm-url": "http://127.0.0.1:1/v1"}
SPOKEN = {"--modality": "audio"}
PRICES = 'date = 2026-11-30\n[[model]]\nnames = ["m"]\ninput = 1\noutput = 2\n'


def read(base: Path = Path(), **given: Any) -> model_options.ModelSettings:
    return read_flags(base, {f"--{name.replace('_', '-')}": value for name, value in given.items()})


def read_flags(base: Path, given: dict[str, Any]) -> model_options.ModelSettings:
    return model_options.read({option.flag: option.default for option in OPTIONS} | given, base)


def test_nothing_given_is_the_scripted_agent_without_limits() -> None:
    assert read() == model_options.ModelSettings()


def test_a_model_as_the_agent() -> None:
    given = {**LLM, "--agent-api-key-name": "K", "--agent-temperature": 0.0, "--agent-seed": 7}
    agent = read_flags(Path(), given).agent
    assert agent == AgentModel("http://127.0.0.1:1/v1", "m", "K", 0.0, 7)
    assert agent.bot_options == ("--api-key-name=K", "--temperature=0.0", "--seed=7")


def test_the_rate_of_an_agents_model() -> None:
    assert read_flags(Path(), {**LLM, "--agent-rpm": 60}).agent_rpm == 60
    calls = {"--caller-url": "http://x/v1", "--caller-model": "m"}
    assert read_flags(Path(), {**LLM, **SPOKEN, **calls, "--agent-rpm": 60}).agent_rpm == 60


def test_paths_are_below_the_current_folder(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(PRICES)
    assert read(tmp_path, price_table=["own.toml"]).price_tables == (tmp_path / "own.toml",)


def test_the_settings_of_a_run_show_no_key_in_a_traceback() -> None:
    given: dict[str, Any] = dict.fromkeys(field.name for field in fields(Settings))
    url = f"https://api.example/v1?api_key={KEY}"
    given |= {"caller_url": url, "agent_url": (f"ws://u:{KEY}@x/?t={KEY}",)}
    given |= {
        "agent_cmd": f"bot --api-key {KEY}",
        "models": read_flags(Path(), LLM | {"--agent-llm-url": url}),
    }
    settings = Settings(**given)
    assert "api.example" in repr(settings)
    assert KEY not in repr(settings)
    assert KEY not in repr(settings.models)


TOGETHER = "--agent-model and --agent-llm-url go together: give both"
TWO = "--agent-model lets a language model be the agent and {} .*: give one"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"--agent-model": "m"}, TOGETHER),
        ({"--agent-llm-url": "http://x/v1"}, TOGETHER),
        ({"--agent-seed": 7}, "--agent-seed is about a model: give --agent-model, too"),
        ({"--agent-api-key-name": "K"}, "--agent-api-key-name is about a model"),
        ({**LLM, "--agent-url": ["ws://x"]}, TWO.format("--agent-url")),
        ({**LLM, "--agent-cmd": "x"}, TWO.format("--agent-cmd")),
        ({**LLM, "--agent-fault": "hangs"}, TWO.format("--agent-fault")),
        ({**LLM, "--script": "x.json"}, TWO.format("--script")),
        ({**LLM, "--agent-llm-url": "ftp://x"}, "--agent-llm-url: 'ftp://x' is no address of a"),
        ({**LLM, "--agent-llm-url": f"http://u:{KEY}@x/v1"}, r"'http://\*\*\*@x/v1' is no address"),
        ({**LLM, "--agent-model": " "}, "--agent-model is empty"),
        ({**LLM, "--agent-temperature": 3.0}, "--agent-temperature must be between 0 and 2, not 3"),
        ({**LLM, "--agent-temperature": float("nan")}, "--agent-temperature must be between"),
        ({**LLM, "--agent-max-tokens": 0}, "--agent-max-tokens must be between 1 and"),
        ({"--agent-rpm": 60}, "--agent-rpm is about a model: give --agent-model, too"),
        ({**LLM, "--agent-rpm": 0}, "--agent-rpm must be between 1 and 1000000, not 0"),
        ({"--caller-rpm": 0}, "--caller-rpm must be between 1 and 1000000, not 0"),
        ({"--caller-temperature": float("nan")}, "--caller-temperature must be between 0 and 2"),
        ({"--caller-max-tokens": -1}, "--caller-max-tokens must be between 1 and"),
        ({**LLM, **SPOKEN, "--agent-rpm": 9}, "--agent-rpm lets the caller wait .* --caller-url"),
        ({"--max-cost": 0.0}, "--max-cost must be a positive number of dollars, not 0"),
        ({"--max-cost": float("nan")}, "--max-cost must be a positive number of dollars"),
        ({"--price-table": ["none.toml"]}, "--price-table: the price table cannot be read: .*none"),
        (
            {**LLM, "--max-cost": 1.0},
            r"--max-cost: there is no price of 'm' at http://127.0.0.1:1/v1 \(--agent-model\)",
        ),
        (
            {"--caller-model": "c", "--caller-url": "http://x/v1", "--max-cost": 1.0},
            r"--max-cost: there is no price of 'c' at http://x/v1 \(--caller-model\)",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else "",
)
def test_what_cannot_be_is_a_usage_error(given: dict[str, Any], message: str) -> None:
    with pytest.raises(pytest.UsageError, match=message) as raised:
        read_flags(Path(), given)
    assert KEY not in str(raised.value)


def test_a_limit_with_prices_for_all_models(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(PRICES)
    given = {**LLM, "--max-cost": 0.5, "--price-table": ["own.toml"]}
    assert read_flags(tmp_path, given).max_cost == 0.5


# -- offline

HERE = ("localhost", "LOCALHOST", "127.0.0.1", "127.8.9.10", "[::1]", "my-box")
ELSEWHERE = (
    "example.org",
    "10.0.0.1",
    "0.0.0.0",
    "[::]",
    "localhost.example.org",
    "127.0.0.1.example.org",
    "two-homes",
    "127.0.0.1@example.org",
)


@pytest.fixture
def hosts_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "hosts"
    file.write_text(
        "127.0.1.1 my-box # ours\n::1 my-box\n127.0.0.1 two-homes\n10.0.0.1 two-homes\n"
        "# 127.0.0.1 example.org\n"
    )
    monkeypatch.setattr(urls, "HOSTS_FILE", file)


@pytest.mark.usefixtures("hosts_file")
@pytest.mark.parametrize("flag", ["--agent-url", "--user-url", "--caller-url", "--judge-url"])
@pytest.mark.parametrize("host", HERE + ELSEWHERE)
def test_offline_runs_connect_to_this_machine_only(flag: str, host: str) -> None:
    url = f"ws://{host}:8765/?token={KEY}"
    given = {"--voice-offline": True, flag: [url] if flag in {"--agent-url", "--user-url"} else url}
    if host in HERE:
        assert read_flags(Path(), given).offline
        return
    with pytest.raises(pytest.UsageError, match=f"^--voice-offline: {flag} names ws://") as raised:
        read_flags(Path(), given)
    assert KEY not in str(raised.value)


@pytest.mark.usefixtures("hosts_file")
def test_offline_models_of_the_agent() -> None:
    assert read_flags(Path(), {**LLM, "--voice-offline": True}).offline
    given = {**LLM, "--agent-llm-url": "https://api.example.org/v1", "--voice-offline": True}
    with pytest.raises(pytest.UsageError, match="--voice-offline: --agent-llm-url names https://"):
        read_flags(Path(), given)


def test_a_machine_without_a_hosts_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(urls, "HOSTS_FILE", tmp_path / "none")
    assert urls.is_loopback("ws://localhost")
    assert not urls.is_loopback("ws://my-box")
    assert not urls.is_loopback("ws://[half")
