"""Whole calls with sound over sockets: what goes well, and how it ends when it does not."""

from __future__ import annotations

import asyncio
import re
import time
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_voiceeval.call.audio.plan import RelayLimits, SoundPlan
from pytest_voiceeval.call.errors import (
    AgentUnreachable,
    CallerFailed,
    MeasurementInvalid,
    ProtocolFailed,
    SetupFailed,
)
from pytest_voiceeval.call.result import EndReason
from pytest_voiceeval.wire.connection import connect
from pytest_voiceeval.wire.frames import AudioFrame
from tests.unit.audio.bots import SoundBot, answering, asking, serving, silent, tone
from tests.unit.audio.conftest import Hold, recorded

GENEROUS = SoundPlan(limits=RelayLimits(lag=5.0, late_share=1.0, underruns=1000))
"""For tests that are about something else than how busy this machine is."""


async def test_a_call_from_kickoff_to_exit(hold: Hold, tmp_path: Path) -> None:
    agent = SoundBot(answering(2, delay=0.4), waits_for_kickoff=True)
    user = SoundBot(asking(2))
    sound = SoundPlan(record_tracks=True, limits=GENEROUS.limits)
    call = await hold(agent, user, sound=sound)

    assert (call.end_reason, call.end_detail) == (EndReason.EXIT, "The task is finished.")
    assert [(u.role, u.turn, u.text, u.partial) for u in call.transcript] == [
        ("agent", 1, "Good day.", False),
        ("user", 2, "Question 0 please.", False),
        ("agent", 2, "Answer 0.", False),
        ("user", 3, "Question 1 please.", False),
        ("agent", 3, "Answer 1.", False),
    ]
    assert call.agent_turns == 3
    assert agent.texts == ["Hello"]
    # prepared on one connection, talked to on another; one client at a time
    assert (agent.connections, user.connections) == (2, 2)
    set_up = ["reset", "update_system_prompt", "apply_initialization", "configure_output"]
    assert agent.requests == [*set_up, "get_context_history", "get_scenario_summary"]

    assert call.sound is not None
    timing = call.sound.timing
    assert [e.turn for e in timing.exchanges] == [2, 3]
    for exchange in timing.exchanges:
        # how close, benchmarks/bench_audio.py measures; here the machine may be busy
        assert exchange.latency == pytest.approx(0.4, abs=0.15)
    assert call.sound.kickoff == pytest.approx(0.1, abs=0.1)
    assert {latency.turn for latency in call.latencies} == {2, 3}

    # the recording is the same story on the same clock
    left, right = recorded(tmp_path)
    assert left == call.sound.spans["user"]
    assert right == call.sound.spans["agent"]
    spoken = [u for u in call.transcript if u.role == "user"]
    assert [(u.start, u.end) for u in spoken] == [
        (pytest.approx(s.start, abs=1e-4), pytest.approx(s.end, abs=1e-4)) for s in left
    ]
    with wave.open(str(tmp_path / "track_agent.wav")) as track:
        assert track.getframerate() == 24_000
        kept = np.frombuffer(track.readframes(track.getnframes()), "<i2")
    assert np.count_nonzero(kept) == 3 * len(tone(0.4))


async def test_bots_get_continuous_frames_of_16_ms(hold: Hold) -> None:
    agent = SoundBot(answering(1, delay=0.3), waits_for_kickoff=True)
    user = SoundBot(asking(1))
    await hold(agent, user, sound=GENEROUS)
    for bot in (agent, user):
        frames = [frame for _, frame in bot.frames]
        shapes = {(len(f.audio), f.sample_rate, f.num_channels) for f in frames}
        assert shapes == {(512, 16_000, 1)}
        seconds = bot.frames[-1][0] - bot.frames[0][0]
        assert len(frames) == pytest.approx(seconds / 0.016, abs=20)  # no drift, no gaps


SHAPES = [
    pytest.param(8_000, 1, 640, id="8 kHz"),
    pytest.param(16_000, 1, 641, id="odd sizes"),
    pytest.param(24_000, 1, 1920, id="24 kHz"),
    pytest.param(48_000, 2, 3838, id="48 kHz stereo, cut inside of a pair"),
    pytest.param(8_000, 1, 1, id="frames of one byte"),
]


@pytest.mark.parametrize(("rate", "channels", "size"), SHAPES)
async def test_sound_of_any_shape_is_heard_whole(
    hold: Hold, tmp_path: Path, rate: int, channels: int, size: int
) -> None:
    seconds = 0.2
    data = np.repeat(tone(seconds, rate), channels).tobytes()

    async def script(bot: SoundBot) -> None:
        for at in range(0, len(data), size):
            await bot.send(AudioFrame(data[at : at + size], rate, channels))
        await bot.exit()

    call = await hold(script, silent, sound=GENEROUS)
    assert call.end_reason is EndReason.EXIT
    [heard] = recorded(tmp_path)[1]
    assert heard.length == pytest.approx(seconds, abs=0.004)
    assert call.transcript[0].text == "[speech without words]"


async def test_last_words_that_come_after_the_exit_are_heard(hold: Hold, tmp_path: Path) -> None:
    async def script(bot: SoundBot) -> None:
        words = {"text": "Goodbye."}
        await bot.send("bot-llm-started", ("bot-llm-text", words), "bot-llm-stopped")
        await bot.exit()
        await asyncio.sleep(0.3)
        await bot.play(tone(0.8))

    call = await hold(script, silent, sound=GENEROUS)
    assert (call.end_reason, call.transcript[-1].text) == (EndReason.EXIT, "Goodbye.")
    assert recorded(tmp_path)[1][-1].length == pytest.approx(0.8, abs=0.01)


async def test_sound_without_end_after_the_exit_ends_with_its_limit(hold: Hold) -> None:
    async def script(bot: SoundBot) -> None:
        await bot.exit()
        await bot.play(tone(10.0))

    call = await hold(script, silent, exit_words=0.6, sound=GENEROUS)
    assert call.end_reason is EndReason.EXIT
    assert call.duration < 3.0


async def never_stops(bot: SoundBot) -> None:
    await bot.play(tone(30.0))


async def mute(bot: SoundBot) -> None:
    await bot.send("bot-llm-started", ("bot-llm-text", {"text": "Hi."}), "bot-llm-stopped")


async def dies(bot: SoundBot) -> None:
    await bot.say("Hello there.", 0.3)
    asyncio.get_running_loop().call_later(0.5, bot.drop)
    await bot.play(tone(2.0))


async def reports_fatal(bot: SoundBot) -> None:
    await bot.send(("error", {"error": "context too long", "fatal": True}))


async def speaks_once(bot: SoundBot) -> None:
    await bot.say("Hello, who is it?", 0.3)


async def hangs_up(bot: SoundBot) -> None:
    await bot.hear()
    await bot.say("Never mind, goodbye.", 0.3)
    await bot.exit()


ENDS = [
    pytest.param(silent, silent, "agent_silent", "turn_silence.* in turn 1$", id="silent"),
    pytest.param(mute, silent, "agent_silent", "it sent words but no sound", id="mute"),
    pytest.param(
        never_stops, silent, "timeout", r"1\.5 s .*speaking for 1\.\d s$", id="never stops"
    ),
    pytest.param(dies, silent, "agent_gone", "1006", id="dropped in the middle of a word"),
    pytest.param(reports_fatal, silent, "agent_error", "context too long", id="fatal error"),
    pytest.param(speaks_once, silent, "both_silent", "caller did not answer", id="both silent"),
    pytest.param(speaks_once, hangs_up, "caller_hangup", "caller's bot ended", id="hang-up"),
]


@pytest.mark.parametrize(("agent", "user", "reason", "detail"), ENDS)
async def test_ends(
    hold: Hold, tmp_path: Path, agent: Any, user: Any, reason: str, detail: str
) -> None:
    limits = {"max_duration": 1.5} if reason == "timeout" else {"turn_silence": 1.0}
    call = await hold(agent, user, sound=GENEROUS, **limits)
    assert call.end_reason == reason
    assert re.search(detail, call.end_detail), call.end_detail
    if reason == "agent_gone":
        assert call.transcript[-1].partial
        assert recorded(tmp_path)[1][-1].length == pytest.approx(0.8, abs=0.25)


async def test_a_turn_limit(hold: Hold) -> None:
    call = await hold(answering(5, 0.3), asking(5), max_turns=2, sound=GENEROUS)
    assert (call.end_reason, call.agent_turns) == (EndReason.TURN_LIMIT, 2)


async def test_a_caller_who_cuts_in_is_heard_and_the_agents_rest_is_dropped(hold: Hold) -> None:
    async def agent(bot: SoundBot) -> None:
        loop = asyncio.get_running_loop()
        speech = asyncio.create_task(bot.say("A very long story, that never ends.", 5.0))
        await bot.hear_begin()
        await asyncio.sleep(0.2)
        speech.cancel()
        await bot.interrupted()
        await bot.send("bot-stopped-speaking")
        heard = await bot.hear()
        await bot.say("Yes?", 0.3, at=max(heard + 0.3, loop.time()))
        await bot.exit()

    async def user(bot: SoundBot) -> None:
        await bot.hear_begin()
        await asyncio.sleep(0.5)
        await bot.say("Stop, please.", 0.6)

    call = await hold(agent, user, sound=GENEROUS)
    assert call.end_reason is EndReason.EXIT
    assert [(u.role, u.turn, u.partial) for u in call.transcript] == [
        ("agent", 1, True),
        ("user", 2, False),
        ("agent", 2, False),
    ]
    assert call.sound is not None
    timing = call.sound.timing
    assert (timing.user_interrupts, timing.agent_interrupts) == (1, 0)
    # it reacted 200 ms after it was cut into; what was dropped had been said
    [yielded] = timing.agent_yields
    assert yielded == pytest.approx(0.2, abs=0.15)
    assert call.sound.playout["agent"].flushed_seconds > 0.05


async def test_a_harness_that_is_held_up_gives_no_verdict(hold: Hold) -> None:
    async def agent(bot: SoundBot) -> None:
        await bot.say("Hello.", 0.2)
        time.sleep(0.4)  # noqa: ASYNC251 - bots and harness share this loop
        await bot.exit()

    with pytest.raises(MeasurementInvalid, match=r"a frame was \d{3} ms late.*limits: 200 ms") as e:
        await hold(agent, silent)
    assert e.value.conversation is not None
    assert e.value.conversation.end_reason is EndReason.EXIT


async def test_what_is_not_the_agents_fault(hold: Hold) -> None:
    async def gone(bot: SoundBot) -> None:
        bot.drop()

    with pytest.raises(CallerFailed, match=r"the caller's bot failed: .*connection") as error:
        await hold(speaks_once, gone, sound=GENEROUS)
    assert error.value.conversation is not None
    assert error.value.conversation.sound is not None

    with pytest.raises(CallerFailed, match=r"speaking without a pause for \d s \(speech\)"):
        await hold(speaks_once, never_stops, sound=GENEROUS, max_duration=2.0, speech=1.0)

    async def unplayable(bot: SoundBot) -> None:
        await bot.send(AudioFrame(b"\0\0", 7, 1))

    with pytest.raises(ProtocolFailed, match="it sent an audio frame of 7 Hz"):
        await hold(unplayable, silent, sound=GENEROUS)


async def test_a_bot_without_a_voice_is_refused(hold: Hold) -> None:
    agent = SoundBot(silent)
    agent.ready_data = {"version": "1.1.0", "capabilities": {"audio_out": False}}
    with pytest.raises(SetupFailed, match=r"the agent .*audio_out: false.*--modality audio"):
        await hold(agent, silent)


async def test_a_second_client_of_a_bot_for_one_has_to_wait(hold: Hold) -> None:
    busy = SoundBot(silent)
    async with serving(busy), connect(busy.url):
        url = busy.url
        agent = SoundBot(silent)
        agent.serve_client = busy.serve_client  # type: ignore[method-assign]
        with pytest.raises((AgentUnreachable, SetupFailed), match="already has a connected client"):
            await hold(agent, silent, connect=0.5)
        assert url
