"""The fixture `agent_state`: what it may give, and whose turn it is."""

from __future__ import annotations

import asyncio
import functools
from pathlib import Path
from typing import Any

import pytest

from pytest_voiceeval import plugin
from pytest_voiceeval.bots.endpoint import Bot
from pytest_voiceeval.bots.pool import BotPool
from pytest_voiceeval.call.errors import AgentStateFailed
from pytest_voiceeval.plugin.lines import keeps_apart
from pytest_voiceeval.plugin.probing import Turns, agent_state_of

HERE = Path(__file__)


def read(scenario: Any, session: str, extra: str = "") -> Any:
    return {}


class Shop:
    def prepare(self, scenario: Any, session: str) -> None:
        pass

    async def __call__(self, scenario: Any, session: str) -> Any:
        return {}


def line_of(code: Any) -> int:
    return int(code.__code__.co_firstlineno)


@pytest.mark.parametrize(
    ("value", "prepares", "line"),
    [
        pytest.param(read, False, line_of(read), id="function"),
        pytest.param(functools.partial(read, extra="x"), False, line_of(read), id="partial"),
        pytest.param(Shop(), True, line_of(Shop.__call__), id="object"),
    ],
)
def test_what_it_may_give(value: Any, prepares: bool, line: int) -> None:
    state = agent_state_of(value, HERE.parent)
    assert state is not None
    assert (state.prepare is not None) is prepares
    assert state.name == f"agent_state ({HERE.name}:{line})"
    probe = state.for_call("scenario", "s-1")  # type: ignore[arg-type]
    assert (probe.scenario, probe.session, probe.name) == ("scenario", "s-1", state.name)


def test_a_state_that_an_earlier_call_left_behind_is_noted() -> None:
    notes = {}
    for value in (read, Shop()):
        state = agent_state_of(value, HERE.parent)
        assert state is not None
        for used in (False, True):
            probe = state.for_call("scenario", "s-1", used=used)  # type: ignore[arg-type]
            notes[state.prepare is not None, used] = probe.note
    assert notes.pop((False, True)) == (
        f"agent_state ({HERE.name}:{line_of(read)}) has no prepare: the agent began with what an "
        "earlier call left behind"
    )
    assert set(notes.values()) == {""}


def test_a_file_elsewhere_is_named_in_full(tmp_path: Path) -> None:
    state = agent_state_of(read, tmp_path)
    assert state is not None
    assert state.name == f"agent_state ({HERE}:{line_of(read)})"


def test_none_asks_the_agent() -> None:
    assert agent_state_of(None, HERE.parent) is None


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"orders": {}}, "gave {'orders': {}}; expected a callable (scenario, session_id) -> dict"),
        (Shop, "test_probing.Shop'>; expected a callable (scenario, session_id) -> dict"),
        (type("Odd", (Shop,), {"prepare": 3})(), "its prepare is 3, no method"),
    ],
)
def test_anything_else_is_refused(value: Any, says: str) -> None:
    with pytest.raises(AgentStateFailed, match=r"^the fixture 'agent_state'") as caught:
        agent_state_of(value, HERE.parent)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("urls", "apart"),
    [
        (["ws://a/ws/{session}"], True),
        (["ws://a/ws"], False),
        (["ws://a/ws/{session}", "ws://b/ws"], False),
    ],
)
def test_a_session_in_the_url_keeps_calls_apart(urls: list[str], apart: bool) -> None:
    assert keeps_apart(BotPool([Bot(url) for url in urls])) is apart


async def test_turns_are_taken_one_at_a_time_in_one_process_and_several(tmp_path: Path) -> None:
    mine, other_process = Turns(tmp_path / "shared"), Turns(tmp_path / "shared")
    order: list[str] = []
    used: list[bool] = []

    async def use(turns: Turns, name: str) -> None:
        async with turns.one() as before:
            used.append(before)
            order.append(f"{name} begins")
            await asyncio.sleep(0.02)
            order.append(f"{name} ends")

    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        for turns, name in ((mine, "a"), (mine, "b"), (other_process, "c")):
            group.create_task(use(turns, name))
    assert [step.split()[1] for step in order] == ["begins", "ends"] * 3
    assert order.index("a begins") < order.index("b begins")
    assert used == [False, True, True]


async def test_who_is_cancelled_while_waiting_leaves_no_lock(tmp_path: Path) -> None:
    first, second = Turns(tmp_path), Turns(tmp_path)
    async with first.one():
        waiting = asyncio.create_task(second.one().__aenter__())
        await asyncio.sleep(0.02)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    async with asyncio.timeout(20):
        async with second.one():
            pass


async def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(AgentStateFailed, match=r"the lock of the agent's state in .*file/sub"):
        async with Turns(tmp_path / "file" / "sub").one():
            pass


def test_no_module_takes_the_name_of_a_fixture() -> None:
    """Python would put the module in the fixture's place once it is imported."""
    folder = Path(plugin.__file__).parent
    assert [name for name in plugin.__all__ if (folder / f"{name}.py").exists()] == []
