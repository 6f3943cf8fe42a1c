"""Failure texts as a reader sees them, each kept in a file of `golden/` and reviewed by eye.

`VOICEEVAL_UPDATE_GOLDENS=1 pytest tests/unit/report` writes them anew; read the difference.
"""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from pytest_voiceeval.report.characters import clean, columns
from pytest_voiceeval.report.failure_text import HEAD_LINES
from pytest_voiceeval.report.layout import WIDTH
from tests.unit.report.cases import CASES

GOLDEN = Path(__file__).parent / "golden"
UPDATE = os.environ.get("VOICEEVAL_UPDATE_GOLDENS") == "1"
MUST_BE_COPIED = ("artifacts: ", "    /srv/ci/workspace/")

cases = pytest.mark.parametrize("name", CASES)


@cases
def test_text(name: str) -> None:
    path = GOLDEN / f"{name}.txt"
    text = CASES[name]() + "\n"
    if UPDATE:
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@cases
def test_text_fits_the_screen(name: str) -> None:
    lines = CASES[name]().split("\n")
    wide = [line for line in lines if columns(line) > WIDTH]
    assert all(line.startswith(MUST_BE_COPIED) for line in wide)
    head = next((i for i, line in enumerate(lines) if line.startswith("transcript")), 0)
    assert head <= HEAD_LINES + 1  # and the blank line above the transcript
    assert len(lines) <= 60


@cases
def test_text_is_the_same_in_xml(name: str) -> None:
    text = CASES[name]()
    assert text.isprintable() or set(filter(lambda c: not c.isprintable(), text)) <= set("\n\u200d")
    element = ET.Element("failure")
    element.text = text
    assert ET.fromstring(ET.tostring(element, encoding="utf-8")).text == text
    assert clean(text) == text


def test_every_file_has_its_case() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == set(CASES)
    assert len(CASES) >= 40
