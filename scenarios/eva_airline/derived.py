"""Callers made from records: persona, task and instructions follow from what the record says."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pytest_voiceeval import (
    VOICE_ALPHANUMERIC_RULE,
    Actions,
    DataError,
    Persona,
    Resources,
    SuccessSignal,
    Task,
    register_eval_scenario,
    register_scenario_factory,
    with_spelling,
)

from .base import DOMAIN, EvaAirlineBaseScenario
from .data import current_dataset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from .dataset import RecordLine

CONFIRMATION = (
    "confirmation_number",
    "confirmation_code",
    "Booking confirmation number",
    "Booking confirmation code",
    "Confirmation number",
    "Your confirmation number",
)
LAST_NAME = ("last_name", "passenger_last_name", "Passenger last name", "Your last name")
FIRST_NAME = (
    "first_name",
    "first_name_if_asked",
    "first_name_if_requested",
    "passenger_first_name",
    "passenger_first_name_if_asked",
    "Passenger first name",
)
FLIGHT = (
    "original_flight_number",
    "flight_number",
    "flight_number_if_asked",
    "Original flight number",
)
"""The spellings under which a record holds each fact, the first one present counts."""

STEPS = (
    "When the agent asks for your confirmation number, give it.",
    "When the agent asks for your last name, give it.",
    "Tell the details of your trip as the agent needs them.",
    "Choose an option that meets all your must-haves; if there is none, follow your failure path.",
    "When everything is settled, thank the agent and end the call.",
)

_DESCRIPTION = 200


class RecordScenario(EvaAirlineBaseScenario):
    """A scenario whose caller is the one its record describes."""

    manner: str | None = None
    """A sentence about the caller that holds in every edition, put after the record's own."""

    def __init__(self, *, eva_id: str | None = None, **kwargs: Any) -> None:
        if eva_id is not None:
            self.eva_id = eva_id
        super().__init__(**kwargs)

    @cached_property
    def success_signals(self) -> tuple[SuccessSignal, ...]:  # type: ignore[override]
        """Those of the domain; recorded actions decide too where the record asks for some."""
        own = EvaAirlineBaseScenario.success_signals
        return own if self.reference_answer is None else (*own, SuccessSignal.ACTION_MATCH)

    @cached_property
    def description(self) -> str:
        """The beginning of the caller's goal, cut after a sentence."""
        return shorten(self._text("high_level_user_goal"), _DESCRIPTION)

    @property
    def user_persona(self) -> Persona:
        """Who calls, and how."""
        config = self._mapping("user_config")
        manners = (config.get("user_persona"), self.manner)
        return Persona(
            role="airline passenger",
            name=config.get("name"),
            background=self._text("high_level_user_goal"),
            personality=" ".join(filter(None, manners)),
        )

    @property
    def user_task(self) -> Task:
        """What the caller wants."""
        return Task(goal=self._text("high_level_user_goal"))

    @property
    def user_actions(self) -> Actions:
        """How the caller goes about it, and what they insist on."""
        opening = f"Greet the agent and say: '{self._text('starting_utterance')}'"
        return Actions([opening, *STEPS], [VOICE_ALPHANUMERIC_RULE, *self._guidelines()])

    @property
    def user_resources(self) -> Resources:
        """Facts of the record that a caller may be asked for."""
        return Resources(information=list(facts(self._information)))

    def _guidelines(self) -> Iterator[str]:
        yield from identity(self._information)
        yield from booking(self._information)
        tree = self._mapping("decision_tree", self._goal)
        yield from (f"Must-have: {text}" for text in _texts(tree, "must_have_criteria"))
        yield from (f"Nice to have: {text}" for text in _texts(tree, "nice_to_have_criteria"))
        yield from _texts(tree, "negotiation_behavior")
        yield from (f"Edge case: {text}" for text in _texts(tree, "edge_cases"))
        yield from (f"You are done when: {text}" for text in _texts(tree, "resolution_condition"))
        yield from (f"Failure path: {text}" for text in _texts(tree, "failure_condition"))
        yield from (f"Escalation: {text}" for text in _texts(tree, "escalation_behavior"))

    @property
    def _goal(self) -> Mapping[str, Any]:
        return self._mapping("user_goal")

    @property
    def _information(self) -> Mapping[str, Any]:
        return self._mapping("information_required", self._goal)

    def _mapping(self, key: str, parent: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        value = (self.record if parent is None else parent).get(key)
        if not isinstance(value, dict):
            raise self._bad_record(f"{key!r} must be an object, got {value!r:.40}")
        return value

    def _text(self, key: str) -> str:
        value = self._goal.get(key)
        if not isinstance(value, str) or not value.strip():
            raise self._bad_record(f"'user_goal.{key}' must be a text that is not empty")
        return value


def identity(information: Mapping[str, Any]) -> Iterator[str]:
    """Yield the line with which a caller identifies, if the record says how."""
    code = _first(information, CONFIRMATION)
    names = {
        "confirmation number": with_spelling(code) if code else None,
        "last name": _first(information, LAST_NAME),
        "first name": _first(information, FIRST_NAME),
    }
    known = [f"your {what} is {value}" for what, value in names.items() if value]
    if known:
        yield f"Identify yourself by what the agent asks for: {', '.join(known)}."


def booking(information: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line about each flight of the caller's booking."""
    details = information.get("original_travel_details")
    trips = [trip for trip in details if isinstance(trip, dict)] if details else []
    flight = _first(information, FLIGHT)
    for number, trip in enumerate(trips):
        what = "Your booking also holds" if number else "Your booking"
        number_said = f"flight {with_spelling(flight)}" if flight and not number else None
        yield f"{what}: {', '.join(filter(None, (*_trip(trip), number_said)))}."


def _trip(trip: Mapping[str, Any]) -> Iterator[str]:
    yield f"from {trip.get('origin')} to {trip.get('destination')}"
    for key, words in (("flight_date", "on"), ("departure_time", "departing at")):
        if trip.get(key):
            yield f"{words} {trip[key]}"
    if trip.get("status", "confirmed") != "confirmed":
        yield str(trip["status"])


def facts(information: Mapping[str, Any]) -> Iterator[str]:
    """Yield what else a record lets its caller say, such as a telephone number."""
    said = {_key(information, keys) for keys in (CONFIRMATION, LAST_NAME, FIRST_NAME, FLIGHT)}
    for key, value in information.items():
        if key in said or key == "original_travel_details" or value in (None, "", {}, []):
            continue
        if isinstance(value, dict):
            value = ", ".join(f"{_words(k)} {v}" for k, v in value.items())  # noqa: PLW2901
        yield f"{_words(key)}: {value}"


def shorten(text: str, limit: int) -> str:
    """Cut a text after the last sentence, else the last word, that ends within `limit`."""
    if len(text) <= limit:
        return text
    head = text[:limit]
    sentence = re.match(r".*[.!?](?=\s)", text[: limit + 1], re.DOTALL)
    return sentence[0] if sentence else f"{head.rsplit(' ', 1)[0]} …"


def _key(information: Mapping[str, Any], keys: Iterable[str]) -> str | None:
    return next((key for key in keys if information.get(key)), None)


def _first(information: Mapping[str, Any], keys: Iterable[str]) -> str | None:
    key = _key(information, keys)
    return None if key is None else str(information[key])


def _texts(tree: Mapping[str, Any], key: str) -> list[str]:
    value = tree.get(key) or []
    return [value] if isinstance(value, str) else [str(item) for item in value]


def _words(key: str) -> str:
    return key.replace("_", " ")


def register_records(seeds: Iterable[type[RecordScenario]]) -> None:
    """Register a scenario for every record in use: its seed class if it has one, else derived.

    Nothing fails here, because a bot imports the pack for its tools alone. A record that cannot
    be used becomes a scenario that raises the reason when it is made; without any data the seeds
    do.
    """
    named = {seed.eva_id: seed for seed in seeds}
    try:
        dataset = current_dataset()
    except (DataError, OSError):
        for seed in named.values():
            register_eval_scenario(seed)
        return
    for line in dataset.lines:
        named_class = named.get(line.id)
        if named_class is not None and line.problem is None:
            register_eval_scenario(named_class)
        else:
            name = named_class.name if named_class else f"{DOMAIN}__{line.short_name}"
            place = (dataset.path, line.number)
            register_scenario_factory(name, DOMAIN, _factory(name, line), place)


def _factory(name: str, line: RecordLine) -> Callable[..., RecordScenario]:
    def make(**kwargs: Any) -> RecordScenario:
        if line.problem:
            raise DataError(line.problem, path=current_dataset().path, line=line.number)
        return RecordScenario(eva_id=line.id, name=name, **kwargs)

    return make
