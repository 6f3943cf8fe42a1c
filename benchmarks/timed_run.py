"""One run of pytest on generated tests, timed as a whole: its start and the bots' included."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def timed_run(
    tests: str,
    options: Sequence[str],
    *,
    conftest: str = "",
    environment: Mapping[str, str] | None = None,
) -> tuple[float, list[dict]]:
    """Seconds of a run all of whose tests pass, and its lines of `results.jsonl`.

    Args:
        tests: Source of its only test file.
        options: More words of pytest's command line.
        conftest: Source of its root conftest.
        environment: Variables beside those of this process.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "conftest.py").write_text(conftest)
        (folder / "test_calls.py").write_text(tests)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        command += ["-p", "no:asyncio", "test_calls.py", "--voice-output", "out", *options]
        began = time.perf_counter()
        ended = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **(environment or {})},
            capture_output=True,
            text=True,
            check=False,
        )
        seconds = time.perf_counter() - began
        if ended.returncode:
            sys.exit(ended.stdout + ended.stderr)
        text = (folder / "out" / "results.jsonl").read_text(encoding="utf-8")
    return seconds, [json.loads(line) for line in text.splitlines()]
