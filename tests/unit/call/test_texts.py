"""The words of a reply: each said once, whatever events carry them."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_voiceeval.call.texts import ReplyText

RUN = "run"


def reply(*events: Any) -> ReplyText:
    text = ReplyText()
    for event in events:
        if event == RUN:
            text.begin_run()
        else:
            kind, data = event
            text.add(kind, data)
    return text


def out(text: str, status: str | None = None, **data: Any) -> tuple[str, dict[str, Any]]:
    data = {"output_type": "sentence", **data, "text": text}
    if status:
        data |= {"spoken_status": status, "will_be_spoken": True}
    return "bot-output", data


def word(text: str, segment: int | None = None) -> tuple[str, dict[str, Any]]:
    ids = {} if segment is None else {"segment_id": segment}
    return "bot-output", {"text": text, "output_type": "word", "spoken": True, **ids}


def wrote(*words: str) -> list[tuple[str, dict[str, str]]]:
    return [("bot-llm-text", {"text": each}) for each in words]


def spoke(*pieces: str) -> list[tuple[str, dict[str, str]]]:
    return [("bot-tts-text", {"text": each}) for each in pieces]


HELLO = wrote("Hello", ", how", " are you?")


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param([RUN, *HELLO], "Hello, how are you?", id="model only"),
        pytest.param(
            [RUN, *HELLO, out("Hello, how are you?", "new", segment_id=1)],
            "Hello, how are you?",
            id="output",
        ),
        pytest.param(
            [
                RUN,
                *HELLO,
                out("Hello, how are you?", "new", segment_id=1),
                out("Hello, how are you?", "completed", segment_id=1),
                *spoke("Hello, how are you?"),
            ],
            "Hello, how are you?",
            id="all three kinds",
        ),
        pytest.param(
            [
                RUN,
                *HELLO,
                out("Hello, how are you?", "new", segment_id=1),
                out("Hello, how are you?", "completed", segment_id=2),
            ],
            "Hello, how are you?",
            id="another id once it was spoken",
        ),
        pytest.param(
            [RUN, *spoke("First sentence.", "Second one.")],
            "First sentence. Second one.",
            id="speech only, sentences",
        ),
        pytest.param(
            [RUN, *spoke("Hel", "lo ", "there", " you", ".")], "Hel lo there you.", id="pieces"
        ),
        pytest.param([RUN, *wrote("A."), RUN, *wrote("B.")], "A. B.", id="two runs without output"),
        pytest.param(
            [
                RUN,
                *wrote("Let me check."),
                RUN,
                *wrote("Found it."),
                out("Found it.", "new", segment_id=2),
            ],
            "Let me check. Found it.",
            id="only the second run was put out",
        ),
        pytest.param(
            [
                RUN,
                *wrote("Let me check."),
                RUN,
                *wrote("Found it."),
                out("Let me check.", "completed", segment_id=1),
                out("Found it.", "completed", segment_id=2),
            ],
            "Let me check. Found it.",
            id="the first run's sentence trails into the second",
        ),
        pytest.param(
            [
                RUN,
                *wrote("It costs $5."),
                RUN,
                *wrote("Goodbye."),
                out("It costs five dollars.", "completed", segment_id=1),
                out("Goodbye.", "completed", segment_id=2),
            ],
            "It costs five dollars. Goodbye.",
            id="words changed for speech",
        ),
        pytest.param(
            [
                RUN,
                *wrote("One.", " Two."),
                out("One.", segment_id=1, will_be_spoken=False, spoken_status="new"),
            ],
            "One. Two.",
            id="unspoken output lags behind its run",
        ),
        pytest.param(
            [RUN, *wrote("One.", " Two."), out("One.", "in-progress", segment_id=1)],
            "One.",
            id="speech cut off after one sentence",
        ),
        pytest.param(
            [
                RUN,
                *wrote("Yes. Goodbye."),
                RUN,
                *wrote("Thanks. Goodbye."),
                *(
                    out(text, segment_id=number, will_be_spoken=False)
                    for number, text in enumerate(("Yes.", "Goodbye.", "Thanks.", "Goodbye."))
                ),
            ],
            "Yes. Goodbye. Thanks. Goodbye.",
            id="two runs share a sentence",
        ),
        pytest.param([out("Hi there.", spoken=True)], "Hi there.", id="no model run shown"),
        pytest.param(
            [
                out("Hello there.", "new", segment_id=7),
                word("Hello", 7),
                word("there.", 7),
            ],
            "Hello there.",
            id="words of a known sentence",
        ),
        pytest.param(
            [out("Hello there.", spoken=False), word("Hello"), word("there.")],
            "Hello there.",
            id="words of a sentence, no ids",
        ),
        pytest.param([word("Hello", 3), word("there.", 3)], "Hello there.", id="words only"),
        pytest.param(
            [out("Yes.", segment_id=1), out("Yes.", segment_id=2)], "Yes. Yes.", id="said twice"
        ),
        pytest.param([RUN, *wrote("no", " no", " no", " no")], "no no no no", id="words repeated"),
        pytest.param([RUN, *wrote("ha", "ha")], "haha", id="one word doubled"),
        pytest.param([], "", id="nothing"),
    ],
)
def test_compose(events: list[Any], expected: str) -> None:
    assert reply(*events).compose() == expected


DOUBLED = [
    pytest.param([RUN, *wrote("Your flight", " is", " booked.")], id="model"),
    pytest.param([RUN, *spoke("Your flight is booked.")], id="speech"),
    pytest.param([RUN, out("Your flight is booked.", spoken=False)], id="output without ids"),
    pytest.param([RUN, out("Your flight is booked.", "new", segment_id=1)], id="output with ids"),
    pytest.param(
        [
            RUN,
            *wrote("Your flight", " is", " booked."),
            out("Your flight is booked.", "new", segment_id=1),
            out("Your flight is booked.", "completed", segment_id=1),
            *spoke("Your flight is booked."),
        ],
        id="everything",
    ),
]


@pytest.mark.parametrize("events", DOUBLED)
def test_every_event_delivered_twice_is_said_once(events: list[Any]) -> None:
    twice = [copy for event in events for copy in ([event] if event == RUN else [event, event])]
    assert reply(*events).compose() == reply(*twice).compose() == "Your flight is booked."


@pytest.mark.parametrize(
    ("events", "pending", "unheard", "silent"),
    [
        pytest.param([RUN, *HELLO], False, False, False, id="nothing put out"),
        pytest.param(
            [RUN, *HELLO, out("Hello", "new", segment_id=1)], True, False, False, id="new"
        ),
        pytest.param(
            [RUN, *HELLO, out("Hello, how are you?", "completed", segment_id=1)],
            False,
            False,
            False,
            id="completed",
        ),
        pytest.param(
            [RUN, *HELLO, out("Hello", segment_id=1, will_be_spoken=False)],
            False,
            False,
            True,
            id="silent",
        ),
        pytest.param(
            [RUN, *wrote("A"), out("A", "completed", segment_id=1), RUN, *wrote("Bee")],
            False,
            True,
            False,
            id="second run unheard",
        ),
        pytest.param(
            [RUN, out("A", "completed", segment_id=1), out("A", "new", segment_id=1)],
            False,
            False,
            False,
            id="a late message takes no progress back",
        ),
    ],
)
def test_progress(events: list[Any], pending: bool, unheard: bool, silent: bool) -> None:
    text = reply(*events)
    assert (text.pending, text.unheard, text.last_run_silent) == (pending, unheard, silent)


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("bot-llm-text", None),
        ("bot-llm-text", "bare"),
        ("bot-llm-text", {"text": 5}),
        ("bot-llm-text", {"text": "  "}),
        ("bot-output", {"text": ""}),
        ("bot-transcription", {"text": "words"}),
    ],
)
def test_events_without_words_of_ours_are_not_text(kind: str, data: Any) -> None:
    text = ReplyText()
    assert text.add(kind, data) is False
    assert text.compose() == ""
