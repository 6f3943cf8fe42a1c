"""A connection to one bot: handshake, requests matched by id, events that are never lost.

One task reads the socket from :func:`connect` to its end. It hands replies to the requests that
wait for them and puts everything else into a backlog, so requests and events interleave freely.
"""

from __future__ import annotations

import asyncio
import copy
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.wire import rtvi
from pytest_voiceeval.wire.backlog import Backlog, Event
from pytest_voiceeval.wire.errors import (
    BotBusy,
    ConnectionLost,
    HandshakeFailed,
    MessageTooLarge,
    ProtocolBroken,
    RequestTimeout,
    SendTimeout,
    WireError,
)
from pytest_voiceeval.wire.frames import AudioFrame, Frame, MessageFrame, encode
from pytest_voiceeval.wire.opening import break_off, explain_early_end, explain_end, open_socket
from pytest_voiceeval.wire.reading import MessageReader, Warnings
from pytest_voiceeval.wire.replies import Replies, payload_of
from pytest_voiceeval.wire.rtvi import Envelope
from pytest_voiceeval.wire.settings import Deadlines, WireOptions
from pytest_voiceeval.wire.urls import mask_url

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from websockets.asyncio.client import ClientConnection

__all__ = ["Connection", "Deadlines", "Event", "WireOptions", "connect"]

_BUSY_PAUSES = (0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0, 2.0, 2.0, 2.0)
_FAILED_HANDSHAKE_CLOSE = 1.0


@asynccontextmanager
async def connect(
    url: str,
    deadlines: Deadlines | None = None,
    *,
    peer: str = "bot",
    busy_retry: bool = False,
    options: WireOptions | None = None,
) -> AsyncIterator[Connection]:
    """Connect to a bot and do the handshake; on leaving, close with the closing handshake.

    Args:
        url: ``ws://`` or ``wss://`` address. Secrets in it never show in an error.
        deadlines: Longest waits, seconds.
        peer: What errors call the bot; ``agent`` and ``user`` also show in two message ids.
        busy_retry: True tries again, with growing pauses, while the bot serves another client
            (close code 1013), until the ``connect`` deadline, at most eleven times.
        options: Limits and switches.

    Yields:
        The connection, ready to talk.

    Raises:
        ConnectFailed: The WebSocket did not open.
        BotBusy: The bot serves another client.
        HandshakeFailed: The WebSocket opened, but ``bot-ready`` did not come.
        WrongProtocol: The peer speaks something else.
        ProtocolBroken, MessageTooLarge: As in :meth:`Connection.events`, before ``bot-ready``.
    """
    connection = await _establish(
        url, peer, deadlines or Deadlines(), options or WireOptions(), busy_retry=busy_retry
    )
    try:
        yield connection
    finally:
        await connection.close()


async def _establish(
    url: str,
    peer: str,
    deadlines: Deadlines,
    options: WireOptions,
    *,
    busy_retry: bool,
) -> Connection:
    start = time.monotonic()
    where = f"{peer} at {mask_url(url)}"
    pauses = (0.0, *(_BUSY_PAUSES if busy_retry else ()))
    for tries, pause in enumerate(pauses, start=1):
        await asyncio.sleep(pause)
        left = deadlines.connect - (time.monotonic() - start)
        websocket = await open_socket(url, where, left, deadlines.close, options)
        connection = Connection(websocket, where, peer, deadlines, options)
        try:
            await connection._shake_hands()  # noqa: SLF001 - same module
        except BotBusy as exc:
            waited = time.monotonic() - start
            if tries == len(pauses) or waited + pauses[tries] >= deadlines.connect:
                raise _still_busy(exc, tries, waited) from None
        else:
            return connection
    raise AssertionError("unreachable: the last try returns or raises")


def _still_busy(exc: BotBusy, tries: int, waited: float) -> BotBusy:
    tried = f" ({tries} tries in {waited:.1f} s)" if tries > 1 else ""
    return BotBusy(f"{exc}{tried}", exc.code, exc.reason)


class Connection:
    """A connection made by :func:`connect`.

    Attributes:
        where: Whose connection this is, for error texts (the URL is masked).
        ready: The bot's ``bot-ready``; its data holds ``version``, often ``about``.
        deadlines: Longest waits, seconds.
        options: Limits and switches.
        peer_closed: True once the bot closed the connection or it broke.
    """

    def __init__(
        self,
        websocket: ClientConnection,
        where: str,
        peer: str,
        deadlines: Deadlines,
        options: WireOptions,
    ) -> None:
        self.where = where
        self.deadlines = deadlines
        self.options = options
        self.ready = Envelope("bot-ready")
        self.peer_closed = False
        self._side = peer if peer in {"agent", "user"} else ""
        self._socket = websocket
        self._closing = False
        self._error: WireError | None = None
        self._warnings = Warnings()
        self._messages = MessageReader(where, self._warnings)
        self._replies = Replies()
        self._backlog = Backlog(where, options.max_backlog)
        self._is_ready = False
        self._settled = asyncio.Event()  # bot-ready came, or the connection ended before
        self._ended = asyncio.Event()
        self._texts_sent: set[str] = set()
        self._reading = asyncio.create_task(self._read(), name=f"read {where}")

    # What callers use

    @property
    def warnings(self) -> list[str]:
        """What was skipped: bad frames, unknown types, late replies and foreign ids."""
        return self._warnings.texts()

    @property
    def closed(self) -> bool:
        """True once nothing can be sent any more."""
        return self._closing or self._ended.is_set()

    def events(self) -> AsyncIterator[Event]:
        """Iterate over what the bot sends, from the handshake on.

        Events wait until they are read (up to ``max_backlog``). Iteration may be broken off or
        cancelled and taken up again; two iterations at once share the events between them.

        Yields:
            Events in the order of arrival, each once. Replies and ``bot-ready`` are not among them.

        Raises:
            ConnectionLost: After the last event, if the bot closed or the connection broke. After
                :meth:`close` iteration just ends.
            ProtocolBroken: After the last event, if the bot sent three bad messages in a row, or
                more than ``max_backlog`` bytes that nobody read.
            MessageTooLarge: After the last event, if a message was above ``max_incoming``.
        """
        return self._backlog

    async def request(
        self,
        type: str,  # noqa: A002 - the wire's own word
        args: Mapping[str, Any] | None = None,
        *,
        deadline: float | None = None,
        name: str | None = None,
    ) -> Any:
        """Send a client-message and wait for the reply with its id. Several may be in flight.

        Args:
            type: The request's name on the wire, for example ``get_scenario_summary``.
            args: Its arguments.
            deadline: Longest wait for the reply, seconds; the ``request`` deadline if None.
            name: What errors and warnings call it; ``type`` if None.

        Returns:
            The reply's ``d``, None if it has none.

        Raises:
            RequestRefused: The bot answered with an error.
            RequestTimeout: No reply in time; a reply that still comes is a warning.
            ConnectionLost: The connection is or gets closed.
            MessageTooLarge: Not sent, it is above ``max_outgoing``.
            EnvelopeError: Not sent, the arguments are not JSON.
            ProtocolBroken: The connection became unusable, or the reply has no payload.
        """
        name = name or type
        seconds = self.deadlines.request if deadline is None else deadline
        message = rtvi.client_message(type, args, self._side)
        with self._replies.expect(message.id or "", name) as outcome:
            try:
                async with asyncio.timeout(seconds):
                    await self._send(MessageFrame(rtvi.dump(message)), name)
                    reply = await outcome
            except TimeoutError:
                raise RequestTimeout(self._no_reply(name, seconds), name, seconds) from None
        return payload_of(reply, name, self.where)

    async def send_text(self, content: str, audio_response: bool = False) -> str:
        """Say something to the bot as text; it is interrupted and its model runs.

        Args:
            content: The words.
            audio_response: True asks it to speak its answer.

        Returns:
            The message's id. A bot that refuses it sends an ``error-response`` event with this id.

        Raises:
            ConnectionLost: The connection is closed.
            MessageTooLarge: Not sent, it is above ``max_outgoing``.
            SendTimeout: The bot does not read from its socket.
        """
        message = rtvi.send_text(content, audio_response=audio_response)
        self._texts_sent.add(message.id or "")
        await self._send_in_time(MessageFrame(rtvi.dump(message)), "send-text")
        return message.id or ""

    async def send_audio(self, frame: AudioFrame, *, in_time: bool = True) -> None:
        """Send a piece of sound now; unless ``in_time``, however long the bot takes to read it.

        Raises:
            ConnectionLost: The connection is closed.
            MessageTooLarge: Not sent, it is above ``max_outgoing``.
            SendTimeout: The bot does not read from its socket.
        """
        await (self._send_in_time if in_time else self._send)(frame, "audio")

    async def close(self) -> None:
        """Close with the closing handshake, at most the ``close`` deadline long. May be repeated.

        Requests in flight fail at once.
        """
        await self._shut(self.deadlines.close)

    # Sending

    async def _send_in_time(self, frame: Frame, name: str) -> None:
        try:
            async with asyncio.timeout(self.deadlines.send):
                await self._send(frame, name)
        except TimeoutError:
            raise SendTimeout(
                f"{self.where}: the bot has not read from its socket for {self.deadlines.send:g} s "
                f"(send deadline of {name!r})"
            ) from None

    async def _send(self, frame: Frame, name: str) -> None:
        from websockets.exceptions import ConnectionClosed

        data = encode(frame)
        limit = self.options.max_outgoing
        if len(data) > limit:
            raise MessageTooLarge(self._too_large(name, len(data)), len(data), limit)
        if self.closed:
            raise self._failure()
        try:
            await self._socket.send(data)
        except ConnectionClosed:
            await self._ended.wait()
            raise self._failure() from None

    def _too_large(self, name: str, size: int) -> str:
        return (
            f"{self.where}: {name!r} was not sent: its frame has {size} bytes, the limit is "
            f"{self.options.max_outgoing} (bots close the connection above theirs). Let the bot "
            "load big data by path, or raise max_outgoing if it takes more"
        )

    def _no_reply(self, name: str, seconds: float) -> str:
        return (
            f"{self.where}: no reply to {name!r} within {seconds:g} s (its deadline); "
            "does the bot handle this message, and is it stuck in a model or tool call?"
        )

    def _failure(self) -> WireError:
        if self._error is not None:
            return copy.copy(self._error)
        return ConnectionLost(1000, "", self.where, by_peer=False)

    # Reading

    async def _read(self) -> None:
        from websockets.exceptions import ConnectionClosed

        error: WireError | None = ProtocolBroken(
            f"{self.where}: reading stopped by a fault of our own, raised on closing"
        )
        try:
            while True:
                self._take(await self._socket.recv())
        except ConnectionClosed as closed:
            error = explain_end(closed, self.where, self.options.max_incoming)
            self.peer_closed = isinstance(error, ConnectionLost) and error.by_peer
        except WireError as exc:
            error = exc
        finally:
            self._end(None if self._closing else error)
        if self._error is not None and not self.peer_closed:
            await break_off(self._socket)

    def _end(self, error: WireError | None) -> None:
        self._error = error
        self._ended.set()
        self._settled.set()
        self._replies.fail(self._failure())
        self._backlog.end(error)

    def _take(self, message: bytes | str) -> None:
        content = self._messages.read(message)
        if content is None:
            return
        if isinstance(content, Envelope) and self._is_answer(content):
            return
        self._backlog.put(Event(time.monotonic(), content), len(message))

    def _is_answer(self, envelope: Envelope) -> bool:
        if envelope.type == "bot-ready":
            # Bots that also answer client-ready themselves send it twice; the first one counts.
            if not self._is_ready:
                self.ready = envelope
                self._is_ready = True
                self._settled.set()
            return True
        if envelope.type not in {"server-response", "error-response"}:
            return False
        if envelope.type == "error-response" and envelope.id in self._texts_sent:
            return False
        warning = self._replies.deliver(envelope)
        if warning:
            self._warnings.add(f"{warning}: {envelope.data!r:.120}")
        return True

    # Handshake and end

    async def _shake_hands(self) -> None:
        hello = rtvi.client_ready()
        self._replies.expect_none(hello.id or "", "the bot's answer to client-ready")
        try:
            await self._send_in_time(MessageFrame(rtvi.dump(hello)), hello.type)
            await self._wait_for_bot_ready()
        except BaseException as exc:
            await self._shut(min(_FAILED_HANDSHAKE_CLOSE, self.deadlines.close))
            if isinstance(exc, ConnectionLost):
                raise explain_early_end(exc, self.where) from None
            raise

    async def _wait_for_bot_ready(self) -> None:
        try:
            async with asyncio.timeout(self.deadlines.ready):
                await self._settled.wait()
        except TimeoutError:
            raise HandshakeFailed(
                f"{self.where}: no bot-ready within {self.deadlines.ready:g} s (ready deadline): "
                f"{self._messages.explain_silence()}"
            ) from None
        if not self._is_ready:
            raise self._failure()

    async def _shut(self, seconds: float) -> None:
        self._closing = True
        self._replies.fail(self._failure())
        try:
            async with asyncio.timeout(seconds):
                if self._error is None:  # else it is closed, or the reader is closing it
                    await self._socket.close()
                await asyncio.wait({self._reading})
        except TimeoutError:
            self._warnings.add(f"no closing handshake within {seconds:g} s (close deadline)")
        finally:
            # After a closing handshake this does nothing; without one it frees socket and task.
            self._socket.transport.abort()
            self._reading.cancel()
            await asyncio.wait({self._reading})
        if not self._reading.cancelled():
            self._reading.result()  # a fault of our own in the reader must not pass unseen
