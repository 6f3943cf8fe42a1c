"""What must hold of the gold calls of every scenario, whatever its domain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.scenario.auditing_entry import is_write
from pytest_voiceeval.scenario.auditing_mutations import Mutation, mutations
from pytest_voiceeval.scenario.authoring_play import is_refused

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_voiceeval.scenario.auditing_entry import Entry


def replay_complaints(entry: Entry) -> Iterator[str]:
    """Yield what is wrong with where the dialogue's calls lead."""
    if not entry.passes(entry.gold):
        yield "the dialogue's calls do not lead to the expected end"
    for call, answer in zip(entry.calls, entry.gold.answers, strict=True):
        if is_refused(answer) and is_write(entry.domain, call["name"]):
            yield f"the gold call {shown(call)} is refused: {answer.get('message')}"


def refusal_complaints(entry: Entry) -> Iterator[str]:
    """Yield what is wrong with the mark of a refusal, a scenario in which nothing may change."""
    passes_idle = entry.outcome([])
    if passes_idle and not entry.record.get("refusal"):
        yield "an agent that does nothing passes: mark it 'refusal: true', or give it a task"
    if entry.record.get("refusal") and not passes_idle:
        yield "it is marked as a refusal, but an agent that does nothing fails"
    if entry.record.get("refusal") and entry.writes:
        yield "it is marked as a refusal, but its dialogue writes"


def forbidden_complaints(entry: Entry) -> Iterator[str]:
    """Yield what is wrong with the forbidden calls: each must be possible and do harm."""
    wrongs = entry.record.get("forbidden_calls") or ()
    if not wrongs:
        yield "no forbidden call is listed"
    for wrong in wrongs:
        yield from _harmless(entry, wrong)


def _harmless(entry: Entry, wrong: Mapping[str, Any]) -> Iterator[str]:
    possible = False
    for before in ([], entry.calls):
        played = entry.play([*before, wrong])
        accepted = not is_refused(played.answers[-1])
        possible = possible or accepted
        if accepted and entry.passes(played):
            where = "after the gold calls" if before else "alone"
            yield f"the forbidden call {shown(wrong)} does no harm {where}"
    if not possible:
        answer = entry.play([wrong]).answers[-1]
        yield f"the forbidden call {shown(wrong)} is refused anyway: {answer.get('message')}"


@dataclass(frozen=True)
class Trial:
    """What became of the mutations of one scenario.

    Attributes:
        tried: how many there were.
        unseen: those that pass all the same.
    """

    tried: int
    unseen: tuple[Mutation, ...]

    @classmethod
    def of(cls, entry: Entry) -> Trial:
        """Try all mutations of a scenario's gold calls."""
        tried = list(mutations(entry))
        return cls(len(tried), tuple(each for each in tried if entry.outcome(each.calls)))

    def complaints(self, entry: Entry) -> Iterator[str]:
        """Yield the mutations that pass, though the pack does not know of them.

        A doubled call that passes is harmless: it does the same thing again. Of a call that is
        refused, or not needed, nothing else is said.
        """
        pairs = zip(entry.calls, entry.gold.answers, strict=True)
        idle = {id(call) for call, answer in pairs if is_refused(answer)}
        for mutation in self.unseen:
            if id(mutation.call) in idle:
                continue
            if mutation.kind == "dropped":  # comes first
                idle.add(id(mutation.call))
                call = shown(mutation.call)
                yield f"the gold call {call} is not needed: without it the call passes"
            elif mutation.kind == "changed" and not entry.hooks.may_leave_no_trace(
                mutation.tool, mutation.argument, mutation.right, mutation.wrong
            ):
                yield f"a wrong argument passes: {mutation}"

    @property
    def notes(self) -> list[str]:
        """What leaves no trace, for people: one line for each argument."""
        wrongs: dict[str, list[str]] = {}
        for mutation in self.unseen:
            what, _, wrong = str(mutation).partition(" -> ")
            wrongs.setdefault(what, []).extend([wrong] if wrong else [])
        return [" -> ".join(filter(None, (what, ", ".join(w)))) for what, w in wrongs.items()]


def shown(call: Mapping[str, Any]) -> str:
    """Write a call for people."""
    values = ", ".join(f"{k}={v!r}" for k, v in call["arguments"].items())
    return f"{call['name']}({values})"
