"""Our edition of eva_airline: every record is well formed, solvable, and only by its gold calls."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, cast
from zoneinfo import ZoneInfo

import pytest

from pytest_voiceeval.data.artifacts import load_db_artifact
from pytest_voiceeval.scoring.db_hash import get_dict_hash
from pytest_voiceeval.tools import get_schema_tool_for_eval

FOLDER = Path(__file__).resolve().parents[3] / "fixtures" / "eva_airline"
CABINS = ("basic_economy", "main_cabin", "premium_economy", "business", "first")
TABLES = ("reservations", "journeys", "disruptions", "travel_credits", "meal_vouchers", "refunds")
PAYMENTS = ("travel_credits", "meal_vouchers", "hotel_vouchers", "refunds")
RECORD = (
    "id current_date_time user_goal user_config expected_flow scenario_context ground_truth "
    "reference_dialogue forbidden_calls gold_note"
)
GOAL = "high_level_user_goal starting_utterance decision_tree information_required"
TREE = (
    "must_have_criteria nice_to_have_criteria negotiation_behavior resolution_condition "
    "failure_condition escalation_behavior edge_cases"
)
SEGMENT = (
    "segment_number flight_number origin destination scheduled_departure origin_utc_offset "
    "scheduled_arrival destination_utc_offset duration_minutes aircraft_type status delay_minutes "
    "delay_reason cancellation_reason gate available_seats fares available_seat_types"
)
ZONES = {
    "America/New_York": "ATL BOS CLT LGA",
    "America/Chicago": "BNA MSP STL",
    "America/Denver": "DEN",
    "America/Phoenix": "PHX",
    "America/Los_Angeles": "PDX SAN SEA SFO",
}
ZONE_OF = {airport: ZoneInfo(zone) for zone, codes in ZONES.items() for airport in codes.split()}

Json = dict[str, Any]
Calls = list[tuple[str, Json]]


@dataclass(frozen=True)
class Record:
    """One line of a dataset with its initial database."""

    fields: Json
    db: Json

    @property
    def expected(self) -> Json:
        return cast("Json", self.fields["ground_truth"]["expected_scenario_db"])

    @property
    def reservation(self) -> Json:
        (reservation,) = self.db["reservations"].values()
        return cast("Json", reservation)

    @property
    def journeys(self) -> list[Json]:
        return list(self.db["journeys"].values())

    @property
    def calls(self) -> Calls:
        """The calls of the dialogue before the one that ends it."""
        made = [c for turn in self.fields["reference_dialogue"] for c in turn.get("calls", ())]
        return [(c["name"], c["arguments"]) for c in made if c["name"] != "end_conversation"]

    @property
    def forbidden(self) -> Calls:
        return [(call["name"], call["arguments"]) for call in self.fields["forbidden_calls"]]

    @property
    def refuses(self) -> bool:
        """Whether the right outcome is an untouched database."""
        return get_dict_hash(self.expected) == get_dict_hash(self.db)


def read_edition(dataset: Path, databases: Path) -> dict[str, Record]:
    lines = dataset.read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    return {r["id"]: Record(r, load_db_artifact(databases / f"{r['id']}.json")) for r in records}


OURS = read_edition(FOLDER / "eva_airline_dataset.jsonl", FOLDER)
each_record = pytest.mark.parametrize("record", OURS.values(), ids=OURS)


def run(db: Json, calls: Calls) -> tuple[Json, list[Json]]:
    """The database after `calls`, and their answers."""
    state: Json = {"db": copy.deepcopy(db), "actions": []}
    tool = partial(get_schema_tool_for_eval, domain="eva_airline", shared_state=state)
    return state["db"], [tool(name).invoke(**arguments) for name, arguments in calls]


def hash_after(record: Record, calls: Calls) -> str:
    return get_dict_hash(run(record.db, calls)[0])


# --- invariants of the format, on every edition -------------------------------------------------


def complaints(record: Record) -> Iterator[str]:
    for state, db in (("initial", record.db), ("expected", record.expected)):
        for check in (tables, reservations, journeys, disruptions):
            yield from (f"{state}: {text}" for text in check(db))
    today = record.fields["current_date_time"][:10]
    if {record.db["_current_date"], record.expected["_current_date"]} != {today}:
        yield f"_current_date is not {today} in both databases"


def tables(db: Json) -> Iterator[str]:
    for table in TABLES:
        if table not in db:
            yield f"no table {table}"
    for table in db.keys() - {"_current_date", *TABLES, "hotel_vouchers", "session"}:
        yield f"unknown table {table}"


def reservations(db: Json) -> Iterator[str]:
    for key, reservation in db["reservations"].items():
        if not (key == reservation["confirmation_number"] == key.upper()):
            yield f"reservation key {key}"
        ids = [passenger["passenger_id"] for passenger in reservation["passengers"]]
        if len(set(ids)) < len(ids) or not all(re.fullmatch(r"PAX\d{3}", i) for i in ids):
            yield f"passenger ids {ids}"
        for booking in reservation["bookings"]:
            journey = db["journeys"].get(booking["journey_id"])
            flights = [s["flight_number"] for s in journey["segments"]] if journey else []
            if not {s["flight_number"] for s in booking["segments"]} <= set(flights):
                yield f"booking {booking['journey_id']} has no such journey"


def journeys(db: Json) -> Iterator[str]:
    for key, journey in db["journeys"].items():
        segments, day = journey["segments"], journey["date"].replace("-", "")
        flights = [segment["flight_number"] for segment in segments]
        if not (key == journey["journey_id"] == "_".join(["FL", *flights, day])):
            yield f"journey key {key}"
        if len(segments) > 1:
            legs = (f"FL_{flight}_{day}" for flight in flights)
            yield from (f"{key}: no journey {leg}" for leg in legs if leg not in db["journeys"])
        if journey["num_stops"] != len(segments) - 1:
            yield f"{key}: num_stops"
        if [s["segment_number"] for s in segments] != list(range(1, len(segments) + 1)):
            yield f"{key}: segment numbers"
        route = [journey["origin"], *(s["destination"] for s in segments)]
        if route[:-1] != [s["origin"] for s in segments] or route[-1] != journey["destination"]:
            yield f"{key}: legs do not chain"
        yield from (f"{key}: seat kinds of {text}" for text in seats_without_kind(segments))


def seats_without_kind(segments: list[Json]) -> Iterator[str]:
    for segment in segments:
        for cabin in CABINS:
            kinds = segment["available_seat_types"][cabin]
            if segment["available_seats"][cabin] == 0 and kinds:
                yield f"{segment['flight_number']} {cabin} though it is sold out"


def disruptions(db: Json) -> Iterator[str]:
    for key, disruption in db["disruptions"].items():
        if key != f"{disruption['flight_number']}_{disruption['date']}":
            yield f"disruption key {key}"


@each_record
def test_the_invariants_of_the_format_hold(record: Record) -> None:
    assert list(complaints(record)) == []


def test_the_invariants_hold_in_the_upstream_edition(upstream_root: Path) -> None:
    data = upstream_root / "eva" / "data"
    edition = read_edition(data / "airline_dataset.jsonl", data / "airline_scenarios")
    broken = {name: list(complaints(record)) for name, record in edition.items()}
    assert len(edition) == 50
    assert {name: texts for name, texts in broken.items() if texts} == {}


def _second_passenger(db: Json) -> None:
    db["reservations"]["H7QMV4"]["passengers"].append({"passenger_id": "PAX001"})


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda db: db.pop("refunds"), "no table refunds"),
        (lambda db: db.update(hotel={}), "unknown table hotel"),
        (_second_passenger, "passenger ids ['PAX001', 'PAX001']"),
        (lambda db: db["journeys"].pop("FL_LQ512_20261030"), "FL_LQ512_20261030 has no such"),
        (lambda db: db["journeys"].pop("FL_LQ611_20261104"), "no journey FL_LQ611_20261104"),
        (lambda db: db["journeys"]["FL_LQ522_20261104"].update(num_stops=1), "num_stops"),
        (lambda db: db["journeys"]["FL_LQ522_20261104"].update(origin="STL"), "do not chain"),
        (lambda db: db["disruptions"].update(X={"flight_number": "LQ1", "date": "2"}), "key X"),
        (lambda db: db.update(_current_date="2026-10-27"), "_current_date is not 2026-10-26"),
    ],
)
def test_a_broken_database_is_noticed(spoil: Callable[[Json], Any], complaint: str) -> None:
    broken = copy.deepcopy(OURS["1.1.2"])
    spoil(broken.db)
    assert any(complaint in text for text in complaints(broken))


# --- what our own edition promises beyond the format --------------------------------------------


def test_the_seeds_are_here_and_every_database_has_its_record() -> None:
    assert {"1.1.2", "2.1.1", "3.1.3", "5.1.1", "7.2.1"} <= set(OURS)
    assert {path.stem for path in FOLDER.glob("*.json")} == set(OURS)


@each_record
def test_a_record_has_exactly_the_agreed_fields(record: Record) -> None:
    goal, user = record.fields["user_goal"], record.fields["user_config"]
    assert " ".join(record.fields) == RECORD
    assert (" ".join(goal), " ".join(goal["decision_tree"])) == (GOAL, TREE)
    assert all(goal["decision_tree"].values())
    assert user["user_persona_id"] == {"woman": 1, "man": 2}[user["gender"]]
    assert len(user["user_persona"]) <= 300, "prompts take the first 300 characters"
    assert 0 < goal["high_level_user_goal"].find(". ") < 200, "descriptions take whole sentences"
    assert goal["starting_utterance"] == record.fields["reference_dialogue"][1]["text"]
    assert list(record.db) == ["_current_date", *TABLES]
    assert 2 <= len(record.db["journeys"]) <= 12
    assert {" ".join(s) for j in record.journeys for s in j["segments"]} == {SEGMENT}


@each_record
def test_the_caller_is_the_invented_passenger_of_the_reservation(record: Record) -> None:
    (passenger,) = record.reservation["passengers"]
    known = record.fields["user_goal"]["information_required"]
    name = f"{passenger['first_name']} {passenger['last_name']}"
    assert passenger["passenger_id"] == "PAX001"
    assert record.fields["user_config"]["name"] == name
    assert known["last_name"] == passenger["last_name"]
    assert known["confirmation_number"] == record.reservation["confirmation_number"]
    assert known["seat_preference"]["first_choice"] == passenger["seat_preference"]
    assert re.fullmatch(r"\S+@example\.(com|org)", passenger["email"])
    assert re.fullmatch(r"\+1-\d{3}-555-01\d\d", passenger["phone"])
    booked = [record.db["journeys"][b["journey_id"]] for b in record.reservation["bookings"]]
    trips = [
        [j["origin"], j["destination"], j["date"], j["segments"][0]["scheduled_departure"]]
        for j in booked
    ]
    assert [list(d.values())[:4] for d in known["original_travel_details"]] == trips


@each_record
def test_schedules_are_right_to_the_minute(record: Record) -> None:
    for journey in record.journeys:
        times = []
        for segment in journey["segments"]:
            leaves = departure(segment, journey["date"])
            lands = leaves.astimezone(UTC) + timedelta(minutes=segment["duration_minutes"])
            lands = lands.astimezone(ZONE_OF[segment["destination"]])
            assert leaves.utcoffset() == timedelta(hours=segment["origin_utc_offset"])
            assert lands.utcoffset() == timedelta(hours=segment["destination_utc_offset"])
            assert f"{lands:%H:%M}" == segment["scheduled_arrival"]
            times += [leaves.astimezone(UTC), lands.astimezone(UTC)]
        waits = [later - earlier for earlier, later in zip(times[1::2], times[2::2], strict=False)]
        assert all(timedelta(minutes=40) <= wait <= timedelta(hours=4) for wait in waits)
        assert times[-1] - times[0] == timedelta(minutes=journey["total_duration_minutes"])


@each_record
def test_fares_and_seats_agree_wherever_they_are_repeated(record: Record) -> None:
    for journey in record.journeys:
        for cabin in CABINS:
            fares = [segment["fares"][cabin] for segment in journey["segments"]]
            assert journey["fares"][cabin] == (None if None in fares else sum(fares))
            for segment in journey["segments"]:
                seats = segment["available_seats"][cabin]
                assert bool(seats) == bool(segment["available_seat_types"][cabin])
                assert seats == 0 or segment["fares"][cabin] is not None
        day = journey["date"].replace("-", "")
        for leg in journey["segments"]:
            own = record.db["journeys"][f"FL_{leg['flight_number']}_{day}"]
            assert own["segments"] == [{**leg, "segment_number": 1}]
    for booking in record.reservation["bookings"]:
        assert booking["fare_paid"] == sum(s["fare_paid"] for s in booking["segments"])


@each_record
def test_each_database_holds_the_traps(record: Record) -> None:
    kept = [j for j in record.journeys if j["status"] in ("scheduled", "on_time")]
    sold_out = [j for j in kept for s in j["segments"] for c in CABINS if is_sold_out(s, c)]
    withheld = [j for j in kept if not j["bookable"] and any(j["fares"].values())]
    connections = [j for j in kept if j["num_stops"]]
    assert [] not in (sold_out, withheld, connections)


def is_sold_out(segment: Json, cabin: str) -> bool:
    return segment["fares"][cabin] is not None and segment["available_seats"][cabin] == 0


def departure(segment: Json, date: str) -> datetime:
    local = datetime.fromisoformat(f"{date}T{segment['scheduled_departure']}")
    return local.replace(tzinfo=ZONE_OF[segment["origin"]])


# --- the gold state -----------------------------------------------------------------------------


@each_record
def test_the_reference_dialogue_reaches_the_expected_database(record: Record) -> None:
    db, answers = run(record.db, record.calls)
    assert db == record.expected
    refused = [a["error_type"] for a in answers if a["status"] == "error"]
    assert set(refused) <= {"not_found", "authentication_failed"}


@each_record
def test_every_gold_write_is_needed(record: Record) -> None:
    gold = get_dict_hash(record.expected)
    for index, (name, _) in enumerate(record.calls):
        if not name.startswith(("get_", "search_")):
            rest = record.calls[:index] + record.calls[index + 1 :]
            assert hash_after(record, rest) != gold, f"{name} leaves no trace"


@each_record
def test_doing_nothing_fails_unless_the_right_answer_is_a_refusal(record: Record) -> None:
    writes = [name for name, _ in record.calls if not name.startswith(("get_", "search_"))]
    assert record.refuses == (writes == [])
    assert record.refuses == ("adversarial_vector" in record.fields["scenario_context"])


@each_record
def test_every_forbidden_call_is_accepted_and_spoils_the_result(record: Record) -> None:
    assert record.forbidden
    for wrong in record.forbidden:
        for before in ([], record.calls):
            db, answers = run(record.db, [*before, wrong])
            assert answers[-1]["status"] == "success", (wrong, answers[-1])
            assert get_dict_hash(db) != get_dict_hash(record.expected), wrong


# What the end states must hold, worked out by hand from the policy and the databases.
BY_HAND: dict[str, dict[str, Json]] = {
    "1.1.2": {
        "reservations.H7QMV4": {"status": "changed"},
        "reservations.H7QMV4.bookings.0": {"status": "cancelled"},
        "reservations.H7QMV4.bookings.1": {"journey_id": "FL_LQ522_20261104", "fare_paid": 268},
        "reservations.H7QMV4.bookings.1.segments.0": {"seat": "21A", "bags_checked": 1},
        "journeys.FL_LQ522_20261104.segments.0.available_seats": {"main_cabin": 5 - 1},
        "journeys.FL_LQ512_20261030.segments.0.available_seats": {"main_cabin": 3 + 1},
    },
    "2.1.1": {
        "reservations.B5TKD9.bookings.1": {"journey_id": "FL_LQ274_20260307", "fare_paid": 612},
        "reservations.B5TKD9.bookings.1.segments.0": {
            "fare_paid": 612,
            "seat": "11C",
            "bags_checked": 2,
            "meal_request": "low_sodium",
        },
        "meal_vouchers.MEAL-B5TKD9-PAX0": {"amount": 25, "voucher_reason": "irrops_overnight"},
        "hotel_vouchers.HOTEL-B5TKD9": {"num_nights": 1, "issued_date": "2026-03-06"},
    },
    "3.1.3": {
        "reservations.T9GX2R.bookings.1": {"journey_id": "FL_LQ743_20260715", "fare_paid": 185},
        "reservations.T9GX2R.bookings.1.segments.0": {"seat": "26C"},
        "reservations.T9GX2R.standby_list.0": {"journey_id": "FL_LQ739_20260715", "position": 3},
        "journeys.FL_LQ739_20260715.standby_list.2": {"confirmation_number": "T9GX2R"},
    },
    "5.1.1": {
        "reservations.N4WZ8C": {"status": "cancelled"},
        "refunds.REF-N4WZ8C-001": {"refund_amount": 184 + 172, "refund_type": "full_fare"},
        "refunds.REF-N4WZ8C-002": {"refund_amount": 28 + 35, "refund_type": "ancillary_fees"},
        "journeys.FL_LQ862_LQ875_20260606.segments.1.available_seats": {"main_cabin": 4 + 1},
    },
    "7.2.1": {"reservations.W6FJ3P": {"status": "confirmed"}},
}


@pytest.mark.parametrize("name", BY_HAND)
def test_the_expected_database_is_what_the_policy_asks_for(name: str) -> None:
    db = OURS[name].expected
    for path, wanted in BY_HAND[name].items():
        found = at(db, path)
        assert {key: found[key] for key in wanted} == wanted, path
    paid_out = {f"{table}.{key}" for table in PAYMENTS for key in db.get(table, ())}
    assert paid_out == {path for path in BY_HAND[name] if path.split(".")[0] in PAYMENTS}


def at(value: Any, path: str) -> Any:
    for key in path.split("."):
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value
