"""The relay's ticks and figures, without sockets: time is what the test says."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import numpy as np
import pytest

from pytest_voiceeval.call.audio.plan import CHUNK, RATE, TICK, RelayLimits, SoundPlan
from pytest_voiceeval.call.audio.relay import Leg, Pace, Relay
from pytest_voiceeval.wire.frames import AudioFrame
from tests.unit.audio.bots import tone


class Line:
    def __init__(self) -> None:
        self.sent: list[AudioFrame] = []

    async def send_audio(self, frame: AudioFrame) -> None:
        self.sent.append(frame)


def relay_of(plan: SoundPlan | None = None, mixer: Any = None) -> Relay:
    plan = plan or SoundPlan()
    to_agent = Leg("user", Line(), plan, [].append, mixer)
    return Relay(to_agent, Leg("agent", Line(), plan, [].append))


@pytest.mark.parametrize("rate", [8_000, 16_000, 24_000, 48_000])
def test_a_known_latency_is_measured_to_the_millisecond(rate: int) -> None:
    """Frames arrive at known times; what the relay holds back must be in no number."""
    chance = random.Random(rate)
    relay = relay_of()
    relay.started = 1000.0
    leg = relay.to_user
    now, due, errors = 1000.0, 1000.0, []
    for _ in range(8):
        came = now + chance.uniform(0.3, 0.6)
        sound = tone(0.3, rate)
        size = round(0.04 * rate)
        frames = [sound[at : at + size] for at in range(0, len(sound), size)]
        events = [(came + n * 0.04, frame.tobytes()) for n, frame in enumerate(frames)]
        while due < came + 1.0:
            while events and events[0][0] <= due:
                at, data = events.pop(0)
                leg.playout.push(at, AudioFrame(data, rate, 1))
            leg.tick(due)
            due += TICK
        span = leg.detector.spans[-1]
        start = 1000.0 + span.start - leg.playout.lead(1000.0 + span.start)
        errors += [start - came, span.length - 0.3]
        now = due
    assert max(map(abs, errors)) < 0.001


def test_the_agent_hears_noise_and_the_speech_is_timed_without_it() -> None:
    class Hiss:
        def mix(self, samples: np.ndarray) -> np.ndarray:
            return samples + np.int16(2000)

    relay = relay_of(mixer=Hiss())
    relay.to_agent.playout.push(0.0, AudioFrame(tone(0.1, RATE).tobytes(), RATE, 1))
    heard = [relay.to_agent.tick(n * TICK) for n in range(40)]
    assert all(chunk is not None and chunk[0] != 0 for chunk in heard)
    assert [round(span.length, 3) for span in relay.to_agent.detector.spans] == [0.1]


async def test_frames_keep_to_the_grid_whatever_happens_between_them() -> None:
    relay = relay_of()
    dues: list[float] = []

    def on_tick(due: float) -> None:
        dues.append(due)
        if len(dues) == 5:
            import time

            time.sleep(0.05)
        if len(dues) == 20:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        async with asyncio.timeout(5):
            await relay.run(on_tick)
    steps = np.diff(dues)
    assert np.allclose(steps, TICK)  # the frames that were late came after one another
    assert relay.pace.ticks == 20
    assert relay.pace.worst > 0.03
    assert relay.pace.late >= 1


async def test_frames_are_sent_in_order_as_16_khz_mono() -> None:
    line = Line()
    leg = Leg("user", line, SoundPlan(), [].append)
    sending = asyncio.create_task(leg.send())
    leg.playout.push(0.0, AudioFrame(np.full(2 * CHUNK, 9, "<i2").tobytes(), RATE, 1))
    for tick in range(16):
        leg.tick(tick * TICK)
    await asyncio.sleep(0)
    sending.cancel()
    assert [np.frombuffer(f.audio, "<i2")[0] for f in line.sent] == [0] * 13 + [9, 9, 0]
    assert {(f.sample_rate, f.num_channels, len(f.audio)) for f in line.sent} == {(RATE, 1, 512)}


@pytest.mark.parametrize(
    ("pace", "holes", "said"),
    [
        pytest.param(Pace(6000, 0, 0.02), 0, "", id="in time"),
        pytest.param(Pace(6000, 100, 0.15), 3, "", id="within the limits"),
        pytest.param(Pace(6000, 1, 0.3), 0, "a frame was 300 ms late", id="one much too late"),
        pytest.param(
            Pace(1000, 30, 0.1), 0, "30 of 1000 frames were over 30 ms late", id="many late"
        ),
        pytest.param(Pace(600, 0, 0.0), 4, "speech had 4 holes", id="holes"),
        pytest.param(Pace(37_500, 0, 0.0), 20, "", id="two holes a minute"),
    ],
)
def test_beyond_its_limits_a_call_is_no_evidence(pace: Pace, holes: int, said: str) -> None:
    relay = relay_of()
    relay.pace = pace
    relay.to_user.playout.figures.underruns = holes
    problem = relay.problem(RelayLimits())
    assert said in problem
    assert bool(problem) is bool(said)
    if said:
        assert "--jitter-buffer" in problem


def test_a_bot_whose_frames_are_tiny_is_named() -> None:
    relay = relay_of()
    relay.pace = Pace(600, 90, 1.2)
    relay.to_user.playout.figures.frames = 14_400
    relay.to_user.playout.figures.seconds = 0.3
    problem = relay.problem(RelayLimits())
    assert "the agent sent 14400 audio frames of 0.021 ms each; let it send frames of" in problem
    assert "not the agent's doing" not in problem


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"jitter": -0.1}, "0 to 5 s, got -0.1"),
        ({"jitter": float("nan")}, "0 to 5 s, got nan"),
        ({"speech_level": 3.0}, "-90 to below 0 dBFS, got 3.0"),
    ],
)
def test_a_plan_checks_its_numbers(given: dict[str, float], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        SoundPlan(**given)  # type: ignore[arg-type]
