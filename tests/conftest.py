"""Fixtures every test folder shares."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_voiceeval import packs

if TYPE_CHECKING:
    from collections.abc import Iterator

CHECKOUT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def upstream_root() -> Path:
    """The public benchmark data tests compare with, or a skip that says where it was looked for."""
    root = Path(os.environ.get("VOICEEVAL_UPSTREAM", CHECKOUT.parent / "shared" / "upstream"))
    if not (root / "eva" / "data" / "airline_dataset.jsonl").is_file():
        pytest.skip(f"benchmark data not found under {root} (set VOICEEVAL_UPSTREAM)")
    return root


@pytest.fixture(autouse=True)
def _pack_folders_end_with_the_test() -> Iterator[None]:
    """Commands that are called in this process add the folder `scenarios` they find."""
    before = packs.user_folders()
    yield
    for folder in packs.user_folders():
        if folder not in before:
            packs.remove_user_folder(folder)
