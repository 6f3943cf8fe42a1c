"""`scenario_config/`: what a scenario was, next to what happened in it."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.scoring.db_hash import get_dict_hash

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_voiceeval.scenario.model import Scenario

_INDENT = 4


def save_scenario(scenario: Scenario, folder: Path) -> None:
    """Write the files of one scenario, in the reference harness's formats.

    The two tools files hold a JSON string that contains JSON, as readers of such folders expect.
    `reference_answer.json` is written only if the scenario has one; a plain text becomes
    `{"message": text}`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "user_prompt.txt", scenario.get_user_prompt())
    _write(folder / "agent_prompt.txt", scenario.get_agent_prompt())
    _write_json(folder / "user_tools.json", scenario.get_user_tools())
    _write_json(folder / "agent_tools.json", scenario.get_agent_tools())
    if answer := scenario.reference_answer:
        content = {"message": answer} if isinstance(answer, str) else answer
        _write_json(folder / scenario.reference_file, content)
    _write_json(folder / "metadata.json", metadata(scenario))


def metadata(scenario: Scenario) -> dict[str, Any]:
    """Return what `metadata.json` says of a scenario."""
    always = ("name", "domain", "description", "max_duration", "noise_config")
    flags = ("ignore_capitalization", "ignore_punctuation", "clean_text", "disallow_extra_items")
    result = {key: _plain(getattr(scenario, key)) for key in (*always, *flags)}
    result["success_signals"] = [str(signal) for signal in scenario.success_signals or ()]
    for key in ("db_state_assertions", "nl_assertions", "initialization_actions"):
        if value := getattr(scenario, key):
            result[key] = value
    for side in ("scenario", "user"):
        if (database := getattr(scenario, f"expected_{side}_db")) is not None:
            key = "expected_db_hash" if side == "scenario" else "expected_user_db_hash"
            result[key] = get_dict_hash(database)
    return result


def _plain(value: Any) -> Any:
    is_record = dataclasses.is_dataclass(value) and not isinstance(value, type)
    return dataclasses.asdict(value) if is_record else value


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8", newline="\n")


def _write_json(file: Path, content: Any) -> None:
    _write(file, json.dumps(content, indent=_INDENT, ensure_ascii=False))
