"""What the policy's figures say of each gold call: kind, waiver, deadline, amount, voucher.

The gold calls of a scenario are written by hand. Here they are worked out once more, from the
records of the database and the time of the call, and both are compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .database import FREE_FROM, REFUND_FROM, WINDOW_DAYS
from .places import airport, moment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Json = Mapping[str, Any]

SAME_DAY_DEADLINE, VOLUNTARY_DEADLINE = timedelta(minutes=30), timedelta(hours=2)
_IRROPS = {
    "cancellation": "irrops_cancellation",
    "delay": "irrops_delay",
    "schedule_change": "irrops_schedule_change",
}
_FOR_LIVE_AGENTS = ("service_recovery", "goodwill", "taxes_only", "medical", "bereavement")
"""Choices of the tools that no rule lets this agent make."""


def check_owed(database: Json, calls: Sequence[Json], source: Json) -> Iterator[str]:
    """Yield where a gold call is not what the policy's figures ask for.

    Args:
        database: the initial database.
        calls: the gold calls, each with its answer under `answer`.
        source: the authoring file.
    """
    case = _Case(database, tuple(c for c in calls if c["answer"]["status"] == "success"), source)
    for call in case.calls:
        check = _CHECKS.get(call["name"])
        if check is not None:
            yield from (f"{call['name']}: {text}" for text in check(case, call["arguments"]))
        chosen = [v for v in call["arguments"].values() if v in _FOR_LIVE_AGENTS]
        yield from (f"{call['name']}: {value} is for live agents only" for value in chosen)
    yield from _extras(case)
    yield from _money(case)


@dataclass(frozen=True)
class _Case:
    """A call as the policy sees it."""

    database: Json
    calls: tuple[Json, ...]
    source: Json

    @property
    def now(self) -> datetime:
        return moment(self.source["now"])

    @property
    def elite(self) -> Any:
        return self.reservation["passengers"][0]["elite_status"]

    @cached_property
    def reservation(self) -> Json:
        (found,) = self.database["reservations"].values()
        return dict(found)

    @property
    def booked(self) -> list[Json]:
        """The journeys on the ticket, those given up included."""
        return [self.database["journeys"][b["journey_id"]] for b in self.reservation["bookings"]]

    def named(self, name: str) -> list[Json]:
        return [call for call in self.calls if call["name"] == name]

    def records(self, route: str) -> list[Json]:
        """Disruptions of flights on the ticket that go this way."""
        found = self.database["disruptions"]
        ids = (
            f"{segment['flight_number']}_{journey['date']}"
            for journey in self.booked
            if _route(journey) == route
            for segment in journey["segments"]
        )
        return [found[key] for key in ids if key in found and found[key]["is_irrops"]]

    def is_free(self, old: Json, new: Json) -> bool:
        """Whether a disruption of the old flight lets the caller take the new one for free."""
        days = (_days_after(record, new) for record in self.records(_route(old)))
        return _route(old) == _route(new) and any(0 <= each <= WINDOW_DAYS for each in days)


def _days_after(record: Json, journey: Json) -> int:
    return (date.fromisoformat(journey["date"]) - date.fromisoformat(record["date"])).days


def _route(journey: Json) -> str:
    return f"{journey['origin']}-{journey['destination']}"


def _leaves(journey: Json, *, late: bool = True) -> datetime:
    """When a journey leaves, with its delay or as it was booked, by the clock of its airport."""
    first = journey["segments"][0]
    clock = datetime.fromisoformat(f"{journey['date']}T{first['scheduled_departure']}")
    delay = first["delay_minutes"] or 0 if late else 0
    zone = airport(first["origin"]).zone
    return (clock + timedelta(minutes=delay)).replace(tzinfo=zone)


def _rebooked(case: _Case, asked: Json) -> Iterator[str]:
    journeys = case.database["journeys"]
    old, new = journeys[asked["journey_id"]], journeys[asked["new_journey_id"]]
    kind = asked["rebooking_type"]
    if kind in ("voluntary", "same_day"):
        yield from _by_wish(case, old, new, kind)
        if case.is_free(old, new):
            yield f"after a disruption the change to {new['journey_id']} is free, not {kind} (D2)"
    elif kind in _IRROPS.values():
        yield from _after_disruption(case, old, new, kind)
    elif kind == "missed_flight_passenger_fault":
        yield from _missed(case, old, new)
    elif not old["num_stops"] or not old["segments"][0]["delay_minutes"]:
        yield f"{old['journey_id']} is no connection whose first flight was late (D5)"
    free = kind.startswith("irrops") or kind == "missed_connection_airline_fault"
    waived = free or case.elite == "platinum" or (case.elite == "gold" and kind == "same_day")
    if asked["waive_change_fee"] and not waived:
        yield f"no rule waives the fee here (C3): {case.elite or 'no'} status, {kind}"
    if waived and not asked["waive_change_fee"]:
        yield f"waive_change_fee is true where a rule waives the fee (C3, D2): {kind}"
    if _leaves(new) < case.now:
        yield f"{new['journey_id']} has left by {case.now:%H:%M}"


def _by_wish(case: _Case, old: Json, new: Json, kind: str) -> Iterator[str]:
    there = case.now.astimezone(airport(new["origin"]).zone).date()
    wanted = "same_day" if _leaves(new).date() == there else "voluntary"
    if kind != wanted:
        yield f"a change to {new['journey_id']} is {wanted}, not {kind} (C1)"
    left = _leaves(old) - case.now
    if left < (SAME_DAY_DEADLINE if wanted == "same_day" else VOLUNTARY_DEADLINE):
        yield f"too late for a {wanted} change: {left} until {old['journey_id']} leaves (C5)"


def _after_disruption(case: _Case, old: Json, new: Json, kind: str) -> Iterator[str]:
    records = case.records(_route(old))
    kinds = sorted({_IRROPS[record["disruption_type"]] for record in records})
    if kind not in kinds:
        yield f"the records of the ticket give {', '.join(kinds) or 'no free change'} (D1, D2)"
    if _route(old) != _route(new):
        yield f"after a disruption the route stays {_route(old)} (C9)"
    elif records and not case.is_free(old, new):
        yield f"{new['date']} is not within {WINDOW_DAYS} days from the original date (D2)"


def _missed(case: _Case, old: Json, new: Json) -> Iterator[str]:
    if _leaves(old) > case.now:
        yield f"{old['journey_id']} has not left yet (M1)"
    if _leaves(new) - _leaves(old) > timedelta(hours=24):
        yield f"{new['journey_id']} leaves more than 24 hours after the missed flight (M1)"


def _standby(case: _Case, asked: Json) -> Iterator[str]:
    wanted = case.database["journeys"][asked["journey_id"]]
    today = case.now.astimezone(airport(wanted["origin"]).zone).date()
    if _leaves(wanted).date() != today or _leaves(wanted) < case.now:
        yield f"{wanted['journey_id']} does not leave later today (S1)"
    held = [*case.booked, *(case.database["journeys"][each] for each in _new_flights(case))]
    later = [j for j in held if _route(j) == _route(wanted) and _leaves(j) > _leaves(wanted)]
    if not any(_leaves(journey).date() == today for journey in later):
        yield "the caller holds no seat later that day between the same airports (S1)"


def _new_flights(case: _Case) -> list[str]:
    return [call["arguments"]["new_journey_id"] for call in case.named("rebook_flight")]


def _cancelled(case: _Case, asked: Json) -> Iterator[str]:
    journey, reason = case.database["journeys"][asked["journey_id"]], asked["cancellation_reason"]
    records = case.records(_route(journey))
    first = min(_leaves(each, late=False) for each in case.booked)
    booked = datetime.fromisoformat(case.reservation["booking_date"])
    in_time = case.now - booked < timedelta(hours=24) and first - booked >= timedelta(days=7)
    allowed = ["24_hour_rule"] if in_time else []
    if any(_gives_refund(record) for record in records):
        allowed.append("irrops_refund")
    if not allowed:
        moved = any(record["disruption_type"] == "schedule_change" for record in records)
        allowed = ["schedule_unacceptable" if moved else "voluntary"]
    if reason not in (*allowed, *_FOR_LIVE_AGENTS):
        yield f"the reason for {asked['journey_id']} is {' or '.join(allowed)} (R1-R3, D3)"


def _gives_refund(record: Json) -> bool:
    minutes = record["delay_minutes"] or 0
    return record["disruption_type"] == "cancellation" or minutes >= REFUND_FROM


def _meal(case: _Case, asked: Json) -> Iterator[str]:
    records = [r for r in _disrupted(case) if r["passenger_entitled_to"]["meal_voucher"]]
    if not records:
        yield "no record of the ticket grants a meal (D6)"
        return
    due = sorted({_meal_for(record, _travels_on(case, record)) for record in records})
    if asked["voucher_reason"] not in due:
        yield f"the record gives {', '.join(due)} (D6)"


def _meal_for(record: Json, travels: date) -> str:
    if travels > date.fromisoformat(record["date"]):
        return "irrops_overnight"
    if record["disruption_type"] == "cancellation":
        return "cancellation_wait_same_day"
    late = record["delay_minutes"]
    if late < FREE_FROM:
        return "nothing"
    return "delay_over_4_hours" if late >= REFUND_FROM else "delay_over_2_hours"


def _hotel(case: _Case, asked: Json) -> Iterator[str]:
    records = [r for r in _disrupted(case) if r["passenger_entitled_to"]["hotel_accommodation"]]
    days = [_travels_on(case, r) - date.fromisoformat(r["date"]) for r in records]
    due = sorted({min(3, each.days) for each in days})
    if asked["num_nights"] not in due or asked["num_nights"] == 0:
        nights = " or ".join(map(str, filter(None, due)))
        yield f"the record gives {nights or 'no'} nights (D7)"


def _disrupted(case: _Case) -> list[Json]:
    routes = dict.fromkeys(map(_route, case.booked))
    return [record for route in routes for record in case.records(route)]


def _travels_on(case: _Case, record: Json) -> date:
    """The date on which the caller leaves in the end, instead of with the disrupted flight."""
    flight = f"{record['flight_number']}_{record['date']}"
    hit = next(j for j in case.booked if flight in _flights(j))
    held = [b for b in case.reservation["bookings"] if b["status"] != "cancelled"]
    ids = [*_new_flights(case)[::-1], *(booking["journey_id"] for booking in held)]
    journeys = (case.database["journeys"][each] for each in ids)
    taken = next((j for j in journeys if _route(j) == _route(hit)), hit)
    return _leaves(taken).date()


def _flights(journey: Json) -> list[str]:
    return [f"{segment['flight_number']}_{journey['date']}" for segment in journey["segments"]]


def _extras(case: _Case) -> Iterator[str]:
    """Yield what is entered for a booking that the caller gives up in this call (B1, B2)."""
    changed = [*case.named("rebook_flight"), *case.named("cancel_reservation")]
    whole = [c["arguments"] for c in changed if not c["arguments"].get("flight_number")]
    gone = {asked["journey_id"] for asked in whole}
    for name in ("assign_seat", "add_baggage_allowance", "add_meal_request"):
        for call in case.named(name):
            if call["arguments"]["journey_id"] in gone:
                yield f"{name}: the caller gives up {call['arguments']['journey_id']}"


def _money(case: _Case) -> Iterator[str]:
    """Compare what is paid back with what the changes and cancellations answered (C4, R2-R5)."""
    moves = [(c["arguments"], c["answer"]["cost_summary"]) for c in case.named("rebook_flight")]
    ended = [call["answer"] for call in case.named("cancel_reservation")]
    lower = sum(s["credit_due"] for a, s in moves if "irrops" in a["rebooking_type"]
                and a.get("new_fare_class"))  # fmt: skip
    cheaper = sum(s["credit_due"] for a, s in moves if "irrops" not in a["rebooking_type"])
    fees = sum(case.reservation["ancillaries"].values()) if _fees_go_back(case, ended) else 0
    refunds = {
        "full_fare": sum(answer["refund_amount_eligible"] for answer in ended),
        "ancillary_fees": fees,
    }
    paid = [call["arguments"] for call in case.named("process_refund")]
    lower_paid = sum(r["refund_amount"] for r in paid if r["refund_type"] == "partial_fare")
    for kind, due in refunds.items():
        given = sum(r["refund_amount"] for r in paid if r["refund_type"] == kind)
        if given != due:
            yield f"process_refund: {kind} comes to {due:g}, the gold calls pay {given:g} (R4)"
    kept = sum(answer["credit_amount_eligible"] for answer in ended)
    credit = sum(c["arguments"]["amount"] for c in case.named("issue_travel_credit"))
    due = cheaper + lower + kept
    sources = {
        "fare_difference_negative": cheaper,
        "downgrade_compensation": lower,
        "cancellation_non_refundable": kept,
    }
    for call in case.named("issue_travel_credit"):
        reason = call["arguments"]["credit_reason"]
        if not sources.get(reason):
            right = " or ".join(each for each, amount in sources.items() if amount)
            yield f"issue_travel_credit: the reason is {right or 'none'}, not {reason} (C4, D4, R3)"
    if credit + lower_paid != due:
        given = credit + lower_paid
        yield f"a credit of {due:g} is due, the gold calls give {given:g} (C4, D4, R3, R5)"


def _fees_go_back(case: _Case, ended: Sequence[Json]) -> bool:
    reasons = {c["arguments"]["cancellation_reason"] for c in case.named("cancel_reservation")}
    whole = bool(ended) and ended[-1]["reservation_status"] == "cancelled"
    return whole and reasons <= {"24_hour_rule", "irrops_refund"}


_CHECKS = {
    "rebook_flight": _rebooked,
    "add_to_standby": _standby,
    "cancel_reservation": _cancelled,
    "issue_meal_voucher": _meal,
    "issue_hotel_voucher": _hotel,
}
