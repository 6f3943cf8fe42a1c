"""Calls on different data are counted apart, and the summaries say so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_voiceeval.report.aggregate import Rate, totals
from pytest_voiceeval.report.data_used import Labels, data_figures
from pytest_voiceeval.report.metrics import metrics_of
from pytest_voiceeval.report.properties import figures
from pytest_voiceeval.report.summary_text import Call, summary_text
from pytest_voiceeval.report.terminal import summary
from pytest_voiceeval.scenario.registry import DomainInfo
from tests.unit.report_files.samples import line, scored, talk

OURS = {"edition": "voiceeval", "fingerprint": "aaa"}
THEIRS = {"edition": "upstream", "fingerprint": "bbb"}


def texts(*lines: dict[str, Any]) -> list[str]:
    return summary_text([Call(one, None) for one in lines]).splitlines()


def test_the_figures_of_a_call_name_its_data(tmp_path: Path) -> None:
    info = DomainInfo("upstream", "bbb", str(tmp_path))
    result = scored(talk(data=info))
    assert data_figures(info) == THEIRS
    assert THEIRS.items() <= metrics_of(result, "x").items()
    assert dict(figures(result))["voiceeval.edition"] == "upstream"
    unknown = metrics_of(scored(), "x")
    assert (unknown["edition"], unknown["fingerprint"]) == (None, None)


def test_one_edition_needs_no_label() -> None:
    lines = [line(**OURS), line(**OURS), line(domain="qa", edition=None, fingerprint=None)]
    assert list(totals(lines).domains) == ["shop", "qa"]
    assert list(Labels(lines).warnings()) == []
    assert "Data: shop voiceeval aaa" in texts(*lines)


def test_two_editions_are_counted_apart() -> None:
    lines = [line(**OURS), line("failed", **THEIRS), line(**THEIRS), line(domain="qa")]
    found = totals(lines)
    assert dict(found.domains) == {
        "shop (voiceeval aaa)": Rate(1, 1),
        "shop (upstream bbb)": Rate(1, 2),
        "qa": Rate(1, 1),
    }
    said = "shop was called on different data, do not compare: voiceeval aaa, upstream bbb"
    assert list(Labels(lines).warnings()) == [said]
    assert any("shop (voiceeval aaa) 1 of 1 (100 %)" in text for text in summary(lines, "out"))
    text = texts(*lines)
    assert f"WARNING: {said}" in text
    assert any(t.startswith("  shop (upstream bbb): success 50.00% (1/2") for t in text)


def test_the_same_edition_with_other_content_is_other_data() -> None:
    lines = [line(**OURS), line(**{**OURS, "fingerprint": "ccc"}), line()]
    assert list(totals(lines).domains) == [
        "shop (voiceeval aaa)",
        "shop (voiceeval ccc)",
        "shop (unknown data)",
    ]


def test_a_call_to_run_again_runs_on_its_edition() -> None:
    text = texts(line("error", **THEIRS), line("error", nodeid="shop::b", **THEIRS))
    assert "  pytest 'shop::b' --edition upstream" in text
    assert "  pytest 'shop::b'" in texts(line("error", nodeid="shop::b", **OURS))
