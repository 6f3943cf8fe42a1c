"""Who talks to the agent. A caller sees the transcript and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_voiceeval.call.caller_state import HeldState
    from pytest_voiceeval.call.result import SideRecord, ToolCallSeen, Utterance
    from pytest_voiceeval.call.tap import Tap
    from pytest_voiceeval.scenario.dialogue import Dialogue

GOODBYE = "No, that is all. Thank you very much, goodbye."


@dataclass(frozen=True)
class Say:
    """The caller says something."""

    text: str


@dataclass(frozen=True)
class HangUp:
    """The caller ends the call, after its last words if it has any."""

    reason: str
    last_words: str | None = None


class Caller(Protocol):
    """The simulated user. An exception from any method is an ERROR that names the caller."""

    async def start(self) -> None:
        """Get ready; called once, after the agent was set up and before the talk."""

    async def reply(self, transcript: Sequence[Utterance]) -> Say | HangUp:
        """Answer the agent's last turn. Called again if the answer was empty."""

    async def close(self) -> None:
        """Free what :meth:`start` took; called however the call ended."""


@dataclass(frozen=True)
class CallerSide:
    """What a caller with a side of its own reports after the talk."""

    record: SideRecord
    tool_calls: tuple[ToolCallSeen, ...] = ()
    warnings: tuple[str, ...] = ()


@runtime_checkable
class KeepsRecord(Protocol):
    """A caller that can report its side: actions, state, tokens."""

    async def read_out(self, *, include_db: bool) -> CallerSide | None:
        """Report it, None if there is nothing; called once after the talk, before it is closed."""


@runtime_checkable
class KeepsEvents(Protocol):
    """A caller that is a bot: what it sent can be shown at any time, also after a failure."""

    @property
    def tap(self) -> Tap:
        """Its events so far."""


@runtime_checkable
class KeepsAccount(Protocol):
    """A caller that can report its side at any time, also after a failure: what it cost is due."""

    def so_far(self) -> CallerSide:
        """What is known without asking anybody."""


class ScriptedCaller:
    """Says the user's turns of a dialogue in order, then a goodbye once, then hangs up.

    Args:
        dialogue: Its agent turns are left out; what the agent says changes nothing.
        state: The caller's half of the state, with the tools that its turns call; None gives it
            none, and its calls are left out.
    """

    def __init__(self, dialogue: Dialogue, state: HeldState | None = None) -> None:
        lines = [(turn.calls, turn.text) for turn in dialogue if turn.role == "user"]
        self._lines = [*lines, ((), GOODBYE)]
        self._state = state

    @property
    def state(self) -> HeldState | None:
        """Its half of the state."""
        return self._state

    async def start(self) -> None:
        """Set up its half of the state."""
        if self._state is not None:
            await self._state.open()

    async def reply(self, transcript: Sequence[Utterance]) -> Say | HangUp:
        """The next line, after its calls, or the end of the call after the last."""
        if not self._lines:
            return HangUp("the caller had said everything, goodbye included")
        calls, text = self._lines.pop(0)
        turn = transcript[-1].turn if transcript else 1
        if self._state is not None:
            for call in calls:
                await self._state.make(call, turn)
        return Say(text)

    async def read_out(self, *, include_db: bool) -> CallerSide | None:  # noqa: ARG002 - it is here
        """Report its half of the state."""
        return None if self._state is None else self._state.side()

    async def close(self) -> None:
        """Nothing to do."""
