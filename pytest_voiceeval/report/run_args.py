"""`run_args.json`: how the runs into a folder were invoked, without their secrets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.report.files import locked, write_json
from pytest_voiceeval.report.redact import redact_argv, redact_value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

RUN_ARGS_FILE = "run_args.json"


def invocation(
    *,
    run: str,
    started_at: str,
    argv: Sequence[str],
    options: Mapping[str, Any],
    scenarios: Sequence[str],
    **known: Any,
) -> dict[str, Any]:
    """What is kept of one invocation of pytest.

    Args:
        run: The run's id, as in `results.jsonl`.
        started_at: Wall clock, ISO 8601.
        argv: Its command line.
        options: The options of this plugin as they were resolved.
        scenarios: Full names of the scenarios selected, or called if none were selected.
        known: More to keep, such as versions.
    """
    return {
        "run": run,
        "started_at": started_at,
        "argv": redact_argv(argv),
        "parsed_args": redact_value(options),
        "resolved_scenario_count": len(scenarios),
        "resolved_scenario_names": list(scenarios),
        **known,
    }


def add_invocation(folder: Path, entry: Mapping[str, Any]) -> None:
    """Add an invocation to the folder's; a file that cannot be read is begun anew."""
    path = folder / RUN_ARGS_FILE
    with locked(path):
        earlier = _invocations(path)
        resumed = {"resumed_from_invocation": len(earlier) - 1} if earlier else {}
        write_json(path, {"invocations": [*earlier, {**entry, **resumed}]})


def _invocations(path: Path) -> list[Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    earlier = content.get("invocations") if isinstance(content, dict) else None
    return earlier if isinstance(earlier, list) else []
