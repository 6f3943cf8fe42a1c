"""What the plugin adds to a bare `import pytest`: milliseconds, median of paired runs."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

ROUNDS = 15


def seconds(code: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - start


def main() -> None:
    bare, loaded = "import pytest", "import pytest, pytest_voiceeval.plugin"
    seconds(loaded)
    pairs = [(seconds(bare), seconds(loaded)) for _ in range(ROUNDS)]
    tax = statistics.median(after - before for before, after in pairs) * 1000
    print(f"import pytest                {statistics.median(p[0] for p in pairs) * 1000:6.1f} ms")
    print(f"with pytest_voiceeval.plugin {statistics.median(p[1] for p in pairs) * 1000:6.1f} ms")
    print(f"tax                          {tax:6.1f} ms (limit 20)")


if __name__ == "__main__":
    main()
