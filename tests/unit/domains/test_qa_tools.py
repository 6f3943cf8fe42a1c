"""What the tools of the information desk answer."""

from __future__ import annotations

from pytest_voiceeval.tools import get_schema_tool_for_eval

STATE = {"db": {"weather": {"New York": {"sky": "sunny"}}}}


def test_weather_is_that_of_the_city() -> None:
    tool = get_schema_tool_for_eval("GetCityWeatherTool", domain="qa", shared_state=STATE)
    assert tool.invoke(city_name="new york") == {
        "status": "success",
        "city": "New York",
        "sky": "sunny",
    }
    assert tool.invoke(city_name="Atlantis")["error_type"] == "not_found"


def test_question_and_answer_are_handed_in() -> None:
    state: dict[str, object] = {}
    tool = get_schema_tool_for_eval("SaveQuestionAnswerTool", domain="qa", shared_state=state)
    tool.invoke(question="Why?", answer="Because.")
    assert state == {"_final_responses": [{"question": "Why?", "answer": "Because."}]}
