"""Scenarios whose data `voiceeval data build` wrote: how a domain written in that format is played.

A pack makes a class of what its calls share, and registers it: `register_built(LibraryScenario)`.
"""

from __future__ import annotations

import inspect
import os
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.data.artifacts import load_db_artifact, load_records
from pytest_voiceeval.data.build import dataset_name
from pytest_voiceeval.data.errors import MissingData
from pytest_voiceeval.data.root import DATA_ROOT_VARIABLE, get_eval_data_root
from pytest_voiceeval.packs import find_pack, pack_of_module
from pytest_voiceeval.scenario.authoring_source import FOLDER, source_ids
from pytest_voiceeval.scenario.dialogue import Dialogue, ToolCall, parse_calls, parse_dialogue
from pytest_voiceeval.scenario.origins import Origin
from pytest_voiceeval.scenario.records import Record, RecordScenario
from pytest_voiceeval.scenario.registry import register_scenario_factory
from pytest_voiceeval.scoring.signals import SuccessSignal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pytest_voiceeval.packs import Pack


class BuiltScenario(RecordScenario):
    """A scenario that was written as an authoring file; a domain subclasses it.

    Dialogue, forbidden calls and databases are those that were built. The final database decides,
    and recorded actions too where the file has `match`. A subclass sets the domain, the agent and
    the caller; keys of the file that are not the builder's are in `self.record`.
    """

    @property
    def success_signals(self) -> tuple[SuccessSignal, ...]:  # type: ignore[override]
        """The final database, the clean exit, and actions where there is a reference answer."""
        match = () if self.reference_answer is None else (SuccessSignal.ACTION_MATCH,)
        return (SuccessSignal.DB_STATE_MATCH, SuccessSignal.CLEAN_EXIT, *match)

    @cached_property
    def reference_dialogue(self) -> Dialogue | None:
        """The conversation of the authoring file."""
        return parse_dialogue(self.record["reference_dialogue"], f"{self.record['id']}, dialogue")

    @cached_property
    def forbidden_calls(self) -> tuple[ToolCall, ...]:
        """Calls a careless agent might make."""
        return parse_calls(self.record["forbidden_calls"], f"{self.record['id']}, forbidden")

    @cached_property
    def expected_scenario_db(self) -> dict[str, Any]:
        """The database as it must be at the end."""
        found: dict[str, Any] = self.record["ground_truth"]["expected_scenario_db"]
        return found

    @cached_property
    def reference_answer(self) -> Any:
        """What `match` asks for, None without it."""
        return self.record.fields.get("reference_answer")

    def setup_shared_state(self, state: dict[str, Any], side: str) -> None:
        """Give the agent the database that the call begins with."""
        if side == "agent":
            state["db"] = load_db_artifact(self.record.path.parent / f"{self.record['id']}.json")


def register_built(scenario_class: type[BuiltScenario]) -> None:
    """Register a scenario for each record that `voiceeval data build` wrote for the pack.

    Before the first build each is a scenario that says how to build it.

    Args:
        scenario_class: what makes a scenario of a record; has the domain.

    Raises:
        DataError: the built file cannot be read.
        DuplicateScenario: a name is taken.
    """
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None  # noqa: S101, PT018 - CPython has frames
    origin = Origin.of_frame(frame.f_back)
    domain = pack_of_module(origin.module) or scenario_class.domain
    pack = find_pack(domain)
    for place, record_id, fields in _records(pack):
        make = partial(_make, scenario_class, place, fields)
        name = f"{scenario_class.domain}__{record_id}"
        register_scenario_factory(name, domain, make, place, origin=origin)


def _make(
    scenario_class: type[BuiltScenario],
    place: tuple[Path, int],
    fields: Mapping[str, Any] | None,
    **kwargs: Any,
) -> BuiltScenario:
    if fields is None:
        command = f"voiceeval data build {scenario_class.domain}"
        raise MissingData(f"is not built yet: run `{command}`", path=place[0])
    return scenario_class(Record(*place, fields), **kwargs)


def _records(pack: Pack) -> list[tuple[tuple[Path, int], str, Mapping[str, Any] | None]]:
    """Place, id and content of each record; without content where nothing was built."""
    file = _data_of(pack) / dataset_name(pack.domain)
    if not file.is_file():
        folder = pack.path / FOLDER
        return [((folder / f"{name}.yaml", 1), name, None) for name in source_ids(pack.path)]
    return [((file, line), str(fields["id"]), fields) for line, fields in load_records(file)]


def _data_of(pack: Pack) -> Path:
    """Where the built data are: below `EVAL_DATA_ROOT`, else beside the folder of packs."""
    if DATA_ROOT_VARIABLE in os.environ:
        return get_eval_data_root() / pack.data
    return pack.path.parent.parent / "fixtures" / pack.data
