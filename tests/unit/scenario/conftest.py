"""What the tests of the scenario room share."""

from __future__ import annotations

import textwrap

import pytest

from pytest_voiceeval import packs
from pytest_voiceeval.scenario import registry
from pytest_voiceeval.scenario.entries import Entries
from pytest_voiceeval.scenario.model import Actions, Persona, Resources, Scenario, Task
from pytest_voiceeval.scoring.signals import SuccessSignal


class Shop(Scenario):
    """A small complete scenario; it has no name, so it is a base."""

    success_signals = (SuccessSignal.DB_STATE_MATCH, SuccessSignal.CLEAN_EXIT)
    user_persona = Persona(role="customer", name="Ada")
    agent_persona = Persona(role="shop assistant")
    user_task = Task(goal="buy a lamp")
    agent_task = Task(goal="sell lamps")
    user_actions = Actions(instructions=["Ask for a lamp."])
    agent_actions = Actions(guidelines=["Be kind."])
    user_resources = Resources()
    agent_resources = Resources(tools={"EndConversationTool": {}})


@pytest.fixture
def shop() -> type[Shop]:
    return Shop


@pytest.fixture
def fresh_registry(monkeypatch):
    """An empty table of scenarios; what the shipped packs registered is kept for other tests."""
    registry.load_all_packs()
    monkeypatch.setattr(registry, "_entries", Entries())
    monkeypatch.setattr(registry, "list_packs", list)  # and no packs to fill it
    return registry


@pytest.fixture
def user_pack(tmp_path):
    """Write packs into a user's folder; everything is forgotten at the end."""
    root = tmp_path / "scenarios"
    root.mkdir()
    packs.add_user_folder(root)
    written = []

    def write(domain: str, **files: str):
        folder = root / domain
        folder.mkdir()
        (folder / "pack.toml").write_text('description = "test"\n')
        for name, code in files.items():
            (folder / f"{name}.py").write_text(textwrap.dedent(code), encoding="utf-8")
        written.append(domain)
        return folder

    yield write
    packs.remove_user_folder(root)
    for domain in written:
        packs.unload_pack(domain)
