"""What the tests of the small domains share: scenarios by name, and where calls lead in them."""

from __future__ import annotations

import functools
from collections.abc import Iterable

from pytest_voiceeval.scenario.dialogue import ToolCall
from pytest_voiceeval.scenario.model import Scenario
from pytest_voiceeval.scenario.registry import get_eval_scenario
from pytest_voiceeval.scenario.replay import Replay, replay
from pytest_voiceeval.scenario.verdicts import REPLAYED, ReplayVerdict

NAMES = {
    "restaurant": (
        "pizza_pepperoni",
        "pizza_veggie_combo",
        "pizza_party_order",
        "burger_classic",
        "burger_bacon_combo",
        "burger_spicy_feast",
        "burger_veggie_milkshake",
        "deli_turkey_club",
        "deli_italian_sub_lunch",
        "deli_grilled_cheese_soup",
        "waitlist_join_then_drop",
    ),
    "customer_service": (
        "billing_dispute",
        "order_delay",
        "defective_replacement",
        "defective_refund",
        "plan_upgrade",
        "account_access",
        "warranty_claim",
        "subscription_cancel",
        "wrong_item",
        "service_outage",
    ),
    "qa": (
        "capital_france",
        "math_addition",
        "speed_of_light",
        "moon_landing",
        "romeo_and_juliet",
        "weather_san_francisco",
        "weather_new_york",
        "math_word_problem",
        "largest_ocean",
        "telephone_inventor",
    ),
}
ALL = [f"{domain}__{name}" for domain, names in NAMES.items() for name in names]
DECIDED_BY_ACTIONS = [name for name in ALL if not name.startswith("qa__")]


@functools.cache
def scenario_of(name: str) -> Scenario:
    """Make a scenario, once; nobody may change it."""
    scenario = get_eval_scenario(name)
    assert scenario is not None
    return scenario


def gold_calls(name: str) -> list[ToolCall]:
    """The calls of a scenario's reference dialogue."""
    return [call for turn in scenario_of(name).reference_dialogue or () for call in turn.calls]


def passes(name: str, calls: Iterable[ToolCall]) -> bool | None:
    """What the signals that decide say of an agent that makes these calls."""
    return ReplayVerdict(scenario_of(name)).of(replay(scenario_of(name), list(calls)))


def matches(name: str, outcome: Replay) -> bool | None:
    """Whether an end agrees with the reference, whether that decides or not."""
    return ReplayVerdict(scenario_of(name), REPLAYED).of(outcome)
