"""The caller: what a record says about the person on the line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .database import email_of, name_of
from .places import KINDS, moment, one_of, require_keys, tables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_CALLER = (
    "persona goal must nice negotiation done failure escalation edges",
    "knows hides name gender",
)
VOICES = {"woman": 1, "man": 2}
CHOICES = ("first_choice", "second_choice", "third_choice")
_SEATS = (*KINDS.values(), "no_preference")
_SATISFIED = {"met": True, "missed": False}

Json = dict[str, Any]


def make_record(
    source: Mapping[str, Any], database: Mapping[str, Any], dialogue: Sequence[Mapping[str, Any]]
) -> Json:
    """Make a record's fields about the caller and the situation.

    Raises:
        ValueError: the source lacks something, or has something that nobody reads.
    """
    require_keys("caller", source["caller"], *_CALLER)
    return {
        "current_date_time": f"{moment(source['now']):%Y-%m-%d %H:%M %Z}",
        "user_goal": _goal(source, database, dialogue[1]["text"]),
        "user_config": _config(source),
        "expected_flow": source["flow"],
        "scenario_context": _context(source),
    }


def _goal(source: Mapping[str, Any], database: Mapping[str, Any], opening: str) -> Json:
    caller = source["caller"]
    return {
        "high_level_user_goal": caller["goal"],
        "starting_utterance": opening,
        "decision_tree": {
            "must_have_criteria": caller["must"],
            "nice_to_have_criteria": caller["nice"],
            "negotiation_behavior": caller["negotiation"],
            "resolution_condition": caller["done"],
            "failure_condition": caller["failure"],
            "escalation_behavior": caller["escalation"],
            "edge_cases": [*caller["edges"], *tables()["edges"]],
        },
        "information_required": _information(source, database),
    }


def _information(source: Mapping[str, Any], database: Mapping[str, Any]) -> Json:
    passenger, hidden = source["passenger"], source["caller"].get("hides", "").split()
    (reservation,) = database["reservations"].values()
    booked = reservation["bookings"][0]["segments"][0]["flight_number"]
    contact = one_of("passenger: contact", passenger.get("contact", "phone"), ("phone", "email"))
    seats = [one_of("passenger: seats", kind, _SEATS) for kind in passenger["seats"].split()]
    if len(seats) != len(CHOICES):
        raise ValueError(f"passenger: seats are three kinds, first choice first, got {len(seats)}")
    known = {
        "confirmation_number": reservation["confirmation_number"],
        "last_name": name_of(source)[1],
        "first_name_if_asked": name_of(source)[0],
        **_contact(contact, source),
        "original_flight_number": booked,
        **source["caller"].get("knows", {}),
        "seat_preference": dict(zip(CHOICES, seats, strict=True)),
        "original_travel_details": [_trip(b, database) for b in reservation["bookings"]],
    }
    for key in hidden:
        one_of("caller: hides", key, known)
    return {key: value for key, value in known.items() if key not in hidden}


def _contact(kind: str, source: Mapping[str, Any]) -> Json:
    if kind == "email":
        return {"email_if_asked": email_of(source)}
    return {"phone_number_if_asked": source["passenger"]["phone"]}


def _trip(booking: Mapping[str, Any], database: Mapping[str, Any]) -> Json:
    journey = database["journeys"].get(booking["journey_id"])
    if journey is None:
        raise ValueError(f"the booked journey {booking['journey_id']} has no line in 'journeys'")
    cancelled = "cancelled" in (journey["status"], booking["status"])
    return {
        "origin": journey["origin"],
        "destination": journey["destination"],
        "flight_date": journey["date"],
        "departure_time": journey["segments"][0]["scheduled_departure"],
        "status": "cancelled" if cancelled else "confirmed",
    }


def _config(source: Mapping[str, Any]) -> Json:
    caller, passenger = source["caller"], source["passenger"]
    gender = one_of("gender", caller.get("gender", passenger["gender"]), VOICES)
    return {
        "name": caller.get("name", passenger["name"]),
        "gender": gender,
        "user_persona_id": VOICES[gender],
        "user_persona": caller["persona"],
    }


def _context(source: Mapping[str, Any]) -> Json:
    pressure = {"adversarial_vector": source["pressure"]} if "pressure" in source else {}
    priorities = [_priority(item) for item in source["priorities"]]
    return {
        "premise": source["premise"],
        **pressure,
        "user_priorities": [
            {"rank": rank, "priority": text, "satisfied": _SATISFIED[word]}
            for rank, (word, text) in enumerate(priorities, 1)
        ],
    }


def _priority(item: Any) -> tuple[str, str]:
    if not isinstance(item, dict) or len(item) != 1 or not item.keys() <= _SATISFIED.keys():
        raise ValueError(f"priorities: {item!r} is not 'met: TEXT' or 'missed: TEXT'")
    ((word, text),) = item.items()
    return word, str(text)
