"""An agent that knows no message of ours: its state is set and learnt by a user's code."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from pytest_voiceeval.call.errors import (
    AgentStateFailed,
    BotKilled,
    OwnVerdict,
    StateUnreadable,
)
from pytest_voiceeval.call.ledger import AppliedAction, Ledger, WireCall
from pytest_voiceeval.call.messages import Applied
from pytest_voiceeval.call.result import EndReason, ProcessExit
from pytest_voiceeval.call.score import ScoreOptions, score
from pytest_voiceeval.call.shown_actions import actions_shown
from pytest_voiceeval.call.state_probe import StateProbe
from pytest_voiceeval.report.failure_text import render
from pytest_voiceeval.scoring.db_hash import get_dict_hash

STATE = {"orders": {"R-1": {"state": "returned"}}}
SILENT = (
    "reset",
    "update_system_prompt",
    "apply_initialization",
    "configure_output",
    "get_context_history",
    "get_scenario_summary",
)


def plain_bot(kit: Any, *replies: Any) -> Any:
    """Pipecat leaves messages it has no handler for without an answer."""
    return kit.Bot(*replies, **dict.fromkeys(SILENT, kit.no_reply))


def probe(read: Any = lambda scenario, session: STATE, prepare: Any = None) -> StateProbe:
    return StateProbe(Any, "s-1", read, prepare, "agent_state (conftest.py:7)")  # type: ignore[arg-type]


def closing(code: int = 1000, text: str = "Goodbye.") -> Any:
    async def reply(bot: Any, heard: str) -> None:
        if text:
            await bot.speak(text)
        await bot.hang_up(code)

    return reply


def calling(name: str | None, text: str = "Done.", result: Any = None, **arguments: Any) -> Any:
    """A reply with one function call before its words."""

    async def reply(bot: Any, heard: str) -> None:
        about = {"tool_call_id": f"c{len(bot.said)}"}
        if name is not None:
            about |= {"function_name": name, "arguments": arguments}
        await bot.send("bot-llm-started", ("llm-function-call-in-progress", about))
        await bot.send("bot-llm-stopped", ("llm-function-call-stopped", about | {"result": result}))
        await bot.speak(text)

    return reply


async def test_only_the_conversation_is_asked_of_the_agent(kit: Any) -> None:
    order: list[tuple[str, Any, str, int]] = []

    def note(step: str) -> Any:
        def function(scenario: Any, session: str) -> Any:
            order.append((step, scenario, session, bot.connections))
            return STATE

        return function

    bot = plain_bot(kit, kit.saying("Hello."), closing())
    scenario = kit.Scenario(expected_scenario_db=STATE)
    given = StateProbe(scenario, "s-1", note("read"), note("prepare"))
    async with kit.serving(bot):
        conversation = await kit.hold(bot, kit.Lines("Hi."), scenario=scenario, state=given)
    assert [(number, name) for number, name, _ in bot.received] == [(1, "send-text")] * 2
    assert order == [("prepare", scenario, "s-1", 0), ("read", scenario, "s-1", 1)]
    assert conversation.agent.db == STATE
    assert conversation.agent.db_hash == conversation.expected_hash == get_dict_hash(STATE)
    assert conversation.warnings == ()


async def test_sync_code_runs_beside_the_loop_and_async_code_in_it() -> None:
    threads = []

    def read(scenario: Any, session: str) -> Any:
        threads.append(threading.current_thread())
        return STATE

    async def read_async(scenario: Any, session: str) -> Any:
        await asyncio.sleep(0)
        return read(scenario, session)

    class Both:
        async def __call__(self, scenario: Any, session: str) -> Any:
            return read(scenario, session)

    limits = _limits()
    for function in (read, read_async, Both()):
        assert (await probe(function).read(limits))[0] == STATE
    assert [thread is threading.main_thread() for thread in threads] == [False, True, True]


async def test_code_that_hangs_keeps_nobody_else_waiting() -> None:
    end = threading.Event()
    hanging = [probe(lambda *_: end.wait(30)).read(_limits(state_read=0.2)) for _ in range(40)]
    try:
        outcomes = await asyncio.gather(*hanging, return_exceptions=True)
        assert all("was not through after 0.2 s" in str(outcome) for outcome in outcomes)
        assert (await probe().read(_limits()))[0] == STATE
    finally:
        end.set()


async def test_the_state_is_a_plain_copy() -> None:
    live: dict[str, Any] = {"stock": {7: {"price": Decimal("2.50"), "tags": ("a",)}}}
    state, digest = await probe(lambda scenario, session: live).read(_limits())
    live["stock"].clear()
    assert state == {"stock": {"7": {"price": 2.5, "tags": ["a"]}}}
    assert digest == get_dict_hash(state)


def _limits(**given: float) -> Any:
    from pytest_voiceeval.call.limits import CallLimits

    return CallLimits(**given)  # type: ignore[arg-type]


def _raises(scenario: Any, session: str) -> Any:
    raise LookupError(f"no tenant {session}")


async def _sleeps(scenario: Any, session: str) -> Any:
    await asyncio.sleep(30)


@pytest.mark.parametrize(
    ("read", "says"),
    [
        (_raises, r"raised LookupError \(test_state_probe\.py:\d+\): no tenant s-1$"),
        (lambda session: STATE, r"raised TypeError: .* takes 1 positional argument but 2 were"),
        (_sleeps, r"was not through after 0\.2 s \(state_read\)$"),
        (
            lambda *_: None,
            r"gave None, expected the agent's state as a dictionary, such as \{table",
        ),
        (lambda *_: [STATE], r"gave \[\{'orders': .*, expected the agent's state as a dictionary"),
        (
            lambda *_: {"orders": {"1": {"day": date(2026, 5, 12)}}},
            r"gave what is not JSON: at orders\.1\.day: a value of type date is not JSON",
        ),
        (lambda *_: {"x": float("nan")}, r"gave what is not JSON: at x: "),
    ],
)
async def test_a_probe_that_tells_no_state_is_an_error_that_names_it(
    kit: Any, read: Any, says: str
) -> None:
    bot = plain_bot(kit, kit.leaving())
    limits = replace(kit.limits, state_read=0.2)
    async with kit.serving(bot):
        with pytest.raises(AgentStateFailed, match=r"^agent_state \(conftest\.py:7\) " + says) as e:
            await kit.hold(bot, state=probe(read), limits=limits)
    assert e.value.conversation is not None
    assert e.value.conversation.end_reason is EndReason.EXIT


def _raising(error: BaseException) -> Any:
    def read(scenario: Any, session: str) -> Any:
        raise error

    async def read_async(scenario: Any, session: str) -> Any:
        raise error

    return read, read_async


@pytest.mark.parametrize(
    "error",
    [StopIteration("empty"), SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError("mine")],
    ids=lambda error: type(error).__name__,
)
async def test_what_means_something_to_asyncio_is_an_error_like_any_other(
    error: BaseException,
) -> None:
    for function in _raising(error):
        # of a coroutine, Python itself makes another error of StopIteration
        name = rf"({type(error).__name__}|RuntimeError)"
        says = rf"^agent_state \(conftest\.py:7\) raised {name}( \(test_state_probe\.py:\d+\))?: "
        with pytest.raises(AgentStateFailed, match=says):
            await probe(function).read(_limits(state_read=10.0))


async def test_a_call_that_is_cancelled_is_not_the_probe_s_doing() -> None:
    reading = asyncio.ensure_future(probe(_sleeps).read(_limits()))
    await asyncio.sleep(0.05)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading


class Enough(BaseException):
    """What a test framework raises to decide a test."""


async def test_code_that_decides_the_test_ends_the_call_with_all_that_was_measured(
    kit: Any,
) -> None:
    for read in _raising(Enough("no stock today")):
        given = replace(probe(read), verdicts={Enough: "skipped"})
        bot = plain_bot(kit, kit.leaving())
        async with kit.serving(bot):
            with pytest.raises(OwnVerdict) as e:
                await kit.hold(bot, state=given)
        assert str(e.value) == "agent_state (conftest.py:7): no stock today"
        assert e.value.outcome == "skipped"
        assert isinstance(e.value.raised, Enough)
        assert e.value.conversation is not None
        assert e.value.conversation.end_reason is EndReason.EXIT


async def test_a_state_that_cannot_be_set_is_an_error_before_the_agent_is_called(kit: Any) -> None:
    bot = plain_bot(kit, kit.leaving())
    async with kit.serving(bot):
        with pytest.raises(AgentStateFailed, match=r"^prepare of agent_state .*raised LookupError"):
            await kit.hold(bot, state=probe(prepare=_raises))
    assert bot.connections == 0


async def test_an_agent_that_failed_has_failed_whatever_the_probe_says(kit: Any) -> None:
    async def nothing(bot: Any, heard: str) -> None:
        pass

    bot = plain_bot(kit, nothing)
    async with kit.serving(bot):
        conversation = await kit.hold(bot, state=probe(_raises))
    assert conversation.end_reason is EndReason.AGENT_SILENT
    assert conversation.agent.db is None
    assert "agent_state (conftest.py:7) raised LookupError" in conversation.warnings[0]


# -- how it ends the call


async def _code(number: int) -> ProcessExit:
    return ProcessExit(number, None)


@pytest.mark.parametrize(
    ("reply", "plan", "reason"),
    [
        pytest.param(closing(), {}, EndReason.EXIT, id="it spoke"),
        pytest.param(closing(), {"process_exit": lambda: _code(0)}, EndReason.EXIT, id="and ended"),
        pytest.param(
            closing(), {"process_exit": lambda: _code(3)}, EndReason.AGENT_GONE, id="and crashed"
        ),
        pytest.param(closing(text=""), {}, EndReason.AGENT_GONE, id="it never spoke"),
        pytest.param(closing(1011), {}, EndReason.AGENT_GONE, id="internal error"),
        pytest.param(closing(), {"state": None}, EndReason.AGENT_GONE, id="one with our messages"),
    ],
)
async def test_closing_the_connection_is_how_it_hangs_up(
    kit: Any, reply: Any, plan: dict[str, Any], reason: EndReason
) -> None:
    known = {} if "state" in plan else dict.fromkeys(SILENT, kit.no_reply)
    bot = kit.Bot(reply, **known)
    async with kit.serving(bot):
        conversation = await kit.hold(bot, **{"state": probe(), **plan})
    assert conversation.end_reason is reason
    if reason is EndReason.EXIT:
        assert conversation.end_detail == "the agent hung up: it closed the connection"
        assert conversation.agent_turns == 1
        assert not conversation.transcript[-1].partial


async def test_a_call_under_way_is_no_oddity_of_an_agent_that_hangs_up_by_it(kit: Any) -> None:
    async def reply(bot: Any, heard: str) -> None:
        await bot.speak("Goodbye.")
        await bot.send(("llm-function-call-in-progress", {"tool_call_id": "c1"}))
        await bot.hang_up()

    bot = plain_bot(kit, reply)
    async with kit.serving(bot):
        conversation = await kit.hold(bot, state=probe())
    assert conversation.end_reason is EndReason.EXIT
    assert not any("unfinished" in warning for warning in conversation.warnings)


async def test_one_that_is_killed_did_not_hang_up(kit: Any) -> None:
    async def killed() -> ProcessExit:
        return ProcessExit(None, 15)

    bot = plain_bot(kit, closing())
    async with kit.serving(bot):
        with pytest.raises(BotKilled, match="ended by SIGTERM"):
            await kit.hold(bot, state=probe(), process_exit=killed)


async def test_a_greeting_on_connection_gives_way_to_the_kickoff(kit: Any) -> None:
    async def greet(bot: Any, number: int) -> None:
        await bot.send("bot-llm-started", ("bot-llm-text", {"text": "Welcome!"}), "bot-llm-stopped")

    bot = plain_bot(kit, kit.saying("Hello."), kit.leaving())
    bot.on_connect = greet
    async with kit.serving(bot):
        conversation = await kit.hold(bot, kit.Lines("Bye."), state=probe())
    said = [u.text for u in conversation.transcript if u.role == "agent"]
    assert said == ["Hello.", "Goodbye."]


# -- what it did


async def test_a_red_call_names_field_and_function_call(kit: Any) -> None:
    actual = {"orders": {"R-1": {"state": "open"}}}
    bot = plain_bot(
        kit,
        kit.saying("Hello."),
        calling("return_order", order_id="R-7", result={"status": "error", "message": "unknown"}),
        calling("return_order", order_id="R-1", result={"status": "success"}),
        kit.leaving(),
    )
    scenario = _real_scenario()
    async with kit.serving(bot):
        conversation = await kit.hold(
            bot,
            kit.Lines("Return order 1.", "Please.", "Thanks."),
            scenario=scenario,
            state=probe(lambda *_: actual),
        )
    result = score(scenario, conversation, ScoreOptions())
    assert result.passed is False
    assert result.actions == ({"side": "agent", "name": "return_order", "arguments": ORDER_1},)
    text = render(result, nodeid="shop::return")
    assert 'orders / R-1 / state: "returned" → "open"' in text
    assert 'last named by:\n  turn 3: return_order(order_id="R-1")' in text


ORDER_1 = {"order_id": "R-1"}


def _real_scenario() -> Any:
    from pytest_voiceeval import Scenario, SuccessSignal

    class Return(Scenario):
        name = "shop__return"
        domain = "shop"
        success_signals = (SuccessSignal.DB_STATE_MATCH, SuccessSignal.CLEAN_EXIT)
        expected_scenario_db = STATE

        def setup_shared_state(self, state: dict[str, Any], side: str) -> None:
            state["db"] = {"orders": {"R-1": {"state": "open"}}}

    return Return()


def _ledger(*calls: WireCall, applied: Any = None, final: tuple[str, ...] = ()) -> Ledger:
    pushed = [AppliedAction(1, Applied(applied, ()), ())] if applied else []
    return Ledger(list(final), pushed, calls={call.id: call for call in calls})


def _call(name: str | None, result: Any = None, stopped: bool = True) -> WireCall:
    return WireCall(f"id {name}", 1, name, ORDER_1, result, stopped)


PUT = {"name": "put", "arguments": ORDER_1}


@pytest.mark.parametrize(
    ("ledger", "records"),
    [
        pytest.param(_ledger(), (), id="no call"),
        pytest.param(_ledger(_call("put")), (PUT,), id="a call"),
        pytest.param(_ledger(_call("put", {"status": "ok"})), (PUT,), id="with a result"),
        pytest.param(_ledger(_call("put", '{"error": "no"}')), (), id="refused, as text"),
        pytest.param(_ledger(_call("put", {"status": "error"})), (), id="refused"),
        pytest.param(_ledger(_call("put", stopped=False)), (), id="not finished"),
        pytest.param(_ledger(_call("put"), applied={"a": 1}), ({"a": 1},), id="it pushes actions"),
        pytest.param(_ledger(_call("put"), final=("{}",)), (), id="it hands in a response"),
        pytest.param(_ledger(_call("put"), _call(None)), None, id="it does not say which"),
    ],
)
def test_actions_are_what_the_agent_shows(ledger: Ledger, records: Any) -> None:
    shown = actions_shown(ledger)
    assert shown.records == records
    assert bool(shown.note) is (records is None)


@pytest.mark.parametrize("needed", [True, False])
async def test_calls_without_a_name_are_noted_and_no_verdict_about_actions(
    kit: Any, needed: bool
) -> None:
    bot = plain_bot(kit, calling(None), kit.leaving())
    scenario = kit.Scenario(reference_answer={"actions": [PUT]} if needed else None)
    note = r"the agent shows that it called functions \(1\), but not which: .*report_level"
    async with kit.serving(bot):
        if needed:
            with pytest.raises(
                StateUnreadable, match=f"actions of the agent are not known: {note}"
            ):
                await kit.hold(bot, kit.Lines("Put."), scenario=scenario, state=probe())
            return
        conversation = await kit.hold(bot, kit.Lines("Put."), scenario=scenario, state=probe())
    assert conversation.agent.actions is None
    [warning] = conversation.warnings
    assert warning.startswith("the agent shows that it called functions (1)")
