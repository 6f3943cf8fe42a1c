"""Limits, errors, ends of processes, plans, the scripted caller."""

from __future__ import annotations

import pickle
import signal
import time
from typing import Any

import pytest

from pytest_voiceeval.call.caller import GOODBYE, HangUp, Say, ScriptedCaller
from pytest_voiceeval.call.errors import (
    AgentUnreachable,
    BotKilled,
    CallerFailed,
    CallError,
    ProtocolFailed,
    SetupFailed,
)
from pytest_voiceeval.call.faults import (
    as_call_error,
    bot_killed,
    describe_exit,
    find_exit,
    killed_from_outside,
)
from pytest_voiceeval.call.limits import CallLimits
from pytest_voiceeval.call.result import Conversation, EndReason, ProcessExit
from pytest_voiceeval.call.session import AgentLink
from pytest_voiceeval.scenario.dialogue import DialogueTurn
from pytest_voiceeval.wire.errors import (
    BotBusy,
    ConnectFailed,
    ConnectionLost,
    HandshakeFailed,
    ProtocolBroken,
    RequestRefused,
    WireError,
    WrongProtocol,
)


@pytest.mark.parametrize("value", [0, -1.0, float("inf"), float("nan")])
@pytest.mark.parametrize("name", ["pull", "max_turns", "max_duration"])
def test_limits_must_be_above_zero_and_name_themselves(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"call limit '{name}' must be above 0"):
        CallLimits(**{name: value})


@pytest.mark.parametrize(
    ("own", "scenario", "expected"),
    [(None, None, 900.0), (None, 120.0, 120.0), (60.0, 120.0, 60.0), (60.0, None, 60.0)],
)
def test_duration_is_ours_else_the_scenarios(
    own: float | None, scenario: float | None, expected: float
) -> None:
    assert CallLimits(max_duration=own).duration_for(scenario) == expected


def test_a_template_is_no_address() -> None:
    with pytest.raises(ValueError, match=r"still holds '\{session\}'"):
        AgentLink("ws://127.0.0.1:1/ws/{session}")


def test_errors_carry_the_conversation_through_a_pickle() -> None:
    error = SetupFailed("no", Conversation("d__x", "d", agent_turns=2))
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.conversation) == (SetupFailed, "no", error.conversation)


def test_every_error_has_a_code_of_its_own() -> None:
    codes = [cls.code for cls in CallError.__subclasses__()]
    assert len(set(codes)) == len(codes)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ConnectFailed("agent at x: refused"), AgentUnreachable),
        (HandshakeFailed("no bot-ready"), AgentUnreachable),
        (BotBusy("serves another", 1013), AgentUnreachable),
        (WrongProtocol("text frames"), ProtocolFailed),
        (ProtocolBroken("three bad frames"), ProtocolFailed),
        (RequestRefused("refused", "reset", "no"), SetupFailed),
        (ConnectionLost(1006), SetupFailed),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_wire_errors_before_the_talk(error: WireError, expected: type[CallError]) -> None:
    assert type(as_call_error(error, "agent")) is expected
    assert str(error) in str(as_call_error(error, "agent"))
    caller = as_call_error(error, "user")
    assert type(caller) is CallerFailed
    assert "caller's bot" in str(caller)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (None, False),
        (ProcessExit(1, None), False),
        (ProcessExit(None, signal.SIGSEGV), False),
        (ProcessExit(None, signal.SIGABRT), False),
        (ProcessExit(None, signal.SIGKILL), True),
        (ProcessExit(None, signal.SIGTERM), True),
    ],
)
def test_a_crash_is_the_bots_own_a_kill_is_not(found: ProcessExit | None, expected: bool) -> None:
    assert killed_from_outside(found) is expected


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (ProcessExit(3, None), "its process exited with code 3"),
        (
            ProcessExit(3, None, ("a", "", " Boom ")),
            "its process exited with code 3; its log ends: a / Boom",
        ),
        (ProcessExit(None, 9), "its process was ended by SIGKILL"),
        (ProcessExit(None, 250), "its process was ended by signal 250"),
    ],
)
def test_how_a_process_ended_in_words(found: ProcessExit, text: str) -> None:
    assert describe_exit(found) == text


def test_a_killed_bot_is_named() -> None:
    error = bot_killed("user", ProcessExit(None, 9))
    assert isinstance(error, BotKilled)
    assert "the caller's bot was killed during the call, and not by us" in str(error)


async def test_the_end_of_a_process_is_waited_for_within_its_limit() -> None:
    looks: list[ProcessExit | None] = [None, None, ProcessExit(1, None)]

    async def probe() -> ProcessExit | None:
        return looks.pop(0)

    assert await find_exit(probe, 5.0) == ProcessExit(1, None)
    assert await find_exit(None, 5.0) is None


async def test_a_process_that_lives_on_has_no_end() -> None:
    async def probe() -> ProcessExit | None:
        return None

    before = time.monotonic()
    assert await find_exit(probe, 0.12) is None
    assert time.monotonic() - before < 1.0


async def test_the_scripted_caller_says_its_lines_then_goodbye_then_hangs_up() -> None:
    dialogue = (
        DialogueTurn("agent", "Hello"),
        DialogueTurn("user", "One"),
        DialogueTurn("agent", "Yes?"),
        DialogueTurn("user", "Two"),
        DialogueTurn("agent", "Bye"),
    )
    caller = ScriptedCaller(dialogue)
    await caller.start()
    assert [await caller.reply(()) for _ in range(3)] == [Say("One"), Say("Two"), Say(GOODBYE)]
    assert isinstance(await caller.reply(()), HangUp)
    assert isinstance(await caller.reply(()), HangUp)
    await caller.close()


def test_end_reasons_print_as_their_names() -> None:
    expected = (
        "exit caller_hangup timeout turn_limit agent_silent agent_error agent_gone both_silent"
    )
    found: list[Any] = [str(reason) for reason in EndReason]
    assert found == expected.split()
