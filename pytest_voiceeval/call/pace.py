"""How often an agent may be asked: a call waits on the caller's side, where nobody is timed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable


class Pace(Protocol):
    """Gives the agent its turns, no faster than its model may be asked."""

    @property
    def patience(self) -> float:
        """Most seconds that a turn may have to wait."""

    @property
    def note(self) -> str | None:
        """What to say of the waits of the whole call; None if there is nothing to say."""

    def watch(self, asked: Callable[[], int]) -> None:
        """Learn from now on how often the agent's model was asked in this call so far."""

    async def turn(self) -> None:
        """Wait until the agent may be spoken to once more.

        Raises:
            CallError: It was not in time.
        """
