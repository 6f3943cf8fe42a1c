"""Small packs for tests: written into the tested project as a user would."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pytest_voiceeval.packs import unload_pack

HEAD = """
from pytest_voiceeval import (
    Actions, DialogueTurn, Persona, Resources, Scenario, SuccessSignal, Task, ToolCall,
    register_eval_scenario, register_scenario_factory,
)


class Shop(Scenario):
    domain = {domain!r}
    success_signals = (SuccessSignal.DB_STATE_MATCH, SuccessSignal.CLEAN_EXIT)
    agent_persona = user_persona = Persona(role="somebody")
    agent_task = user_task = Task(goal="to talk")
    agent_actions = user_actions = Actions()
    user_resources = Resources()
    agent_resources = Resources(tools={{"EndConversationTool": {{}}}})
    expected_scenario_db = {{"stock": {{"apple": {{"count": 3}}}}}}
    reference_dialogue = (
        DialogueTurn("agent", "Hello."),
        DialogueTurn("user", "Hello, how are you?"),
        DialogueTurn("agent", "Fine, and you?"),
        DialogueTurn("user", "Fine. Bye."),
        DialogueTurn("agent", "Goodbye.", (ToolCall("end_conversation"),)),
    )

    def setup_shared_state(self, state, side):
        if side == "agent":
            state["db"] = {{"stock": {{"apple": {{"count": 3}}}}}}
"""

SCENARIO = """

@register_eval_scenario
class S{number}(Shop):
    name = {name!r}
"""


def write_pack(root: Path, names: Iterable[str], *, domain: str = "shop", extra: str = "") -> Path:
    """Write `scenarios/<domain>/` below `root`; every scenario of it passes with the stock bot."""
    unload_pack(domain)  # an earlier test of this process may have loaded one of this name
    folder = root / "scenarios" / domain
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pack.toml").write_text('description = "A shop"\n', encoding="utf-8")
    scenarios = [
        SCENARIO.format(number=number, name=f"{domain}__{name}")
        for number, name in enumerate(names)
    ]
    source = HEAD.format(domain=domain) + "".join(scenarios) + extra
    (folder / "__init__.py").write_text(source, encoding="utf-8")
    return folder
