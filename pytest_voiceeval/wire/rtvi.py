"""RTVI envelopes: the JSON messages inside ``MessageFrame.data``.

``{"label": "rtvi-ai", "type": T, "id": I?, "data": D?}``. This module builds the three kinds a
client sends, and reads all kinds a bot sends.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pytest_voiceeval.wire.errors import EnvelopeError, ForeignLabel

if TYPE_CHECKING:
    from collections.abc import Mapping

LABEL = "rtvi-ai"

# The version decides what the bot sends, so it is chosen, not "the newest". 1.1.0 is what the
# reference harness announces: bots written for it know it, bots that check it strictly accept it,
# and every Pipecat server serves a 1.x client (an unknown major gets an error-response first).
# A newer version would change what we read: from 2.0 on spoken words come as progress messages,
# which older servers lack; from 2.2 on a bot may add raw-text messages, the same words once more.
PROTOCOL_VERSION = "1.1.0"

# What Pipecat servers send, 1.6 to 1.14. Other types are delivered too, with a warning.
_TYPES = (
    "action bot-audio-level bot-interrupted bot-llm-marker bot-llm-search-response "
    "bot-llm-started bot-llm-stopped bot-llm-text bot-output bot-ready bot-started-speaking "
    "bot-stopped-speaking bot-transcription bot-tts-audio bot-tts-started bot-tts-stopped "
    "bot-tts-text error error-response llm-function-call llm-function-call-in-progress "
    "llm-function-call-started llm-function-call-stopped llm-raw-text metrics server-message "
    "server-response stt-raw-text system-log tts-raw-text ui-command ui-job-group "
    "user-audio-level user-input user-llm-text user-mute-started user-mute-stopped "
    "user-started-speaking user-stopped-speaking user-transcription vad-user-started-speaking "
    "vad-user-stopped-speaking"
)
KNOWN_TYPES = frozenset(_TYPES.split())

# Where the reference harness's id does not simply start with the request's name.
_ID_PREFIXES = {"update_system_prompt": "update_prompt", "apply_initialization": "apply_init"}
_IDS_WITH_SIDE = frozenset({"apply_initialization", "apply_sync_delta"})


@dataclass(frozen=True, slots=True)
class Envelope:
    """One RTVI message.

    Attributes:
        type: For example ``server-message``.
        data: Its payload, any JSON value; None if it has none.
        id: Ties a reply to its request; events mostly have none.
    """

    type: str
    data: Any = None
    id: str | None = None


def dump(envelope: Envelope) -> str:
    """Return the envelope's JSON text.

    Args:
        envelope: Its ``id`` and ``data`` are left out when None.

    Returns:
        ASCII JSON without blanks.

    Raises:
        EnvelopeError: ``data`` holds something JSON has no form for, such as NaN or a set.
    """
    message: dict[str, Any] = {"label": LABEL, "type": envelope.type}
    if envelope.id is not None:
        message["id"] = envelope.id
    if envelope.data is not None:
        message["data"] = envelope.data
    try:
        return json.dumps(message, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as exc:
        raise EnvelopeError(f"{envelope.type!r} cannot be written as JSON: {exc}") from exc


def parse(text: str) -> Envelope:
    """Read an envelope.

    NaN and Infinity, which Python bots write, are read as floats: judging a bot's state is the
    business of scoring, which can name the path.

    Args:
        text: Content of a message frame. A whole number as id is read as text.

    Returns:
        The envelope.

    Raises:
        ForeignLabel: Its label is not RTVI's.
        EnvelopeError: Not JSON, not an object, or a bad ``type`` or ``id``.
    """
    try:
        message = json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise EnvelopeError(f"message is not JSON ({_brief(exc)}): {preview(text)}") from exc
    if not isinstance(message, dict):
        raise EnvelopeError(f"message is not a JSON object: {preview(text)}")
    if message.get("label") != LABEL:
        raise ForeignLabel(f"message is labelled {message.get('label')!r:.60}, not {LABEL!r}")
    kind = message.get("type")
    if not isinstance(kind, str) or not kind:
        raise EnvelopeError(f"RTVI message without a type: {preview(text)}")
    return Envelope(kind, message.get("data"), _read_id(kind, message.get("id")))


def _read_id(kind: str, value: object) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if value is None or isinstance(value, str):
        return value
    raise EnvelopeError(f"id of an RTVI {kind!r} message is {value!r:.60}, expected text")


def _brief(exc: Exception) -> str:
    return "nested too deeply" if isinstance(exc, RecursionError) else str(exc)


def preview(text: str) -> str:
    """Return the first 80 characters of a bot's text, quoted, on one line."""
    return repr(text[:80]) + ("…" if len(text) > 80 else "")


def client_ready(version: str = PROTOCOL_VERSION) -> Envelope:
    """Build the message that opens the handshake; the bot answers ``bot-ready``.

    Args:
        version: The protocol version to announce; what hangs on it stands at the constant.
    """
    about = {"library": "pytest-voiceeval", "library_version": _our_version()}
    return Envelope("client-ready", {"version": version, "about": about}, _new_id("client_ready"))


def client_message(kind: str, args: Mapping[str, Any] | None = None, side: str = "") -> Envelope:
    """Build a request; the bot answers ``server-response`` or ``error-response`` with its id.

    Args:
        kind: The request's name on the wire, for example ``get_scenario_summary``.
        args: Its arguments, ``{}`` if None.
        side: ``agent`` or ``user``, which the reference harness puts into two ids.
    """
    prefix = _ID_PREFIXES.get(kind, kind)
    if side and kind in _IDS_WITH_SIDE:
        prefix = f"{prefix}_{side}"
    return Envelope("client-message", {"t": kind, "d": dict(args or {})}, _new_id(prefix))


def send_text(
    content: str, *, audio_response: bool = False, run_immediately: bool = True
) -> Envelope:
    """Build what the user says, as text.

    Args:
        content: The words.
        audio_response: False asks the bot not to speak its answer (Pipecat keeps to it for one run
            of the model only).
        run_immediately: True interrupts the bot and runs its model; False only appends.
    """
    options = {"run_immediately": run_immediately, "audio_response": audio_response}
    return Envelope("send-text", {"content": content, "options": options}, _new_id("send_text"))


def _new_id(prefix: str) -> str:
    # Unique over all connections, not only in this one: a bot with one client at a time sends a
    # late reply to whoever is connected by then.
    return f"{prefix}_{uuid4().hex}"


def _our_version() -> str:
    try:
        return metadata.version("pytest-voiceeval")
    except metadata.PackageNotFoundError:  # run from a source tree that was never installed
        return "0"
