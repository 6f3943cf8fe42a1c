"""Calls of the pair in a child process: the same every time; and what becomes of a child."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_voiceeval import Scenario, get_eval_scenario
from pytest_voiceeval.bots.script_player import Script
from pytest_voiceeval.call.audio.plan import SoundPlan
from pytest_voiceeval.call.errors import SetupFailed
from pytest_voiceeval.call.limits import CallLimits
from pytest_voiceeval.call.result import EndReason
from pytest_voiceeval.embedded import process
from pytest_voiceeval.embedded.job import EmbeddedJob, pack_scenario
from pytest_voiceeval.embedded.process import Pair, PairFailed, PairLost, Pairs
from pytest_voiceeval.report.error_text import render_error
from pytest_voiceeval.scenario.dialogue import DialogueTurn, ToolCall

NAME = "restaurant__pizza_pepperoni"
DIALOGUE = (
    DialogueTurn("agent", "Hello, this is the restaurant."),
    DialogueTurn("user", "A table for 2, please."),
    DialogueTurn("agent", "Goodbye, then.", (ToolCall("end_conversation", {}),)),
)


def job_in(folder: Path, **changes: Any) -> EmbeddedJob:
    scenario = get_eval_scenario(NAME)
    assert scenario is not None
    packed = pack_scenario(scenario)
    assert isinstance(packed, bytes)
    folder.mkdir()
    job = EmbeddedJob(
        scenario=packed,
        agent=Script(DIALOGUE),
        user=Script(DIALOGUE, "user"),
        limits=CallLimits(turn_silence=5.0),
        sound=SoundPlan(folder=folder),
        domain=scenario.domain,
    )
    return replace(job, **changes)


async def test_a_call_goes_the_same_way_every_time(tmp_path: Path) -> None:
    hashes = []
    async with Pairs(2, lambda number: tmp_path / f"{number}.log", {}) as pairs:
        for number in range(2):
            async with pairs.lease() as pair:
                job = job_in(tmp_path / f"call{number}")
                heard = await pair.hold(job, 900)
            assert heard.sound is not None
            assert heard.sound.virtual is not None
            hashes.append(heard.sound.virtual.event_log_hash)
            assert heard.end_reason is EndReason.EXIT
            assert heard.warnings == ()
            said = [(line.role, line.text) for line in heard.transcript]
            assert said == [(turn.role, turn.text) for turn in DIALOGUE]
            assert heard.duration > 5, "seconds of the call"
            assert heard.sound.pace.worst == 0
        async with pairs.lease() as pair:
            hang = job_in(tmp_path / "hangs", agent=Script(DIALOGUE, hang_at_turn=1))
            silent = await pair.hold(hang, 900)
            assert silent.end_reason is EndReason.AGENT_SILENT
            assert silent.sound is not None
            assert silent.sound.virtual is not None
            hashes.append(silent.sound.virtual.event_log_hash)
            unable = job_in(tmp_path / "unable", scenario=b"no pickle")
            with pytest.raises(PairFailed, match=r"(?s)in the process of both bots:.*Unpickling"):
                await pair.hold(unable, 900)
            assert pair.alive
        assert not (tmp_path / "2.log").exists(), "one after the other takes one child"
    assert hashes[0] == hashes[1] != hashes[2]
    assert not pair.alive
    first, second = (
        (tmp_path / f"call{n}" / "conversation_log.wav").read_bytes() for n in range(2)
    )
    assert first == second


# -- children that are none of the real ones

READY = """
import os, sys, time
from pytest_voiceeval.embedded.job import Answer, frame, unframe
out = os.fdopen(os.dup(1), "wb"); os.dup2(2, 1)
def say(**answer): out.write(frame(Answer(**answer))); out.flush()
"""


@pytest.fixture
def child(monkeypatch: pytest.MonkeyPatch) -> Any:
    def child(code: str) -> None:
        monkeypatch.setattr(process, "ARGUMENTS", ("-c", READY + code))

    return child


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    pair = Pair(tmp_path / "pair.log", {"SOME_API_KEY": "sk-not-for-the-log"})
    yield pair
    await pair.kill()


HELD = "say(); unframe(sys.stdin.buffer.read); "


async def test_the_error_of_a_call_comes_out_as_it_was(
    child: Any, pair: Pair, tmp_path: Path
) -> None:
    child(
        "from pytest_voiceeval.call.errors import SetupFailed\n"
        f"{HELD} print('not an answer'); say(error=SetupFailed('no such tool')); "
        "sys.stdin.buffer.read()"
    )
    await pair.start()
    with pytest.raises(SetupFailed, match=r"^no such tool$"):
        await pair.hold(job_in(tmp_path / "call"), 1)
    await pair.end()
    assert not pair.alive
    assert "not an answer" in (tmp_path / "pair.log").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("end", "how"),
    [
        ("sys.exit('broken: ' + os.environ['SOME_API_KEY'])", "code 1; its log ends: broken: ***"),
        (f"os.kill(os.getpid(), {signal.SIGKILL})", "ended by SIGKILL"),
    ],
    ids=["exits", "is killed"],
)
async def test_a_child_that_ends_in_mid_call_is_an_error(
    child: Any, pair: Pair, tmp_path: Path, end: str, how: str
) -> None:
    child(HELD + end)
    await pair.start()
    with pytest.raises(PairLost) as lost:
        await pair.hold(job_in(tmp_path / "call"), 1)
    assert how in str(lost.value)
    assert "lost in mid-call" in str(lost.value)
    assert "not measured: the call broke off\n" in render_error(
        lost.value, nodeid="shop::x", artifacts=None
    )
    assert f"log: {tmp_path / 'pair.log'}" in str(lost.value)
    assert not pair.alive


async def test_a_child_that_gives_no_answer_is_ended(
    child: Any, pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "SPARE", 0.1)
    child(HELD + "print('thinking'); time.sleep(60)")
    await pair.start()
    with pytest.raises(PairLost, match=r"within 0.3 real seconds \(pair deadline\).*thinking"):
        await pair.hold(job_in(tmp_path / "call"), 0.2)
    assert not pair.alive


async def test_a_child_that_does_not_get_ready_is_an_error(child: Any, pair: Pair) -> None:
    child("raise SystemExit('no pipecat')")
    with pytest.raises(PairLost, match=r"lost before it was ready: .*no pipecat") as lost:
        await pair.start()
    assert "the call never began" in render_error(lost.value, nodeid="shop::x", artifacts=None)


async def test_a_cancelled_call_ends_its_child_and_the_next_has_another(
    child: Any, tmp_path: Path
) -> None:
    child(HELD + "time.sleep(60)")
    async with Pairs(1, lambda _number: tmp_path / "pair.log", {}) as pairs:
        seen, begun = [], asyncio.Event()

        async def call(name: str) -> None:
            async with pairs.lease() as pair:
                seen.append(pair)
                begun.set()
                await pair.hold(job_in(tmp_path / name), 60)

        for name in ("one", "two"):
            task = asyncio.create_task(call(name))
            await asyncio.wait_for(begun.wait(), 50)
            begun.clear()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
    assert seen[0] is not seen[1]
    assert not any(pair.alive for pair in seen)


def test_a_call_that_makes_no_progress_ends_its_process_and_shows_where() -> None:
    code = (
        "from pytest_voiceeval.embedded import child\n"
        "child.STUCK = 0.2\n"
        "def loops_forever():\n"
        "    while True: pass\n"
        "child._not_stuck()\n"
        "loops_forever()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=50
    )
    assert done.returncode == 1
    assert "in loops_forever" in done.stderr


def test_a_child_ends_with_its_parent() -> None:
    read, write = os.pipe()
    code = (
        "from pytest_voiceeval.embedded import child; import time; child._take_streams(); "
        "print('to the log'); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=read, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        os.close(read)
        os.close(write)
        out, _ = child.communicate(timeout=50)
    assert child.returncode == 0
    assert out == b""


def test_a_scenario_of_no_pack_stays_here() -> None:
    class Local(Scenario):
        pass

    assert "Local is not part of a pack" in str(pack_scenario(Local(name="d__s")))
    scenario = get_eval_scenario(NAME)
    assert scenario is not None
    vars(scenario)["looks_up"] = lambda: None
    assert "it cannot be pickled" in str(pack_scenario(scenario))


def test_a_child_has_the_environment_of_a_bot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the user's filter of warnings nor a proxy may come between it and its bots."""
    monkeypatch.setenv("PYTHONWARNINGS", "error")
    monkeypatch.setenv("NO_PROXY", "intranet.example")
    environment = process._environment({"EXTRA": "1"})
    assert environment["PYTHONWARNINGS"] == ""
    assert environment["NO_PROXY"].startswith("intranet.example,")
    assert "127.0.0.1" in environment["NO_PROXY"]
    assert environment["EXTRA"] == "1"
