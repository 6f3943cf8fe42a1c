"""What is said agrees with the calendar and the figures: weekdays, times and amounts."""

from __future__ import annotations

import json
import re
from datetime import date
from typing import TYPE_CHECKING, Any

from .database import today_of
from .places import full_date

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Json = Mapping[str, Any]

_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_YEAR = """
January February March April May June July August September October November December
"""
_MONTHS = _YEAR.split()
_COUNTED = """
first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth
fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth twenty-first
twenty-second twenty-third twenty-fourth twenty-fifth twenty-sixth twenty-seventh twenty-eighth
twenty-ninth thirtieth thirty-first
"""
_ORDINALS = _COUNTED.split()
_DAY = "|".join([*sorted(_ORDINALS, key=len, reverse=True), "[0-9]{1,2}"])
_DATE = re.compile(
    rf"\b(?P<weekday>{'|'.join(_DAYS)}),? (?:the )?(?:(?P<month>{'|'.join(_MONTHS)}) (?:the )?)?"
    rf"(?P<day>{_DAY})\b(?:, (?P<year>[0-9]{{4}}))?(?! (?:flight|one|leg|plane|nonstop))"
)
_SMALL = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen
"""
_NUMBERS = _SMALL.split()
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_WORD = "|".join([*_NUMBERS, *_TENS, "hundred", "thousand", "and"])
_AMOUNT = re.compile(rf"\b((?:(?:{_WORD})[ -])+)dollars?\b")

_PARTS = {"five": 5, "ten": 10, "quarter": 15, "twenty": 20, "twenty-five": 25, "half": 30}
_HOUR = "|".join(_NUMBERS[1:13])
_CLOCK = re.compile(rf"\b({'|'.join(_PARTS)}) (past|to) ({_HOUR})\b")
_LOOSE = re.compile(r"\b(about|around|before|until|gate (?:at|by)|clock|time)\b")
"""Sentences with such words speak of other times than those of flights."""

FIGURES = (0, 12, 15, 25, 75, 100, 150, 199)
"""Amounts that the policy names: vouchers, fees, and two fees together."""
FEES = (0, 75, 199)


def check_said(record: Json, database: Json, source: Json) -> Iterator[str]:
    """Yield each date that is another weekday, and what the agent says that nothing gives."""
    months = {(day.year, day.month) for day in _dates(database)}
    for text in _texts(record, source):
        for said in _DATE.finditer(text):
            if not _is_right(said, months, today_of(source)):
                yield f"{said[0]!r} is another day of the week: {text!r}"
    said_before: set[float] = set()
    known, times = _amounts(database, source), _times(record, database, source)
    for turn in record["reference_dialogue"][::2]:
        text = turn["text"]
        for said in _AMOUNT.finditer(text.lower()):
            if (amount := number_of(said[1])) not in known | _sums(said_before):
                yield f"the agent says {amount} dollars, which no fare or fee gives: {text!r}"
            said_before.add(amount)
        for said in _clock_times(text):
            if _minutes(said) not in times:
                yield f"the agent says {said[0]!r}, when nothing leaves or lands: {text!r}"


def _sums(amounts: set[float]) -> set[float]:
    return {a + b for a in amounts for b in amounts}


def _texts(record: Json, source: Json) -> Iterator[str]:
    caller = source["caller"]
    yield from (turn["text"] for turn in record["reference_dialogue"])
    for value in (*caller.values(), source["premise"], source["flow"], source["note"]):
        yield from value if isinstance(value, list) else [str(value)]


def _dates(database: Json) -> Iterator[date]:
    yield date.fromisoformat(database["_current_date"])
    yield from (date.fromisoformat(each["date"]) for each in database["journeys"].values())


def _is_right(said: re.Match[str], months: set[tuple[int, int]], today: str) -> bool:
    day = _ORDINALS.index(said["day"]) + 1 if said["day"] in _ORDINALS else int(said["day"])
    if said["month"]:
        month = _MONTHS.index(said["month"]) + 1
        year = said["year"] or full_date(f"{month:02}-01", today)[:4]
        # without a year, one not long ago is meant as often as one to come
        years = {int(year)} if said["year"] else {int(year), int(today[:4])}
        months = {(each, month) for each in years}
    return any(_weekday(*each, day) == said["weekday"] for each in months)


def _weekday(year: int, month: int, day: int) -> str:
    try:
        return _DAYS[date(year, month, day).weekday()]
    except ValueError:  # not a day of that month
        return ""


def number_of(words: str) -> int:
    """Read a number in words, as `one hundred and twenty-five`."""
    total = part = 0
    for word in words.replace("-", " ").split():
        if word == "thousand":
            total, part = total + max(1, part) * 1000, 0
        elif word == "hundred":
            part = max(1, part) * 100
        elif word in _TENS:
            part += 10 * (_TENS.index(word) + 2)
        elif word in _NUMBERS:
            part += _NUMBERS.index(word)
    return total + part


def _clock_times(text: str) -> Iterator[re.Match[str]]:
    for sentence in re.split(r"(?<=[.!?]) ", text):
        if not _LOOSE.search(sentence):
            yield from _CLOCK.finditer(sentence)


def _minutes(said: re.Match[str]) -> int:
    """Minutes after noon or midnight."""
    part = _PARTS[said[1]] * (1 if said[2] == "past" else -1)
    return (60 * _NUMBERS.index(said[3]) + part) % 720


def _times(record: Json, database: Json, source: Json) -> set[int]:
    """When flights leave and land, on time and late, and what the caller has in mind."""
    segments = [s for j in database["journeys"].values() for s in j["segments"]]
    late = {s["delay_minutes"] or 0 for s in segments}
    late |= {d["delay_minutes"] or 0 for d in database["disruptions"].values()}
    clocks = [s[k] for s in segments for k in ("scheduled_departure", "scheduled_arrival")]
    told = json.dumps([source.get("limits", []), source["caller"], record["current_date_time"]])
    mentioned = [f"{h}:{m}" for h, m in re.findall(r"\b([0-9]{1,2}):([0-9]{2})", told)]
    own = {int(h) * 60 + int(m) for h, _, m in (c.partition(":") for c in [*clocks, *mentioned])}
    heard = [turn["text"] for turn in record["reference_dialogue"][1::2]]
    known = {_minutes(said) for text in heard for said in _CLOCK.finditer(text)}
    return known | {(each + delay) % 720 for each in own for delay in {0, *late}}


def _amounts(database: Json, source: Json) -> set[float]:
    """All amounts that a call of this scenario can turn on."""
    (reservation,) = database["reservations"].values()
    fees = list(reservation["ancillaries"].values())
    bookings = reservation["bookings"]
    whole = [booking["fare_paid"] for booking in bookings]
    paid = [*whole, *(s["fare_paid"] for booking in bookings for s in booking["segments"])]
    known = {*FIGURES, *fees, sum(fees), *paid, sum(whole), sum(whole) + sum(fees)}
    known |= {max(0, each - 100) for each in paid} | {sum(max(0, each - 100) for each in whole)}
    fares = [f for j in database["journeys"].values() for f in j["fares"].values() if f is not None]
    for fare in fares:
        known |= {fare, *(abs(fare - each) for each in paid)}
        known |= {fee + max(0, fare - each) for fee in FEES for each in paid}
    return known | _mentioned(source)


def _mentioned(source: Json) -> set[float]:
    """Amounts that the caller brings up or keeps to."""
    texts: Sequence[Any] = (source.get("limits", []), source["caller"], source["premise"])
    return {float(number) for number in re.findall(r"\b[0-9]+\b", json.dumps(texts))}
