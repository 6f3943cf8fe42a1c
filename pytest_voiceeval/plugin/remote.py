"""xdist workers on other machines: they keep the files of their calls, and send their lines."""

from __future__ import annotations

import json
import socket
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.report import results_file
from pytest_voiceeval.report.files import json_text

if TYPE_CHECKING:
    import pytest

    from pytest_voiceeval.plugin.output import Run

LINES_KEY = "voiceeval_lines"


def shared_folder(node: Any, folder: Path) -> str:
    """The run's folder as a worker is told it; empty for one that may not see the same files.

    Args:
        node: xdist's handle of the worker.
        folder: The run's folder.
    """
    return str(folder) if node.gateway.spec.popen else ""


def own_folder(run: str, worker: str) -> Path:
    """Where a worker of the run called `run` keeps its files on another machine."""
    return Path(tempfile.gettempdir()) / f"voiceeval-{run}-{worker}"


def send_lines(config: pytest.Config, run: Run) -> None:
    """Hand the worker's lines to xdist; they say on which machine the calls' files are."""
    lines = results_file.read(run.folder)
    for line in lines:
        line["artifacts"] = f"{socket.gethostname()}:{run.folder / str(line['artifacts'])}"
    output: dict[str, Any] = config.workeroutput  # type: ignore[attr-defined]
    output[LINES_KEY] = [json_text(line) for line in lines]


def take_lines(node: Any, run: Run) -> None:
    """Write the lines of a worker that is through to the run's folder, as its own would be."""
    sent = getattr(node, "workeroutput", {}).get(LINES_KEY, ())
    if sent:
        run.folder.mkdir(parents=True, exist_ok=True)
    for text in sent:
        results_file.append(run.folder, node.gateway.id, json.loads(text))
