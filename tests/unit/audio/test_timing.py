"""Latencies, interruptions and silences from speech spans; percentiles and the score."""

from __future__ import annotations

import pytest

from pytest_voiceeval.call.audio.activity import Span
from pytest_voiceeval.call.audio.percentiles import distribution, percentile
from pytest_voiceeval.call.audio.timing import Heard, Timing, measure
from pytest_voiceeval.call.audio.turn_taking import (
    TurnTaking,
    curve,
    mean_score,
    score,
    timing_word,
)

Pairs = list[tuple[float, float]]


def timed(agent: Pairs, user: Pairs, opens: list[float] | None = None, **given: object) -> Timing:
    heard = {"kickoff": 1.0, "end": 30.0, **given}
    return measure(
        Heard(
            agent=[Span(*pair) for pair in agent],
            user=[Span(*pair) for pair in user],
            opens=[pair[0] for pair in user] if opens is None else opens,
            **heard,  # type: ignore[arg-type]
        )
    )


def test_a_plain_call() -> None:
    timing = timed(
        [(1.3, 3.0), (6.0, 8.0), (11.5, 13.0)],
        [(4.0, 5.0), (9.0, 10.0)],
        words={"agent": 26, "user": 6},
        tools={3},
    )
    assert timing.first_audio == pytest.approx(0.3)
    assert [(e.turn, e.latency, e.tool) for e in timing.exchanges] == [
        (2, pytest.approx(1.0), False),
        (3, pytest.approx(1.5), True),
    ]
    assert timing.latency is not None
    assert (timing.latency.n, timing.latency.p50) == (2, pytest.approx(1.25))
    assert timing.speech == {"agent": pytest.approx(5.2), "user": 2.0}
    assert timing.talk_ratio == pytest.approx(5.2 / 7.2)
    assert timing.words_per_minute == {"agent": pytest.approx(300), "user": 180}
    assert timing.longest_silence == pytest.approx(17.0)  # to the end
    assert (timing.overlap, timing.agent_interrupts, timing.user_interrupts) == (0, 0, 0)
    assert timing.turn_taking == 1.0


def test_the_latency_counts_from_the_last_sound_of_the_callers_turn() -> None:
    timing = timed([(8.0, 9.0)], [(2.0, 3.0), (4.0, 5.5)], opens=[2.0])
    assert [(e.turn, e.latency) for e in timing.exchanges] == [(2, 2.5)]


def test_a_caller_who_cuts_in_shows_how_long_the_agent_speaks_on() -> None:
    timing = timed([(2.0, 6.4), (8.0, 9.0)], [(6.0, 7.0)])
    [exchange] = timing.exchanges
    assert exchange.yielded == pytest.approx(0.4)
    assert exchange.latency == pytest.approx(1.0)
    assert timing.user_interrupts == 1
    assert timing.agent_yields == (pytest.approx(0.4),)
    assert timing.overlap == pytest.approx(0.4)


def test_an_agent_who_cuts_in() -> None:
    timing = timed([(4.5, 5.5), (7.0, 8.0)], [(4.0, 6.0)])
    [exchange] = timing.exchanges
    assert (exchange.barge_ins, exchange.overlap) == (1, 1.0)
    assert exchange.latency == 1.0
    assert timing.agent_interrupts == 1
    assert timing.user_yields == (1.5,)


def test_an_agent_who_speaks_on_after_cutting_in_has_no_latency() -> None:
    [exchange] = timed([(4.5, 9.0)], [(4.0, 6.0)]).exchanges
    assert (exchange.barge_ins, exchange.latency) == (1, None)


def test_touching_for_less_than_a_tenth_of_a_second_is_no_interruption() -> None:
    timing = timed([(5.95, 7.0)], [(4.0, 6.0)])
    assert (timing.agent_interrupts, timing.exchanges[0].barge_ins) == (0, 0)


def test_who_never_spoke_has_no_figures() -> None:
    timing = timed([], [(4.0, 5.0)])
    assert timing.first_audio is None
    assert timing.latency is None
    assert timing.exchanges[0].latency is None
    assert timing.words_per_minute == {"agent": None, "user": None}
    nobody = timed([], [])
    assert (nobody.talk_ratio, nobody.turn_taking, nobody.longest_silence) == (None, None, 29.0)


def test_percentiles_are_those_of_type_7() -> None:
    values = [15.0, 20.0, 35.0, 40.0, 50.0]
    assert percentile(values, 40) == pytest.approx(29.0)
    assert percentile(values, 95) == pytest.approx(48.0)
    found = distribution([3.0, 1.0, 2.0])
    assert found is not None
    assert (found.n, found.min, found.p50, found.max, found.mean) == (3, 1.0, 2.0, 3.0, 2.0)
    assert distribution([]) is None
    only = distribution([7.0])
    assert only is not None
    assert only.p99 == 7.0


@pytest.mark.parametrize(
    ("latency", "tool", "expected"),
    [
        (-500, False, 0.0),
        (0, False, 0.5),
        (500, False, 1.0),
        (2000, False, 1.0),
        (3500, False, 0.5),
        (5000, False, 0.0),
        (9000, False, 0.0),
        (4000, True, 1.0),
        (5500, True, 0.5),
        (7000, True, 0.0),
    ],
)
def test_the_curve(latency: float, tool: bool, expected: float) -> None:
    assert curve(latency, tool=tool) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("turn", "expected", "word"),
    [
        pytest.param(TurnTaking(1000), 1.0, "on time", id="plain"),
        pytest.param(TurnTaking(100), 0.6, "early", id="early"),
        pytest.param(TurnTaking(4500), 1 / 6, "late", id="late"),
        pytest.param(TurnTaking(4500, tool=True), 5 / 6, "on time", id="tool"),
        pytest.param(TurnTaking(None, barge_ins=1, overlap=1000), 0.25, "interrupts", id="cuts in"),
        pytest.param(TurnTaking(1000, barge_ins=2), 0.25, "interrupts", id="cuts in twice"),
        pytest.param(TurnTaking(1000, yielded=500), 0.75, "on time", id="yields"),
        pytest.param(TurnTaking(1000, yielded=3000), 0.0, "on time", id="does not yield"),
        pytest.param(
            TurnTaking(1000, barge_ins=1, overlap=0, yielded=1500), 0.25, "interrupts", id="both"
        ),
        pytest.param(TurnTaking(None), None, "no answer", id="nothing"),
    ],
)
def test_the_score_of_an_exchange(turn: TurnTaking, expected: float | None, word: str) -> None:
    found = score(turn)
    assert found is None if expected is None else found == pytest.approx(expected)
    assert timing_word(turn) == word


def test_the_score_of_a_call_leaves_out_what_has_none() -> None:
    assert mean_score([TurnTaking(1000), TurnTaking(None), TurnTaking(0)]) == pytest.approx(0.75)
    assert mean_score([TurnTaking(None)]) is None
