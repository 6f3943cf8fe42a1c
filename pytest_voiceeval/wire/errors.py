"""What can go wrong on the wire, one class a cause.

Every text names the connection at fault, what was expected, and the way out. The classes carry
their facts as attributes, are rebuilt from ``args`` alone (so they survive pickling between
processes) and never hold a URL that was not masked first.
"""

from __future__ import annotations

_CLOSE_CODES = {
    1000: "normal closure",
    1001: "going away",
    1002: "protocol error",
    1003: "unsupported data",
    1005: "no code given",
    1006: "abnormal closure",
    1007: "invalid data",
    1008: "policy violation",
    1009: "message too big",
    1011: "internal error",
    1012: "service restart",
    1013: "try again later",
}


def describe_close(code: int, reason: str = "") -> str:
    """Return a close code in words.

    Args:
        code: WebSocket close code; 1006 stands for "no close frame came".
        reason: What the closing side wrote into its close frame, at most 123 bytes.

    Returns:
        For example ``1013 (try again later), reason 'busy'``.
    """
    words = f"{code} ({_CLOSE_CODES.get(code, 'application code')})"
    return f"{words}, reason {reason!r}" if reason else words


class WireError(Exception):
    """Base of everything this room raises; ``str()`` is its first argument."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else type(self).__name__


class FrameError(WireError):
    """Bytes that are not a frame, or a frame that cannot be put into bytes."""


class EnvelopeError(WireError):
    """Text that is not an RTVI envelope, or an envelope that is not JSON."""


class ForeignLabel(EnvelopeError):
    """A well-formed message of another protocol (its label is not RTVI's)."""


class ConnectFailed(WireError):
    """No WebSocket could be opened: bad URL, nobody listening, refused, too slow."""


class HandshakeFailed(WireError):
    """The WebSocket opened but no ``bot-ready`` came.

    Attributes:
        code: Close code if the bot closed, else None.
        reason: Its close reason, ``""`` if there is none.
    """

    def __init__(self, text: str, code: int | None = None, reason: str = "") -> None:
        super().__init__(text, code, reason)
        self.code = code
        self.reason = reason


class BotBusy(HandshakeFailed):
    """The bot serves another client (close code 1013)."""


class WrongProtocol(WireError):
    """The peer talks, but not in protobuf frames holding RTVI messages."""


class ProtocolBroken(WireError):
    """A connection that worked has become unusable, for example three bad frames in a row."""


class MessageTooLarge(WireError):
    """A message above a limit, of ours (not sent) or of the bot's (connection closed).

    Attributes:
        size: Bytes of the encoded frame, None if the library did not tell.
        limit: Bytes that were allowed.
    """

    def __init__(self, text: str, size: int | None, limit: int) -> None:
        super().__init__(text, size, limit)
        self.size = size
        self.limit = limit


class SendTimeout(WireError):
    """The bot did not take our bytes from its socket within the ``send`` deadline."""


class RequestTimeout(WireError):
    """No reply came within the request's deadline.

    Attributes:
        name: The request's name, as in the text.
        seconds: The deadline that ran out.
    """

    def __init__(self, text: str, name: str, seconds: float) -> None:
        super().__init__(text, name, seconds)
        self.name = name
        self.seconds = seconds


class RequestRefused(WireError):
    """The bot answered a request with an ``error-response``.

    Attributes:
        name: The request's name, as in the text.
        error: What the bot said.
    """

    def __init__(self, text: str, name: str, error: str) -> None:
        super().__init__(text, name, error)
        self.name = name
        self.error = error


class ConnectionLost(WireError):
    """The connection ended while it was still needed.

    Attributes:
        code: The close code, 1006 if the socket went away without a close frame.
        reason: The close reason, ``""`` if there is none.
        where: Whose connection it was, for the text.
        by_peer: False if our own side closed it.
    """

    def __init__(
        self, code: int, reason: str = "", where: str = "the bot", by_peer: bool = True
    ) -> None:
        super().__init__(code, reason, where, by_peer)
        self.code = code
        self.reason = reason
        self.where = where
        self.by_peer = by_peer

    @property
    def abnormal(self) -> bool:
        """True if no close frame came: the process ended, or the network dropped."""
        return self.code == 1006

    def __str__(self) -> str:
        if not self.by_peer:
            return f"{self.where}: this side closed the connection: {self._close}"
        if self.abnormal:
            return (
                f"{self.where}: connection lost without a close frame (1006, abnormal closure); "
                "the bot's process ended or the network dropped"
            )
        return f"{self.where}: the bot closed the connection: {self._close}{self._hint}"

    @property
    def _close(self) -> str:
        return describe_close(self.code, self.reason)

    @property
    def _hint(self) -> str:
        if self.code == 1009:
            return "; a message of ours was above the bot's own limit: send less at once"
        return ""
