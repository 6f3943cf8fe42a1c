"""A project with calls that take a known time: an agent on a thread of pytest's own process.

The agent answers three times, each after a pause, and ends the call. What a scenario is called
decides what happens in it: `bad…` hangs up in the middle, `slow…` takes ten pauses for each answer.
It keeps a diary, `agent.txt`: one line when a call begins and one when its connection is closed.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

CONFTEST = """
import asyncio
import json
import logging
import os
import threading
from pathlib import Path

import pytest
from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed

from pytest_voiceeval import (
    Actions, DialogueTurn, Persona, Resources, Scenario, SuccessSignal, Task, ToolCall,
    register_eval_scenario,
)
from pytest_voiceeval.wire import rtvi
from pytest_voiceeval.wire.frames import MessageFrame, decode, encode
from pytest_voiceeval.wire.rtvi import Envelope

PAUSE = {pause}
DIARY = Path(__file__).with_name("agent.txt")
ANSWERS = {{
    "apply_initialization": {{"success": True, "errors": []}},
    "get_context_history": {{"context": "[]"}},
    "get_scenario_summary": {{"actions": [], "db_hash": None}},
}}


class Quick(Scenario):
    domain = "quick"
    success_signals = (SuccessSignal.CLEAN_EXIT,)
    agent_persona = user_persona = Persona(role="somebody")
    agent_task = user_task = Task(goal="to talk")
    agent_actions = user_actions = Actions()
    agent_resources = user_resources = Resources()
    reference_dialogue = (
        DialogueTurn("agent", "Hello."),
        DialogueTurn("user", "How are you?"),
        DialogueTurn("agent", "Fine, and you?"),
        DialogueTurn("user", "Fine. Bye."),
        DialogueTurn("agent", "Goodbye.", (ToolCall("end_conversation"),)),
    )

    def get_agent_prompt(self):
        logging.getLogger("quick").warning("set up %s", self.short_name)
        return "You are somebody."


for name in {names!r}:
    register_eval_scenario(type(name, (Quick,), {{"name": "quick__" + name}}))


def note(text):
    with DIARY.open("a") as diary:
        diary.write(text + "\\n")


async def converse(socket):
    name = socket.request.path.strip("/")
    turns = 0
    talking = False

    async def send(type_, data=None, id_=None):
        await socket.send(encode(MessageFrame(rtvi.dump(Envelope(type_, data, id_)))))

    try:
        async for data in socket:
            message = rtvi.parse(decode(data).data)
            if message.type == "client-ready":
                await send("bot-ready", {{"version": "1.1.0"}}, message.id)
            elif message.type == "send-text":
                if not talking:
                    talking = True
                    note("began " + name)
                turns += 1
                await send("bot-llm-started")
                await asyncio.sleep(PAUSE * (10 if name.startswith("slow") else 1))
                if turns == 2 and name.startswith("bad"):
                    return await socket.close()
                await send("bot-llm-text", {{"text": "Yes."}})
                await send("bot-llm-stopped")
                if turns == 3:
                    await send("server-message", {{"text": "<exit>Done.</exit>"}})
            else:
                asked = message.data["t"]
                answer = {{"t": asked, "d": ANSWERS.get(asked, True)}}
                await send("server-response", answer, message.id)
    except ConnectionClosed:
        pass
    finally:
        if talking:
            note("ended " + name)


@pytest.fixture(scope="session")
def agent_bot():
    loop = asyncio.new_event_loop()
    ready = threading.Event()
    ports = []
    stop = asyncio.Event()

    async def main():
        async with serve(converse, "127.0.0.1", 0, close_timeout=1) as server:
            ports.append(server.sockets[0].getsockname()[1])
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(main()), daemon=True)
    thread.start()
    assert ready.wait(10)
    yield f"ws://127.0.0.1:{{ports[0]}}/{{{{session}}}}"
    note("agent torn down")
    loop.call_soon_threadsafe(stop.set)
    thread.join(10)
    loop.close()
"""


def write_project(
    root: Path, names: Iterable[str], *, pause: float = 0.05, conftest: str = ""
) -> None:
    """Write the project's conftest below `root`; `conftest` is added to it."""
    text = CONFTEST.format(names=list(names), pause=pause) + conftest
    (root / "conftest.py").write_text(text, encoding="utf-8")


def diary(root: Path) -> list[str]:
    """What the agent wrote down."""
    path = root / "agent.txt"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def most_at_once(lines: Iterable[str]) -> int:
    """How many calls the agent had at the same time, at most."""
    most = now = 0
    for line in lines:
        now += {"began": 1, "ended": -1}.get(line.split()[0], 0)
        most = max(most, now)
    return most
