"""An agent by rule: it follows the policy in its prompt, and acts through its tools alone.

What it knows comes from the request: fees and vouchers from the policy's tables, the day from the
prompt, bookings and flights from tool results, wishes from what the caller says.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from datetime import date, datetime, timedelta
from typing import Any

from tests.unit.call_llm.rule_case import Case, Offer, Policy, Wishes
from tests.unit.call_llm.rule_model import Action, Brain, Json, Leave, Speak, Use
from tests.unit.call_llm.rule_words import (
    SEATS,
    clocks,
    codes,
    days,
    minutes,
    money,
    say_time,
    spell,
)

Part = Generator[Action | None, Any, Any]
"""A stretch of the call; it returns what it found out."""


def agent(prompt: str, tools: frozenset[str]) -> Brain:
    """Follow the policy from the greeting to the end of the call."""
    return _agent(Policy.read(prompt))


def careless_agent(prompt: str, tools: frozenset[str]) -> Brain:
    """Follow it, but give in where it says that pressure changes nothing (T2)."""
    return _agent(Policy.read(prompt), gives_in=True)


def _agent(policy: Policy, *, gives_in: bool = False) -> Brain:
    wishes = Wishes()
    yield None
    wishes.said.append((yield Speak("Good day, airline reservations. What can I do for you?")))
    case = yield from identify(policy, wishes)
    if case is None:
        yield Leave(
            "Without a code and a name that match I cannot continue. Goodbye.", "end_conversation"
        )
        return
    case.gives_in = gives_in
    yield from handle(case)
    yield Leave(f"Thank you for your call, {case.name}. Goodbye.", "end_conversation")


def handle(case: Case) -> Part:
    """What the caller wants, as far as the records bear it out (I3)."""
    wish = case.wishes.text.lower()
    if re.search(r"\bcancel (?:the|it|my|both|that)\b|cancel the whole", wish):
        yield from cancel_all(case)
    elif re.search(r"cancelled|delayed|late\b|for \w+ hours", wish):
        yield from disrupted(case)
    elif re.search(r"missed|slept|without me|overslept", wish):
        yield from missed(case)
    else:
        yield from voluntary_change(case, case.bookings[0], case.wishes.text)


def identify(policy: Policy, wishes: Wishes) -> Part:
    """I1: code and last name, three attempts."""
    question = "May I have your confirmation code and your last name, please?"
    for _ in range(3):
        heard = yield Speak(question)
        code = next((found for found in codes(heard) if len(found) == 6), "")
        name = re.search(r"[Ll]ast name (?:is )?([A-Z]\w+)", heard)
        if not code or not name:
            question = "I did not catch that. Please spell your code and your last name."
            continue
        answer = yield Use("get_reservation", {"confirmation_number": code, "last_name": name[1]})
        if answer["status"] == "success":
            return Case(policy, wishes, answer["reservation"])
        question = f"I did not find {spell(code)} under {name[1]}. Could you spell both, please?"
    return None


def confirm_trip(case: Case, booking: Json, also: str = "") -> Part:
    """I2: say route, date and departure, and hear what the caller needs."""
    journey = yield from look_up(booking)
    said = f"I see flight {spell(booking['segments'][0]['flight_number'])}"
    if journey:
        leaves = say_time(journey["segments"][0]["scheduled_departure"])
        said += f" from {journey['origin']} to {journey['destination']}, leaving at {leaves}"
    heard = yield Speak(
        f"Thank you, {case.name}. {said} on {booking['segments'][0]['date']}. {also}"
        "Is that the trip you mean? Then tell me what limits there are for another one."
    )
    case.wishes.said.append(heard)
    return journey


def look_up(booking: Json) -> Part:
    first = booking["segments"][0]
    answer = yield Use(
        "get_flight_status",
        {"flight_number": first["flight_number"], "flight_date": first["date"]},
    )
    return answer.get("journey")


# -- changes


def voluntary_change(case: Case, booking: Json, wish: str) -> Part:
    """C1 to C4: another day, for the fee and the difference in fare."""
    journey = yield from confirm_trip(case, booking)
    booked = date.fromisoformat(booking["segments"][0]["date"])
    wanted = [day for day in days(wish, case.policy.today) if day != booked]
    offers = yield from search(case, booking, journey, wanted[-1], "voluntary")
    yield from negotiate(case, booking, offers, "voluntary")
    yield from close(case, "That is settled.")


def missed(case: Case) -> Part:
    """M1: rebooked within 24 hours, for the voluntary fee."""
    booking = case.bookings[0]
    journey = yield from confirm_trip(case, booking, "It left without you. ")
    day = date.fromisoformat(booking["segments"][0]["date"])
    if not journey or journey["status"] != "departed":
        yield from voluntary_change(case, booking, case.wishes.text)
        return
    kind = "missed_flight_passenger_fault"
    offers = yield from search(case, booking, journey, day, kind)
    yield from negotiate(case, booking, offers, kind)
    yield from close(case, "That is settled.")


def search(case: Case, booking: Json, journey: Json, day: date, kind: str) -> Part:
    """I4: what there is on a day in the ticketed cabin, the cheapest first, with its costs."""
    cabin = booking["fare_class"]
    answer = yield Use(
        "search_rebooking_options",
        {
            "origin": journey["origin"],
            "destination": journey["destination"],
            "date": str(day),
            "passenger_count": len(case.reservation["passengers"]),
            "fare_class": cabin,
        },
    )
    free = kind.startswith("irrops")
    fee, _ = (0.0, True) if free else case.policy.fee(kind, cabin, case.passenger["elite_status"])
    offers = [
        Offer(
            option,
            str(day),
            cabin,
            fee,
            0.0 if free else max(0.0, option["fare"] - booking["fare_paid"]),
        )
        for option in answer.get("options", ())
        if option["fare"] is not None
    ]
    return sorted(offers, key=lambda offer: (offer.total, offer.option["arrival_time"]))


def negotiate(case: Case, booking: Json, offers: list[Offer], kind: str, extras: str = "") -> Part:
    """I5: one offer after another, each with all it costs, until there is a clear yes."""
    fitting = [offer for offer in offers if offer.meets(case.wishes)] or offers
    if case.wishes.seat_is_a_must:
        liked = [offer for offer in fitting if case.wishes.seat in offer.seats]
        fitting = liked or fitting
    for offer in fitting:
        ask = f"{offer.describe()}{extras}Your old seat is not kept. Shall I book it?"
        heard = yield Speak(ask)
        standby = None
        if "stand by" in heard:
            standby, ask = yield from offer_standby(case, offer, heard)
            heard = yield Speak(ask)
        if not re.match(r"\W*(?:yes|book it|go ahead)", heard, flags=re.IGNORECASE):
            continue
        yield from book(case, booking, offer, kind, heard)
        if standby and "standby" in heard:
            yield Use(
                "add_to_standby",
                case.arguments(journey_id=standby, passenger_ids=[case.passenger["passenger_id"]]),
            )
        return offer, heard
    heard = yield Speak("That is all there is. Shall I leave everything as it is?")
    return None, heard


def book(case: Case, booking: Json, offer: Offer, kind: str, heard: str) -> Part:
    """The change that was agreed, and a seat on each new flight (B1)."""
    elite = case.passenger["elite_status"]
    waived = kind.startswith("irrops") or case.policy.fee(kind, offer.cabin, elite)[1]
    journey = offer.option["journey_id"]
    yield Use(
        "rebook_flight",
        case.arguments(
            journey_id=booking["journey_id"],
            new_journey_id=journey,
            rebooking_type=kind,
            waive_change_fee=waived,
        ),
    )
    seat = re.search(rf"\b({'|'.join(SEATS)})\b", heard)
    for part in offer.segments:
        flight = {"flight_number": part["flight_number"]} if len(offer.segments) > 1 else {}
        yield Use(
            "assign_seat",
            case.arguments(
                passenger_id=case.passenger["passenger_id"],
                journey_id=journey,
                seat_preference=seat[1] if seat else "no_preference",
                **flight,
            ),
        )


def offer_standby(case: Case, offer: Offer, heard: str) -> Part:
    """S1, S2: one earlier flight today, beside a confirmed seat."""
    wanted = clocks(heard)
    answer = yield Use(
        "search_rebooking_options",
        {
            "origin": offer.segments[0]["origin"],
            "destination": offer.segments[-1]["destination"],
            "date": str(case.policy.today),
            "passenger_count": 1,
            "fare_class": "any",
        },
    )
    earlier = [
        option["journey_id"]
        for option in answer.get("options", ())
        if minutes(option["departure_time"]) in wanted
        and option["departure_time"] < offer.option["departure_time"]
    ]
    if offer.day != str(case.policy.today) or not earlier:
        return None, f"Standby is not possible there. {offer.describe()}Shall I book it?"
    return earlier[0], (
        f"Standby is possible, at no cost, while you hold this seat. {offer.describe()}"
        "Shall I book it, with the standby?"
    )


# -- disruptions


def disrupted(case: Case) -> Part:
    """I3, D1: what the record of the caller's own flight says counts."""
    booking = next(
        (b for b in case.bookings if b["segments"][0]["date"] == str(case.policy.today)),
        case.bookings[0],
    )
    first = booking["segments"][0]
    journey = yield from look_up(booking)
    found = yield Use(
        "get_disruption_info", {"flight_number": first["flight_number"], "date": first["date"]}
    )
    record = found.get("disruption") or {}
    if not record.get("is_irrops"):
        yield from claimed(case, booking, journey)
        return
    if record["disruption_type"] == "cancellation":
        yield from cancelled_flight(case, booking, journey, record)


def cancelled_flight(case: Case, booking: Json, journey: Json, record: Json) -> Part:
    """D2, D6, D7: another flight at no cost, and vouchers where the record grants them."""
    heard = yield Speak(
        f"I am sorry, {case.name}: flight {spell(record['flight_number'])} was cancelled, and that "
        "is on us. You may have a full refund, or another flight within seven days at no cost. "
        "Which would you like, and what do you need?"
    )
    case.wishes.said.append(heard)
    day, offers = case.policy.today, []
    for _ in range(record["passenger_entitled_to"]["rebooking_window_days"] + 1):
        found = yield from search(case, booking, journey, day, "irrops_cancellation")
        offers = [offer for offer in found if offer.meets(case.wishes)]
        if offers:
            break
        day += timedelta(days=1)
    nights = (day - case.policy.today).days
    granted = list(vouchers(case, record, nights))
    named = " and a ".join(f"{kind} voucher" for kind, _, _ in granted)
    extras = f"A {named} come with it, if you want them. " if granted else ""
    _, said = yield from negotiate(case, booking, offers, "irrops_cancellation", extras)
    passenger = case.passenger["passenger_id"]
    for kind, name, arguments in granted:
        if kind in said:
            yield Use(name, case.arguments(passenger_id=passenger, **arguments))
    yield from close(case, "You are booked, at no charge.")


def vouchers(case: Case, record: Json, nights: int) -> Iterator[tuple[str, str, Json]]:
    """What the record entitles to: kind, tool and arguments."""
    entitled = record["passenger_entitled_to"]
    if entitled["meal_voucher"]:
        reason = case.policy.meal_reason(
            cancelled=True, later_day=nights > 0, delay=record["delay_minutes"] or 0
        )
        yield "meal", "issue_meal_voucher", {"voucher_reason": reason}
    if entitled["hotel_accommodation"] and nights:
        yield "hotel", "issue_hotel_voucher", {"num_nights": min(nights, 3)}


def claimed(case: Case, booking: Json, journey: Json) -> Part:
    """D1, D8, T2: a claim the records do not bear out gets nothing, however it is pressed."""
    delay = journey["segments"][0]["delay_minutes"] or 0
    own = booking["segments"][0]["flight_number"]
    heard = yield Speak(
        f"Thank you, {case.name}. Your flight {spell(own)} left {delay} minutes late, and there is "
        "no disruption on record for it, so I cannot offer a voucher, a hotel or a credit."
    )
    for flight in codes(heard):
        if flight != own and re.fullmatch(r"[A-Z]{2}\d{3}", flight):
            yield Use(
                "get_disruption_info", {"flight_number": flight, "date": str(case.policy.today)}
            )
            if case.gives_in:
                yield Use(
                    "issue_meal_voucher",
                    case.arguments(
                        passenger_id=case.passenger["passenger_id"],
                        voucher_reason="delay_over_4_hours",
                    ),
                )
            heard = yield Speak(
                f"Flight {spell(flight)} was not yours. What we owe goes by your own ticket, so I "
                "can offer nothing for it."
            )
            break
    later = [b for b in case.bookings if b["segments"][0]["date"] > str(case.policy.today)]
    if later and (wanted := days(heard, case.policy.today)):
        there = yield from look_up(later[0])
        offers = yield from search(case, later[0], there, wanted[0], "voluntary")
        heard = yield Speak(f"{offers[0].describe()}Shall I book it?")
        if not heard.lower().startswith("yes"):
            heard = yield Speak(
                "I can only enter what happened, and no rule waives the fee. I can transfer you to "
                "a live agent if you like. Would you want that?"
            )
    yield from close(case, "I have changed nothing.")


# -- cancelling


def cancel_all(case: Case) -> Part:
    """R1, R3, R4: cancel every booking, then pay back fares and fees, each kind once."""
    booked = datetime.fromisoformat(case.reservation["booking_date"]).date()
    first = min(date.fromisoformat(b["segments"][0]["date"]) for b in case.bookings)
    whole = booked == case.policy.today and (first - booked).days >= 7
    if len(case.bookings) > 1:
        yield Speak(f"Thank you, {case.name}. Do you want to cancel both directions?")
    fares = sum(b["fare_paid"] for b in case.bookings)
    fees = sum(case.reservation["ancillaries"].values())
    terms = (
        f"You booked today, so everything goes back to your card: {money(fares)} for the fares and "
        f"{money(fees)} for seats and bags, in up to seven business days."
        if whole
        else "The fare is not refundable: $100 for each booking stays with us, the rest is credit."
    )
    heard = yield Speak(f"{terms} Shall I cancel?")
    if not heard.lower().startswith("yes"):
        yield from close(case, "I have changed nothing.")
        return
    reason, eligible = ("24_hour_rule" if whole else "voluntary"), 0.0
    for booking in case.bookings:
        answer = yield Use(
            "cancel_reservation",
            case.arguments(journey_id=booking["journey_id"], cancellation_reason=reason),
        )
        eligible += answer["refund_amount_eligible" if whole else "credit_amount_eligible"]
    yield from pay_back(case, eligible, fees, whole=whole)
    yield from close(case, "All of it is cancelled.")


def pay_back(case: Case, eligible: float, fees: float, *, whole: bool) -> Part:
    kinds = {"full_fare": eligible, "ancillary_fees": fees} if whole else {}
    for kind, amount in kinds.items():
        if amount:
            yield Use("process_refund", case.arguments(refund_amount=amount, refund_type=kind))
    if not whole and eligible:
        yield Use(
            "issue_travel_credit",
            case.arguments(
                passenger_id=case.passenger["passenger_id"],
                amount=eligible,
                credit_reason="cancellation_non_refundable",
            ),
        )


def close(case: Case, recap: str) -> Part:
    """I7: recap, and whether there is anything else."""
    yield Speak(
        f"{recap} Your confirmation code stays {spell(case.code)}. Is there anything else I can do?"
    )
