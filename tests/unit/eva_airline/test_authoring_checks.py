"""The domain's own checks find every fault an author can make."""

from __future__ import annotations

import pytest

from pytest_voiceeval.data.errors import DataError

SPELLED = ("{LQ522}", "that flight")

FAULTS = {
    # the caller and the person
    "persona": ("1.1.2", ("caller.persona", "x" * 301), "the persona has more than 300 characters"),
    "goal": ("1.1.2", ("caller.goal", "x" * 250), "the goal's first sentence has more than 200"),
    "nothing": ("1.1.2", ("caller.must", []), "the caller's must_have_criteria is empty"),
    "phone": ("1.1.2", ("passenger.phone", "+1-612-423-0143"), "must be of the form +1-NNN-555"),
    "email": ("1.1.2", ("passenger.email", "m@mail.com"), "must end in example.com or"),
    "null": ("1.1.2", ("passenger.name", "Marisol Null"), "a last name of None or Null"),
    "seats": ("1.1.2", ("passenger.seats", "window aisle front"), "the kinds of seat are window"),
    # rules
    "rule": ("1.1.2", ("rules", ("C1", "C0")), "the policy has no rule C0"),
    "uncited": ("1.1.2", ("rules", (" C4", "")), "the note cites C4, 'rules' does not"),
    "no rule": ("1.1.2", ("note", "Because."), "the note cites no rule"),
    # the database
    "no sold out": ("1.1.2", ("journeys", ("main=239/0", "main=239/2")), "no flight is sold out"),
    "no closed": ("1.1.2", ("journeys", (" closed", "")), "no flight is closed for booking"),
    "tight": ("1.1.2", ("journeys", ("DEN 10:05", "DEN 09:20")), "30 minutes between its flights"),
    "cents": ("1.1.2", ("journeys", ("main=294/", "main=294.5/")), "is not whole dollars"),
    "kinds": ("1.1.2", ("journeys", ("main=294/3/wam", "main=294/3/")), "has 3 seats, but other"),
    "no flight": ("2.1.1", ("disruptions", ("LQ274", "LQ999")), "LQ999_2026-03-06: there is no"),
    "not delayed": (
        "7.2.1",
        ("disruptions", ("delayed=255", "delayed=250")),
        "disruption LQ914_2026-09-24: the flight's delay is 255 minutes",
    ),
    "not cancelled": (
        "7.2.1",
        ("disruptions", ("delayed=255", "cancelled")),
        "disruption LQ914_2026-09-24: the flight is departed",
    ),
    # the dialogue
    "unspelled code": ("1.1.2", ("dialogue", ("{H7QMV4}", "The code")), "write {H7QMV4}"),
    "unspoken flight": ("1.1.2", ("dialogue", SPELLED), "the agent never says {LQ522}"),
    "unspoken seat": ("1.1.2", ("dialogue", ("{21A}", "a seat")), "the agent never says {21A}"),
    "unspoken money": (
        "1.2.3",
        ("dialogue", ("make {$154}.", "come together.")),
        "rebook_flight: the agent does not say {$154} before the call",
    ),
    "unspoken refund": ("5.1.1", ("dialogue", ("{$356}", "much")), "never says {$356}"),
    "unspoken voucher": ("2.1.1", ("dialogue", ("{$25}", "food")), "never says {$25}"),
    "misheard": ("2.1.1", ("dialogue", ("{V5TKD9}", "that")), "never says {V5TKD9}"),
    "too soon": (
        "1.1.2",
        (
            "dialogue",
            ("> get_reservation\n", "> get_flight_status LQ512 10-30\n> get_reservation\n"),
        ),
        "a call is made before get_reservation succeeded",
    ),
    "declines": ("1.1.2", ("declines", "Never!"), "declines: the caller never says 'Never!'"),
    # limits
    "verdict": ("1.1.2", ("journeys", ("-- too dear", "-- too late")), "write '-- too dear', not"),
    "two left": ("1.1.2", ("limits.total", 150), "the must-haves leave 2 flights, not 1"),
    "fee": ("1.1.2", ("limits.fee", 70), "limits: the fee for FL_LQ522_20261104 is 75, not 70"),
    "no limits": ("1.1.2", ("limits", []), "for which 'limits' states no must-haves"),
    "elsewhere": ("1.1.2", ("limits.routes", "MSP-DEN"), "is no alternative to anything"),
    "limit": ("1.1.2", ("limits.price", 3), "limits: unknown key 'price'; known are arrive"),
    "not taken": (
        "3.1.3",
        ("dialogue", ("> rebook_flight LQ731 LQ743", "> rebook_flight LQ731 LQ747")),
        "no gold call rebooks to FL_LQ743_20260715",
    ),
}


@pytest.mark.parametrize(("record_id", "change", "problem"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_found(record_id, change, problem, problems_of):
    found = problems_of(record_id, change)
    assert any(problem in text for text in found), found


def test_nothing_is_found_where_nothing_is_wrong(problems_of):
    assert problems_of("1.1.2") == ()


UNREADABLE = {
    "key": (("caller.colour", "red"), "caller: unknown key 'colour'; known are persona, goal"),
    "passenger": (("passenger", {"name": "A B"}), "passenger: the key 'gender' is missing"),
    "booking": (("booking.codes", "x"), "booking: unknown key 'codes'"),
    "no now": (("now", "2026-10-26"), "'2026-10-26' is not a date, a time and an airport"),
    "no zone": (("now", "2026-10-26 09:40 XXX"), "no airport 'XXX' in _shared.yaml"),
    "skipped": (("now", "2026-03-08 02:30 MSP"), "2026-03-08 02:30 is skipped or happens twice"),
    "word": (("journeys", (" closed", " closd")), "what is 'closd'? known: closed, departed"),
    "option": (("journeys", ("gate=F6", "gatt=F6")), "what is 'gatt'? known: gate, cancelled"),
    "leg": (("journeys", ("LQ611 11-04 DEN", "LQ612 11-04 DEN")), "its leg FL_LQ611_20261104 need"),
    "seat kind": (("journeys", ("main=294/3/wam", "main=294/3/wx")), "the kinds of seat 'x'; use"),
    "twice": (("journeys", ("LQ526 11-04", "LQ522 11-04")), "two lines of 'journeys' are of the"),
    "short": (
        ("journeys", ("LQ526 11-04 MSP 09:10", "LQ526 11-04 MSP")),
        "journey LQ526 on 2026-11-04: no airport '205m'",
    ),
    "unbooked": (("bookings", ("LQ512", "LQ599")), "FL_LQ599_20261030 has no line in 'journeys'"),
    "bookings": (("bookings", ("bags=1", "bagz=1")), "what is 'bagz'"),
    "seats": (("bookings", ("seat=17A", "seat=17A+17B")), "needs a fare and a seat for each"),
    "disruption": (("disruptions", ["LQ512 10-30 late crew"]), "is not FLIGHT DATE WHAT CAUSE"),
    "cause": (("disruptions", ["LQ512 10-30 cancelled ghosts"]), "is not FLIGHT DATE WHAT CAUSE"),
    "journey": (("forbidden", ["rebook_flight LQ512 LQ1 voluntary"]), "'LQ1' means 0 journeys"),
    "no caller": (("caller", {}), "caller: the key 'persona' is missing"),
}


@pytest.mark.parametrize(("change", "problem"), UNREADABLE.values(), ids=UNREADABLE)
def test_what_cannot_be_read_is_named_with_its_file(change, problem, problems_of):
    with pytest.raises(DataError, match=r"1\.1\.2\.yaml: ") as caught:
        problems_of("1.1.2", change)
    assert problem in str(caught.value)


def test_an_ambiguous_journey_is_refused(problems_of):
    with pytest.raises(DataError, match="'LQ274' means 2 journeys; write it as FLIGHT/MM-DD"):
        problems_of("2.1.1", ("forbidden", ["cancel_reservation LQ274 voluntary"]))
