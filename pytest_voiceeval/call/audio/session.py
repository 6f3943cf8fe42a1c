"""One call with sound, end to end: set-up, relay, kickoff, end, read-out."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.call.audio.ending import Endings
from pytest_voiceeval.call.audio.minutes import SoundMinutes
from pytest_voiceeval.call.audio.noise import Noise, noise_of
from pytest_voiceeval.call.audio.pcm import BadSound, in_parts, load
from pytest_voiceeval.call.audio.plan import KICKOFF_AFTER, TICK, SoundPlan
from pytest_voiceeval.call.audio.recording import RECORDING, StereoRecorder, TrackRecorder
from pytest_voiceeval.call.audio.relay import Leg, Relay, next_tick
from pytest_voiceeval.call.audio.talk import Talk
from pytest_voiceeval.call.bot_caller import BotCaller
from pytest_voiceeval.call.ending import Ended
from pytest_voiceeval.call.errors import (
    CallerFailed,
    CallError,
    MeasurementInvalid,
    ProtocolFailed,
)
from pytest_voiceeval.call.peer import Peer
from pytest_voiceeval.call.result import Conversation, EndReason, Side
from pytest_voiceeval.call.session import KICKOFF, NORMAL_CLOSURE, Call
from pytest_voiceeval.wire.errors import ConnectionLost, SendTimeout, WireError
from pytest_voiceeval.wire.frames import AudioFrame
from pytest_voiceeval.wire.rtvi import Envelope
from pytest_voiceeval.wire.settings import Deadlines

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from pytest_voiceeval.call.plan import CallPlan
    from pytest_voiceeval.call.result import ProcessExit
    from pytest_voiceeval.wire.backlog import Event


WHO: dict[Side, str] = {"agent": "agent", "user": "caller's bot"}
AT_A_STRETCH = 0.004
"""Seconds of work on what the bots send before others have a turn."""
LAST_WORDS = 1.0
"""Seconds beside the jitter buffer for playing what a bot said before its connection was lost."""


async def run_audio_call(plan: CallPlan) -> Conversation:
    """Hold the conversation and read out both sides. Cancelling it closes every connection.

    Args:
        plan: With `sound`, and a `BotCaller` that speaks as its caller.

    Returns:
        What happened; whatever the agent did wrong is in it.

    Raises:
        CallError: Something else than the agent went wrong; ``conversation`` holds what was
            measured until then. ``MeasurementInvalid`` if the sound was not carried in time.
    """
    await asyncio.to_thread(load)
    noise = await asyncio.to_thread(noise_of, plan.scenario)
    peer = Peer(
        "agent",
        plan.agent.url,
        plan.limits,
        single_connection=plan.one_connection,
        probe=plan.agent.process_exit,
        audio=True,
    )
    minutes = SoundMinutes(plan.scenario, peer, plan.caller)
    call = AudioCall(plan, peer, minutes, noise)
    try:
        async with peer:
            await call.run()
    except CallError as error:
        minutes.stop_clock()
        error.conversation = minutes.freeze()
        _refuse_late(call, error.conversation, error)
        raise
    conversation = minutes.freeze()
    _refuse_late(call, conversation)
    return conversation


def _refuse_late(
    call: AudioCall, conversation: Conversation, error: CallError | None = None
) -> None:
    """Give no verdict on a call whose sound the harness did not carry in time."""
    problem = call.measuring_problem
    if problem:
        ended = f"\nit ended as {error.code}: {error}" if error else ""
        raise MeasurementInvalid(problem + ended, conversation) from error


class AudioCall(Call):
    """One call with sound under way."""

    _minutes: SoundMinutes

    def __init__(
        self, plan: CallPlan, agent: Peer, minutes: SoundMinutes, noise: Noise | None = None
    ) -> None:
        super().__init__(plan, agent, minutes)
        if not isinstance(plan.caller, BotCaller):
            raise TypeError("a call with sound needs a bot as its caller: BotCaller(…, audio=True)")
        self._sound = plan.sound or SoundPlan()
        self._caller = plan.caller
        self._peers: dict[Side, Peer] = {"agent": agent, "user": self._caller.peer}
        self._floor = Talk(plan.limits, {side: peer.habits for side, peer in self._peers.items()})
        self._relay = self._make_relay(noise)
        self._tracks: dict[Side, TrackRecorder] = {}
        self._over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._voided: set[Side] = set()
        self._unanswered: float | None = None
        self._paused_at = 0.0

    # -- making

    @property
    def measuring_problem(self) -> str:
        """Why what was measured is no evidence; empty if it is."""
        return self._relay.problem(self._sound.limits) if self._relay.started else ""

    def _make_relay(self, noise: Noise | None) -> Relay:
        to_agent = Leg("user", self._agent, self._sound, self._noting("user"), noise)
        to_user = Leg("agent", self._caller.peer, self._sound, self._noting("agent"))
        return Relay(to_agent, to_user)

    def _noting(self, side: Side) -> Callable[[str], None]:
        return lambda text: self._minutes.warnings.append(f"sound of the {WHO[side]}: {text}")

    def _make_endings(self) -> Endings:
        return Endings(
            self._floor,
            self._caller,
            self._limits,
            self._plan.max_duration,
            began=self._relay.started,
            audible=lambda side: self._relay.leg_of(side).playout.sounding,
            why_silent=self._why_silent,
        )

    def _open_files(self, files: ExitStack) -> None:
        folder = self._sound.folder
        if folder is None:
            return
        self._relay.recorder = StereoRecorder(folder / RECORDING)
        files.callback(self._relay.recorder.close)
        if self._sound.record_tracks:
            for side in self._peers:
                self._tracks[side] = TrackRecorder(folder, side, self._noting(side))
                files.callback(self._tracks[side].close)

    # -- the talk

    async def _talk(self) -> None:
        """Let both talk until the conversation ends, which :class:`Ended` tells."""
        loop = asyncio.get_running_loop()
        with ExitStack() as files:
            self._open_files(files)
            self._relay.started = next_tick(loop.time())
            self._endings = self._make_endings()
            self._minutes.kick_off(self._relay.started)
            self._minutes.attach(self._relay, self._floor, self._sound)
            if self._sound.remark:
                self._minutes.warnings.append(self._sound.remark)
            try:
                await self._until_over()
            finally:
                self._minutes.over = loop.time()
                latest = self._floor.latest("agent")
                self._turn = latest.collector if latest else self._turn
        self._over.result()

    async def _until_over(self) -> None:
        works = (
            self._relay.run(self._tick),
            self._send(self._relay.to_agent, "agent"),
            self._send(self._relay.to_user, "user"),
            self._listen_to("agent"),
            self._listen_to("user"),
            self._kick_off(),
            self._keep_in_step(*self._peers.values()),
        )
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._ending_with(work)) for work in works]
            try:
                await asyncio.wait({self._over})
            finally:
                for task in tasks:
                    task.cancel()

    async def _ending_with(self, work: Coroutine[Any, Any, None]) -> None:
        """Do one part of the talk; what it raises is the end of the whole."""
        try:
            await work
        except Exception as error:  # noqa: BLE001 - raised again by whoever waits for the end
            self._end(error)

    def _end(self, error: Exception) -> None:
        if not self._over.done():
            self._over.set_exception(error)
            self._over.exception()  # seen, also if the call is cancelled before anybody asks

    def _tick(self, due: float) -> None:
        self._check_reading()
        for side in self._peers:
            detector = self._relay.leg_of(side).detector
            latest = detector.latest
            speech = None if latest is None else latest.moved(self._relay.started)
            self._floor.sound(side, due, speech, speaking=detector.speaking)
        ended = self._endings.check(due)
        if ended is not None:
            self._end(ended)

    async def _kick_off(self) -> None:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(self._relay.started + KICKOFF_AFTER - loop.time())
        self._minutes.kickoff = self._endings.kickoff = loop.time()
        with suppress(ConnectionLost):  # who listens tells
            try:
                await self._agent.say(KICKOFF)
            except SendTimeout as error:
                raise Ended(EndReason.AGENT_SILENT, str(error)) from error

    async def _send(self, leg: Leg, to: Side) -> None:
        try:
            await leg.send()
        except ConnectionLost:
            return  # who listens tells
        except WireError as error:
            raise self._broken(to, str(error)) from error

    def _check_reading(self) -> None:
        """Find a bot that no longer takes its frames."""
        most = Deadlines.send
        if self._relay.to_agent.unread > most:
            raise Ended(
                EndReason.AGENT_SILENT,
                f"the agent has not read from its socket for {most:g} s (send)",
            )
        if self._relay.to_user.unread > most:
            raise CallerFailed(
                f"the caller's bot has not read from its socket for {most:g} s (send)"
            )

    # -- what the bots send

    async def _listen_to(self, side: Side) -> None:
        try:
            async for event in self._peers[side].events():
                for part in in_parts(event):
                    self._take_from(side, part)
                    await self._let_others_work()
        except ConnectionLost as lost:
            await self._let_it_sound(side)
            raise await self._lost(side, lost) from lost
        except WireError as error:
            raise self._broken(side, str(error)) from error
        except BadSound as error:
            raise self._broken(side, f"it sent {error}") from error

    async def _let_others_work(self) -> None:
        """Let the relay tick, however much a bot sends: there may be no wait in what comes."""
        loop = asyncio.get_running_loop()
        if loop.time() - self._paused_at > AT_A_STRETCH:
            await asyncio.sleep(0)
            self._paused_at = loop.time()

    def _take_from(self, side: Side, event: Event) -> None:
        if self._sound.witness is not None:
            self._sound.witness(side, event)
        playout = self._relay.leg_of(side).playout
        if isinstance(event.kind, AudioFrame):
            self._hear(side, max(event.at, self._relay.started), event.kind)
            return
        self._note(side, event)
        self._floor.event(side, event, audible=playout.sounding)
        if not isinstance(event.kind, Envelope):
            self._voided.add(side)
            playout.flush(event.at)
        elif event.kind.type == "bot-interrupted":
            # the same interruption once more, if it came as a frame before
            if side not in self._voided:
                playout.flush(event.at)
            self._voided.discard(side)
        elif event.kind.type == "bot-stopped-speaking":
            playout.stopped()
            if side == "user":
                self._unanswered = event.at

    def _note(self, side: Side, event: Event) -> None:
        """Count an event of this side; raise the end it may mean."""
        fatal = self._peers[side].ledger.note(event, self._floor.exchange)
        if fatal is not None and side == "agent":
            raise self._end_unless_exit(EndReason.AGENT_ERROR, fatal)
        if fatal is not None:
            raise self._caller.failure(fatal)
        if isinstance(event.kind, Envelope) and event.kind.type == "error-response":
            # only the agent is sent words; a caller's bot that answers so was asked for nothing
            what = (
                "it does not take 'send-text'"
                if side == "agent"
                else "it refused what nobody asked"
            )
            raise self._broken(side, f"{what}: {event.kind.data!r:.200}")

    def _hear(self, side: Side, at: float, frame: AudioFrame) -> None:
        """Take sound, and the reference's latency: from frame to frame, once the caller stopped."""
        playout = self._relay.leg_of(side).playout
        playout.push(at, frame)
        if side in self._tracks:
            self._tracks[side].take(at - self._relay.started, frame)
        if playout.last_voice != at or self._unanswered is None:
            return
        if side == "user":
            self._unanswered = at
        else:
            self._minutes.answer_times.setdefault(self._floor.exchange, at - self._unanswered)
            self._unanswered = None

    # -- ends

    async def _let_it_sound(self, side: Side) -> None:
        """Play what a bot that is gone had said."""
        loop = asyncio.get_running_loop()
        give_up = loop.time() + self._sound.jitter + LAST_WORDS
        playout = self._relay.leg_of(side).playout
        while playout.sounding and loop.time() < give_up:  # noqa: ASYNC110 - it plays by the tick
            await asyncio.sleep(TICK)

    async def _lost(self, side: Side, lost: ConnectionLost) -> Exception:
        """What a lost connection means for the call."""
        if side == "agent":
            return await self._gone(lost)
        if "agent" in self._floor.exits:
            return Ended(EndReason.EXIT, self._floor.exits["agent"][1])
        return await self._caller.blame(lost)

    def _broken(self, side: Side, how: str) -> CallError:
        if side == "agent":
            return ProtocolFailed(f"the agent broke the protocol: {how}")
        return CallerFailed(f"the caller's bot failed: {how}")

    def _end_unless_exit(self, reason: EndReason, detail: str) -> Ended:
        exit_ = self._floor.exits.get("agent")
        return Ended(reason, detail) if exit_ is None else Ended(EndReason.EXIT, exit_[1])

    def _has_hung_up(self, lost: ConnectionLost, exit_: ProcessExit | None) -> bool:
        spoke = self._floor.last_heard("agent") is not None
        in_order = lost.code == NORMAL_CLOSURE and (exit_ is None or exit_.code == 0)
        return self._plan.state is not None and spoke and in_order

    def _close_last_turn(self) -> None:
        """Turns with sound close themselves."""

    def _why_silent(self) -> str:
        turn = self._floor.latest("agent")
        mute = turn is not None and turn.heard_at is None and turn.collector.text
        why = "; it sent words but no sound: does its voice work?" if mute else ""
        why += "; a function call was in progress" if turn and turn.collector.open_calls else ""
        errors = self._agent.ledger.errors
        return why + (f"; its last reported error: {errors[-1]}" if errors else "")
