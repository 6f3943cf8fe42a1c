"""The benchmark of the hash can be run and says what it measured."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

BENCHMARK = Path(__file__).resolve().parents[3] / "benchmarks" / "bench_hash.py"


def run(path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCHMARK), str(path)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_it_prints_the_ratio_and_judges_it(tmp_path):
    path = tmp_path / "state.json"
    path.write_text(json.dumps({"t": {str(n): {"x": n} for n in range(50)}}), encoding="utf-8")
    done = run(path)
    found = re.search(r"^ratio +([0-9.]+) \(limit 1\.5\)$", done.stdout, re.MULTILINE)
    assert found, done.stdout + done.stderr
    assert done.returncode == (0 if float(found[1]) <= 1.5 else 1)


def test_a_missing_file_is_named(tmp_path):
    done = run(tmp_path / "none.json")
    assert done.returncode == 2
    assert "none.json (give a path, or set VOICEEVAL_UPSTREAM)" in done.stdout
