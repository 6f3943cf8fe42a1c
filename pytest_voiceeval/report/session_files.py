"""The files of a whole folder: `all_metrics.json`, `all_latencies.csv`, `all_summary.txt`."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.report.aggregate import latest, was_reported
from pytest_voiceeval.report.files import write_json, write_text
from pytest_voiceeval.report.results_file import read
from pytest_voiceeval.report.summary_text import Call, summary_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

CSV_HEADER = "Scenario,User_Transcript,Agent_Transcript,Latency_ms\n"


def write_session_files(folder: Path) -> None:
    """Write what all calls in a folder come to.

    A call that was repeated by a later run counts with that run only, and one that pytest never
    reported does not count.
    """
    reported = [line for line in read(folder) if was_reported(line)]
    calls = [Call(line, _metrics(folder, line)) for line in latest(reported)]
    measured = [call.metrics for call in calls if call.metrics is not None]
    write_json(folder / "all_metrics.json", measured)
    write_text(folder / "all_latencies.csv", latencies_csv(measured))
    write_text(folder / "all_summary.txt", summary_text(calls))


def latencies_csv(measured: Iterable[Mapping[str, Any]]) -> str:
    """One row a measured answer; texts quoted, numbers not."""
    rows = io.StringIO()
    writer = csv.writer(rows, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    for metrics in measured:
        for entry in metrics.get("latencies") or ():
            texts = (entry.get("user_transcript", ""), entry.get("agent_transcript", ""))
            writer.writerow([metrics["scenario_name"], *texts, round(entry["latency_ms"], 1)])
    return CSV_HEADER + rows.getvalue()


def _metrics(folder: Path, line: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The metrics of one call, None if it left none; the folder may have been moved since."""
    artifacts = line.get("artifacts")
    if not isinstance(artifacts, str):
        return None
    path = folder / artifacts / "metrics.json"
    try:
        metrics = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return {**metrics, "scenario_directory": str(path.parent)} if _usable(metrics) else None


def _usable(metrics: Any) -> bool:
    return isinstance(metrics, dict) and "scenario_name" in metrics


def calls_of_run(lines: Sequence[Mapping[str, Any]], run: str) -> list[Mapping[str, Any]]:
    """The lines one run added to a folder."""
    return [line for line in lines if line.get("run") == run]
