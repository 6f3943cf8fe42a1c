"""The shared tables: airports, aircraft, fares; and what follows from them."""

from __future__ import annotations

import functools
import hashlib
import math
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from pytest_voiceeval import load_yaml

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

CABINS = {
    "basic": "basic_economy",
    "main": "main_cabin",
    "premium": "premium_economy",
    "business": "business",
    "first": "first",
}
"""Short names of the cabins, as authors write them."""

KINDS = {"w": "window", "a": "aisle", "m": "middle"}


@dataclass(frozen=True)
class Airport:
    """An airport.

    Attributes:
        zone: its time zone.
        place: latitude and longitude in degrees.
        city: as callers say it.
    """

    zone: ZoneInfo
    place: tuple[float, float]
    city: str


@functools.cache
def tables() -> dict[str, Any]:
    """Read the shared tables."""
    found: dict[str, Any] = load_yaml(Path(__file__).with_name("_shared.yaml"))
    return found


def airport(code: str) -> Airport:
    """Look an airport up.

    Raises:
        ValueError: it is not in the table.
    """
    row = tables()["airports"].get(code)
    if row is None:
        raise ValueError(f"no airport {code!r} in _shared.yaml; add it there")
    zone, latitude, longitude, city = row.split(maxsplit=3)
    return Airport(ZoneInfo(zone), (float(latitude), float(longitude)), city)


_TIME = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]")


def local(day: str, time: str, code: str) -> datetime:
    """Return a local time at an airport, with its offset.

    Raises:
        ValueError: it is no time, or the clocks skip or repeat it.
    """
    if not _TIME.fullmatch(time):
        raise ValueError(f"{time!r} is no time of day: write HH:MM, as 07:20")
    moment = datetime.fromisoformat(f"{day}T{time}").replace(tzinfo=airport(code).zone)
    if moment.utcoffset() != moment.replace(fold=1).utcoffset():
        raise ValueError(f"{day} {time} is skipped or happens twice in {code}")
    return moment


def moment(text: str) -> datetime:
    """Read `2026-10-26 09:40 MSP`: a local time and the airport whose clock it is."""
    words = str(text).split()
    if len(words) != 3:
        raise ValueError(f"{text!r} is not a date, a time and an airport, as 2026-10-26 09:40 MSP")
    day, time, code = words
    return local(_real_date(day, day), time, code)


def full_date(text: str, today: str) -> str:
    """Complete `11-04` with the year that is nearest to come; leave full dates alone.

    Raises:
        ValueError: it is no date.
    """
    if len(text) != 5:
        return _real_date(text, text)
    year = int(today[:4])
    this_year, next_year = (f"{y}-{text}" for y in (year, year + 1))
    lately = (datetime.fromisoformat(today) - timedelta(days=60)).date().isoformat()
    return _real_date(this_year if this_year >= lately else next_year, text)


def _real_date(full: str, written: str) -> str:
    try:
        known = datetime.strptime(full, "%Y-%m-%d").date().isoformat()  # noqa: DTZ007 - a date
    except ValueError:
        known = ""
    if known != full:
        raise ValueError(f"{written!r} is no date: write MM-DD, as 05-14, or YYYY-MM-DD")
    return full


def flight_minutes(origin: str, destination: str) -> int:
    """Estimate how long a flight takes, gate to gate, to 5 minutes; westbound takes longer."""
    (lat1, lon1), (lat2, lon2) = airport(origin).place, airport(destination).place
    a, b = math.radians(lat1), math.radians(lat2)
    span = math.radians(lon2 - lon1)
    arc = math.acos(min(1, math.sin(a) * math.sin(b) + math.cos(a) * math.cos(b) * math.cos(span)))
    kilometres = 6371 * arc
    wind = 1 - 0.06 * math.copysign(min(1, abs(lon2 - lon1) / 15), lon2 - lon1)
    return 5 * round((30 + kilometres / 12.6 * wind) / 5)


def aircraft_for(minutes: int, key: str) -> str:
    """Choose an aircraft that flies that long."""
    fitting: list[str] = [
        name for name, row in tables()["aircraft"].items() if row["longest"] >= minutes
    ]
    return fitting[pick(key, len(fitting))]


def require_keys(what: str, found: Mapping[str, Any], wanted: str, optional: str = "") -> None:
    """Refuse an object that lacks one of the wanted keys, or has one that nobody reads.

    Raises:
        ValueError: it does; the text names the key.
    """
    for key in wanted.split():
        if key not in found:
            raise ValueError(f"{what}: the key {key!r} is missing")
    known = wanted.split() + optional.split()
    for key in found:
        if key not in known:
            raise ValueError(f"{what}: unknown key {key!r}; known are {', '.join(known)}")


def one_of(what: str, value: Any, known: Collection[str]) -> str:
    """Return a word of a closed set.

    Raises:
        ValueError: it is another one; the text says of what, and which there are.
    """
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{what}: {value!r} is none of {', '.join(known)}")
    return value


def number(what: str, text: str) -> float:
    """Read an amount or a count, zero or more.

    Raises:
        ValueError: it is none.
    """
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
        raise ValueError(f"{what}: {text!r} is no number")
    return float(text)


def pick(key: str, count: int) -> int:
    """Choose a number from 0 to `count` - 1 that looks arbitrary and is always the same."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:6]) % count
