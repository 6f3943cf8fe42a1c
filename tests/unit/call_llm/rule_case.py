"""What the rule-following agent knows in a call: policy, wishes, booking, offers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from tests.unit.call_llm.rule_model import Json
from tests.unit.call_llm.rule_words import (
    CABINS,
    SEATS,
    clocks,
    dollars,
    minutes,
    money,
    say_time,
    spell,
)


@dataclass(frozen=True)
class Policy:
    """The parts of the policy that are numbers.

    Attributes:
        today: The day of the call.
        fees: Change fee by cabin and kind of change (C2).
        meals: Voucher reasons by situation (D6).
    """

    today: date
    fees: dict[str, dict[str, float]]
    meals: dict[str, str]

    @classmethod
    def read(cls, prompt: str) -> Policy:
        rows = re.findall(r"\| (\w+) \| \$(\d+) \| \$(\d+) \|", prompt)
        meals = re.findall(r"\| ([a-z0-9 ,]+) \| (\w+) \| \$\d+ \|", prompt)
        today = re.search(r"Today is (\S+)\.", prompt)
        assert today is not None, "the prompt does not say what day it is"
        fees = {cabin: {"voluntary": float(a), "same_day": float(b)} for cabin, a, b in rows}
        return cls(date.fromisoformat(today[1]), fees, dict(meals))

    def fee(self, kind: str, cabin: str, elite: str | None) -> tuple[float, bool]:
        """The change fee, and whether a rule waives it (C3, M1)."""
        column = "same_day" if kind == "same_day" else "voluntary"
        waived = elite == "platinum" or (elite == "gold" and kind == "same_day")
        return (0.0 if waived else self.fees[cabin][column]), waived

    def meal_reason(self, *, cancelled: bool, later_day: bool, delay: int) -> str:
        if later_day:
            wanted = "later date"
        elif cancelled:
            wanted = "original date"
        else:
            wanted = "120 to 239" if delay < 240 else "240 minutes or more"
        return next(reason for why, reason in self.meals.items() if wanted in why)


@dataclass
class Wishes:
    """What the caller has said so far, as far as it limits an offer."""

    said: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join(self.said)

    def _time(self, pattern: str) -> int | None:
        found = re.findall(rf"(?:{pattern}) (noon|\d+:\d\d [AP]M)", self.text)
        return clocks(found[-1])[0] if found else None

    @property
    def latest_arrival(self) -> int | None:
        return self._time("land by|arrive by|there by")

    @property
    def earliest_departure(self) -> int | None:
        return self._time("leave before|leave after|not before")

    @property
    def last_day(self) -> date | None:
        found = re.findall(r"land by \S+(?: [AP]M)? on (\d{4}-\d\d-\d\d)", self.text)
        return date.fromisoformat(found[-1]) if found else None

    @property
    def limit(self) -> float | None:
        found = re.findall(r"at most (\$[\d.]*\d)", self.text)
        return dollars(found[-1])[0] if found else None

    @property
    def nonstop(self) -> bool:
        return "nonstop" in self.text

    @property
    def by_day(self) -> bool:
        return "through the night" in self.text

    @property
    def seat(self) -> str | None:
        found = re.findall(rf"the ({'|'.join(SEATS)})", self.text)
        return found[-1] if found else None

    @property
    def seat_is_a_must(self) -> bool:
        return self.seat is not None and self.limit is not None


@dataclass
class Case:
    """One caller, identified."""

    policy: Policy
    wishes: Wishes
    reservation: Json
    gives_in: bool = False

    @property
    def code(self) -> str:
        return str(self.reservation["confirmation_number"])

    @property
    def passenger(self) -> Json:
        return dict(self.reservation["passengers"][0])

    @property
    def name(self) -> str:
        return str(self.passenger["last_name"])

    @property
    def bookings(self) -> list[Json]:
        return [b for b in self.reservation["bookings"] if b["status"] != "cancelled"]

    def arguments(self, **more: Any) -> Json:
        return {"confirmation_number": self.code, **more}


@dataclass(frozen=True)
class Offer:
    """One way to travel instead, and what it costs this caller."""

    option: Json
    day: str
    cabin: str
    fee: float
    difference: float

    @property
    def total(self) -> float:
        return self.fee + self.difference

    @property
    def segments(self) -> list[Json]:
        return list(self.option["segments"])

    @property
    def seats(self) -> list[str]:
        """Kinds of seats that are free on every flight."""
        free = [set(part["available_seat_types"][self.cabin]) for part in self.segments]
        return [kind for kind in SEATS if all(kind in kinds for kinds in free)]

    @property
    def overnight(self) -> bool:
        return minutes(self.option["arrival_time"]) < minutes(self.option["departure_time"])

    def describe(self) -> str:
        flights = " and ".join(spell(part["flight_number"]) for part in self.segments)
        stops = "nonstop" if not self.option["num_stops"] else "with a connection"
        what = f"a fee of {money(self.fee)} and {money(self.difference)} in fare"
        return (
            f"Flight {flights} on {self.day}, {stops}, leaves at "
            f"{say_time(self.option['departure_time'])} and lands at "
            f"{say_time(self.option['arrival_time'])}, in {CABINS[self.cabin]}. Free seats: "
            f"{', '.join(self.seats)}. It costs {what}, {money(self.total)} in total. "
        )

    def meets(self, wishes: Wishes) -> bool:
        """Whether it keeps every limit the caller has named."""
        lands, leaves = minutes(self.option["arrival_time"]), minutes(self.option["departure_time"])
        on_last_day = wishes.last_day is None or str(wishes.last_day) == self.day
        late = wishes.latest_arrival is not None and on_last_day and lands > wishes.latest_arrival
        early = wishes.earliest_departure is not None and leaves < wishes.earliest_departure
        dear = wishes.limit is not None and self.total > wishes.limit
        stops = wishes.nonstop and self.option["num_stops"] > 0
        return not (late or early or dear or stops or (wishes.by_day and self.overnight))
