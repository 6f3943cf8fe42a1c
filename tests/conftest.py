"""Fixtures every test folder shares."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def upstream_root() -> Path:
    """The public benchmark data tests compare with, or a skip that says where it was looked for."""
    root = Path(os.environ.get("VOICEEVAL_UPSTREAM", CHECKOUT.parent / "shared" / "upstream"))
    if not (root / "eva" / "data" / "airline_dataset.jsonl").is_file():
        pytest.skip(f"benchmark data not found under {root} (set VOICEEVAL_UPSTREAM)")
    return root
