"""Faults of tools like this, as trials on a bot made for each; ids are those of their list."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_voiceeval.call.errors import AgentStateFailed
from pytest_voiceeval.call.result import EndReason
from pytest_voiceeval.call.state_probe import StateProbe


async def test_a_second_call_begins_with_the_initial_state(kit: Any) -> None:
    """TT-17: an agent that keeps its database is told to go back, in every call."""
    db: dict[str, Any] = {}

    def begin(arguments: Any) -> dict[str, Any]:
        db.clear()
        db.update(json.loads(arguments["shared_state_init"])["db"])
        return {"success": True}

    async def write(bot: Any, heard: str) -> None:
        db["orders"] += 1
        await bot.speak("Done.")
        await bot.exit()

    bot = kit.Bot(write)
    bot.answers["apply_initialization"] = begin
    bot.answers["get_scenario_summary"] = lambda _: {"actions": [], "db_hash": str(db["orders"])}
    scenario = kit.Scenario(state={"db": {"orders": 1}})
    async with kit.serving(bot):
        hashes = [(await kit.hold(bot, scenario=scenario)).agent.db_hash for _ in range(2)]
    assert hashes == ["2", "2"]
    assert bot.requests(connection=3)[:1] == ["reset"]


async def test_what_an_agent_sends_is_data(kit: Any, tmp_path: Path) -> None:
    """SE-11, SE-12: expressions and paths of an agent's are kept as the words they are."""
    mark = tmp_path / "created"
    code = f"__import__('pathlib').Path({str(mark)!r}).touch()"
    call = {"tool_call_id": "c1", "function_name": "../../x", "arguments": code, "result": code}

    async def reply(bot: Any, heard: str) -> None:
        await bot.send(
            ("metrics", {"tokens": [{"prompt_tokens": code, "completion_tokens": 3}]}),
            ("metrics", {"tokens": code, "ttfb": code}),
            ("llm-function-call-in-progress", call),
            ("llm-function-call-stopped", call),
            ("server-message", {"type": "action-applied", "action": {"name": code}}),
            ("server-message", code),
        )
        await bot.speak(code)
        await bot.exit()

    bot = kit.Bot(reply, get_context_history={"context": code})
    bot.answers["get_scenario_summary"] = {"actions": [{"name": code}], "db_hash": code, "db": code}
    async with kit.serving(bot):
        conversation = await kit.hold(bot, include_db=True)
    assert conversation.end_reason is EndReason.EXIT
    assert not mark.exists()
    [seen] = [each for each in conversation.tool_calls if each.name == "../../x"]
    assert seen.result == code
    assert conversation.agent.db == code
    assert any("context history cannot be read" in text for text in conversation.warnings)


async def test_an_exception_without_words_is_an_error_with_its_type(kit: Any) -> None:
    """TT-15."""

    def read(*_: Any) -> Any:
        raise LookupError

    bot = kit.Bot(kit.leaving())
    async with kit.serving(bot):
        with pytest.raises(AgentStateFailed, match=r"agent_state \(conftest\.py:7\).*LookupError"):
            await kit.hold(
                bot, state=StateProbe(Any, "s", read, None, "agent_state (conftest.py:7)")
            )
