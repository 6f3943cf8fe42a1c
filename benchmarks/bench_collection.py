"""What collection costs: the tax on tests that are none of ours, and a pack of 2,000 scenarios.

python benchmarks/bench_collection.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import resource

ROUNDS = 15
FOREIGN_TESTS = 1_000
SCENARIOS = 2_000

PACK = """
from pytest_voiceeval import Scenario, SuccessSignal, register_scenario_factory


class Record(Scenario):
    domain = "big"
    success_signals = (SuccessSignal.DB_STATE_MATCH, SuccessSignal.CLEAN_EXIT)

    def __init__(self, number, **arguments):
        self.number = number
        super().__init__(name=f"big__record_{number}", **arguments)


def register(number):
    def make(**arguments):
        return Record(number, **arguments)

    register_scenario_factory(f"big__record_{number}", "big", make)


for number in range(%d):
    register(number)
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        plain, big = Path(folder) / "plain", Path(folder) / "big"
        write_tests(plain)
        bench_foreign(plain)
        bench_pack(big)


def write_tests(folder: Path) -> None:
    folder.mkdir()
    files = 20
    for number in range(files):
        tests = [f"def test_{i}():\n    pass\n" for i in range(FOREIGN_TESTS // files)]
        (folder / f"test_{number}.py").write_text("\n".join(tests))


def bench_foreign(folder: Path) -> None:
    """Alternating runs, the best of each kind: what a busy machine adds is left out."""
    collect(folder, "-p", "pytest_voiceeval.plugin")
    pairs = [
        (collect(folder)[0], collect(folder, "-p", "pytest_voiceeval.plugin")[0])
        for _ in range(ROUNDS)
    ]
    bare, loaded = (min(runs) for runs in zip(*pairs, strict=True))
    print(f"{FOREIGN_TESTS} tests that make no calls: {bare * 1000:.0f} ms without the plugin")
    print(f"tax: {(loaded - bare) * 1000:.1f} ms (limit 30)")


def bench_pack(folder: Path) -> None:
    for count in (SCENARIOS // 10, SCENARIOS):
        pack = folder / "scenarios" / "big"
        pack.mkdir(parents=True, exist_ok=True)
        (pack / "pack.toml").write_text('description = "big"\n')
        (pack / "__init__.py").write_text(PACK % count)
        arguments = ("-p", "pytest_voiceeval.plugin", "--domain", "big")
        runs = [collect(folder, *arguments) for _ in range(3)]
        seconds, megabytes = min(run[0] for run in runs), max(run[1] for run in runs)
        print(f"a pack of {count}: {seconds:.2f} s (limit 2), {megabytes:.0f} MB in all")


def collect(folder: Path, *arguments: str) -> tuple[float, float]:
    """Processor seconds and peak megabytes of one collection in a process of its own."""
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "--collect-only", "-qq", *arguments]
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, command
    return usage.ru_utime + usage.ru_stime, peak_megabytes(usage)


def peak_megabytes(usage: resource.struct_rusage) -> float:
    unit = 1 if sys.platform == "darwin" else 1024
    return usage.ru_maxrss * unit / 1e6


if __name__ == "__main__":
    main()
