"""Identifiers spoken as written: found where they stand, and nothing else is taken for one."""

from __future__ import annotations

import pytest

from pytest_voiceeval.scoring.identifiers import (
    Identifiers,
    Occurrence,
    collect,
    compact,
    spoken_as_written,
)

JOURNEY = "FL_LQ522_20261104"
CONNECTION = "FL_LQ544_LQ611_20261104"
KNOWN = Identifiers(
    frozenset(
        {
            "H7QMV4", "SOCATW", "A1B2C3", "LQ522", "LQ51", "ORD", "SAN", "17A", "F4",
            "HOTEL-H7QMV4", "REF-H7QMV4-001", "kim_lee@mail.example", "9774180022651", "PAX001",
        }
    ),
    frozenset({JOURNEY, CONNECTION}),
)  # fmt: skip
SPELLED_JOURNEY = (
    "F, L, underscore, L, Q, five, two, two, underscore, two, zero, two, six, one, one, zero, four"
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        # spelled, as it should be
        ("Your code is H, seven, Q, M, V, four.", []),
        ("You are on flight L, Q, five, two, two.", []),
        ("You are on flight L Q 5 2 2, L-Q-5-2-2.", []),
        ("A, one, B, two, C, three. A 1 B 2 C 3.", []),
        ("Seat one, seven, A, from O, R, D, gate F, four.", []),
        ("K, I, M, underscore, L, E, E, at, M, A, I, L, dot, E, X, A, M, P, L, E.", []),
        # as written
        ("Your code is H7QMV4.", ["H7QMV4"]),
        ("Your code is h7qmv4.", ["H7QMV4"]),
        ("H7QMV4, that is H, seven, Q, M, V, four.", ["H7QMV4"]),
        ("H7QMV4 (spelled out as H, seven, Q, M, V, four)", ["H7QMV4"]),
        ("Your code is SOCATW.", ["SOCATW"]),
        ("Flight LQ522.", ["LQ522"]),
        ("**LQ522** leaves at nine, `LQ522`!", ["LQ522", "LQ522"]),
        ("Flight LQ 522, LQ-522 or lq\u2011522.", ["LQ522", "LQ522", "LQ522"]),
        ("Flight L, Q, 522.", ["LQ522"]),
        ("LQ522's gate", ["LQ522"]),
        ("From ORD to SAN.", ["ORD", "SAN"]),
        ("Seat 17A, gate F4.", ["17A", "F4"]),
        ("Write to Kim_Lee@mail.example.", ["kim_lee@mail.example"]),
        ("Ticket 9774180022651, or 977-4180022651.", ["9774180022651", "9774180022651"]),
        ("You are PAX001.", ["PAX001"]),
        # the longest one counts, and each place once
        ("Voucher HOTEL-H7QMV4.", ["HOTEL-H7QMV4"]),
        ("Refund REF-H7QMV4-001 for H7QMV4.", ["REF-H7QMV4-001", "H7QMV4"]),
        ("Flight LQ51.", ["LQ51"]),
        # internal ids, in any form
        (f"I booked {JOURNEY}.", [JOURNEY]),
        ("I booked FL LQ522 20261104.", [JOURNEY]),
        (f"I booked {SPELLED_JOURNEY}.", [JOURNEY]),
        (f"{CONNECTION}, not {JOURNEY}", [CONNECTION, JOURNEY]),
        # no identifiers: dates, prices, times, words, other codes
        ("On November 4, 2026, at 17:05, for $522.", []),
        ("It is 20261104, 11/04, 51 minutes, 522 dollars.", []),
        ("Flight five twenty-two, or flight 522.", []),
        ("We go to San Diego, and fly San; the word order, an ord.", []),
        ("At 17 a person, 17 A.", []),
        ("At 17am, terminal 17AB, LQ5221, XLQ522, LQ5.", []),
        ("OK, TSA, USA, JFK, A321neo, 737-800, LQ999, H7QMV5.", []),
        ("Hotel vouchers are at the desk. Hotel H, seven.", []),
        ("Kim Lee at mail dot example.", []),
        ("socatw Socatw", []),
        ("The trip is L. Q. 522 is what it costs.", []),
        ("", []),
    ],
)  # fmt: skip
def test_what_is_found(text: str, found: list[str]) -> None:
    assert [each.identifier for each in spoken_as_written(text, KNOWN)] == found


def test_an_occurrence_has_the_words_around_it() -> None:
    short = "You are on flight LQ 522 now."
    assert spoken_as_written(short, KNOWN) == [Occurrence("LQ522", short)]
    long = f"{'Well, let me see what we have. ' * 4}It is LQ522, {'and so on ' * 9}"
    [found] = spoken_as_written(long, KNOWN)
    assert found.text == "…me see what we have. It is LQ522, and so on and so on and so…"


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({"code": "H7QMV4"}, {"H7QMV4"}),
        ({"rows": [{"code": "H7QMV4", "name": "LQ522"}, {"deep": {"code": "ORD"}}]},
         {"H7QMV4", "ORD"}),
        ({"code": ["LQ522", "PAX001", 5]}, {"LQ522", "PAX001"}),
        ({"code": {"code": "17A"}}, {"17A"}),
        ({"code": "kim@mail.example"}, {"kim@mail.example"}),
        ({"code": "9774180022651"}, {"9774180022651"}),
        ({"code": "737"}, set()),
        ({"code": "none"}, set()),
        ({"code": "window"}, set()),
        ({"code": "A"}, set()),
        ({"code": ""}, set()),
        ({"code": "Gate 4 is to the left"}, set()),
        ({"code": None}, set()),
        ({"code": ["@@", "--", "1-", "\u00e9\u00e8"]}, set()),
        ({"code": "LQ" + "5" * 63}, set()),
        ([], set()),
        ("H7QMV4", set()),
        (None, set()),
    ],
)  # fmt: skip
def test_identifiers_are_collected_by_key(value: object, found: set[str]) -> None:
    assert set(collect(value, {"code"})) == found


def test_a_value_without_end_is_not_followed_to_its_end() -> None:
    value: list[object] = [{"code": "LQ522"}]
    value.append(value)
    assert set(collect(value, {"code"})) == {"LQ522"}


def test_one_compact_form() -> None:
    forms = ("H, seven, Q, M", "h7qm", "H-7-Q-M", "H seven dash q underscore M.")
    assert {compact(form) for form in forms} == {"H7QM"}


def test_nothing_known_nothing_found() -> None:
    assert not Identifiers(frozenset())
    assert spoken_as_written("Flight LQ522.", Identifiers(frozenset())) == []


def test_a_hostile_text_is_read_in_time() -> None:
    text = f"{'F, L, underscore ' * 3000} {'L, Q, ' * 3000} {JOURNEY}"
    # a pattern that runs away would take years
    assert len(spoken_as_written(text, KNOWN)) == 1
