"""Orders, writers, quoting and `assert call.db == expected`: what the golden texts are made of."""

from __future__ import annotations

import subprocess
from dataclasses import replace

import pytest

from pytest_voiceeval.call.result import ToolCallSeen
from pytest_voiceeval.report.assertrepr import explain_db
from pytest_voiceeval.report.calls_text import outcome
from pytest_voiceeval.report.characters import columns
from pytest_voiceeval.report.database_text import grouped, in_telling_order, place_lines
from pytest_voiceeval.report.error_text import render_error
from pytest_voiceeval.report.rerun import rerun_lines, shell_quote
from pytest_voiceeval.report.values import argument_values, arguments, brief, brief_pair, call_form
from pytest_voiceeval.report.writers import failures_about, find_writers
from pytest_voiceeval.scoring.db_diff import list_changes
from tests.unit.report.building import changed, made, refused, world

SEATS = ("journeys", "FL_LQ846_20260603", "segments", 0, "available_seats", "main_cabin")


def places(expected, actual, calls=()):
    return [change.where for change in in_telling_order(list_changes(expected, actual), calls)]


def test_whole_records_come_before_counters_deep_inside_others() -> None:
    actual = changed((SEATS, 9), (("refunds", "REF-N4WZ8C-001"), ...))
    assert [place.partition(".")[0] for place in places(world(), actual)] == ["refunds", "journeys"]


def test_what_tools_wrote_comes_first() -> None:
    actual = changed((SEATS, 9), (("refunds", "REF-N4WZ8C-001"), ...))
    calls = [made(1, "rebook", writes=[("journeys", "FL_LQ846_20260603")])]
    assert [place.partition(".")[0] for place in places(world(), actual, calls)] == [
        "journeys",
        "refunds",
    ]


def test_the_order_does_not_depend_on_the_order_of_the_changes() -> None:
    actual = changed((SEATS, 9), (("refunds", "R2"), {}), (("reservations", "N4WZ8C", "notes"), 1))
    changes = list_changes(world(), actual)
    assert in_telling_order(changes) == in_telling_order(changes[::-1])


def test_the_same_change_in_many_records_is_one_place() -> None:
    expected = {"seats": {f"S{n}": {"free": True} for n in range(5)}, "other": {"x": 1}}
    actual = {"seats": {f"S{n}": {"free": False} for n in range(5)}, "other": {"x": 2}}
    found = grouped(list_changes(expected, actual))
    assert [len(place) for place in found] == [1, 5]
    assert place_lines(found[1]) == ("  seats / 5 records (S0, …) / free: true → false",)


def test_three_of_a_kind_stay_apart() -> None:
    expected = {"seats": {f"S{n}": {"free": True} for n in range(3)}}
    actual = {"seats": {f"S{n}": {"free": False} for n in range(3)}}
    assert [len(place) for place in grouped(list_changes(expected, actual))] == [1, 1, 1]


def test_like_leaves_of_one_record_are_no_group() -> None:
    expected = {"t": {"r": {"a": 1, "b": 1, "c": 1, "d": 1}}}
    actual = {"t": {"r": {"a": 2, "b": 2, "c": 2, "d": 2}}}
    assert len(grouped(list_changes(expected, actual))) == 4


CHANGES = list_changes({"t": {"r1": 1, "r2": 1}}, {"t": {"r1": 2, "r2": 2}})


def test_the_last_writer_counts_and_the_agents_before_the_callers() -> None:
    first = made(1, "a", writes=[("t", "r1")])
    second = made(2, "b", writes=[("t", "r1")])
    callers = made(3, "c", writes=[("t", "r1")], side="user")
    found = find_writers(CHANGES, [first, second, callers])
    assert found.by_call == ((second, (("t", "r1"),)),)
    assert found.unwritten == (("t", "r2"),)
    assert found.reported


def test_who_set_the_field_counts_more_than_who_last_wrote_in_its_record() -> None:
    wrong = {"t": {"r1": {"fare": 1, "seat": "4C", "note": "x"}}}
    changes = list_changes(wrong, {"t": {"r1": {"fare": 2, "seat": "4C", "note": "y"}}})
    booked = made(1, "book", writes=[("t", "r1")], fields=(("t", "r1", "fare"),))
    seated = made(2, "seat", writes=[("t", "r1")], fields=(("t", "r1", "seat"),))
    found = find_writers(changes, [booked, seated])
    record = (("t", "r1"),)
    # nobody set the note: the last one that wrote in the record is the best there is
    assert found.by_call == ((booked, record), (seated, record))
    assert find_writers(changes[:1], [booked, seated]).by_call == ((booked, record),)


def test_who_made_a_record_set_all_that_nobody_changed_in_it() -> None:
    changes = list_changes({"t": {"r1": {"fare": 1}}}, {"t": {"r1": {"fare": 2}}})
    made_it = made(1, "book", writes=[("t", "r1")], fields=(("t", "r1"),))
    seated = made(2, "seat", writes=[("t", "r1")], fields=(("t", "r1", "seat"),))
    assert find_writers(changes, [made_it, seated]).by_call == ((made_it, (("t", "r1"),)),)


def test_a_table_written_as_a_whole_covers_its_records() -> None:
    call = made(1, "a", writes=[("t", None)])  # type: ignore[list-item]
    assert find_writers(CHANGES, [call]).by_call == ((call, (("t", "r1"), ("t", "r2"))),)


def test_a_missing_table_was_written_by_whoever_wrote_in_it() -> None:
    call = made(1, "a", writes=[("t", "r1")])
    changes = list_changes({"t": {"r1": 1}}, {})
    assert find_writers(changes, [call]).by_call == ((call, (("t", None),)),)


def test_without_reports_a_call_that_names_the_record_is_taken() -> None:
    call = replace(made(1, "a", {"ids": ["r1"]}), record={"action_type": "a"})
    found = find_writers(CHANGES, [call])
    assert (found.by_call, found.unwritten) == (((call, (("t", "r1"),)),), (("t", "r2"),))
    assert not found.reported


def test_an_agent_that_recorded_nothing_wrote_nothing() -> None:
    found = find_writers(CHANGES, [made(1, "look_up", {"id": "r1"})])
    assert (found.by_call, found.reported) == ((), True)


@pytest.mark.parametrize(
    ("result", "word"),
    [
        ("The function `move` failed and returned no result.", "failed"),
        ("The function `move` is not currently available.", "failed"),
        ("The function `move` is fine.", "ok"),
        ({"status": "success"}, "ok"),
    ],
    ids=["raised", "no such function", "a text", "a record"],
)
def test_what_came_of_a_call(result: object, word: str) -> None:
    assert outcome(ToolCallSeen(1, "move", {}, result)) == word


def test_only_failures_that_concern_the_difference_and_were_not_made_good_count() -> None:
    about_r1 = refused(1, "write", {"id": "r1"}, "busy", "later")
    about_r2 = refused(2, "write", {"id": "r2"}, "busy", "later")
    other = refused(3, "write", {"id": "r9"}, "busy", "later")
    again = made(4, "write", {"id": "r1"})
    assert failures_about(CHANGES, [about_r1, about_r2, other, again]) == [about_r2]


@pytest.mark.parametrize(
    ("value", "room", "text"),
    [
        pytest.param({}, 9, "{}", id="empty object"),
        pytest.param([], 9, "[]", id="empty list"),
        pytest.param({"b": "x", "n": 5}, 40, '{n: 5, b: "x"}', id="numbers first"),
        pytest.param(
            {"a": {"x": 1, "y": 2}, "l": [1]}, 40, "{a: {2 fields}, l: [1 item]}", id="inner"
        ),
        pytest.param(list(range(9)), 16, "[0, 1, … 7 more]", id="cut list"),
        pytest.param({"a": 1, "b": 2}, 4, "{2…", id="no room"),
        pytest.param("x" * 50, 9, '"xxxxxxx…', id="text"),
        pytest.param({"odd key ": 1}, 40, '{"odd key ": 1}', id="odd key"),
        pytest.param(10**5000, 60, "<int whose repr raised ValueError>", id="unprintable"),
    ],
)
def test_brief(value: object, room: int, text: str) -> None:
    assert brief(value, room) == text
    assert columns(text) <= room


def test_long_texts_are_cut_so_that_the_difference_shows() -> None:
    left, right = brief_pair("a" * 200 + "left" + "b" * 200, "a" * 200 + "right" + "b" * 200, 40)
    assert left.startswith('"…aaaaaaaaaaaaleftbb')
    assert right.startswith('"…aaaaaaaaaaaarightbb')
    assert max(columns(left), columns(right)) <= 40


def test_calls_are_written_with_as_many_arguments_as_fit() -> None:
    parts = arguments({"code": "N4WZ8C", "amount": 356})
    assert call_form("pay", parts, 60) == 'pay(code="N4WZ8C", amount=356)'
    assert call_form("pay", parts, 26) == 'pay(code="N4WZ8C", …)'
    assert call_form("pay", parts, 16) == 'pay(code="N…, …)'
    assert call_form("pay", [], 60) == "pay()"
    assert argument_values({"code": "N4WZ8C", "amount": 356}) == ['"N4WZ8C"', "356"]


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "two words",
        "it's",
        'say "x"',
        "$HOME `x` \\",
        "a\nb",
        "\x1b[31m",
        "\u202e\u822a'\\",
    ],
)
def test_a_shell_reads_the_quoted_argument_back(text: str) -> None:
    quoted = shell_quote(text)
    assert "\n" not in quoted
    assert "\x1b" not in quoted
    command = f"printf %s {quoted}"
    assert (
        subprocess.run(["bash", "-c", command], capture_output=True, check=True).stdout.decode()
        == text
    )


def test_a_long_command_is_continued_between_options() -> None:
    options = ["--agent-cmd", "python my bot.py " + "x" * 40, "--strict-match", "--duration", "5"]
    lines = rerun_lines("d::s", options)
    assert lines == (
        "rerun: pytest d::s \\",
        f"  --agent-cmd 'python my bot.py {'x' * 40}' \\",
        "  --strict-match --duration 5",
    )


def test_explain_db() -> None:
    found = explain_db(changed((SEATS, 9), (("refunds", "R2"), {"amount": 5})), world())
    assert found == [
        "database differs in 2 places (right side: expected → left side: actual)",
        "  refunds / R2: absent → {amount: 5}",
        "  journeys / FL_LQ846_20260603 / segments / LQ846 / available_seats /",
        "    main_cabin: 8 → 9",
    ]


def test_explain_db_cuts_and_counts() -> None:
    left = {"t": {f"r{n:02}": n for n in range(30)}}
    right = {"t": {f"r{n:02}": n + 1 for n in range(30)}}
    found = explain_db(left, right, limit=3)
    assert found is not None
    assert found[1:] == [
        "  t / r00: 1 → 0",
        "  t / r01: 2 → 1",
        "  t / r02: 3 → 2",
        "  … 27 more places",
    ]
    assert len(explain_db(left, right, limit=None) or ()) == 31


def test_explain_db_of_states_that_only_python_tells_apart() -> None:
    found = explain_db({"a": "none", "session": 1}, {"a": None, "session": 2})
    assert found is not None
    assert found[0].startswith("the databases are the same by db_state_match")


@pytest.mark.parametrize(
    ("left", "right"),
    [(None, {}), ({}, []), (1, 2), ({"a": {1, 2}}, {}), ({"a": float("nan")}, {"a": 1})],
)
def test_explain_db_leaves_the_rest_to_pytest(left: object, right: object) -> None:
    assert explain_db(left, right) is None


def test_a_long_cause_shows_its_beginning_and_how_it_ended() -> None:
    log = [f"line {n}" for n in range(30)]
    text = render_error(
        Exception("\n".join(["the bot ended", *log])), nodeid="a::b", artifacts=None
    )
    first, *shown = text.splitlines()[:10]
    assert first == "Exception: the bot ended"
    assert [line.strip() for line in shown] == [*log[:3], "…", *log[-5:]]
