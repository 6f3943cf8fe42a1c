"""How long hashing a large database takes, next to one sorted ``json.dumps`` of it.

Usage: ``python benchmarks/bench_hash.py [path/to/db.json]``

Without a path: the retail database of tau2 under ``$VOICEEVAL_UPSTREAM``. The two are timed in
turn, round by round, so that a slower or faster machine moves both; the ratio printed is the
median of the rounds. Exits 1 if it is above the limit.
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.scoring.db_hash import get_dict_hash

if TYPE_CHECKING:
    from collections.abc import Callable

LIMIT = 1.5
ROUNDS = 31
WARM_UP = 3


def default_path() -> Path:
    checkout = Path(__file__).resolve().parent.parent
    upstream = Path(os.environ.get("VOICEEVAL_UPSTREAM", checkout.parent / "shared" / "upstream"))
    return upstream / "tau2" / "data" / "tau2" / "domains" / "retail" / "db.json"


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(state: Any, rounds: int = ROUNDS) -> list[tuple[float, float]]:
    """(hash, dumps) in seconds for each round; garbage collection stays on, as in real use."""
    pairs = []
    for number in range(WARM_UP + rounds):
        gc.collect()
        dumps = seconds(lambda: json.dumps(state, sort_keys=True))
        gc.collect()
        hashed = seconds(lambda: get_dict_hash(state))
        if number >= WARM_UP:
            pairs.append((hashed, dumps))
    return pairs


def main(arguments: list[str]) -> int:
    path = Path(arguments[0]) if arguments else default_path()
    if not path.is_file():
        print(f"no such file: {path} (give a path, or set VOICEEVAL_UPSTREAM)")
        return 2
    pairs = measure(json.loads(path.read_text(encoding="utf-8")))
    ratio = round(statistics.median(hashed / dumps for hashed, dumps in pairs), 2)
    print(f"state            {path.name}, {path.stat().st_size / 1e6:.2f} MB, {len(pairs)} rounds")
    print(f"json.dumps       {1e3 * statistics.median(dumps for _, dumps in pairs):.1f} ms")
    print(f"get_dict_hash    {1e3 * statistics.median(hashed for hashed, _ in pairs):.1f} ms")
    print(f"ratio            {ratio:.2f} (limit {LIMIT})")
    return 0 if ratio <= LIMIT else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
