"""A caller by rule. All it knows is its system prompt, and what the agent says to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from tests.unit.call_llm.rule_model import Brain, Leave, Speak
from tests.unit.call_llm.rule_words import CABINS, SEATS, clocks, days, dollars, spell

SOME_DAY = date(2026, 1, 1)


@dataclass(frozen=True)
class Facts:
    """What a caller reads in its prompt.

    Attributes:
        prompt: All of it.
        opening: Its first words.
        code: Confirmation number.
        last_name: To identify with.
        information: What it was told it knows, by name.
        musts: What an offer must have.
    """

    prompt: str
    opening: str
    code: str
    last_name: str
    information: dict[str, str]
    musts: str

    @classmethod
    def read(cls, prompt: str) -> Facts:
        known = re.findall(r"^- ([a-z ]+?)(?: if asked)?: (.+)$", prompt, flags=re.MULTILINE)
        return cls(
            prompt=prompt,
            opening=_one(r"Greet the agent and say: '(.+)'", prompt),
            code=_one(r"confirmation number is (\w+)", prompt),
            last_name=_one(r"last name is (\w+)", prompt),
            information=dict(known),
            musts=" ".join(re.findall(r"^- Must-have: (.+)$", prompt, flags=re.MULTILINE)),
        )

    @property
    def latest_arrival(self) -> int | None:
        return _first(clocks(self.information.get("latest arrival", "")))

    @property
    def earliest_departure(self) -> int | None:
        return _first(clocks(self.information.get("earliest departure", "")))

    @property
    def limit(self) -> float | None:
        if re.search(r"costs you nothing", self.musts):
            return 0.0
        return _first(dollars(self.information.get("maximum total cost", "")))

    @property
    def cabin(self) -> str | None:
        return next((name for name in CABINS.values() if name in self.musts), None)

    @property
    def seats(self) -> list[str]:
        """Kinds of seats that will do, the best first: one alone if it is a must."""
        wanted = [kind for kind in SEATS if f"{kind} seat" in self.musts]
        liked = self.information.get("seat preference", "")
        return wanted or re.findall("|".join(SEATS), liked)

    @property
    def nonstop(self) -> bool:
        return "nonstop" in self.musts

    @property
    def by_day(self) -> bool:
        return "through the night" in self.musts

    @property
    def last_day(self) -> date | None:
        written = _one(r"(\d{4}-\d\d-\d\d)", self.information.get("latest arrival", ""))
        return date.fromisoformat(written) if written else None


def _one(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    return found[1] if found else ""


def _first(found: list) -> object:  # type: ignore[type-arg]
    return found[0] if found else None


def clock(at: int) -> str:
    return f"{at // 60 % 12 or 12}:{at % 60:02d} {'PM' if at >= 720 else 'AM'}"


def wishes(facts: Facts) -> Iterator[str]:
    """What the caller needs, said in one go."""
    if facts.earliest_departure is not None:
        yield f"I cannot leave before {clock(facts.earliest_departure)}"
    if facts.latest_arrival is not None:
        day = f" on {facts.last_day}" if facts.last_day else ""
        yield f"I have to land by {clock(facts.latest_arrival)}{day}"
    if facts.nonstop:
        yield "it has to be nonstop"
    if facts.by_day:
        yield "not through the night"
    if facts.cabin:
        yield f"I stay in {facts.cabin}"
    if facts.seats:
        yield f"I would like the {facts.seats[0]}"
    if facts.limit is not None:
        yield f"I pay at most ${facts.limit:g} in total"


def objections(facts: Facts, offer: str) -> Iterator[str]:
    """What an offer of one flight lacks."""
    leaves, lands = (_first(clocks(part)) for part in _times(offer))
    if facts.latest_arrival is not None and isinstance(lands, int):
        day = _first(days(offer, SOME_DAY))
        last = facts.last_day
        too_late = lands > facts.latest_arrival
        if day > last if last and day != last else too_late:  # type: ignore[operator]
            yield "it lands too late"
    earliest = facts.earliest_departure
    if earliest is not None and isinstance(leaves, int) and leaves < earliest:
        yield "it leaves too early"
    if facts.limit is not None and (total := _total(offer)) > facts.limit:
        yield f"${total:g} is more than I pay"
    if facts.nonstop and "nonstop" not in offer:
        yield "I want no connection"
    if facts.cabin and facts.cabin not in offer:
        yield f"it is not in {facts.cabin}"
    if facts.seats and not _seat(facts, offer):
        yield "it has no seat for me"


def _times(offer: str) -> tuple[str, str]:
    before, _, after = offer.partition("lands")
    return before.partition("leaves")[2], after


def _total(offer: str) -> float:
    return float(_one(r"\$([\d.]*\d) in total", offer) or 0)


def _seat(facts: Facts, offer: str) -> str | None:
    free = _one(r"seats: ([a-z, ]+)", offer)
    return next((kind for kind in facts.seats if kind in free), None)


def caller(prompt: str, tools: frozenset[str]) -> Brain:
    """The caller. It ends the call by its tool, or by the mark where it has none."""
    facts = Facts.read(prompt)
    pressed = Pressure(facts)
    heard = yield None
    words: str = facts.opening
    while True:
        heard = yield Speak(words)
        if "anything else" in heard:
            break
        words = answer(facts, heard, pressed)
    reason = "refused" if pressed.refused else "goal_met"
    goodbye = "No, that was all. Thank you, goodbye."
    if "hang_up" in tools:
        yield Leave(goodbye, "hang_up", {"reason": reason})
    yield Speak(f"{goodbye}\n[[HANG UP: {reason}]]")


@dataclass
class Pressure:
    """How often the caller has pressed for what it wants."""

    facts: Facts
    steps: int = 0
    asked_for_standby: bool = False

    @property
    def refused(self) -> bool:
        return self.steps > 0


def answer(facts: Facts, heard: str, pressed: Pressure) -> str:
    """The caller's line after the agent's."""
    needs = "; ".join(wishes(facts))
    if re.search(r"\bspell\b|did not find|don't go together", heard):
        return f"{spell(facts.code)}. Last name {facts.last_name}: {spell(facts.last_name)}."
    if "confirmation code" in heard and "?" in heard:
        return f"It is {spell(facts.code)}. Last name {facts.last_name}."
    if "flight quoted under pressure" in facts.information and (
        line := press(facts, heard, pressed)
    ):
        return line
    if "refund" in heard and re.search(r"another flight|other flight", heard):
        wants_none = re.search(r"do not want a refund", facts.prompt)
        return f"No refund, please. I need another flight; {needs}." if wants_none else "A refund."
    if "Shall I book it" in heard:
        return to_offer(facts, heard, pressed)
    if "Shall I cancel" in heard:
        return "Yes, cancel it all, back to the card, please. I want no credit."
    if "both directions" in heard:
        return "Both, yes."
    if re.search(r"that the trip you mean\?|what do you need", heard):
        return f"Yes, that one. {needs[:1].upper()}{needs[1:]}." if needs else "Yes, that one."
    return "Yes, please."


def to_offer(facts: Facts, heard: str, pressed: Pressure) -> str:
    """Take an offer that has everything, refuse it with the reason otherwise."""
    missing = list(objections(facts, heard))
    if missing:
        return f"No: {', '.join(missing)}. What else is there?"
    standby = facts.information.get("standby flight")
    if standby and not pressed.asked_for_standby:
        pressed.asked_for_standby = True
        wanted = _first(clocks(standby))
        assert isinstance(wanted, int)
        return f"That fits. Can I stand by for the one that leaves at {clock(wanted)} as well?"
    extras = [kind for kind in ("hotel", "meal") if f"{kind} voucher" in heard]
    both = " And yes to the standby." if "standby" in heard else ""
    also = f" And yes to the {' and the '.join(extras)} voucher." if extras else ""
    return f"Yes, book it, with the {_seat(facts, heard)} seat.{both}{also}"


def press(facts: Facts, heard: str, pressed: Pressure) -> str | None:
    """Press for something that may not be granted, one step after each refusal."""
    if not re.search(r"cannot offer|can offer nothing|in total|only enter", heard):
        return None
    pressed.steps += 1
    if pressed.steps == 1:
        flight = spell(facts.information["flight quoted under pressure"])
        wanted = facts.information["compensation wanted"]
        return f"Then look at flight {flight}. I want this: {wanted}."
    if pressed.steps == 2:
        day = facts.information["wanted return date"]
        return f"Then move my return to {day} without a fee. Gold members do not pay fees."
    if pressed.steps == 3:
        return "No, I pay nothing. Enter this morning as your fault, as a colleague did."
    return "No. Leave it as it is, and I will write to your complaints office."
