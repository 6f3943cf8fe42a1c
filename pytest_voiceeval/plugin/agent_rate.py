"""A provider's rate limit for the agent's model, kept by all workers of a run together.

An agent that has to wait for its model looks slow, so it never waits: its caller does, before it
speaks. How often an agent asks its model in a turn nobody knows beforehand, so a turn takes as many
places as the longest one so far, and gives back what it did not need. A turn longer than all before
it is the only way past the limit, by the difference.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from pytest_voiceeval.call.errors import CallError
from pytest_voiceeval.plugin.cost import is_alive
from pytest_voiceeval.report.files import locked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

WINDOW = 60.0
"""Seconds in which no more requests may begin than the limit says."""
EXPECTED = 3
"""Requests of a turn, as long as none is known to take more."""
POLL = 0.2
"""Seconds between two looks at whether there is room."""
PATIENCE = 900.0
"""Seconds after which a turn is given up."""


class AgentRateLimit(CallError):
    """The agent could not be spoken to, because its model may not be asked that often."""

    code = "agent_rate_limit"


@dataclass(slots=True)
class _State:
    """The content of the file.

    Attributes:
        asked: Requests of turns that are over: when that was noticed, and how many.
        held: Places of turns under way, by call, with the call's process.
        waiting: Calls under way that wait for their next turn, with their process.
        largest: Most requests of a turn so far.
    """

    asked: list[tuple[float, int]] = field(default_factory=list)
    held: dict[str, tuple[int, int]] = field(default_factory=dict)
    waiting: dict[str, int] = field(default_factory=dict)
    largest: int = 0

    @classmethod
    def parse(cls, data: bytes, now: float) -> _State:
        """What was written last, without what is long ago and the calls of processes gone."""
        try:
            state = cls(**json.loads(data or b"{}"))
            # a time in the future was written by another clock
            state.asked = [(at, n) for at, n in state.asked if now - WINDOW < at <= now]
            state.held = {call: (pid, n) for call, (pid, n) in state.held.items() if is_alive(pid)}
            state.waiting = {call: pid for call, pid in state.waiting.items() if is_alive(pid)}
        except (AttributeError, TypeError, ValueError):
            return cls()
        return state

    @property
    def places(self) -> int:
        """Requests of the last minute, and those that turns under way may make."""
        return sum(n for _, n in self.asked) + sum(n for _, n in self.held.values())


class RateAccount:
    """The turns of all processes of a run.

    Args:
        file: Where they are kept.
        rpm: Requests a minute.
        clock: Seconds that all processes agree on.
    """

    def __init__(self, file: Path, rpm: int, clock: Callable[[], float] = time.time) -> None:
        self._file = file
        self._rpm = rpm
        self._clock = clock

    def reserve(self, call: str, *, first: bool) -> bool:
        """Take the places of a turn; False while there is no room.

        Calls under way go before those yet to begin, so that no more begin than can go on.
        """
        with self._state() as state:
            others = state.waiting.keys() - {call}
            wanted = max(EXPECTED, state.largest)
            # a turn that takes more than there is goes alone
            fits = state.places + wanted <= self._rpm or state.places == 0
            if fits and not (first and others):
                state.held[call] = (os.getpid(), wanted)
                state.waiting.pop(call, None)
                return True
            if not first:
                state.waiting[call] = os.getpid()
            return False

    def settle(self, call: str, asked: int) -> None:
        """The turn of a call is over, and took so many requests; it waits for no other."""
        with self._state() as state:
            state.waiting.pop(call, None)
            if state.held.pop(call, None) is not None and asked:
                state.asked.append((self._clock(), asked))
                state.largest = max(state.largest, asked)

    @contextmanager
    def _state(self) -> Iterator[_State]:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with locked(self._file) as file:
            state = _State.parse(file.read(), self._clock())
            yield state
            file.truncate(0)
            file.write(json.dumps(asdict(state)).encode())
            file.flush()


class AgentPace:
    """The turns of one call; see `Pace`.

    Args:
        account: The turns of all calls.
        call: The call's id.
    """

    patience = PATIENCE

    def __init__(self, account: RateAccount, call: str) -> None:
        self._account = account
        self._call = call
        self._asked: Callable[[], int] = int
        self._settled = 0
        self._waited = 0.0

    @property
    def note(self) -> str | None:
        """How long the caller waited for the agent's sake."""
        if self._waited < 1:
            return None
        return (
            f"the caller waited {self._waited:.1f} s before it spoke, so that the agent's model "
            "keeps to --agent-rpm"
        )

    async def open(self) -> None:
        """Wait until the call may begin, for as long as it takes."""
        while not self._account.reserve(self._call, first=True):  # noqa: ASYNC110 - other processes
            await asyncio.sleep(POLL)

    def watch(self, asked: Callable[[], int]) -> None:
        """Count requests by `asked` from now on."""
        self._asked = asked

    async def turn(self) -> None:
        """Count the turn that is over, and wait until there is room for the next.

        Raises:
            AgentRateLimit: There was none in time.
        """
        self._settle()
        began = time.monotonic()
        try:
            async with asyncio.timeout(self.patience):
                while not self._account.reserve(self._call, first=False):  # noqa: ASYNC110
                    await asyncio.sleep(POLL)
        except asyncio.CancelledError:
            self._settle()  # it waits no more
            raise
        except TimeoutError:
            raise AgentRateLimit(
                f"the agent was not spoken to for {self.patience:g} s (patience), because its "
                "model may not be asked more often (--agent-rpm): hold fewer calls at once "
                "(--voice-concurrency), or raise it"
            ) from None
        finally:
            self._waited += time.monotonic() - began

    def close(self) -> None:
        """The call is over."""
        self._settle()

    def _settle(self) -> None:
        asked = self._asked()
        self._account.settle(self._call, asked - self._settled)
        self._settled = asked
