"""Our edition of eva_airline: every scenario passes all checks, and the data are built from it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from pytest_voiceeval.data.artifacts import load_yaml
from pytest_voiceeval.scenario.auditing import check_domain, check_entry, edition_complaints
from pytest_voiceeval.scenario.auditing_entry import Entry
from pytest_voiceeval.scenario.authoring import build_domain
from pytest_voiceeval.scenario.authoring_hooks import load_hooks

from .conftest import DOMAIN, FOLDER, IDS

DATA = Path(__file__).resolve().parents[3] / "fixtures" / DOMAIN
PAYMENTS = ("travel_credits", "meal_vouchers", "hotel_vouchers", "refunds")
SEEDS = ("1.1.2", "2.1.1", "3.1.3", "5.1.1", "7.2.1")
ZONES = {
    code: ZoneInfo(row.split()[0])
    for code, row in load_yaml(FOLDER / "_shared.yaml")["airports"].items()
}

Json = dict[str, Any]
EntryOf = Callable[[str], Entry]

each_id = pytest.mark.parametrize("record_id", IDS)


def test_the_data_are_exactly_what_the_authoring_files_say() -> None:
    assert build_domain(DOMAIN, check=True) == []


def test_the_seeds_are_here_and_every_database_has_its_record() -> None:
    lines = (DATA / "eva_airline_dataset.jsonl").read_text(encoding="utf-8").splitlines()
    ids = {json.loads(line)["id"] for line in lines}
    assert set(SEEDS) <= ids <= set(IDS)
    assert {path.stem for path in DATA.glob("*.json")} == ids


@each_id
def test_a_scenario_passes_every_check(record_id: str, entry_of: EntryOf) -> None:
    assert check_entry(entry_of(record_id)).problems == ()


def test_the_scenarios_as_a_whole_pass_every_check(entry_of: EntryOf) -> None:
    entries = [entry_of(record_id) for record_id in IDS]
    assert list(edition_complaints(load_hooks(DOMAIN), entries)) == []


def test_the_public_edition_passes_the_checks_that_hold_for_any(upstream_root: Path) -> None:
    audit = check_domain(DOMAIN, upstream_root / "eva")
    idle = {row.id for row in audit.rows if row.cells[0] == "1"}
    assert audit.problems == []
    assert len(audit.rows) == 50
    assert idle == {"5.2.5", "7.1.1", "7.2.2", "7.2.8", "7.3.1", "7.4.1"}


@each_id
def test_schedules_are_right_to_the_minute(record_id: str, entry_of: EntryOf) -> None:
    for journey in entry_of(record_id).database["journeys"].values():
        times = []
        for segment in journey["segments"]:
            leaves = _departure(segment, journey["date"])
            lands = leaves.astimezone(UTC) + timedelta(minutes=segment["duration_minutes"])
            lands = lands.astimezone(ZONES[segment["destination"]])
            assert leaves.utcoffset() == timedelta(hours=segment["origin_utc_offset"])
            assert lands.utcoffset() == timedelta(hours=segment["destination_utc_offset"])
            assert f"{lands:%H:%M}" == segment["scheduled_arrival"]
            times += [leaves.astimezone(UTC), lands.astimezone(UTC)]
        assert times == sorted(times)
        assert times[-1] - times[0] == timedelta(minutes=journey["total_duration_minutes"])


def _departure(segment: Json, date: str) -> datetime:
    local = datetime.fromisoformat(f"{date}T{segment['scheduled_departure']}")
    return local.replace(tzinfo=ZONES[segment["origin"]])


@each_id
def test_what_is_repeated_agrees(record_id: str, entry_of: EntryOf) -> None:
    database = entry_of(record_id).database
    for journey in database["journeys"].values():
        for cabin, fare in journey["fares"].items():
            fares = [segment["fares"][cabin] for segment in journey["segments"]]
            assert fare == (None if None in fares else sum(fares))
        for leg in journey["segments"]:
            day = journey["date"].replace("-", "")
            own = database["journeys"][f"FL_{leg['flight_number']}_{day}"]
            assert own["segments"] == [{**leg, "segment_number": 1}]
    (reservation,) = database["reservations"].values()
    for booking in reservation["bookings"]:
        assert booking["fare_paid"] == sum(s["fare_paid"] for s in booking["segments"])


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
    "1.1.3": {
        "reservations.L4VX7D.bookings.1": {"journey_id": "FL_LQ619_20260518", "fare_paid": 431},
        "reservations.L4VX7D.bookings.2": {"journey_id": "FL_LQ606_20260514", "fare_paid": 412},
        "reservations.L4VX7D.bookings.2.segments.0": {"seat": "11C", "bags_checked": 2},
        "travel_credits.TCL4VX7DPAX": {
            "amount": 468 - 412,
            "credit_reason": "fare_difference_negative",
        },
    },
    "1.1.4": {
        "reservations.9KTRW3.bookings.2": {"fare_paid": 112 + 106, "fare_class": "basic_economy"},
        "reservations.9KTRW3.bookings.2.segments.0": {"seat": "26A", "meal_request": "vegetarian"},
        "reservations.9KTRW3.bookings.2.segments.1": {"seat": "26C", "bags_checked": 1},
    },
    "1.1.5": {
        "reservations.QX52HB.bookings.2": {"journey_id": "FL_LQ415_20260918", "fare_paid": 326},
        "reservations.QX52HB.bookings.2.segments.0": {"seat": "21C", "bags_checked": 1},
        "reservations.QX52HB.bookings.3": {"journey_id": "FL_LQ430_20260923", "fare_paid": 283},
        "reservations.QX52HB.bookings.3.segments.0": {"seat": "21C", "bags_checked": 2},
        "travel_credits.TCQX52HBPAX": {"amount": 305 - 283},
    },
    "1.2.1": {
        "reservations.V8GZ4M.bookings.1": {"journey_id": "FL_LQ312_20261119", "fare_paid": 221},
        "reservations.V8GZ4M.bookings.1.segments.0": {"seat": "21A"},
    },
    "1.2.2": {
        "reservations.3HJW7T.bookings.1": {"journey_id": "FL_LQ143_20261210", "fare_paid": 126},
        "reservations.3HJW7T.bookings.1.segments.0": {"seat": "26A"},
    },
    "1.2.3": {
        "reservations.D2NF6K.bookings.1": {"journey_id": "FL_LQ482_20260418", "fare_paid": 467},
        "reservations.D2NF6K.bookings.1.segments.0": {
            "seat": "11C",
            "bags_checked": 1,
            "meal_request": "diabetic",
        },
    },
    "1.3.1": {
        "reservations.6TCB9Y.bookings.1": {"journey_id": "FL_LQ731_LQ558_20260627"},
        "reservations.6TCB9Y.bookings.1.segments.0": {"seat": "21A", "fare_paid": 121},
        "reservations.6TCB9Y.bookings.1.segments.1": {"seat": "21A", "fare_paid": 127},
    },
    "1.3.2": {
        "reservations.ZR8PL5.bookings.1": {
            "journey_id": "FL_LQ247_20260225",
            "fare_class": "premium_economy",
            "fare_paid": 366,
        },
        "reservations.ZR8PL5.bookings.1.segments.0": {"seat": "11C"},
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
    "2.1.6": {
        "reservations.8LPN3T": {"status": "cancelled"},
        "refunds.REF-8LPN3T-001": {"refund_amount": 118 + 147, "refund_type": "full_fare"},
        "refunds.REF-8LPN3T-002": {"refund_amount": 24 + 35, "refund_type": "ancillary_fees"},
    },
    "2.2.2": {
        "reservations.JM64RD.bookings.1": {"fare_class": "main_cabin", "fare_paid": 780},
        "reservations.JM64RD.bookings.1.segments.0": {"seat": "21C"},
        "refunds.REF-JM64RD-001": {"refund_amount": 780 - 347, "refund_type": "partial_fare"},
        "meal_vouchers.MEAL-JM64RD-PAX0": {"amount": 15, "voucher_reason": "delay_over_4_hours"},
    },
    "2.3.4": {
        "reservations.4BXH7N": {"status": "cancelled"},
        "refunds.REF-4BXH7N-001": {"refund_amount": 231, "refund_type": "full_fare"},
        "travel_credits.TC4BXH7NPAX": {"amount": 189 - 100},
    },
    "3.1.3": {
        "reservations.T9GX2R.bookings.1": {"journey_id": "FL_LQ743_20260715", "fare_paid": 185},
        "reservations.T9GX2R.bookings.1.segments.0": {"seat": "26C"},
        "reservations.T9GX2R.standby_list.0": {"journey_id": "FL_LQ739_20260715", "position": 3},
        "journeys.FL_LQ739_20260715.standby_list.2": {"confirmation_number": "T9GX2R"},
    },
    "3.1.5": {
        "reservations.K3WYR9.bookings.1": {"fare_paid": 132 + 219, "fare_class": "main_cabin"},
        "reservations.K3WYR9.bookings.1.segments.0": {"seat": "21C"},
        "reservations.K3WYR9.bookings.1.segments.1": {"seat": "21A"},
    },
    "4.2.5": {
        "reservations.2RMX8G": {"status": "confirmed"},
        "reservations.2RMX8G.bookings.0.segments.0": {"seat": "21C", "bags_checked": 1},
        "reservations.2RMX8G.standby_list.0": {"journey_id": "FL_LQ814_20260602", "position": 2},
    },
    "5.1.1": {
        "reservations.N4WZ8C": {"status": "cancelled"},
        "refunds.REF-N4WZ8C-001": {"refund_amount": 184 + 172, "refund_type": "full_fare"},
        "refunds.REF-N4WZ8C-002": {"refund_amount": 28 + 35, "refund_type": "ancillary_fees"},
        "journeys.FL_LQ862_LQ875_20260606.segments.1.available_seats": {"main_cabin": 4 + 1},
    },
    "5.1.2": {
        "reservations.M8TQF2": {"status": "cancelled"},
        "refunds.REF-M8TQF2-001": {"refund_amount": 61 + 78, "refund_type": "full_fare"},
    },
    "5.1.5": {
        "reservations.VB3N7S": {"status": "confirmed"},
        "reservations.VB3N7S.bookings.0": {"status": "confirmed", "fare_paid": 231},
        "reservations.VB3N7S.bookings.1": {"status": "cancelled"},
        "refunds.REF-VB3N7S-001": {"refund_amount": 84 + 223, "refund_type": "full_fare"},
    },
    "5.2.1": {
        "reservations.8RNK4B": {"status": "cancelled"},
        "travel_credits.TC8RNK4BPAX": {"amount": 284 - 100},
    },
    "6.1.1": {
        "reservations.5DWC9P.bookings.1": {"journey_id": "FL_LQ745_20270112", "fare_paid": 168},
        "reservations.5DWC9P.bookings.1.segments.0": {"seat": "21C", "bags_checked": 1},
        "meal_vouchers.MEAL-5DWC9P-PAX0": {"amount": 25},
        "hotel_vouchers.HOTEL-5DWC9P": {"num_nights": 3},
    },
    "7.2.1": {"reservations.W6FJ3P": {"status": "confirmed"}},
}


@pytest.mark.parametrize("record_id", BY_HAND)
def test_the_expected_database_is_what_the_policy_asks_for(
    record_id: str, entry_of: EntryOf
) -> None:
    database, wanted = entry_of(record_id).expected, BY_HAND[record_id]
    for path, values in wanted.items():
        found = _at(database, path)
        assert {key: found[key] for key in values} == values, path
    paid_out = {f"{table}.{key}" for table in PAYMENTS for key in database.get(table, ())}
    assert paid_out == {path for path in wanted if path.split(".")[0] in PAYMENTS}


def _at(value: Any, path: str) -> Any:
    for key in path.split("."):
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value
