"""When a turn is over and what was said in it, as tables of events."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_voiceeval.call.limits import CallLimits
from pytest_voiceeval.call.turns import BotHabits, TurnCollector
from pytest_voiceeval.wire.backlog import Event
from pytest_voiceeval.wire.frames import AudioFrame, InterruptionFrame
from pytest_voiceeval.wire.rtvi import Envelope

LIMITS = CallLimits(
    quiet=0.02,
    speech_onset=0.3,
    speech_start=3.0,
    speech_gap=0.5,
    speech=60.0,
    output_lag=0.8,
    text_gap=1.0,
    tool_settle=2.0,
    exit_settle=0.5,
    exit_words=10.0,
)

VOICE = AudioFrame(b"\1\2" * 960, 24000, 1)
SILENCE = AudioFrame(bytes(1920), 24000, 1)
EXIT = ("server-message", {"text": "<exit>The task is finished.</exit>"})


def collect(
    events: list[Any], *, may_speak: bool = True, has_spoken: bool = False, step: float = 0.01
) -> TurnCollector:
    """Feed events one step apart; a bare number moves the clock by itself."""
    habits = BotHabits(may_speak=may_speak, has_spoken=has_spoken)
    turn = TurnCollector(100.0, LIMITS, habits)
    at = 100.0
    for entry in events:
        if isinstance(entry, float):
            at += entry
            continue
        at += step
        kind = entry if isinstance(entry, AudioFrame | InterruptionFrame) else envelope(entry)
        turn.feed(Event(at, kind))
    return turn


def envelope(entry: str | tuple[str, Any]) -> Envelope:
    kind, data = (entry, None) if isinstance(entry, str) else entry
    return Envelope(kind, {"text": data} if isinstance(data, str) else data)


def llm(*words: str) -> list[Any]:
    return ["bot-llm-started", *(("bot-llm-text", word) for word in words), "bot-llm-stopped"]


def call(identity: str) -> tuple[Any, Any, Any]:
    return (
        "llm-function-call-started",
        ("llm-function-call-in-progress", {"tool_call_id": identity}),
        ("llm-function-call-stopped", {"tool_call_id": identity, "cancelled": False}),
    )


def output(text: str, **data: Any) -> tuple[str, dict[str, Any]]:
    return ("bot-output", {"text": text, "output_type": "sentence", **data})


def silent(text: str, identity: int) -> tuple[str, dict[str, Any]]:
    return output(text, segment_id=identity, will_be_spoken=False, spoken_status="new")


def settling(turn: TurnCollector) -> float | None:
    """Seconds from the last sign of the bot to the end of the turn."""
    at = turn.settles_at
    return None if at is None else round(at - turn.last_sign_at, 6)


STARTED, IN_PROGRESS, STOPPED = call("c1")
TOOL_RUN = ["bot-llm-started", STARTED, "bot-llm-stopped", IN_PROGRESS, STOPPED]
SPOKEN = ["bot-started-speaking", VOICE, "bot-stopped-speaking"]
ACK = "bot-interrupted"


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param([], None, id="nothing yet"),
        pytest.param([ACK], None, id="only acknowledged"),
        pytest.param([ACK, "bot-llm-started"], None, id="model runs"),
        pytest.param([ACK, "bot-llm-started", ("bot-llm-text", "Hi")], None, id="model writes"),
        pytest.param([ACK, *llm("Hi")], 0.3, id="speech may follow"),
        pytest.param([ACK, *llm()], None, id="a run without words is no reply"),
        pytest.param([ACK, *llm("", " ")], None, id="blank words are none"),
        pytest.param([ACK, *TOOL_RUN], None, id="a call without words is no reply"),
        pytest.param(
            [ACK, "bot-llm-started", ("bot-llm-text", "Wait."), STARTED, "bot-llm-stopped"],
            2.0,
            id="a call was announced",
        ),
        pytest.param([ACK, *llm("Wait."), STARTED, IN_PROGRESS], None, id="a call is in progress"),
        pytest.param(
            [ACK, *llm("Wait."), STARTED, IN_PROGRESS, STOPPED], 2.0, id="a call ended, run due"
        ),
        pytest.param([ACK, *TOOL_RUN, "bot-llm-started"], None, id="the run after a call"),
        pytest.param([ACK, *TOOL_RUN, *llm("Done")], 0.3, id="answered after a call"),
        pytest.param(
            [ACK, *llm("Wait."), IN_PROGRESS, IN_PROGRESS, STOPPED, STOPPED],
            2.0,
            id="events of a call delivered twice",
        ),
        pytest.param(
            [ACK, *llm("Wait."), IN_PROGRESS, *llm("Still at it")], None, id="a call outlives a run"
        ),
        pytest.param(
            [ACK, *llm("A."), IN_PROGRESS, call("c2")[1], STOPPED], None, id="one of two is open"
        ),
        pytest.param([ACK, *llm("Hi"), "bot-tts-started"], 3.0, id="synthesis has begun"),
        pytest.param([ACK, *llm("Hi"), "bot-started-speaking"], 60.0, id="speaking"),
        pytest.param([ACK, *llm("Hi"), *SPOKEN], 0.02, id="spoken"),
        pytest.param([ACK, *llm("Hi"), SILENCE], 0.3, id="silence is not speech"),
        pytest.param(
            [
                ACK,
                *llm("One.", " Two."),
                "bot-started-speaking",
                output("One.", segment_id=1, will_be_spoken=True, spoken_status="completed"),
                output("Two.", segment_id=2, will_be_spoken=True, spoken_status="new"),
                "bot-stopped-speaking",
            ],
            0.5,
            id="an announced sentence is unspoken",
        ),
        pytest.param(
            [
                ACK,
                *llm("One."),
                "bot-started-speaking",
                output("One.", segment_id=1, will_be_spoken=True, spoken_status="completed"),
                STARTED,
                IN_PROGRESS,
                STOPPED,
                *llm("Two."),
                "bot-stopped-speaking",
            ],
            3.0,
            id="the second run is still unheard",
        ),
        pytest.param(
            [ACK, *llm("Hi."), output("Hi.", segment_id=1, will_be_spoken=False)],
            0.02,
            id="announced as not spoken",
        ),
        pytest.param(
            [ACK, *llm("Hi.", " You."), output("Hi.", segment_id=1, will_be_spoken=False)],
            0.8,
            id="the last sentence has not been put out",
        ),
        pytest.param([*SPOKEN], 0.5, id="speaks, shows no model"),
        pytest.param([output("Hi.", spoken=True), *SPOKEN], 0.5, id="speaks with words, no model"),
        pytest.param([output("Hi.")], 1.0, id="words only, no model and no speech"),
    ],
)
def test_settling_time(events: list[Any], expected: float | None) -> None:
    assert settling(collect(events)) == expected


@pytest.mark.parametrize(
    ("events", "habits", "expected"),
    [
        pytest.param([ACK, *llm("Hi")], {"may_speak": False}, 0.02, id="promised text only"),
        pytest.param([ACK, *llm("Hi")], {"has_spoken": True}, 3.0, id="has spoken before"),
        pytest.param(
            [ACK, *llm("Hi"), "bot-started-speaking"],
            {"may_speak": False},
            60.0,
            id="promised text only but speaks",
        ),
        pytest.param(
            [ACK, *llm("Hi."), output("Hi.", segment_id=1, will_be_spoken=False)],
            {"has_spoken": True},
            0.02,
            id="has spoken before, announces silence now",
        ),
    ],
)
def test_settling_time_by_habit(
    events: list[Any], habits: dict[str, bool], expected: float
) -> None:
    assert settling(collect(events, **habits)) == expected


def test_voiced_audio_is_waited_out_from_its_last_frame() -> None:
    turn = collect([ACK, *llm("Hi"), VOICE, 0.5, VOICE])
    assert turn.settles_at == pytest.approx(turn.last_sign_at + 0.52 + LIMITS.speech_start)


def test_endless_background_noise_ends_the_turn_after_the_speech_limit() -> None:
    noise: list[Any] = [x for _ in range(200) for x in (VOICE, 0.5)]
    turn = collect([ACK, *llm("Hi"), *noise])
    assert settling(turn) == LIMITS.speech


def test_noise_after_the_speech_does_not_hold_the_turn() -> None:
    turn = collect([ACK, *llm("Hi"), *SPOKEN, 5.0, VOICE])
    assert settling(turn) == LIMITS.quiet


def test_speech_is_remembered_as_a_habit() -> None:
    habits = BotHabits()
    TurnCollector(0.0, LIMITS, habits).feed(Event(1.0, VOICE))
    assert habits.has_spoken


@pytest.mark.parametrize(
    ("reaction", "expected"), [(0.001, 0.02), (0.1, 0.1), (5.0, 0.3)], ids=["quick", "slow", "late"]
)
def test_a_bot_slow_to_react_gets_a_longer_settling_time(reaction: float, expected: float) -> None:
    turn = collect([reaction, ACK, *llm("Hi")], may_speak=False, step=0.0)
    assert settling(turn) == pytest.approx(expected)


@pytest.mark.parametrize(
    "noise",
    ["server-response", "error-response", "bot-audio-level", "system-log", "bot-ready"],
)
def test_replies_and_levels_are_no_sign_of_work(noise: str) -> None:
    turn = collect([ACK, *llm("Hi")])
    last = turn.last_sign_at
    turn.feed(Event(last + 9, Envelope(noise, {})))
    turn.feed(Event(last + 9, SILENCE))
    turn.feed(Event(last + 9, InterruptionFrame()))
    assert turn.last_sign_at == last


# -- interruptions


def test_what_came_before_our_own_interruption_belongs_to_the_reply_before() -> None:
    stale = [("bot-llm-text", " left over"), IN_PROGRESS, output("Left over.", segment_id=1)]
    turn = collect([*stale, ACK, *llm("Fresh")])
    assert turn.text == "Fresh"
    assert not turn.partial
    assert settling(turn) == LIMITS.speech_onset


def test_a_reply_cut_off_in_the_middle_is_kept_and_marked() -> None:
    turn = collect(
        [
            ACK,
            *llm("One. Two."),
            "bot-started-speaking",
            output("One.", segment_id=1, will_be_spoken=True, spoken_status="new"),
            ACK,
            "bot-stopped-speaking",
        ]
    )
    assert turn.text == "One."
    assert turn.partial


def test_an_interrupted_run_does_not_count_as_running() -> None:
    turn = collect([ACK, "bot-llm-started", ("bot-llm-text", "Gree"), ACK, "bot-llm-stopped"])
    assert not turn.busy
    turn = collect([ACK, "bot-llm-started", ACK, "bot-llm-stopped", *llm("Hello")])
    assert settling(turn) == LIMITS.speech_onset


def test_words_of_an_unfinished_run_are_partial() -> None:
    turn = collect([ACK, "bot-llm-started", ("bot-llm-text", "I am just")])
    assert (turn.text, turn.partial) == ("I am just", True)


def test_once_a_bot_has_shown_unspoken_text_it_is_waited_for() -> None:
    habits = BotHabits(may_speak=False)
    first = TurnCollector(0.0, LIMITS, habits)
    for entry in (ACK, *llm("Hi."), silent("Hi.", 1)):
        first.feed(Event(0.0, envelope(entry)))
    second = TurnCollector(1.0, LIMITS, habits)
    for entry in (ACK, *llm("Well.")):
        second.feed(Event(1.0, envelope(entry)))
    assert settling(second) == LIMITS.output_lag
    second.feed(Event(1.1, envelope(silent("Well.", 2))))
    assert settling(second) == LIMITS.quiet


def test_unspoken_text_that_trails_in_after_our_next_message_is_not_said_again() -> None:
    turn = collect([ACK, silent("Old tail.", 1), *llm("New words."), silent("New words.", 2)])
    assert turn.text == "New words."


# -- the end of the call


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param([ACK, *llm("Bye."), EXIT], 0.5, id="after the words"),
        pytest.param([ACK, EXIT], 0.5, id="without words"),
        pytest.param([ACK, *llm("Bye."), STARTED, IN_PROGRESS, STOPPED, EXIT], 0.5, id="by a tool"),
        pytest.param([ACK, EXIT, *llm("Bye.")], 0.5, id="words after it"),
        pytest.param([ACK, EXIT, "bot-llm-started"], 9.99, id="words still being written"),
        pytest.param([ACK, *llm("Bye."), "bot-started-speaking", EXIT], 10.0, id="still speaking"),
        pytest.param([ACK, *llm("Bye."), EXIT, *SPOKEN], 0.5, id="spoken after it"),
    ],
)
def test_exit_settles_and_lets_the_last_words_out(events: list[Any], expected: float) -> None:
    turn = collect(events)
    assert turn.exit_at is not None
    assert turn.exit_words == "The task is finished."
    assert settling(turn) == pytest.approx(expected)


def test_last_words_after_exit_are_bounded() -> None:
    endless = [x for _ in range(40) for x in (0.4, ("bot-llm-text", "and "))]
    turn = collect([ACK, *llm("Bye."), EXIT, *endless])
    assert turn.exit_at is not None
    assert turn.settles_at == pytest.approx(turn.exit_at + LIMITS.exit_words)


# -- times


def test_times_of_the_first_words_and_the_last_sign() -> None:
    turn = collect([ACK, "bot-llm-started", 1.0, ("bot-llm-text", "Hi"), "bot-llm-stopped", VOICE])
    assert turn.first_text_at == pytest.approx(101.03)
    assert turn.last_sign_at == pytest.approx(101.04)


def test_a_late_event_moves_the_end_and_a_new_run_reopens_the_turn() -> None:
    turn = collect([ACK, *TOOL_RUN, *llm("Done."), *SPOKEN])
    assert turn.settles_at is not None
    turn.feed(Event(200.0, Envelope("metrics", {})))
    assert turn.settles_at == pytest.approx(200.0 + LIMITS.quiet)
    turn.feed(Event(201.0, Envelope("bot-llm-started")))
    assert turn.settles_at is None


def test_metrics_that_trail_in_are_no_work_on_the_reply() -> None:
    turn = collect([ACK, *llm("Hi"), 5.0, ("metrics", {})])
    assert turn.worked_at == pytest.approx(100.04)
    assert turn.last_sign_at == pytest.approx(105.05)
