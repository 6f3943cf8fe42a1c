"""What our own edition promises beyond the format: complete, consistent, hard, spoken."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_voiceeval import load_yaml

from .limits import check_limits, waits
from .owed import check_owed
from .places import CABINS
from .said import check_said

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Json = Mapping[str, Any]

SHORTEST_WAIT, LONGEST_WAIT = 40, 240
"""Minutes between the flights of a connection."""


_RULE = re.compile(r"^- \*\*(?P<label>[A-Z]\d) (?P<title>[^*]+)\*\*(?P<text>.*)$", re.MULTILINE)
_BEGINNING = re.compile(r".{60,}?\.(?= |$)|.+")
"""A sentence, and those after it as long as it is short."""


def policy_rules() -> frozenset[str]:
    """Return the labels of all rules of our policy, such as C2."""
    return frozenset(rule_lines())


@functools.cache
def rule_lines() -> dict[str, str]:
    """Return the rules of our policy by their labels: each one's title and beginning."""
    file = Path(__file__).parents[3] / "fixtures" / "eva_airline" / "airline_agent.yaml"
    return rules_of(load_yaml(file)["instructions"])


def rules_of(instructions: str) -> dict[str, str]:
    """Return the rules of a policy, each in one line, by their labels."""
    return {rule["label"]: _line(rule) for rule in _RULE.finditer(instructions)}


def _line(rule: re.Match[str]) -> str:
    beginning = _BEGINNING.match(rule["text"])
    said = rule["title"] + (beginning[0] if beginning else "")
    return f"{said.removesuffix(':').removesuffix('.')}."


def check_scenario(
    record: Json, database: Json, calls: Sequence[Json], source: Json
) -> Iterator[str]:
    """Yield what is wrong with one scenario of our edition."""
    yield from _complete(record, database)
    yield from _person(record, database)
    yield from _rules(record)
    yield from _schedules(database)
    yield from _seats_and_fares(database)
    yield from _traps(database)
    yield from _disruptions(database)
    yield from _identified(calls, source)
    yield from _declined(record, source)
    yield from check_limits(source, database, calls)
    yield from check_owed(database, calls, source)
    yield from check_said(record, database, source)


def _complete(record: Json, database: Json) -> Iterator[str]:
    goal, tree = record["user_goal"], record["user_goal"]["decision_tree"]
    yield from (f"the caller's {key} is empty" for key, value in tree.items() if not value)
    if len(record["user_config"]["user_persona"]) > 300:
        yield "the persona has more than 300 characters; prompts take the first 300"
    if not 0 < f"{goal['high_level_user_goal']} ".find(". ") < 200:
        yield "the goal's first sentence has more than 200 characters, too many for a listing"
    if not 2 <= len(database["journeys"]) <= 12:
        yield f"there are {len(database['journeys'])} journeys; 2 to 12 are wanted"


def _person(record: Json, database: Json) -> Iterator[str]:
    (reservation,) = database["reservations"].values()
    (passenger,) = reservation["passengers"]
    if not re.fullmatch(r"[A-Z0-9]{6}", reservation["confirmation_number"]):
        yield "a confirmation code has six capital letters or digits"
    if not re.fullmatch(r"\S+@example\.(com|org)", passenger["email"]):
        yield f"the address {passenger['email']} must end in example.com or example.org"
    if not re.fullmatch(r"\+1-\d{3}-555-01\d\d", passenger["phone"]):
        yield f"the number {passenger['phone']} must be of the form +1-NNN-555-01NN"
    if passenger["last_name"].lower() in ("none", "null"):
        yield "a last name of None or Null is read as no name"
    kinds = set(record["user_goal"]["information_required"]["seat_preference"].values())
    if kinds - {"window", "aisle", "middle", "no_preference"}:
        yield f"the kinds of seat are window, aisle, middle; got {', '.join(sorted(kinds))}"


def _rules(record: Json) -> Iterator[str]:
    rules, known = set(record["rules"]), policy_rules()
    cited = set(re.findall(r"\b[A-Z]\d\b", record["gold_note"]))
    yield from (f"the policy has no rule {rule}" for rule in sorted((rules | cited) - known))
    yield from (f"the note cites {rule}, 'rules' does not" for rule in sorted(cited - rules))
    if not cited:
        yield "the note cites no rule"


def _schedules(database: Json) -> Iterator[str]:
    for key, journey in database["journeys"].items():
        for wait in waits(journey):
            if not SHORTEST_WAIT <= wait <= LONGEST_WAIT:
                yield f"{key}: {wait:.0f} minutes between its flights; 40 to 240 are wanted"


def _seats_and_fares(database: Json) -> Iterator[str]:
    for key, journey in database["journeys"].items():
        for segment in journey["segments"]:
            for cabin in CABINS.values():
                seats, fare = segment["available_seats"][cabin], segment["fares"][cabin]
                if bool(seats) != bool(segment["available_seat_types"][cabin]):
                    yield f"{key}: {cabin} has {seats} seats, but other kinds of seat than that"
                if seats and fare is None:
                    yield f"{key}: {cabin} has seats without a fare"
                if fare is not None and fare != int(fare):
                    yield f"{key}: the fare in {cabin} is not whole dollars"


def _traps(database: Json) -> Iterator[str]:
    kept = [j for j in database["journeys"].values() if j["status"] in ("scheduled", "on_time")]
    if not any(_is_sold_out(s, c) for j in kept for s in j["segments"] for c in CABINS.values()):
        yield "no flight is sold out in a cabin that it has"
    if not any(not j["bookable"] and any(j["fares"].values()) for j in kept):
        yield "no flight is closed for booking though it has seats"
    if not any(j["num_stops"] for j in kept):
        yield "there is no connection"


def _is_sold_out(segment: Json, cabin: str) -> bool:
    return segment["fares"][cabin] is not None and segment["available_seats"][cabin] == 0


def _disruptions(database: Json) -> Iterator[str]:
    for key, disruption in database["disruptions"].items():
        day = disruption["date"].replace("-", "")
        journey = database["journeys"].get(f"FL_{disruption['flight_number']}_{day}")
        if journey is None:
            yield f"disruption {key}: there is no such flight"
            continue
        segment, kind = journey["segments"][0], disruption["disruption_type"]
        if (kind == "cancellation") != (journey["status"] == "cancelled"):
            yield f"disruption {key}: the flight is {journey['status']}"
        if kind == "delay" and segment["delay_minutes"] != disruption["delay_minutes"]:
            yield f"disruption {key}: the flight's delay is {segment['delay_minutes']} minutes"


def _identified(calls: Sequence[Json], source: Json) -> Iterator[str]:
    names = [call["name"] for call in calls]
    opened = [n for n, call in enumerate(calls) if _opens(call)]
    before = names[: opened[0]] if opened else names
    if set(before) - {"get_reservation"}:
        yield "a call is made before get_reservation succeeded"
    code = f"{{{source['booking']['code']}}}"
    if opened and not any(code in line for line in _caller_lines(source["dialogue"])):
        yield f"no line of the caller spells the confirmation code: write {code}"


def _opens(call: Json) -> bool:
    return bool(call["name"] == "get_reservation" and call["answer"]["status"] == "success")


def _caller_lines(script: str) -> Iterator[str]:
    speaks = False
    for line in script.splitlines():
        speaks = line.lstrip().startswith("C:") or (
            speaks and line.lstrip()[:2] not in ("A:", "> ")
        )
        if speaks:
            yield line


def _declined(record: Json, source: Json) -> Iterator[str]:
    words = source.get("declines")
    said = [turn["text"] for turn in record["reference_dialogue"][1::2]]
    if words is not None and not any(words in text for text in said):
        yield f"declines: the caller never says {words!r}"


def spoken_facts(call: Json, answer: Json) -> Iterator[str]:
    """Yield what the agent must say about one call, as macros; amounts before it is made."""
    name, arguments = call["name"], call["arguments"]
    if name == "get_reservation" and answer["status"] == "error":
        missed = {"authentication_failed": "last_name"}.get(answer["error_type"])
        yield f"{{{arguments[missed or 'confirmation_number']}}}"
    if answer["status"] == "error":
        return
    if name == "rebook_flight":
        yield from (f"{{{s['flight_number']}}}" for s in answer["new_journey"]["segments"])
        yield from _money(answer["cost_summary"]["total_collected"])
    if name == "assign_seat":
        yield f"{{{answer['seat_assigned']}}}"
    if name in ("issue_travel_credit", "issue_meal_voucher"):
        yield from _money(answer["amount"])
    if name == "process_refund":
        yield from _money(answer["refund_amount"])


def _money(amount: float) -> Iterator[str]:
    if amount:
        yield f"{{${amount:.0f}}}"
