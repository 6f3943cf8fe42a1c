"""What an agent that answers questions can do."""

# ruff: noqa: RUF012 - a pack declares by class attributes
from __future__ import annotations

from typing import Any

from pytest_voiceeval.tools import (
    ReadScenarioTool,
    ToolError,
    WriteScenarioTool,
    register_schema_tool_for_eval,
)

DOMAIN = "qa"


@register_schema_tool_for_eval(DOMAIN)
class GetCityWeatherTool(ReadScenarioTool):
    """Reads the weather of a city."""

    description = "Get the weather of a city as it is now."
    properties = {"city_name": {"type": "string", "description": "Name of the city."}}
    required_properties = ["city_name"]

    def _execute(self, city_name: str) -> dict[str, Any]:
        cities = self.shared_state["db"]["weather"]
        wanted = str(city_name).strip().casefold()
        name = next((n for n in cities if n.casefold() == wanted), None)
        if name is None:
            raise ToolError("not_found", f"There is no weather report for {city_name}")
        return {"status": "success", "city": name, **cities[name]}


@register_schema_tool_for_eval(DOMAIN)
class SaveQuestionAnswerTool(WriteScenarioTool):
    """Hands in what was asked and what was answered."""

    description = "Save the caller's question and your answer."
    properties = {
        "question": {"type": "string", "description": "The question, as the caller asked it."},
        "answer": {"type": "string", "description": "Your answer, in a few words."},
    }
    required_properties = ["question", "answer"]

    def _execute(self, question: str, answer: str) -> dict[str, Any]:
        self._hand_in({"question": question, "answer": answer})
        return {"success": True, "message": "Question and answer are saved."}
