"""The little English both rule-following models speak: codes, times, days and amounts."""

from __future__ import annotations

import calendar
import re
from datetime import date, timedelta

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
MONTHS = calendar.month_name[1:]
WEEKDAYS = list(calendar.day_name)
CABINS = {
    "basic_economy": "Basic Economy",
    "main_cabin": "Main Cabin",
    "premium_economy": "Premium Economy",
    "business": "Business",
    "first": "First",
}
SEATS = ("window", "aisle", "middle")


def spell(code: str) -> str:
    """``LQ522`` as it is said."""
    return ", ".join(DIGITS[int(c)] if c.isdigit() else c.upper() for c in code if c.isalnum())


def codes(text: str) -> list[str]:
    """Codes that were spelled, and those that were not."""
    words = re.compile(rf"\b({'|'.join(DIGITS)})\b", re.IGNORECASE)
    plain = words.sub(lambda m: str(DIGITS.index(m[0].lower())), text)
    return [
        re.sub(r"[^A-Z0-9]", "", m[0].upper())
        for m in re.finditer(r"\b\w(?:, ?\w\b)+|\b[A-Z]+\d[A-Z\d]*\b", plain)
    ]


def clocks(text: str) -> list[int]:
    """Times of a text in minutes after midnight."""
    found = []
    for m in re.finditer(r"\b(\d{1,2}):(\d\d)(?: ?([AP])M)?|\bnoon\b", text, flags=re.IGNORECASE):
        if m[0].lower() == "noon":
            found.append(12 * 60)
            continue
        hour = int(m[1]) % 12 + (12 if m[3].upper() == "P" else 0) if m[3] else int(m[1])
        found.append(hour * 60 + int(m[2]))
    return found


def minutes(clock: str) -> int:
    """``13:45`` in minutes after midnight."""
    hours, _, rest = clock.partition(":")
    return int(hours) * 60 + int(rest)


def say_time(clock: str) -> str:
    """``13:45`` as ``1:45 PM``."""
    hour, minute = divmod(minutes(clock), 60)
    return f"{hour % 12 or 12}:{minute:02d} {'PM' if hour >= 12 else 'AM'}"


def dollars(text: str) -> list[float]:
    """Amounts of a text."""
    return [float(m[1].replace(",", "")) for m in re.finditer(r"\$([\d,]+(?:\.\d+)?)", text)]


def money(amount: float) -> str:
    return f"${amount:g}"


def days(text: str, today: date) -> list[date]:
    """Days of a text, in its order: written out, by month and day, or by weekday."""
    found: list[tuple[int, date]] = []
    for m in re.finditer(r"\b(\d{4})-(\d\d)-(\d\d)\b", text):
        found.append((m.start(), date(int(m[1]), int(m[2]), int(m[3]))))
    for m in re.finditer(rf"\b({'|'.join(MONTHS)}) (\d{{1,2}}|\w+)\b", text):
        number = _number(m[2])
        if number:
            month = MONTHS.index(m[1]) + 1
            year = today.year + (month < today.month)
            found.append((m.start(), date(year, month, number)))
    for m in re.finditer(rf"\b({'|'.join(WEEKDAYS)})\b", text):
        ahead = (WEEKDAYS.index(m[1]) - today.weekday()) % 7
        found.append((m.start(), today + timedelta(days=ahead)))
    return [day for _, day in sorted(found)]


_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")


def _number(word: str) -> int:
    if word.isdigit():
        return int(word)
    return _ORDINALS.index(word.lower()) + 1 if word.lower() in _ORDINALS else 0
