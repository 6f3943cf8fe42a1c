"""What the scripts of a call say: the reference dialogue, a script file, or a planned fault."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_voiceeval.plugin.options import Settings
    from pytest_voiceeval.scenario.dialogue import Dialogue
    from pytest_voiceeval.scenario.model import Scenario


FAULT_SKIPPED = "--agent-fault"
"""How the reason of a skip begins, if the fault of the run makes no difference in a scenario."""


@dataclass(frozen=True, slots=True)
class Script:
    """The two sides' lines of one call.

    Attributes:
        caller: what the built-in caller follows, None if nothing was written for it.
        agent: what the scripted model plays for the agent, None likewise.
        hang_at_turn: agent turn at which the scripted model stops answering.
        bot_fault: fault of the stock bot's process.
        note: what a planned fault changes, in words.
    """

    caller: Dialogue | None
    agent: Dialogue | None
    hang_at_turn: int | None = None
    bot_fault: str | None = None
    note: str = ""


def script_for(scenario: Scenario, settings: Settings) -> Script:
    """Choose the lines of a call; a fault that does not apply skips the item with its reason."""
    dialogue = _dialogue(scenario, settings)
    script = Script(caller=dialogue, agent=dialogue)
    if settings.agent_fault is None:
        return script
    from pytest_voiceeval.bots.faults import NotApplicable, plan_fault

    plan = plan_fault(scenario, settings.agent_fault, dialogue)
    if isinstance(plan, NotApplicable):
        pytest.skip(f"{FAULT_SKIPPED} {settings.agent_fault}: {plan.reason}")
    return replace(
        script,
        agent=plan.dialogue,
        hang_at_turn=plan.hang_at_turn,
        bot_fault=plan.bot_fault,
        note=plan.note,
    )


def fault_not_applicable(reports: Iterable[pytest.TestReport]) -> list[str]:
    """Say how many of these skipped items the fault of the run could not spoil, if any."""
    reasons = [str(report.longrepr) for report in reports]
    count = sum(f"Skipped: {FAULT_SKIPPED} " in reason for reason in reasons)
    items = "1 scenario" if count == 1 else f"{count} scenarios"
    return [f"fault:    not applicable to {items}, skipped (-rs says why)"] if count else []


def _dialogue(scenario: Scenario, settings: Settings) -> Dialogue | None:
    if settings.script is None:
        return scenario.reference_dialogue
    from pytest_voiceeval.bots.script_file import script_from_file

    return script_from_file(settings.script, scenario)
