"""The parts a side's prompt is made of, and how each is written out."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.scenario.prompts import GENERAL_PROMPT

if TYPE_CHECKING:
    from collections.abc import Iterable

_STAY_IN_ROLE = "Stay in this role for the whole conversation and never step out of it."
_INSTRUCTIONS = "Work through these steps in order, one of them in each turn:"
_GUIDELINES = "Comply with all of these at every moment:"
_DOCUMENTS = "These documents are available to you:"
_INFORMATION = "This is what you know:"


@dataclass
class Persona:
    """Who one side of the call is.

    `behavior_config` and `voice_config` are carried along for voices; prompts do not use them.
    """

    role: str
    name: str | None = None
    background: str | None = None
    personality: str | None = None
    language: str | None = None
    accent: str | None = None
    behavior_config: dict[str, Any] | None = None
    voice_config: dict[str, Any] | None = None

    def to_prompt(self, general_prompt: str = GENERAL_PROMPT) -> str:
        """Write the persona out, closing with the general guidance."""
        lines = [f"You are a {self.role}. "]
        if self.name:
            lines.append(f"Your name is {self.name}. ")
        lines += [f"{text} " for text in (self.background, self.personality) if text]
        lines += [self._speech()] if self._speech() else []
        return "\n".join([*lines, f"{_STAY_IN_ROLE} {general_prompt}"])

    def _speech(self) -> str:
        accent = f"with a {self.accent} accent" if self.accent else ""
        spoken = " ".join(filter(None, (self.language, accent)))
        return f"You speak {spoken}." if spoken else ""


@dataclass
class Task:
    """What one side wants to achieve."""

    goal: str
    background: str = ""

    def to_prompt(self) -> str:
        """Write the task out."""
        background = f"{self.background}\n\n" if self.background else ""
        goal = f"Your goal is to: {self.goal}\n\n" if self.goal else ""
        return f"# Task\n\n{background}{goal}"


@dataclass
class Actions:
    """How one side goes about it: steps in order, and rules that always hold."""

    instructions: list[str] = field(default_factory=list)
    guidelines: list[str] = field(default_factory=list)

    def to_prompt(self) -> str:
        """Write the steps and rules out."""
        blocks = ["# Actions"]
        if self.instructions:
            steps = (f"Step {i}: {step}" for i, step in enumerate(self.instructions, 1))
            blocks.append(_lines("## Instructions", _INSTRUCTIONS, *steps))
        if self.guidelines:
            blocks.append(_lines("## Guidelines", _GUIDELINES, *_bullets(self.guidelines)))
        return "\n\n".join(blocks)


@dataclass
class Resources:
    """What one side has at hand.

    Attributes:
        tools: constructor arguments of each tool by the tool's name.
        documents: path of each document by its name.
        information: facts, one sentence each.
        info_sections: longer texts by their heading.
    """

    tools: dict[str, dict[str, Any]] = field(default_factory=dict)
    documents: dict[str, str] = field(default_factory=dict)
    information: list[str] = field(default_factory=list)
    info_sections: dict[str, str] | None = None

    def to_prompt(self) -> str:
        """Write documents and information out; the tools reach the model by another way."""
        blocks = ["# Resources"]
        if self.documents:
            named = (f"{name}: {path}" for name, path in self.documents.items())
            blocks.append(_lines("## Available Documents", _DOCUMENTS, *_bullets(named)))
        if information := self._information():
            blocks.append(_lines("## Additional Information", *information))
        return "\n\n".join(blocks)

    def to_tools_json_string(self) -> str:
        """Return the tools as JSON text, as `update_system_prompt` sends them."""
        return json.dumps(self.tools) if self.tools else "{}"

    def _information(self) -> list[str]:
        lines = [_INFORMATION, *_bullets(self.information)] if self.information else []
        sections = (self.info_sections or {}).items()
        return lines + [f"\n### {heading}\n{body}" for heading, body in sections if body]


def _bullets(items: Iterable[str]) -> list[str]:
    return [f"- {item}" for item in items]


def _lines(*lines: str) -> str:
    return "\n".join(lines)


def join_parts(*parts: str) -> str:
    """Put the parts of a prompt below each other, one blank line between them."""
    return "\n\n".join(part.strip("\n") for part in parts if part.strip())


@dataclass
class NoiseConfig:
    """Noise added to what the agent hears.

    Attributes:
        noise_files: sound files, played one after another and repeated.
        gain_db: level change of the files, in dB.
        max_noise_duration: seconds of noise kept in memory.
        random_offset: start at a random place of it.
        random_white_noise: add white noise.
        white_noise_db: level of the white noise, in dB of full scale.
    """

    noise_files: list[str] | None = None
    gain_db: float = 0.0
    max_noise_duration: float = 600.0
    random_offset: bool = True
    random_white_noise: bool = False
    white_noise_db: float = -90.0
