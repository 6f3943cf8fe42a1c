"""The bot as a process: how it starts, what it is told, how it ends."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_voiceeval.wire.errors import ConnectionLost, ProtocolBroken, RequestRefused

if TYPE_CHECKING:
    from tests.conformance.stock_bot.conftest import Bot, FakeModel, Model, StartBot


def test_ready_line(bot: Bot) -> None:
    port = bot.ready["port"]
    assert bot.ready == {
        "event": "ready",
        "url": f"ws://127.0.0.1:{port}/ws/{{session}}",
        "port": port,
        "pid": bot.process.pid,
        "role": "agent",
    }


async def test_ends_at_sigterm_with_a_hung_model(
    model: FakeModel, session: str, start_bot: StartBot
) -> None:
    model.models[session] = model.hang
    with start_bot("--role", "user", "--llm-url", model.url) as bot:
        assert bot.ready["role"] == "user"
        async with bot.talk(session) as talk:
            await talk.turn("hello", last="bot-llm-started")
            bot.process.terminate()
            start = time.monotonic()
            # In a thread, so that our side can answer the closing handshake: 0.5 s here, more on
            # a busy machine.
            assert await asyncio.to_thread(bot.process.wait, 10) == 0
            assert time.monotonic() - start < 5
            with pytest.raises(ConnectionLost):
                await talk.until("bot-llm-stopped")
        assert bot.process.stdout is not None
        assert bot.process.stdout.read() == "", "stdout holds the ready line only"


async def test_unreachable_model_is_asked_again_then_a_fatal_error(
    session: str, start_bot: StartBot
) -> None:
    with start_bot("--role", "agent", "--llm-url", "http://127.0.0.1:9/v1") as bot:
        async with bot.talk(session) as talk:
            seen = await talk.turn("hello", last="error")
            while not seen[-1].data["fatal"]:
                seen += await talk.until("error")
    told = seen.of_type("error")
    words = "the endpoint http://127.0.0.1:9/v1 cannot be reached (ConnectError: "
    assert all(data["error"].startswith(words) for data in told)
    assert [data["fatal"] for data in told] == [False, False, False, True]
    assert ["; asked again after " in data["error"] for data in told] == [True, True, True, False]
    assert told[-1]["model_endpoint"] == {"status": None, "spent": False}


async def test_fault_crashes(
    model: FakeModel, session: str, echo: Model, start_bot: StartBot
) -> None:
    model.models[session] = echo
    with start_bot("--role", "agent", "--llm-url", model.url, "--fault", "crashes") as bot:
        async with bot.talk(session) as talk:
            await talk.turn("one")
            await talk.turn("two")
            with pytest.raises(ConnectionLost):
                await talk.until("bot-ready")
        assert bot.process.wait(5) == 13
        assert "simulated fault 'crashes'" in bot.log.read_text().splitlines()[-1]


async def test_fault_garbage(
    model: FakeModel, session: str, echo: Model, start_bot: StartBot
) -> None:
    model.models[session] = echo
    with start_bot("--role", "agent", "--llm-url", model.url, "--fault", "garbage") as bot:
        async with bot.talk(session) as talk:
            await talk.turn("one")
            await talk.turn("two")
            with pytest.raises(ProtocolBroken):
                await talk.turn("three")


async def test_configuration_file(
    model: FakeModel, session: str, tmp_path: Path, start_bot: StartBot
) -> None:
    model.models[session] = lambda messages: [f"{messages[0]['role']} {messages[0]['content']}."]
    file = tmp_path / "bot.yaml"
    file.write_text(
        f"llm: {{base_url: '{model.url}', system_prompt: hi, system_role: developer}}\n"
        f"server: {{talk_first: true, log_file: '{tmp_path / 'own.log'}'}}\n"
    )
    options = ("--role", "agent", "--api-key-name", "MY_KEY")
    with start_bot(*options, SERVER_CONFIG_PATH=str(file), MY_KEY="k-123") as bot:
        async with bot.talk(session) as talk:
            seen = await talk.answer()
            assert seen.text == "developer hi."
        async with bot.talk(session) as talk:  # goes on with the conversation, no second greeting
            seen = await talk.turn("hello")
            assert len(seen.of_type("bot-llm-started")) == 1
        assert "Pipecat" in (tmp_path / "own.log").read_text()
        assert "k-123" not in bot.log.read_text()
    assert "Bearer k-123" in model.keys


async def test_tracebacks_in_the_log_show_no_values(bot: Bot, session: str) -> None:
    init = {"shared_state_init": '{"db": {"secret": "pa55", "x": NaN}}'}
    async with bot.talk(session) as talk:
        await talk.request("apply_initialization", init)
        with pytest.raises(RequestRefused):
            await talk.request("get_scenario_summary")
    log = bot.log.read_text()
    assert "Traceback" in log
    assert "pa55" not in log


async def test_the_key_of_another_provider_is_not_sent(
    bot: Bot, model: FakeModel, session: str, echo: Model
) -> None:
    model.models[session] = echo
    async with bot.talk(session) as talk:
        await talk.turn("hello")
    assert "Bearer not-needed" in model.keys
    assert not any("not for this endpoint" in str(key) for key in model.keys)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        pytest.param([], "the model's address must be an http(s) URL, got ''", id="no-model"),
        pytest.param(
            ["--llm-url", "http://x/v1", "--host", "203.0.113.1"],
            "cannot use 203.0.113.1 port 0",
            id="foreign-address",
        ),
    ],
)
def test_refuses_to_start(options: list[str], error: str) -> None:
    command = [sys.executable, "-m", "pytest_voiceeval.bots.stock", "--role", "agent", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.splitlines()[-1].startswith(f"voiceeval bot: error: {error}")
