"""Who asks, and what the right answer is.

Two answers can say the same in different words, so a language model decides: the scenarios are
skipped without `--judge-url`. `questions.yaml` holds what differs from call to call.
"""

# ruff: noqa: RUF012 - a pack declares by class attributes
from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from pytest_voiceeval import (
    END_CONVERSATION_GUIDELINE,
    Actions,
    Persona,
    RecordScenario,
    Resources,
    SuccessSignal,
    Task,
    load_db_artifact,
    register_records,
)

FOLDER = Path(__file__).parent
DATABASE = load_db_artifact(FOLDER / "weather.json")


class QuestionScenario(RecordScenario):
    """A call with one question; the judge compares the answer that was saved with the right one."""

    domain = "qa"
    success_signals = (SuccessSignal.JUDGE_PASSED, SuccessSignal.CLEAN_EXIT)
    max_duration = 60
    ignore_capitalization = True
    ignore_punctuation = True
    clean_text = True
    KEYS = {"question": str, "answer": str}

    agent_persona = Persona(role="person at an information desk who answers questions")
    agent_task = Task(goal="answer the caller's question correctly and briefly.")
    agent_actions = Actions(
        guidelines=[
            "Use your tools for whatever changes from day to day, such as the weather.",
            "Save the question and your answer before you end the call.",
            END_CONVERSATION_GUIDELINE,
        ]
    )
    agent_resources = Resources(
        tools={"GetCityWeatherTool": {}, "SaveQuestionAnswerTool": {}, "EndConversationTool": {}}
    )
    user_persona = Persona(role="caller who wants to know one thing")
    user_actions = Actions(guidelines=["Ask nothing else, and do not answer it yourself."])
    user_resources = Resources()

    @property
    def user_task(self) -> Task:
        """The question."""
        return Task(goal=f"ask this question: {self.record['question']}")

    @property
    def reference_answer(self) -> dict[str, str]:
        """The question with its right answer."""
        return {"question": self.record["question"], "answer": self.record["answer"]}

    def setup_shared_state(self, state: dict[str, Any], side: str) -> None:
        """Give the agent the weather reports."""
        if side == "agent":
            state["db"] = copy.deepcopy(DATABASE)


register_records(QuestionScenario, FOLDER / "questions.yaml")
