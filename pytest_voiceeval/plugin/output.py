"""Where the results of this run go: one folder for all workers, made when first written to."""

from __future__ import annotations

import os
import tempfile
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.plugin.keys import RUN_FOLDER
from pytest_voiceeval.plugin.options import read_settings
from pytest_voiceeval.report import results_file
from pytest_voiceeval.report.folders import default_run_folder, new_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pytest

WORKER_KEY = "voiceeval_run_folder"


class RunOutput:
    """The run's folder as one process sees it; every process writes only its own files."""

    def __init__(self, config: pytest.Config) -> None:
        self.worker = worker_id(config)
        self.folder = run_folder(config)
        self._shown_from = config.invocation_params.dir

    def call_folder(self, name: str) -> Path:
        """A new folder for one call of the scenario `name`."""
        return new_folder(self.folder, name)

    @property
    def lock_folder(self) -> Path:
        """Where the workers of this run lock the bots they share."""
        return Path(tempfile.gettempdir()) / f"voiceeval-locks-{os.getuid()}"

    def bot_log(self, role: str) -> Path:
        """Where a bot of this process logs."""
        folder = self.folder / "bot_logs"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{role}{'-' + self.worker if self.worker else ''}.log"

    def append(self, line: Mapping[str, Any]) -> None:
        """Add one call to `results.jsonl`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        results_file.append(self.folder, self.worker, line)

    def shown(self, path: Path) -> str:
        """The path as a reader in the current directory would type it."""
        try:
            return str(path.relative_to(self._shown_from))
        except ValueError:
            return str(path)


def worker_id(config: pytest.Config) -> str:
    """The xdist worker's name, empty in a process that is none."""
    return str(getattr(config, "workerinput", {}).get("workerid", ""))


def run_folder(config: pytest.Config) -> Path:
    """The folder of the run: the controller's choice, `--voice-output`, or one named by time."""
    if RUN_FOLDER not in config.stash:
        told = getattr(config, "workerinput", {}).get(WORKER_KEY)
        config.stash[RUN_FOLDER] = Path(told) if told else _choose(config)
    return config.stash[RUN_FOLDER]


def _choose(config: pytest.Config) -> Path:
    asked = read_settings(config).voice_output
    if asked is not None:
        return asked
    now = datetime.now().astimezone()
    folder = default_run_folder(config.invocation_params.dir, now)
    # two runs in one second must not share a folder; nothing is written before the first call
    return folder if not folder.exists() else folder.with_name(f"{folder.name}_{os.getpid()}")
