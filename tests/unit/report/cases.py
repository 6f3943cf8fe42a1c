"""The calls whose failure texts are kept in `golden/`, by the name of the file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pytest_voiceeval.call.errors import (
    AgentUnreachable,
    BotKilled,
    CallerFailed,
    CallError,
    ProtocolFailed,
    ScenarioInvalid,
    SetupFailed,
    StateUnreadable,
)
from pytest_voiceeval.call.faults import describe_exit
from pytest_voiceeval.call.result import Conversation, EndReason, ProcessExit, Verdict
from pytest_voiceeval.report.error_text import render_error
from pytest_voiceeval.report.failure_text import render
from tests.unit.report.building import (
    END,
    FOLDER,
    GREETING,
    LOOKUP,
    NODEID,
    REBOOK,
    REFUND,
    TALK,
    call,
    changed,
    made,
    predicate,
    refused,
    talk,
    world,
)

Case = Callable[[], str]
CASES: dict[str, Case] = {}

R = ("reservations", "N4WZ8C")
BOOKING = (*R, "bookings", 0)
SEGMENT = (*BOOKING, "segments", 0)
REFUND_RECORD = ("refunds", "REF-N4WZ8C-001")


def golden(case: Case) -> Case:
    """Keep the text of this case in `golden/`, under the function's name."""
    CASES[case.__name__] = case
    return case


def text(*, nodeid: str = NODEID, artifacts: str | None = FOLDER, options=(), **given: Any) -> str:
    return render(call(**given), nodeid=nodeid, artifacts=artifacts, options=options)


def differs(*edits: Any, expected: Any = None, **given: Any) -> str:
    """The text of a call that ended with another database than it should have."""
    wanted = world() if expected is None else expected
    return text(expected=wanted, db=changed(*edits, state=wanted), **given)


def error(failure: CallError, conversation: Conversation | None = None, **given: Any) -> str:
    failure.conversation = conversation
    return render_error(failure, nodeid=NODEID, artifacts=FOLDER, **given)


def broken_off(**given: Any) -> Conversation:
    """What was measured of a call that could not be scored."""
    given = {"said": talk(*TALK[:3]), "calls": (LOOKUP,), "turns": 2, "duration": 6.1, **given}
    return replace(call(**given).conversation, end_reason=None)


# -- the database


@golden
def wrong_value() -> str:
    return differs(((*REFUND_RECORD, "refund_amount"), 357), calls=(LOOKUP, WRONG_REFUND, END))


WRONG_REFUND = replace(
    REFUND, arguments={**REFUND.arguments, "refund_amount": 357}, record={"action_type": "x"}
)


@golden
def deep_value() -> str:
    return differs(((*SEGMENT, "fare_paid"), 164))


@golden
def missing_call() -> str:
    return differs(
        (REFUND_RECORD, ...),
        ((*SEGMENT, "seat"), None),
        (("journeys", "FL_LQ846_20260603", "segments", 0, "available_seats", "main_cabin"), 9),
        calls=(LOOKUP, replace(REBOOK, writes=(R,)), END),
    )


@golden
def no_call_at_all() -> str:
    return differs(
        (REFUND_RECORD, ...),
        ((*BOOKING, "status"), "pending"),
        (("journeys", "FL_LQ846_20260602", "segments", 0, "available_seats", "main_cabin"), 8),
        (("journeys", "FL_LQ846_20260603", "segments", 0, "available_seats", "main_cabin"), 9),
        calls=(LOOKUP, END),
    )


@golden
def refused_call() -> str:
    return differs(
        (REFUND_RECORD, ...),
        calls=(
            LOOKUP,
            REBOOK,
            refused(
                2,
                "process_refund",
                {"confirmation_number": "N4WZ8C", "refund_amount": 356},
                "not_eligible",
                "Refund type is required for fares booked with a voucher",
            ),
            END,
        ),
    )


@golden
def refused_and_made_good() -> str:
    """A look-up that first failed is no hint about a wrong amount."""
    failed = refused(
        2,
        "get_reservation",
        {"confirmation_number": "N4WZ8C", "last_name": "Price"},
        "authentication_failed",
        "Last name does not match",
    )
    return differs(
        ((*REFUND_RECORD, "refund_amount"), 357), calls=(failed, LOOKUP, WRONG_REFUND, END)
    )


@golden
def added_record() -> str:
    credit = {
        "amount": 156,
        "confirmation_number": "N4WZ8C",
        "passengers": ["PAX001"],
        "open": True,
    }
    write = made(
        3,
        "issue_travel_credit",
        {"confirmation_number": "N4WZ8C", "amount": 156, "reason": "goodwill"},
        writes=[("travel_credits", "TCN4WZ8C")],
    )
    wanted = {**world(), "travel_credits": {}}
    return differs(
        (("travel_credits", "TCN4WZ8C"), credit),
        expected=wanted,
        calls=(LOOKUP, REBOOK, REFUND, write, END),
    )


@golden
def added_and_removed_fields() -> str:
    return differs((((*R, "meal_voucher")), {"value": 12, "currency": "USD"}), ((*R, "notes"), ...))


@golden
def inserted_list_element() -> str:
    leg = {"journey_id": "FL_LQ862_20260606", "segments": [], "status": "confirmed"}
    state = world()
    right = state["reservations"]["N4WZ8C"]["bookings"]
    return differs(((*R, "bookings"), [leg, *right]))


@golden
def list_without_identity() -> str:
    wanted = changed(((*R, "history"), ["created", "changed", "refunded"]))
    return differs(((*R, "history"), ["created", "refunded", "mailed"]), expected=wanted)


@golden
def alike_types() -> str:
    return differs(
        ((*SEGMENT, "fare_paid"), "185"),
        ((*R, "last_name"), "Pryce "),
        ((*R, "notes"), None),
        ((*R, "passengers", 0, "elite"), 1),
        ((*R, "status"), "Confirmed"),
    )


@golden
def alike_letters() -> str:
    wanted = changed(((*R, "code"), "N4WZ8O"), ((*R, "street"), "\u00c5sgatan 5\u20137"))
    return differs(
        ((*R, "code"), "N4WZ80"),
        ((*R, "street"), "A\u030asgatan 5\u20137"),
        ((*R, "last_name"), "\u0420ryce"),
        expected=wanted,
    )


@golden
def null_against_words() -> str:
    wanted = changed(((*R, "meal"), "not ordered"), ((*R, "seat"), None))
    return differs(((*R, "meal"), "none"), ((*R, "seat"), "n/a"), expected=wanted)


@golden
def long_texts() -> str:
    letter = "Dear Mr. Pryce, " + "we are sorry for the trouble this has caused you. " * 6
    wanted = changed(((*R, "notes"), letter + "Your refund is 356 dollars."))
    return differs(((*R, "notes"), letter + "Your refund is 357 dollars."), expected=wanted)


@golden
def long_object() -> str:
    record = {f"field_{n:02}": f"value number {n}" for n in range(40)} | {"total": 12.5}
    return differs((("refunds", "REF-N4WZ8C-002"), record), calls=(LOOKUP, END))


@golden
def wrong_kind_of_value() -> str:
    return differs(((*R, "bookings"), {"FL_LQ846_20260603": "confirmed"}), ((*R, "passengers"), []))


@golden
def unicode_values() -> str:
    wanted = changed(
        ((*R, "last_name"), "\u7530\u4e2d\u3055\u304f\u3089"), ((*R, "notes"), "\U0001f6eb gate 4")
    )
    return differs(
        ((*R, "last_name"), "\u7530\u4e2d"), ((*R, "notes"), "\U0001f6ec gate 4"), expected=wanted
    )


@golden
def empty_database() -> str:
    return text(expected=world(), db={}, calls=(LOOKUP, END))


@golden
def table_missing() -> str:
    return differs((("refunds",), ...), calls=(LOOKUP, REBOOK, END))


@golden
def database_of_another_kind() -> str:
    return text(expected=world(), db=[world()], calls=(END,))


@golden
def odd_keys() -> str:
    wanted = {"orders / open": {"#W 12": {"": {"a.b": 1, "x" * 90: 1}}}}
    return differs(
        (("orders / open", "#W 12", "", "a.b"), 2),
        (("orders / open", "#W 12", "", "x" * 90), 2),
        expected=wanted,
        calls=(),
    )


@golden
def very_deep() -> str:
    wanted: Any = 1
    for level in range(30):
        wanted = {f"level_{29 - level}": wanted}
    path = [f"level_{level}" for level in range(30)]
    return differs((path, 2), expected=wanted, calls=())


@golden
def many_changes() -> str:
    wanted = {
        **world(),
        "seats": {f"S{n:03}": {"free": True, "price": n} for n in range(40)},
        "waitlist": {f"W{n}": {"position": n} for n in range(30)},
    }
    edits = [(("seats", f"S{n:03}", "free"), False) for n in range(40)]
    edits += [(("waitlist", f"W{n}", "position"), n + 1) for n in range(30)]
    return differs(*edits, ((*REFUND_RECORD, "refund_amount"), 1), expected=wanted)


@golden
def many_changes_far_away() -> str:
    folder = "/srv/ci/workspace/voice-agents/nightly/results/2026-05-19/larkspur__date_change"
    wanted = {"seats": {f"S{n:03}": {"price": n} for n in range(40)}}
    edits = [(("seats", f"S{n:03}", "price"), n + 1) for n in range(40)]
    return differs(*edits, expected=wanted, artifacts=folder, calls=())


@golden
def many_writers() -> str:
    """Several records, each written by a call of its own, and one by nobody."""
    wanted = {"seats": {f"S{n}": {"free": True} for n in range(7)}}
    edits = [(("seats", f"S{n}", "free"), False) for n in range(7)]
    calls = [
        made(
            n + 1,
            "take_seat",
            {"seat": f"S{n}", "passenger": "PAX001"},
            writes=[("seats", f"S{n}")],
        )
        for n in range(6)
    ]
    said = talk(*[(role, f"Line {n}.") for n in range(6) for role in ("agent", "user")][:-1])
    return differs(*edits, expected=wanted, calls=calls, said=said, turns=6)


@golden
def one_writer_of_two_records() -> str:
    return differs(
        ((*BOOKING, "status"), "cancelled"),
        (("journeys", "FL_LQ846_20260603", "segments", 0, "available_seats", "main_cabin"), 9),
    )


@golden
def written_twice() -> str:
    """The last call that wrote the record counts."""
    again = replace(WRONG_REFUND, turn=3, name="correct_refund")
    return differs(
        ((*REFUND_RECORD, "refund_amount"), 357), calls=(LOOKUP, REBOOK, REFUND, again, END)
    )


@golden
def writes_not_reported() -> str:
    """A bot of its own kind records actions but does not say what they write."""
    calls = [replace(each, writes=()) for each in (LOOKUP, REBOOK, REFUND)]
    return differs(
        ((*BOOKING, "status"), "cancelled"), (("refunds", "R2"), {"amount": 5}), calls=calls
    )


@golden
def malformed_arguments() -> str:
    broken = made(
        2,
        "process_refund",
        malformed='{"confirmation_number": "N4WZ8C", "refund_amount": 35',
        result={"status": "error", "error_type": "invalid_arguments", "message": "not JSON"},
    )
    return differs((REFUND_RECORD, ...), calls=(LOOKUP, REBOOK, broken, END))


@golden
def unfinished_call() -> str:
    hanging = made(2, "process_refund", {"confirmation_number": "N4WZ8C"}, finished=False)
    return differs((REFUND_RECORD, ...), calls=(LOOKUP, REBOOK, hanging, END))


@golden
def only_the_hash() -> str:
    return text(
        expected=world(),
        db=changed((REFUND_RECORD, ...)),
        sent=False,
        db_note="the agent reported another hash but did not send its database",
    )


@golden
def no_database_reported() -> str:
    return text(
        expected=world(),
        db_hash=None,
        db_note="the agent reported no database",
        calls=(LOOKUP, END),
    )


# -- actions, predicates, judge

REFERENCE = [
    {"action_type": "cancel_reservation", "confirmation_number": "N4WZ8C"},
    {"action_type": "process_refund", "confirmation_number": "N4WZ8C", "refund_amount": 356},
]
BY_ACTIONS = ("is_action_match", "clean_exit")


@golden
def action_missing() -> str:
    return text(reference=REFERENCE, recorded=REFERENCE[:1], judged_by=BY_ACTIONS)


@golden
def action_under_another_name() -> str:
    given = [REFERENCE[0], {"action_type": "issue_travel_credit", "amount": 356}]
    return text(reference=REFERENCE, recorded=given, judged_by=BY_ACTIONS)


@golden
def actions_none() -> str:
    return text(reference=REFERENCE, recorded=[], judged_by=BY_ACTIONS, calls=(LOOKUP, END))


@golden
def actions_not_delivered() -> str:
    return text(reference=REFERENCE, recorded=None, judged_by=BY_ACTIONS, calls=(LOOKUP, END))


@golden
def action_changed() -> str:
    refund = {
        "action_type": "process_refund",
        "confirmation_number": "N4WZ8O",
        "refund_amount": "35",
    }
    seen = made(2, "process_refund", {}, record=refund)
    return text(
        reference=REFERENCE,
        recorded=[REFERENCE[0], refund],
        judged_by=BY_ACTIONS,
        calls=(LOOKUP, seen, END),
    )


@golden
def action_field_missing() -> str:
    bare = {"action_type": "process_refund", "refund_amount": 356}
    return text(reference=REFERENCE, recorded=[REFERENCE[0], bare], judged_by=BY_ACTIONS)


@golden
def action_extra() -> str:
    extra = {"action_type": "issue_travel_credit", "amount": 50, "reason": "goodwill " * 30}
    return text(
        reference=REFERENCE, recorded=[*REFERENCE, extra], judged_by=BY_ACTIONS, strict=True
    )


@golden
def actions_many() -> str:
    wanted = [{"name": "book_seat", "arguments": {"seat": f"{n}A", "row": n}} for n in range(12)]
    given = [{"name": "book_seat", "arguments": {"seat": f"{n}A", "row": n + 1}} for n in range(8)]
    return text(reference=wanted, recorded=given, judged_by=BY_ACTIONS)


@golden
def action_of_the_caller() -> str:
    wanted = [{"side": "user", "name": "toggle_roaming", "arguments": {"on": True}}]
    given = [{"side": "user", "name": "toggle_roaming", "arguments": {"on": False}}]
    mine = made(1, "toggle_roaming", {"on": False}, side="user", record=given[0])
    return text(reference=wanted, recorded=given, judged_by=BY_ACTIONS, calls=(mine, LOOKUP, END))


@golden
def actions_that_do_not_count() -> str:
    """The database decides; actions that differ are a hint below it."""
    return differs(
        ((*REFUND_RECORD, "refund_amount"), 357),
        reference=REFERENCE,
        recorded=[REFERENCE[0]],
        calls=(LOOKUP, WRONG_REFUND, END),
    )


@golden
def predicates() -> str:
    return text(
        verdicts=[
            predicate("has_seat", passed=True),
            predicate("line_is_active", actual="suspended", expected="active", side="user"),
            predicate("is_refunded", message="the fare goes back to the card"),
            predicate("in_stock", error="Predicate raised: KeyError: 'item_5'"),
        ],
        judged_by=("db_state_assertion", "clean_exit"),
    )


@golden
def judge() -> str:
    return text(
        expected=world(),
        db=world(),
        signals={"nl_assertion": False, "judge_passed": False},
        judged_by=("db_state_match", "nl_assertion", "judge_passed", "clean_exit"),
    )


@golden
def signals_of_plugins() -> str:
    """Signals that a conftest added: one decides, one is only shown."""
    scored = call(expected=world(), db=world())
    signals = {**scored.signals, "polite": False, "quick": False}
    breakdown = {**scored.breakdown, "failed": ["polite"], "excluded": ["quick"]}
    verdicts = (
        Verdict("polite", holds=False, gates=True, why="the agent never said please"),
        Verdict("quick", holds=False, why="slowest answer 4.1 s"),
    )
    result = replace(scored, passed=False, signals=signals, breakdown=breakdown, verdicts=verdicts)
    return render(result, nodeid=NODEID, artifacts=FOLDER)


@golden
def everything_at_once() -> str:
    return differs(
        (REFUND_RECORD, ...),
        ((*BOOKING, "status"), "cancelled"),
        ((*SEGMENT, "seat"), "15D"),
        ((*SEGMENT, "fare_paid"), 164),
        (("journeys", "FL_LQ846_20260603", "segments", 0, "available_seats", "main_cabin"), 9),
        reference=REFERENCE,
        recorded=[{**REFERENCE[0], "confirmation_number": "N4WZ80"}],
        verdicts=[predicate("is_refunded"), predicate("has_seat", actual=None)],
        judged_by=("db_state_match", "is_action_match", "db_state_assertion", "clean_exit"),
        end=EndReason.CALLER_HANGUP,
        end_detail="the caller had said everything, goodbye included",
        warnings=["the agent reported an error: 429 Too Many Requests"],
    )


# -- how calls end


@golden
def hung_up() -> str:
    return text(
        expected=world(),
        db=world(),
        end=EndReason.CALLER_HANGUP,
        end_detail="the caller had said everything, goodbye included",
        calls=(LOOKUP, REBOOK, REFUND),
    )


@golden
def time_limit() -> str:
    return differs(
        (REFUND_RECORD, ...),
        end=EndReason.TIMEOUT,
        end_detail="the conversation reached 60 s (max_duration)",
        said=talk(*TALK[:3], partial=True),
        calls=(LOOKUP, REBOOK),
        duration=60,
        turns=1,
    )


@golden
def turn_limit() -> str:
    lines = [("agent", "Could you say that again?"), ("user", "N, four, W, Z, eight, C.")] * 20
    return text(
        expected=world(),
        db=world(),
        end=EndReason.TURN_LIMIT,
        end_detail="20 agent turns (max_turns)",
        said=talk(*lines[:-1]),
        turns=20,
        duration=101.5,
        calls=(),
    )


@golden
def silent() -> str:
    return differs(
        (REFUND_RECORD, ...),
        end=EndReason.AGENT_SILENT,
        end_detail="no sign of the agent for 30 s (turn_silence) in turn 2; "
        "a function call was in progress",
        said=talk(*TALK[:2]),
        calls=(LOOKUP, made(2, "rebook_flight", {"journey_id": "FL_1"}, finished=False)),
        turns=1,
        duration=33.1,
    )


ERROR_LINE = (
    "09:30:04.002 ERROR   KeyError: 'FL_LQ846_20260603' while looking for a seat in the table of "
    "journeys that was loaded from /srv/data/airline/journeys.json at 09:30:00"
)
LOG = (
    "09:30:00.120 INFO    agent: started",
    '{"event": "ready", "url": "ws://127.0.0.1:41234/ws/{session}", "port": 41234}',
    "09:30:04.001 \x1b[31mERROR\x1b[0m   agent: \x1b[1mTraceback (most recent call last):\x1b[0m",
    '09:30:04.001 ERROR     File "bot.py", line 88, in rebook',
    "",
    ERROR_LINE,
)


@golden
def crashed() -> str:
    exit_ = ProcessExit(13, None, LOG)
    return text(
        expected=world(),
        db_hash=None,
        db_note="the agent's final state could not be read",
        end=EndReason.AGENT_GONE,
        end_detail="agent at ws://127.0.0.1:41234/ws/x: connection lost without a close frame "
        f"(1006, abnormal closure); {describe_exit(exit_)}",
        said=talk(*TALK[:2]),
        calls=(LOOKUP,),
        turns=1,
        duration=4.1,
        process_exit=exit_,
    )


@golden
def crashed_by_signal() -> str:
    return text(
        expected=world(),
        db_hash=None,
        db_note="the agent's final state could not be read",
        end=EndReason.AGENT_GONE,
        end_detail="agent at ws://127.0.0.1:41234/ws/x: connection lost",
        said=talk(*TALK[:2]),
        calls=(),
        turns=1,
        duration=4.1,
        process_exit=ProcessExit(None, 11),
    )


@golden
def closed_the_connection() -> str:
    return text(
        expected=world(),
        db_hash=None,
        db_note="the agent's final state could not be read",
        end=EndReason.AGENT_GONE,
        end_detail="agent at wss://bots.example.com/ws: the bot closed the connection: "
        "1011 (internal error), 'session expired'",
        said=talk(*TALK[:2]),
        calls=(LOOKUP,),
        turns=1,
        duration=4.1,
    )


@golden
def reported_an_error() -> str:
    return text(
        expected=world(),
        db=changed((REFUND_RECORD, ...)),
        end=EndReason.AGENT_ERROR,
        end_detail="Error code: 400 - {'error': {'message': \"This model's maximum context length "
        "is 8192 tokens, however you requested 9001 tokens\",\n 'type': 'invalid_request_error'}}",
        said=talk(*TALK[:2]),
        calls=(LOOKUP,),
        turns=1,
        duration=4.1,
    )


@golden
def stalled() -> str:
    return differs(
        (REFUND_RECORD, ...),
        said=talk(TALK[0], TALK[1], ("agent", "I cannot help you with that. Goodbye.")),
        calls=(replace(END, turn=2),),
        stalled=True,
        turns=2,
        duration=5.2,
    )


@golden
def stalled_model() -> str:
    """Two model calls may have made one turn."""
    return text(
        expected=world(),
        db=world(),
        said=talk(TALK[0]),
        calls=(),
        stalled=True,
        turns=1,
        tokens=2,
        duration=1.9,
        end=EndReason.CALLER_HANGUP,
        end_detail="the caller gave up",
    )


@golden
def stalled_by_the_time_limit() -> str:
    return differs(
        (REFUND_RECORD, ...),
        said=talk(TALK[0], partial=True),
        calls=(),
        stalled=True,
        turns=0,
        duration=0.2,
        end=EndReason.TIMEOUT,
        end_detail="the conversation reached 0.2 s (max_duration)",
    )


@golden
def passed() -> str:
    """Shown beside a failed test of the user's own."""
    return text(
        expected=world(),
        db=world(),
        nodeid="tests/test_calls.py::test_refund",
    )


@golden
def noticed() -> str:
    return differs(
        ((*REFUND_RECORD, "refund_amount"), 357),
        warnings=[
            "the agent reported an error: LLM completion timed out after 5 s, retrying",
            "the caller repeated in turn 4 its words of turn 2",
            "7 frames of an unknown type were skipped",
        ],
    )


# -- the transcript


@golden
def nobody_spoke() -> str:
    return differs((REFUND_RECORD, ...), said=[], calls=(), turns=0, duration=0.3)


@golden
def nobody_spoke_but_tools_were_called() -> str:
    return differs((REFUND_RECORD, ...), said=[], calls=(replace(LOOKUP, turn=1),), turns=0)


@golden
def long_conversation() -> str:
    lines = []
    for n in range(1, 20):
        lines.append(
            ("agent", f"Answer number {n}. " + "It goes on and on for quite a while. " * 4)
        )
        lines.append(("user", f"Question number {n}?"))
    calls = [made(n, "get_seat_map", {"row": n}) for n in range(1, 20)]
    return differs(
        ((*REFUND_RECORD, "refund_amount"), 357), said=talk(*lines[:-1]), calls=calls, turns=19
    )


@golden
def very_long_turn() -> str:
    return differs((REFUND_RECORD, ...), said=talk(("agent", GREETING), ("user", "word " * 400)))


@golden
def words_without_blanks() -> str:
    said = talk(
        ("agent", "x" * 200),
        ("user", "\u822a\u7a7a\u5238\u3092" * 30),
        ("agent", "\U0001f6eb" * 60),
    )
    return differs((REFUND_RECORD, ...), said=said)


HIDDEN = "\u202eevil\u202c \u2066x\u2069 \u200b\ufeff"


@golden
def hostile_words() -> str:
    said = talk(
        ("agent", "\x1b[31mred\x1b[0m \x07bell \x00null \r\n new\tline ]]> <b>&amp;</b>"),
        (
            "user",
            HIDDEN + " \ud83d lone \udc80 \ufffe \U0001f468\u200d\U0001f469\u200d\U0001f467",
        ),
        ("agent", "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627 \u2028 next \x85 line"),
    )
    hostile = made(2, "say\u202e\x1b[2J", {"text\n": "]]>\x1b[31m\ud800", "\u202e": None})
    return differs(((*R, "notes"), "\x1b[31m\ud800\u202e]]>"), said=said, calls=(hostile,))


@golden
def cut_off() -> str:
    said = talk(*TALK[:2], ("agent", "I have rebooked you to"), partial=True)
    return differs((REFUND_RECORD, ...), said=said)


@golden
def many_calls_in_a_turn() -> str:
    calls = [made(2, "get_flight_status", {"flight": f"LQ{n}"}) for n in range(14)]
    calls += [made(3, "poll", {}) for _ in range(5)]
    return differs((REFUND_RECORD, ...), calls=calls)


@golden
def calls_of_both_sides() -> str:
    """A caller with tools of its own uses them between the agent's words and its next ones."""
    mine = made(1, "toggle_airplane_mode", {"on": False}, side="user", writes=[("device", "phone")])
    return differs(
        (("device", "phone", "airplane_mode"), True),
        expected={**world(), "device": {"phone": {"airplane_mode": False}}},
        calls=(mine, LOOKUP, REBOOK, replace(END, result={"error": "cannot end now"})),
    )


# -- what is shown around


@golden
def options_repeated() -> str:
    return differs(
        (REFUND_RECORD, ...),
        options=[
            "--agent-fault",
            "missing-call",
            "--script",
            "my calls/larkspur.json",
            "--agent-url",
            "ws://127.0.0.1:8765/ws/{session}",
            "--duration",
            "60",
        ],
    )


@golden
def odd_id() -> str:
    nodeid = "tests/test_calls.py::test_it[it's \u202eodd\n]"
    return differs((REFUND_RECORD, ...), nodeid=nodeid, artifacts=None)


# -- errors


@golden
def unreachable() -> str:
    return error(
        AgentUnreachable(
            "the agent cannot be reached: agent at ws://127.0.0.1:9: [Errno 111] Connection "
            "refused (is it running?)"
        )
    )


@golden
def setup_failed() -> str:
    return error(
        SetupFailed(
            "the agent was not set up: agent at ws://bots:8765/ws: 'apply_initialization' "
            "was refused: unknown scenario"
        ),
        replace(broken_off(said=[], calls=(), turns=0, duration=0), started_at=""),
    )


@golden
def setup_crashed() -> str:
    exit_ = ProcessExit(1, None, LOG)
    lost = "the agent was not set up: agent at ws://127.0.0.1:4: connection lost"
    fault = f"{lost}; {describe_exit(exit_)}"
    quiet = broken_off(said=[], calls=(), turns=0, duration=0, process_exit=exit_)
    return error(SetupFailed(fault), replace(quiet, started_at=""))


@golden
def protocol() -> str:
    return error(
        ProtocolFailed(
            "the agent broke the protocol: agent at ws://127.0.0.1:4/ws/x: 3 bad messages in a "
            "row; the last: field number 570365935 at byte 5 is out of range"
        ),
        broken_off(),
    )


@golden
def killed() -> str:
    exit_ = ProcessExit(None, 9, LOG[:1])
    return error(
        BotKilled(
            f"the agent was killed during the call, and not by us: {describe_exit(exit_)}. "
            "Out of memory, or a time limit of the machine?"
        ),
        broken_off(process_exit=exit_),
    )


@golden
def caller_failed() -> str:
    return error(
        CallerFailed("no sign of the caller's bot for 30 s (turn_silence)"),
        replace(broken_off(), warnings=("the caller's bot reported an error: 401 Unauthorized",)),
    )


@golden
def state_unreadable() -> str:
    return error(
        StateUnreadable(
            "the agent's database is not JSON: at reservations.R1.fare: nan is not a JSON number; "
            "store null or a finite number"
        ),
        broken_off(),
    )


@golden
def scenario_invalid() -> str:
    return error(
        ScenarioInvalid(
            "scenario 'larkspur__date_change': no expected database;\nno reference answer;\n"
            "nothing to judge an agent by"
        )
    )


@golden
def error_without_words() -> str:
    return error(CallError(""))
