"""How the parts of a prompt are written out."""

from __future__ import annotations

import json

import pytest

from pytest_voiceeval.scenario.parts import Actions, NoiseConfig, Persona, Resources, Task
from pytest_voiceeval.scenario.prompts import (
    END_CONVERSATION_GUIDELINE,
    GENERAL_PROMPT,
    VOICE_ALPHANUMERIC_RULE,
    spell_out,
    with_spelling,
)

STAY = "Stay in this role for the whole conversation and never step out of it."


def test_persona_with_everything():
    persona = Persona("guest", "Ada", "You are late.", "You are calm.", "English", "Scottish")
    assert persona.to_prompt("BE BRIEF.") == (
        "You are a guest. \n"
        "Your name is Ada. \n"
        "You are late. \n"
        "You are calm. \n"
        "You speak English with a Scottish accent.\n"
        f"{STAY} BE BRIEF."
    )


@pytest.mark.parametrize(
    ("language", "accent", "line"),
    [
        ("English", None, "You speak English."),
        (None, "Scottish", "You speak with a Scottish accent."),
    ],
)
def test_persona_speech(language, accent, line):
    prompt = Persona("guest", language=language, accent=accent).to_prompt("G")
    assert prompt == f"You are a guest. \n{line}\n{STAY} G"


def test_the_least_persona_ends_in_the_general_prompt_on_one_line():
    assert Persona("guest").to_prompt() == f"You are a guest. \n{STAY} {GENERAL_PROMPT}"
    assert "\n" not in GENERAL_PROMPT


@pytest.mark.parametrize(
    ("task", "text"),
    [
        (Task("win"), "# Task\n\nYour goal is to: win\n\n"),
        (Task("win", "You play chess."), "# Task\n\nYou play chess.\n\nYour goal is to: win\n\n"),
    ],
)
def test_task(task, text):
    assert task.to_prompt() == text


def test_actions():
    header, steps, rules = Actions(["Greet.", "Leave."], ["Be kind."]).to_prompt().split("\n\n")
    assert header == "# Actions"
    assert steps.splitlines()[0] == "## Instructions"
    assert steps.splitlines()[1].endswith(":")
    assert steps.splitlines()[2:] == ["Step 1: Greet.", "Step 2: Leave."]
    assert rules.splitlines()[0] == "## Guidelines"
    assert rules.splitlines()[1].endswith(":")
    assert rules.splitlines()[2:] == ["- Be kind."]


def test_empty_parts_leave_their_heading():
    assert Actions().to_prompt() == "# Actions"
    assert Resources().to_prompt() == "# Resources"


def test_resources():
    resources = Resources(
        documents={"menu": "menu.txt"},
        information=["Open till nine."],
        info_sections={"Hours": "9 to 5", "Empty": ""},
    )
    header, documents, information, section = resources.to_prompt().split("\n\n")
    assert header == "# Resources"
    assert documents.startswith("## Available Documents\n")
    assert documents.endswith("\n- menu: menu.txt")
    assert information.startswith("## Additional Information\n")
    assert information.endswith("\n- Open till nine.")
    assert section == "### Hours\n9 to 5"


def test_sections_alone_still_have_the_heading_above():
    prompt = Resources(info_sections={"Hours": "9 to 5"}).to_prompt()
    assert prompt == "# Resources\n\n## Additional Information\n\n### Hours\n9 to 5"
    assert Resources(info_sections={"Hours": ""}).to_prompt() == "# Resources"


def test_tools_json():
    assert Resources().to_tools_json_string() == "{}"
    tools = {"GetMenuTool": {"menu": "[1]"}}
    assert json.loads(Resources(tools=tools).to_tools_json_string()) == tools


def test_noise_defaults():
    noise = NoiseConfig()
    assert (noise.noise_files, noise.gain_db, noise.max_noise_duration) == (None, 0.0, 600.0)
    assert (noise.random_offset, noise.random_white_noise, noise.white_noise_db) == (
        True, False, -90.0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("LAX", "L, A, X"),
        ("k3_9", "K, three, underscore, nine"),
        ("a@b.c", "A, at, B, dot, C"),
        ("#1*2-3", "hash, one, star, two, dash, three"),
        ("+1 2", "plus, one, two"),
        ("", ""),
    ],
)
def test_spelling(text, spoken):
    assert spell_out(text) == spoken


def test_the_rule_spells_its_own_examples_as_the_function_does():
    examples = [line for line in VOICE_ALPHANUMERIC_RULE.splitlines() if "(spelled out as" in line]
    written = [line.split(" ", 1)[0] for line in examples if not line.startswith("Say")]
    assert len(written) == 9
    for code in written:
        assert with_spelling(code) in VOICE_ALPHANUMERIC_RULE


def test_the_ending_guideline_names_the_tool_the_model_sees():
    assert "end_conversation" in END_CONVERSATION_GUIDELINE
