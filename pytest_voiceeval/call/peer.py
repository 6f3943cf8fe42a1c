"""One bot in a call: its set-up connection, then its talk connection, and what it showed there."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Self

from pytest_voiceeval.call.errors import CallerFailed, SetupFailed
from pytest_voiceeval.call.ledger import Ledger
from pytest_voiceeval.call.listening import passed
from pytest_voiceeval.call.setup import SideSetup, set_up_bot
from pytest_voiceeval.call.turns import BotHabits
from pytest_voiceeval.wire.connection import Connection, Deadlines, connect
from pytest_voiceeval.wire.errors import ConnectionLost

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from types import TracebackType

    from pytest_voiceeval.call.limits import CallLimits
    from pytest_voiceeval.call.result import ExitProbe, Side
    from pytest_voiceeval.wire.backlog import Event
    from pytest_voiceeval.wire.frames import AudioFrame


class Peer:
    """The bot of one side. An async context manager: leaving it closes its connection.

    Attributes:
        side: Which one.
        limits: The call's limits.
        probe: Tells how its process ended, None for a bot we did not start.
        ledger: What its events told during the talk.
        habits: What is known about its speech.
        lost: Why its connection ended, None while it is open.
    """

    def __init__(
        self,
        side: Side,
        url: str,
        limits: CallLimits,
        *,
        single_connection: bool = False,
        probe: ExitProbe | None = None,
        audio: bool = False,
    ) -> None:
        self.side = side
        self.limits = limits
        self.probe = probe
        self.ledger = Ledger()
        self.habits = BotHabits()
        self.lost: ConnectionLost | None = None
        self._url = url
        self._single = single_connection
        self._audio = audio
        self._stack = AsyncExitStack()
        self._conn: Connection | None = None
        self._warnings: list[str] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.leave()

    async def set_up(self, setup: SideSetup) -> None:
        """Connect, tell the bot its half of the scenario, and close unless there is only one line.

        Raises:
            SetupFailed: The bot answered with a failure.
            WireError: It cannot be reached, refused, or gave no answer.
        """
        conn = await self._connect()
        silent = await set_up_bot(conn, setup, self.side, self.limits, audio=self._audio)
        self.habits.may_speak = not silent
        if not self._single:
            await self.leave()

    async def join(self) -> None:
        """Open the connection for the talk, unless the set-up's is kept.

        Raises:
            WireError: The bot cannot be reached.
        """
        conn = self._conn or await self._connect()
        self._require_voice(conn.ready.data)
        if _is_without(conn.ready.data, "audio_out"):
            self.habits.may_speak = False
        if self._single:
            # what the bot sent during the set-up is not its first turn
            give_up = time.monotonic() + self.limits.ready
            while await self.listen(None) is not None and not passed(give_up):
                pass

    def _require_voice(self, ready: Any) -> None:
        """Refuse a bot without voice or hearing for a call with sound."""
        lacks = [name for name in ("audio_in", "audio_out") if _is_without(ready, name)]
        if lacks and self._audio:
            agent = self.side == "agent"
            who, failure = ("agent", SetupFailed) if agent else ("caller's bot", CallerFailed)
            raise failure(
                f"the {who} takes part in no call with sound: its "
                f"bot-ready says {lacks[0]}: false; start it with a voice, or leave out "
                "--modality audio"
            )

    async def rejoin(self) -> bool:
        """Connect once more after a loss; False for a bot that keeps nothing across connections."""
        if self._single:
            return False
        await self.leave()
        await self._connect()
        self.lost = None
        return True

    async def leave(self) -> None:
        """Close the connection; harmless without one."""
        if self._conn is not None:
            self._warnings += self._conn.warnings
            self._conn = None
        await self._stack.aclose()

    @property
    def warnings(self) -> list[str]:
        """What the wire skipped or found odd, over all connections."""
        return [*self._warnings, *(self._conn.warnings if self._conn else ())]

    async def say(self, text: str) -> None:
        """Send words as text; the answer is asked for as text, or spoken in a call with sound."""
        with self._noting_loss():
            await self._line.send_text(text, audio_response=self._audio)

    async def send_audio(self, frame: AudioFrame) -> None:
        """Send a piece of sound, at once, however long the bot takes to read it."""
        try:
            await self._line.send_audio(frame, in_time=False)
        except ConnectionLost as lost:
            self.lost = lost
            raise

    async def events(self) -> AsyncIterator[Event]:
        """All it sends, sound included, to the end of the connection.

        Raises:
            ConnectionLost: The bot, or the network, closed the connection.
            WireError: It became unusable.
        """
        with self._noting_loss():
            async for event in self._line.events():
                yield event

    async def request(self, name: str, arguments: dict[str, Any]) -> Any:
        """Ask for one of the read-outs at the end; the limit is ``pull``."""
        with self._noting_loss():
            return await self._line.request(name, arguments, deadline=self.limits.pull, name=name)

    async def listen(self, until: float | None) -> Event | None:
        """The next event, or None when nothing came until then; None takes only what is there.

        A loop that was too busy to read the socket in time gets a moment to do so.

        Raises:
            ConnectionLost: The bot, or the network, closed the connection.
            WireError: It became unusable.
        """
        if until is None:
            return await self._next_within(0.0)
        event = await self._next_within(until - time.monotonic())
        late = time.monotonic() - until
        if event is None and late > self.limits.quiet / 2:
            event = await self._next_within(min(late, self.limits.speech_onset))
        return event

    async def _next_within(self, seconds: float) -> Event | None:
        with self._noting_loss():
            try:
                async with asyncio.timeout(max(0.0, seconds)):
                    return await anext(self._line.events())
            except TimeoutError:
                return None

    @contextmanager
    def _noting_loss(self) -> Iterator[None]:
        try:
            yield
        except ConnectionLost as lost:
            self.lost = lost
            raise

    @property
    def _line(self) -> Connection:
        if self._conn is None:
            raise self.lost or ConnectionLost(1000, "", self.side, by_peer=False)
        return self._conn

    async def _connect(self) -> Connection:
        deadlines = Deadlines(connect=self.limits.connect, ready=self.limits.ready)
        opening = connect(self._url, deadlines, peer=self.side, busy_retry=True)
        self._conn = await self._stack.enter_async_context(opening)
        return self._conn


def _is_without(ready: Any, capability: str) -> bool:
    capabilities = ready.get("capabilities") if isinstance(ready, dict) else None
    return isinstance(capabilities, dict) and capabilities.get(capability) is False
