"""Identifiers spoken as written: in every file of a call, and one line where it failed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_voiceeval.call.score import score
from pytest_voiceeval.call.spelling import SpokenAsWritten
from pytest_voiceeval.report.failure_text import render
from pytest_voiceeval.report.metrics import metrics_of
from pytest_voiceeval.report.properties import figures
from pytest_voiceeval.report.results_file import scored_line
from pytest_voiceeval.report.spelling_text import COUNT, PLACES, spelling_notes
from pytest_voiceeval.report.summary_text import Call, summary_text
from tests.unit.report_files.samples import OTHER_DB, Shop, agent, said, scored, shop, talk

PLACE = SpokenAsWritten(2, "R-4711", "Your order R-4711 is done.")
LINE = "identifiers spoken as written, not spelled: R-4711"
AS_TOLD = {"turn": 2, "identifier": "R-4711", "text": "Your order R-4711 is done."}


class SpellingShop(Shop):
    """A shop whose orders have numbers to be spelled."""

    spelled_fields = ("number",)

    def setup_shared_state(self, state: dict[str, Any], side: str) -> None:
        state["db"] = {"orders": {"1": {"number": "R-4711"}}}


def files_of(result: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    return metrics_of(result, "x"), scored_line(result), dict(figures(result))


def test_count_and_places_are_in_every_file() -> None:
    metrics, line, properties = files_of(replace(scored(talk()), misspoken=(PLACE, PLACE)))
    for file in (metrics, line):
        assert (file[COUNT], file[PLACES]) == (2, [AS_TOLD, AS_TOLD])
    assert properties["voiceeval.identifiers_spoken_as_written"] == 2


def test_none_at_all_is_a_figure_too() -> None:
    metrics, line, properties = files_of(replace(scored(talk()), misspoken=()))
    assert (metrics[COUNT], line[COUNT], line[PLACES]) == (0, 0, [])
    assert properties[f"voiceeval.{COUNT}"] == 0


def test_without_identifiers_there_is_no_figure() -> None:
    for file in files_of(scored(talk())):
        assert not [key for key in file if "written" in key]


def test_it_decides_nothing() -> None:
    expected = shop().expected_scenario_db
    scenario = SpellingShop(name="report_shop__return", expected_scenario_db=expected)
    spoken = said("agent", "Your order R-4711 is done.", 2.5, 3.0, 2)
    result = score(scenario, talk(transcript=(spoken,)))
    assert result.misspoken == (PLACE,)
    assert (result.passed, result.warnings) == (True, ())
    assert COUNT not in {str(name) for name in result.signals}


@pytest.mark.parametrize(
    ("places", "note"),
    [
        (None, []),
        ((), []),
        ((PLACE,), ["1 identifier spoken as written, not spelled: R-4711 (turn 2)"]),
        (
            (PLACE, *[replace(PLACE, turn=turn) for turn in (3, 4, 5, 6)]),
            [f"5 {LINE} (turn 2), R-4711 (turn 3), R-4711 (turn 4) and 2 more"],
        ),
    ],
)
def test_the_line_for_people(places: Any, note: list[str]) -> None:
    assert spelling_notes(places) == note


def test_a_failure_text_has_the_line() -> None:
    failed = scored(talk(agent=agent(OTHER_DB)))
    [note] = spelling_notes((PLACE,))
    assert note in render(replace(failed, misspoken=(PLACE,)), nodeid="x::y")
    assert "identifier" not in render(replace(failed, misspoken=()), nodeid="x::y")


def test_the_summary_names_it_only_where_there_is_something_to_name() -> None:
    results = [replace(scored(talk()), misspoken=places) for places in ((PLACE,), (), None)]
    texts = [summary_text([Call(scored_line(r), metrics_of(r, "x"))]) for r in results]
    assert "  identifiers_spoken_as_written: 1\n" in texts[0]
    assert [COUNT in text for text in texts] == [True, False, False]
