"""The bridge of one call: what each bot says is played to the other, frame by frame, on time.

One task keeps the time for both directions, so that a tick of the recording is the same moment on
both channels. Frames are due at absolute times on the loop's clock: being late once does not shift
what follows.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pytest_voiceeval.call.audio.activity import ActivityDetector
from pytest_voiceeval.call.audio.plan import CHUNK, RATE, TICK
from pytest_voiceeval.call.audio.playout import Playout
from pytest_voiceeval.wire.frames import AudioFrame

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from pytest_voiceeval.call.audio.noise import Noise
    from pytest_voiceeval.call.audio.plan import RelayLimits, SoundPlan
    from pytest_voiceeval.call.audio.recording import StereoRecorder
    from pytest_voiceeval.call.result import Side

    Samples = NDArray[np.int16]

LATE = 0.03
"""Seconds from which on a frame counts as late."""
MANY = 1000
TINY = 0.002
"""More frames than that, and shorter ones than so many seconds, are what makes a relay late."""
_TOO_BUSY = (
    "so what it measured is not the agent's doing; hold fewer calls at once (--voice-concurrency), "
    "raise --jitter-buffer, or use a machine with less to do"
)
_SILENCE = AudioFrame(bytes(2 * CHUNK), RATE, 1)


def _frame(chunk: Samples) -> AudioFrame:
    return AudioFrame(chunk.astype("<i2", copy=False).tobytes(), RATE, 1)


def next_tick(now: float) -> float:
    """The next moment at which the relays of all calls tick: one wake-up serves them all."""
    return math.ceil(now / TICK) * TICK


class Line(Protocol):
    """Where frames go: a bot's connection."""

    async def send_audio(self, frame: AudioFrame) -> None:
        """Send one frame."""


@dataclass(slots=True)
class Pace:
    """How punctual the relay was.

    Attributes:
        ticks: Frames that were due, in each direction.
        late: Those that were late by more than `LATE`.
        worst: Seconds by which the latest was late.
    """

    ticks: int = 0
    late: int = 0
    worst: float = 0.0

    def note(self, seconds: float) -> None:
        """Take one tick that was late by `seconds`."""
        self.ticks += 1
        self.late += seconds > LATE
        self.worst = max(self.worst, seconds)


class Leg:
    """One direction: from one bot's sound to frames for the other.

    Attributes:
        speaker: Whose sound it carries.
        playout: What it sent and has not been played.
        detector: When it spoke, in seconds since the first frame.
    """

    def __init__(
        self,
        speaker: Side,
        line: Line,
        plan: SoundPlan,
        note: Callable[[str], None],
        noise: Noise | None = None,
    ) -> None:
        self.speaker = speaker
        self.playout = Playout(plan.jitter, plan.speech_level, note)
        self.detector = ActivityDetector(plan.speech_level)
        self._line = line
        self._noise = noise
        self._outbox: deque[AudioFrame] = deque()
        self._posted = asyncio.Event()

    def tick(self, due: float) -> Samples | None:
        """Play the chunk of one tick; return what was played, None for silence."""
        chunk = self.playout.take(due)
        if chunk is None:
            self.detector.skip(CHUNK)
        else:
            # before the noise: it is the speech that is timed
            self.detector.feed(chunk)
        if self._noise is not None:
            import numpy as np

            chunk = self._noise.mix(np.zeros(CHUNK, np.int16) if chunk is None else chunk)
        self._outbox.append(_SILENCE if chunk is None else _frame(chunk))
        self._posted.set()
        return chunk

    @property
    def unread(self) -> float:
        """Seconds of sound that wait because the bot does not read."""
        return len(self._outbox) * TICK

    async def send(self) -> None:
        """Send what is played, until cancelled; a bot that does not read keeps only itself waiting.

        Raises:
            WireError: As the line says.
        """
        while True:
            await self._posted.wait()
            self._posted.clear()
            while self._outbox:
                # it leaves the box when it is sent, so that what waits can be counted
                await self._line.send_audio(self._outbox[0])
                self._outbox.popleft()


class Relay:
    """Both directions of a call.

    Args:
        to_agent: What the caller says.
        to_user: What the agent says.

    Attributes:
        pace: How punctual it was.
        started: Time of the first tick, 0 before; settable before that.
        recorder: Takes every tick.
    """

    def __init__(self, to_agent: Leg, to_user: Leg) -> None:
        self.to_agent = to_agent
        self.to_user = to_user
        self.pace = Pace()
        self.started = 0.0
        self.recorder: StereoRecorder | None = None

    def leg_of(self, side: Side) -> Leg:
        """The direction that carries this side's sound."""
        return self.to_user if side == "agent" else self.to_agent

    async def run(self, on_tick: Callable[[float], None]) -> None:
        """Tick until cancelled, or until `on_tick` raises; it is given the time that is due."""
        loop = asyncio.get_running_loop()
        self.started = self.started or loop.time()
        while True:
            due = self.started + self.pace.ticks * TICK
            await asyncio.sleep(due - loop.time())
            self.pace.note(loop.time() - due)
            left, right = self.to_agent.tick(due), self.to_user.tick(due)
            if self.recorder is not None:
                self.recorder.take(left, right)
            on_tick(due)

    @property
    def seconds(self) -> float:
        """How much was played."""
        return self.pace.ticks * TICK

    def problem(self, limits: RelayLimits) -> str:
        """Why what this call measured is no evidence; empty if it is."""
        pace, holes = self.pace, self._holes()
        found = []
        if pace.worst > limits.lag:
            found.append(f"a frame was {pace.worst * 1000:.0f} ms late")
        if pace.late > limits.late_share * pace.ticks:
            found.append(f"{pace.late} of {pace.ticks} frames were over {LATE * 1000:.0f} ms late")
        if holes > max(limits.underruns, limits.underruns * self.seconds / 60):
            found.append(f"speech had {holes} holes because its frames came too late")
        if not found:
            return ""
        return (
            f"the sound of the call was not carried in time: {', '.join(found)} "
            f"(limits: {limits.lag * 1000:.0f} ms, {limits.late_share:.0%}, {limits.underruns} a "
            f"minute), {self._flood() or _TOO_BUSY}"
        )

    def _flood(self) -> str:
        """Whose frames are so small that to take them is all there is time for."""
        for who, leg in (("agent", self.to_user), ("caller's bot", self.to_agent)):
            figures = leg.playout.figures
            if figures.frames > MANY and figures.seconds < TINY * figures.frames:
                length = figures.seconds / figures.frames * 1000
                return (
                    f"so there is no verdict: the {who} sent {figures.frames} audio frames of "
                    f"{length:.2g} ms each; let it send frames of 10 ms or longer"
                )
        return ""

    def _holes(self) -> int:
        figures = (self.to_agent.playout.figures, self.to_user.playout.figures)
        return sum(each.underruns for each in figures)
