"""What the sound of a call told, as figures for files and lines for people.

Milliseconds where latencies are meant, seconds where speech is. Nothing here is derived from
events: those latencies are the reference's, under its own keys.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.report.aggregate import was_reported
from pytest_voiceeval.report.layout import Section, clip, count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pytest_voiceeval.call.audio.percentiles import Distribution
    from pytest_voiceeval.call.audio.report import SoundReport
    from pytest_voiceeval.call.audio.timing import ExchangeTiming, Timing
    from pytest_voiceeval.call.result import CallResult, Conversation, Side, Utterance

SOURCE = "speech found by its energy, at the agent's end of the line"
SIDES: tuple[Side, Side] = ("agent", "user")
ANSWERS = "response_latencies_ms"
_SLOWEST = 5


def sound_metrics(conversation: Conversation) -> dict[str, Any]:
    """What `metrics.json` says of a call with sound; nothing of one in text."""
    sound = conversation.sound
    if sound is None:
        return {}
    from pytest_voiceeval.call.audio.percentiles import INTERPOLATION

    timing = sound.timing
    return {
        "modality": "audio",
        **_clock(sound),
        "sound": {
            "source": SOURCE,
            "interpolation": INTERPOLATION,
            **_brief(sound),
            "exchanges": [_exchange(exchange) for exchange in timing.exchanges],
            "yield_ms": {
                "agent": [_ms(seconds) for seconds in timing.agent_yields],
                "user": [_ms(seconds) for seconds in timing.user_yields],
            },
            "speech_seconds": {side: round(timing.speech[side], 3) for side in SIDES},
            "words_per_minute": {side: _round(timing.words_per_minute[side], 1) for side in SIDES},
            "kickoff_seconds": _round(sound.kickoff, 3),
            "recording": sound.recording,
            "relay": _relay(sound),
        },
    }


def sound_line(conversation: Conversation) -> dict[str, Any]:
    """What a line of `results.jsonl` says of a call with sound; nothing of one in text."""
    sound = conversation.sound
    if sound is None:
        return {}
    holes = sum(sound.playout[side].underruns for side in SIDES)
    relay = {"latest_frame_ms": _ms(sound.pace.worst), "underruns": holes}
    answers = [_ms(e.latency) for e in sound.timing.exchanges if e.latency is not None]
    told = {**_brief(sound), ANSWERS: answers, **relay}
    return {"modality": "audio", **_clock(sound), "sound": told}


def pooled_latency(lines: Iterable[Mapping[str, Any]]) -> Distribution | None:
    """Response latencies of all calls together, in milliseconds.

    A call without a verdict is no evidence, and one that was never reported counts nowhere.

    Args:
        lines: Of `results.jsonl`.
    """
    counting = (line for line in lines if line.get("outcome") != "error" and was_reported(line))
    values = [v for line in counting for v in (line.get("sound") or {}).get(ANSWERS) or ()]
    if not values:
        return None
    from pytest_voiceeval.call.audio.percentiles import distribution

    return distribution(values)


def sound_figures(conversation: Conversation) -> Iterator[tuple[str, int | float]]:
    """The figures that go into a test report, as `(name, value)` pairs."""
    sound = conversation.sound
    if sound is None:
        return
    latency = sound.timing.latency
    figures = {
        "first_audio_ms": _ms(sound.timing.first_audio),
        **({f"response_{k}": v for k, v in _latency(latency).items()} if latency else {}),
        "turn_taking": _round(sound.timing.turn_taking, 3),
        "agent_interrupts": sound.timing.agent_interrupts,
        "user_interrupts": sound.timing.user_interrupts,
    }
    for name, value in figures.items():
        if value is not None:
            yield name, value


def first_audio_ms(conversation: Conversation) -> float | None:
    """From the kickoff to the agent's first sound; None if unknown."""
    sound = conversation.sound
    return None if sound is None else _ms(sound.timing.first_audio)


def response_latencies(
    conversation: Conversation, utterances: Sequence[Utterance]
) -> Iterator[tuple[Utterance, float | None]]:
    """Each utterance, and the milliseconds the caller waited for it, where it answered one.

    By the sound where there is any; else from the last word of the caller to the first of the
    agent.
    """
    sound = conversation.sound
    measured = {} if sound is None else {e.turn: e.latency for e in sound.timing.exchanges}
    heard: Utterance | None = None
    answered: set[int] = set()
    for utterance in utterances:
        latency: float | None = None
        if utterance.role == "agent" and heard is not None:
            if sound is None:
                latency = (utterance.start - heard.end) * 1000
            elif utterance.turn not in answered:
                latency = _ms(measured.get(utterance.turn))
            answered.add(utterance.turn)
        yield utterance, latency
        heard = utterance if utterance.role == "user" else heard


def latency_sections(result: CallResult) -> list[Section]:
    """The slowest answers of a call that was held to a latency budget and missed it."""
    sound = result.conversation.sound
    missed = any(str(name).startswith("latency_p") for name in result.breakdown["failed"])
    if sound is None or not missed:
        return []
    timed = [e for e in sound.timing.exchanges if e.latency is not None]
    slowest = sorted(timed, key=lambda e: -(e.latency or 0.0))[:_SLOWEST]
    said = {u.turn: u.text for u in result.transcript if u.role == "user"}
    title = f"slowest of {count(len(timed), 'answer')}, from the sound:"
    items = tuple((_slow(each, said.get(each.turn, "")),) for each in slowest)
    return [Section((title,), items, keep=2)]


def _slow(exchange: ExchangeTiming, said: str) -> str:
    tool = ", with a tool call" if exchange.tool else ""
    latency = (exchange.latency or 0.0) * 1000
    return clip(f"  turn {exchange.turn}: {latency:.0f} ms{tool}, after: {said}")


# -- pieces


def _clock(sound: SoundReport) -> dict[str, Any]:
    """Which clock the call ran on, and what stands for all that happened on the virtual one."""
    if sound.virtual is None:
        return {"clock": "real"}
    return {"clock": "virtual", **asdict(sound.virtual)}


def _brief(sound: SoundReport) -> dict[str, Any]:
    timing: Timing = sound.timing
    return {
        "first_audio_ms": _ms(timing.first_audio),
        "response_latency_ms": None if timing.latency is None else _latency(timing.latency),
        "turn_taking": _round(timing.turn_taking, 4),
        "overlap_seconds": round(timing.overlap, 3),
        "interruptions": {"by_agent": timing.agent_interrupts, "by_user": timing.user_interrupts},
        "talk_ratio": _round(timing.talk_ratio, 4),
        "longest_silence_seconds": round(timing.longest_silence, 3),
    }


def _latency(latency: Distribution) -> dict[str, int | float]:
    values: dict[str, float] = asdict(latency)
    named = {f"{name}_ms": round(value * 1000, 1) for name, value in values.items() if name != "n"}
    return {"count": latency.n, **named}


def _exchange(exchange: ExchangeTiming) -> dict[str, Any]:
    from pytest_voiceeval.call.audio.turn_taking import score, timing_word

    taken = exchange.turn_taking
    return {
        "turn": exchange.turn,
        "latency_ms": _ms(exchange.latency),
        "timing": timing_word(taken),
        "tool_call": exchange.tool,
        "barge_ins": exchange.barge_ins,
        "overlap_ms": _ms(exchange.overlap),
        "yield_ms": _ms(exchange.yielded),
        "turn_taking": _round(score(taken), 4),
    }


def _relay(sound: SoundReport) -> dict[str, Any]:
    from pytest_voiceeval.call.audio.relay import LATE

    return {
        "jitter_buffer_ms": _ms(sound.jitter),
        "frames": sound.pace.ticks,
        "late_frames": sound.pace.late,
        "late_from_ms": _ms(LATE),
        "latest_frame_ms": _ms(sound.pace.worst),
        "sound_of": {
            side: {
                "frames": figures.frames,
                "underruns": figures.underruns,
                "hole_ms": _ms(figures.hole_seconds),
                "flushed_ms": _ms(figures.flushed_seconds),
                "overflow_ms": _ms(figures.overflow_seconds),
            }
            for side, figures in sound.playout.items()
        },
    }


def _ms(seconds: float | None) -> float | None:
    return _round(None if seconds is None else seconds * 1000, 1)


def _round(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
