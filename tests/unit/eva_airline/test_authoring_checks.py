"""The domain's own checks find every fault an author can make."""

from __future__ import annotations

import pytest

from pytest_voiceeval.data.errors import DataError

SPELLED = ("{LQ522}", "that flight")
LAST = "No worries. That was all, I'll go and eat my own sandwich."

FAULTS = {
    # the caller and the person
    "persona": ("1.1.2", ("caller.persona", "x" * 301), "the persona has more than 300 characters"),
    "goal": ("1.1.2", ("caller.goal", "x" * 250), "the goal's first sentence has more than 200"),
    "nothing": ("1.1.2", ("caller.must", []), "the caller's must_have_criteria is empty"),
    "phone": ("1.1.2", ("passenger.phone", "+1-612-423-0143"), "must be of the form +1-NNN-555"),
    "email": ("1.1.2", ("passenger.email", "m@mail.com"), "must end in example.com or"),
    "null": ("1.1.2", ("passenger.name", "Marisol Null"), "a last name of None or Null"),
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
    "too short": (
        "4.2.1",
        ("dialogue", (f" Anything else?\nC: {LAST}\nA: Enjoy it", " Enjoy it")),
        "the caller has 5 turns, at least 6 are wanted",
    ),
    # limits
    "verdict": ("1.1.2", ("journeys", ("-- too dear", "-- too late")), "write '-- too dear', not"),
    "two left": ("1.1.2", ("limits.total", 150), "the must-haves leave 2 flights, not 1"),
    "fee": ("1.1.2", ("limits.fee", 70), "limits: the fee for FL_LQ522_20261104 is 75, not 70"),
    "no limits": ("1.1.2", ("limits", []), "for which 'limits' states no must-haves"),
    "elsewhere": ("1.1.2", ("limits.routes", "MSP-DEN"), "is no alternative to anything"),
    "limit": ("1.1.2", ("limits.price", 3), "limits: unknown key 'price'; known are arrive"),
    "limit's time": ("1.1.2", ("limits.arrive", "17:00"), "arrive is a date and a time, as 11-04"),
    "limit's sum": ("1.1.2", ("limits.total", "low"), "limits: total is a number, got 'low'"),
    "limit's flag": ("1.1.2", ("limits.nonstop", "no"), "nonstop is true or false, got 'no'"),
    "limit's seat": ("1.1.2", ("limits.seat", "isle"), "limits: seat: 'isle' is none of window"),
    "no gold": ("2.2.5", ("limits", {"total": 0, "arrive": "12-20 21:10"}), "is it 'gold: none'?"),
    "not taken": (
        "3.1.3",
        ("dialogue", ("> rebook_flight LQ731 LQ743", "> rebook_flight LQ731 LQ747")),
        "no gold call rebooks to FL_LQ743_20260715",
    ),
}


GOLD = {
    "kind": (
        "4.1.3",
        ("dialogue", ("LQ14 same_day", "LQ14 voluntary")),
        "a change to FL_LQ14_20260623 is same_day, not voluntary (C1)",
    ),
    "waived": (
        "7.2.9",
        ("dialogue", ("LQ543 same_day\n", "LQ543 same_day waive_change_fee=true\n")),
        "no rule waives the fee here (C3): silver status, same_day",
    ),
    "not waived": (
        "1.2.1",
        ("dialogue", (" waive_change_fee=true", "")),
        "waive_change_fee is true where a rule waives the fee",
    ),
    "too late": (
        "1.1.2",
        ("now", "2026-10-30 11:00 MSP"),
        "too late for a voluntary change: ",
    ),
    "gone": ("1.1.2", ("now", "2026-11-04 11:30 MSP"), "FL_LQ522_20261104 has left by 11:30"),
    "no record": (
        "6.3.4",
        ("disruptions", ("LQ291", "LQ299")),
        "the records of the ticket give no free change (D1, D2)",
    ),
    "another kind": (
        "6.3.4",
        ("dialogue", ("LQ295 irrops_delay", "LQ295 irrops_cancellation")),
        "the records of the ticket give irrops_delay (D1, D2)",
    ),
    "not missed": (
        "3.1.3",
        ("now", "2026-07-15 08:00 ATL"),
        "has not left yet (M1)",
    ),
    "credit": (
        "1.1.3",
        ("dialogue", ("> issue_travel_credit 56", "> issue_travel_credit 65")),
        "a credit of 56 is due, the gold calls give 65",
    ),
    "no credit": (
        "1.1.3",
        ("dialogue", ("> issue_travel_credit 56 fare_difference_negative\n", "")),
        "a credit of 56 is due, the gold calls give 0",
    ),
    "refund": (
        "2.1.6",
        ("dialogue", ("> process_refund 265", "> process_refund 165")),
        "full_fare comes to 265, the gold calls pay 165 (R4)",
    ),
    "fees": (
        "2.1.6",
        ("booking.seat_fee", 25),
        "ancillary_fees comes to 60, the gold calls pay 59 (R4)",
    ),
    "credit's reason": (
        "1.1.3",
        ("dialogue", ("56 fare_difference_negative", "56 cancellation_non_refundable")),
        "the reason is fare_difference_negative, not cancellation_non_refundable",
    ),
    "free": (
        "2.1.1",
        ("dialogue", ("irrops_cancellation waive_change_fee=true", "voluntary")),
        "after a disruption the change to FL_LQ274_20260307 is free, not voluntary (D2)",
    ),
    "no connection": (
        "2.1.1",
        (
            "dialogue",
            ("LQ274/03-07 irrops_cancellation", "LQ274/03-07 missed_connection_airline_fault"),
        ),
        "is no connection whose first flight was late (D5)",
    ),
    "seat given up": (
        "1.1.2",
        ("dialogue", ("> assign_seat LQ522", "> assign_seat LQ512")),
        "assign_seat: the caller gives up FL_LQ512_20261030",
    ),
    "seat of another kind": (
        "1.1.2",
        ("dialogue", ("> assign_seat LQ522 window", "> assign_seat LQ522 aisle")),
        "the caller insists on window, not aisle",
    ),
    "cabin": (
        "1.3.2",
        ("dialogue", (" new_fare_class=premium\n", "\n")),
        "takes main_cabin, the caller wants premium_economy",
    ),
    "other booking": (
        "4.1.1",
        ("dialogue", ("> rebook_flight LQ336", "> rebook_flight LQ351")),
        "rebook_flight: gives up FL_LQ351_20260518, not FL_LQ336_20260514",
    ),
    "reason": (
        "2.1.6",
        ("dialogue", ("irrops_refund", "voluntary")),
        "the reason for FL_LQ418_LQ633_20260814 is irrops_refund",
    ),
    "goodwill": (
        "1.1.3",
        ("dialogue", ("56 fare_difference_negative", "56 goodwill")),
        "goodwill is for live agents only",
    ),
    "meal": (
        "2.2.5",
        ("dialogue", ("> issue_meal_voucher delay_over_2", "> issue_meal_voucher delay_over_4")),
        "the record gives delay_over_2_hours (D6)",
    ),
    "no meal": ("2.2.5", ("disruptions", (" meal", "")), "no record of the ticket grants a meal"),
    "hotel": (
        "2.1.1",
        ("dialogue", ("> issue_hotel_voucher 1", "> issue_hotel_voucher 2")),
        "the record gives 1 nights (D7)",
    ),
    "no hotel": ("2.1.1", ("disruptions", (" hotel", "")), "the record gives no nights (D7)"),
    "standby": (
        "4.2.5",
        ("now", "2026-06-01 08:05 BUF"),
        "FL_LQ814_20260602 does not leave later today (S1)",
    ),
}
"""Gold calls that the policy's figures do not ask for."""

SAID = {
    "weekday": (
        "1.1.3",
        ("dialogue", ("Tuesday, May twelfth", "Wednesday, May twelfth")),
        "'Wednesday, May twelfth' is another day of the week",
    ),
    "weekday alone": (
        "1.1.3",
        ("dialogue", ("Thursday the fourteenth", "Friday the fourteenth")),
        "'Friday the fourteenth' is another day of the week",
    ),
    "weekday of the goal": (
        "1.1.3",
        ("caller.goal", ("Thursday, May 14", "Friday, May 14")),
        "'Friday, May 14, 2026' is another day of the week",
    ),
    "amount": (
        "1.1.3",
        ("dialogue", ("would come to {$96}", "would come to {$97}")),
        "the agent says 97 dollars, which no fare or fee gives",
    ),
    "time": (
        "1.1.3",
        ("dialogue", ("lands at half past two", "lands at half past five")),
        "the agent says 'half past five', when nothing leaves or lands",
    ),
}
"""Lines that disagree with the calendar or with the database."""

FAULTS |= GOLD | {f"said {name}": fault for name, fault in SAID.items()}


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
    "journey": (("forbidden", ["rebook_flight LQ512 LQ1 voluntary"]), "'LQ1' means none of the"),
    "first choice": (("passenger.seats", "window aisle front"), "'front' is none of window, aisle"),
    "two choices": (("passenger.seats", "window aisle"), "seats are three kinds, first choice"),
    "one name": (("passenger.name", "Marisol"), "'Marisol' needs a first and a last name"),
    "elite": (("passenger.elite", "platnum"), "elite: 'platnum' is none of silver, gold, platinum"),
    "gender": (("passenger.gender", "female"), "gender: 'female' is none of woman, man"),
    "contact": (("passenger.contact", "fax"), "contact: 'fax' is none of phone, email"),
    "code": (("booking.code", "h7qmv4"), "the code 'h7qmv4' is not six capital letters or digits"),
    "booked late": (
        ("booking.booked", "2026-10-27 09:00 MSP"),
        "booked 2026-10-27 09:00 MSP is af",
    ),
    "fare type": (("booking.fare", "refundible"), "fare: 'refundible' is none of non_refundable"),
    "cabin": (("bookings", (" main ", " mian ")), "cabin: 'mian' is none of basic, main, premium"),
    "fare": (("bookings", (" main ", " main $")), "is no number"),
    "no such seat": (
        ("bookings", ("seat=17A", "seat=17Q")),
        "'17Q' is no seat: a row and a letter",
    ),
    "bags": (("bookings", ("bags=1", "bags=9")), "bags are 0 to 5, got 9"),
    "no day": (("journeys", ("LQ526 11-04", "LQ526 11-34")), "'11-34' is no date: write MM-DD"),
    "short day": (("journeys", ("LQ526 11-04", "LQ526 11-4")), "'11-4' is no date: write MM-DD"),
    "no hour": (("journeys", ("MSP 09:10", "MSP 9:10")), "'9:10' is no time of day: write HH:MM"),
    "block": (
        ("journeys", ("LQ526 11-04 MSP 09:10 PHX 205m", "LQ526 11-04 MSP 09:10 PHX 20m")),
        "20m is no time from MSP to PHX: about",
    ),
    "flight": (("journeys", ("LQ526 11-04", "LARK5 11-04")), "'LARK5' is no flight number, as"),
    "no middle": (("journeys", ("DEN 125m A220-300", "DEN 125m E175")), "E175 has no"),
    "must": (("caller.must", [{"You stay": "in Main"}]), "is no text; put it in double quotes"),
    "one must": (("caller.must", "You stay."), "caller: must: is a list of texts"),
    "fact": (("caller.knows", ["a"]), "caller: knows: is an object: `key: fact`"),
    "hidden": (("caller.hides", "code"), "caller: hides: 'code' is none of confirmation_number"),
    "lines": (("bookings", "LQ512"), "bookings: is a list of texts, a line with a dash"),
    "limits": (("limits", "cheap"), "limits: is an object, or a list of them"),
    "person": (("passenger", "Ann"), "passenger: is an object: `key: value`"),
    "fee": (("booking.seat_fee", "$18"), "booking: seat_fee: got '$18', no sum"),
    "standby": (
        ("journeys", (" closed", " closed standby=R2")),
        "standby: 'R2' is no list of confi",
    ),
    "fare of nothing": (("journeys", ("main=239/0", "main=")), "main: fare: '' is no number"),
    "priority": (("priorities", [{"done": "x"}]), "is not 'met: TEXT' or 'missed: TEXT'"),
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
