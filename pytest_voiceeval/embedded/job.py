"""What the pair is asked and what it answers: pickles between pytest and its own child."""

from __future__ import annotations

import pickle
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_voiceeval.bots.script_player import Script
    from pytest_voiceeval.call.audio.plan import SoundPlan
    from pytest_voiceeval.call.limits import CallLimits
    from pytest_voiceeval.call.result import Conversation
    from pytest_voiceeval.scenario.model import Scenario

HEAD = struct.Struct(">I")
"""Length of what follows."""

_OURS = "pytest_voiceeval."


@dataclass(frozen=True)
class EmbeddedJob:
    """One call of the pair.

    Attributes:
        scenario: What it is about, pickled: the child need not know all that pytest knows.
        agent: What the agent's model plays.
        user: What the caller's model plays.
        limits: Longest waits, in seconds of the call.
        sound: How its sound is carried and kept.
        domain: The scenario's.
        bot_fault: How the agent's bot misbehaves, None if it does not.
        single_connection: Set up and talk on one connection.
        call_dir: The call's folder, as the bots are told it.
        include_db: Read the agent's final database even if its hash is the expected one.
    """

    scenario: bytes
    agent: Script
    user: Script
    limits: CallLimits
    sound: SoundPlan
    domain: str
    bot_fault: str | None = None
    single_connection: bool = False
    call_dir: str | None = None
    include_db: bool = False


@dataclass(frozen=True)
class Answer:
    """How a call of the pair went.

    Attributes:
        conversation: What happened, if it was held.
        error: Why not, an error that the call itself raised.
        bug: Why not, as a traceback of anything else.
    """

    conversation: Conversation | None = None
    error: Exception | None = None
    bug: str = ""


def pack_scenario(scenario: Scenario) -> bytes | str:
    """The scenario as the child can read it; a text says why it cannot."""
    home = type(scenario).__module__
    if not home.startswith(_OURS):
        return f"its class {type(scenario).__qualname__} is not part of a pack"
    try:
        return pickle.dumps(scenario)
    except Exception as error:  # noqa: BLE001 - attributes of foreign classes
        return f"it cannot be pickled: {error}"


def frame(message: Any) -> bytes:
    """A message as it is sent."""
    data = pickle.dumps(message)
    return HEAD.pack(len(data)) + data


def load(data: bytes) -> Any:
    """The message in a frame's data."""
    return pickle.loads(data)  # noqa: S301 - between a process and the one that started it


def unframe(read: Callable[[int], bytes]) -> Any:
    """The next message from a blocking stream.

    Raises:
        EOFError: The other end is gone.
    """
    head = read(HEAD.size)
    if len(head) < HEAD.size:
        raise EOFError
    (size,) = HEAD.unpack(head)
    data = read(size)
    if len(data) < size:
        raise EOFError
    return load(data)
