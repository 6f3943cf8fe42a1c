"""The fixture `agent_state`: what it may give, and whose turn it is where calls share a state."""

from __future__ import annotations

import asyncio
import functools
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.call.errors import AgentStateFailed
from pytest_voiceeval.call.state_probe import StateProbe
from pytest_voiceeval.plugin.outcome import VERDICTS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from filelock import FileLock

    from pytest_voiceeval.call.state_probe import StateFunction
    from pytest_voiceeval.scenario.model import Scenario

USED = "agent_state.used"
"""The file that tells whether a call of this run has used the agent's state."""
POLL = 0.05
"""Seconds between two looks at the turn of another process."""

EXPECTED = (
    "expected a callable (scenario, session_id) -> dict, which may have a method "
    "prepare(scenario, session_id), or None"
)


@dataclass(frozen=True, slots=True)
class AgentState:
    """What a user's fixture gave, checked.

    Attributes:
        read: Learns the state.
        prepare: Sets it, None if it needs no setting.
        name: What errors call it.
    """

    read: StateFunction
    prepare: StateFunction | None
    name: str

    def for_call(self, scenario: Scenario, session: str, *, used: bool = False) -> StateProbe:
        """The probe of one call; ``used``: an earlier call of the run had the same state."""
        note = f"{self.name} has no prepare: the agent began with what an earlier call left behind"
        unset = note if used and self.prepare is None else ""
        return StateProbe(
            scenario, session, self.read, self.prepare, self.name, VERDICTS, note=unset
        )


def agent_state_of(value: Any, base: Path) -> AgentState | None:
    """Check what the fixture gave; None stays None.

    Args:
        value: The fixture's value.
        base: Folder from which errors name files.

    Raises:
        AgentStateFailed: It cannot be called.
    """
    if value is None:
        return None
    prepare = getattr(value, "prepare", None)
    if not callable(value) or isinstance(value, type):
        raise AgentStateFailed(f"the fixture 'agent_state' gave {value!r:.80}; {EXPECTED}")
    if prepare is not None and not callable(prepare):
        raise AgentStateFailed(
            f"the fixture 'agent_state': its prepare is {prepare!r:.80}, no method"
        )
    return AgentState(value, prepare, f"agent_state ({_place(value, base)})")


def _place(value: Any, base: Path) -> str:
    """Where the code of a callable is."""
    while isinstance(value, functools.partial):
        value = value.func
    code = getattr(value, "__code__", None) or getattr(type(value).__call__, "__code__", None)
    if code is None:
        return type(value).__name__
    file = Path(code.co_filename)
    shown = file.relative_to(base) if file.is_relative_to(base) else file
    return f"{shown}:{code.co_firstlineno}"


class Turns:
    """Lets one call at a time use a state that all calls of a run share.

    Args:
        folder: A folder that all processes of the run see; made if missing.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._here = asyncio.Lock()

    @asynccontextmanager
    async def one(self) -> AsyncIterator[bool]:
        """Have the turn; others wait as long as it takes, in this process in their order.

        The value is whether an earlier call of the run had it.
        """
        async with self._here:
            lock = await self._take()
            try:
                used = self._folder / USED
                before = used.exists()
                used.touch()
                yield before
            finally:
                lock.release()

    async def _take(self) -> FileLock:
        from filelock import FileLock, Timeout

        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self._folder / "agent_state.lock", thread_local=False)
            while True:
                try:
                    lock.acquire(blocking=False)
                except Timeout:
                    await asyncio.sleep(POLL)
                else:
                    return lock
        except OSError as error:
            raise AgentStateFailed(
                f"the lock of the agent's state in {self._folder} cannot be used: {error}"
            ) from error
