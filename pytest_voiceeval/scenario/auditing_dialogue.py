"""What must hold of every reference dialogue: convention, length, spoken form."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.scenario.authoring_play import END
from pytest_voiceeval.scenario.authoring_words import speak
from pytest_voiceeval.scenario.dialogue import DialogueError, parse_dialogue

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

    from pytest_voiceeval.scenario.auditing_entry import Entry

_UNSPOKEN = re.compile(r"[0-9_*#`\[\]{}|<>\n]")
_CODE = re.compile(r"\b(?:[A-Z]{2,}|(?=[A-Z0-9]*[A-Z])(?=[A-Z0-9]*[0-9])[A-Z0-9]+)\b")


def dialogue_complaints(record: Mapping[str, Any], caller_turns: int) -> Iterator[str]:
    """Yield what is wrong with the dialogue of one record.

    Args:
        record: the record.
        caller_turns: at least so often the caller speaks.
    """
    turns = record["reference_dialogue"]
    try:
        parse_dialogue(turns, "the dialogue")
    except DialogueError as error:
        yield str(error)
        return
    callers = sum(turn["role"] == "user" for turn in turns)
    if callers < caller_turns:
        yield f"the caller has {callers} turns, at least {caller_turns} are wanted"
    for turn in turns:
        yield from unspoken_complaints(turn["text"])


def unspoken_complaints(text: str) -> Iterator[str]:
    """Yield what of a turn cannot be spoken as it is written."""
    if not text.strip():
        yield "a turn of the dialogue says nothing"
    for code in dict.fromkeys(_CODE.findall(text)):
        yield f"{code} is to be spelled, write {{{code}}}: {text!r}"
    if found := _UNSPOKEN.search(_CODE.sub("", text)):
        yield f"{found[0]!r} is not spoken language: {text!r}"


def spoken_complaints(entry: Entry) -> Iterator[str]:
    """Yield what the agent does not say, or not in time, though its calls ask for it."""
    turns = entry.record["reference_dialogue"][::2]
    answers, before = iter(entry.gold.answers), ""
    said = " ".join(turn["text"] for turn in turns).casefold()
    for turn in turns:
        for call in turn.get("calls", ()):
            if call["name"] == END:
                continue
            for fact in entry.hooks.spoken_facts(call, next(answers)):
                spoken = speak(fact).casefold()
                if spoken not in said:
                    yield f"{call['name']}: the agent never says {fact}"
                elif fact.startswith("{$") and spoken.rpartition(" ")[0] not in before:
                    yield f"{call['name']}: the agent does not say {fact} before the call"
        before += f"{turn['text']} ".casefold()


def edition_complaints(records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what is wrong with all dialogues together: none is the copy of another."""
    by_skeleton = ((skeleton(record), record["id"]) for record in records)
    for ids in repeated(by_skeleton):
        yield f"{' and '.join(ids)} share a skeleton: the same calls in the same turns"
    lines = ((turn["text"], r["id"]) for r in records for turn in r["reference_dialogue"])
    for text, ids in repeated_with_key(lines):
        yield f"{' and '.join(ids)} share a line: {text!r}"


def skeleton(record: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    """Names of the calls in each turn of the agent."""
    turns = record["reference_dialogue"]
    return tuple(tuple(c["name"] for c in turn.get("calls", ())) for turn in turns[::2])


def repeated(pairs: Iterable[tuple[Hashable, str]]) -> Iterator[list[str]]:
    """Yield the names that share a key, for every key that several have."""
    return (names for _, names in repeated_with_key(pairs))


def repeated_with_key(pairs: Iterable[tuple[Hashable, str]]) -> Iterator[tuple[Any, list[str]]]:
    """Yield each key that occurs more than once, with its names."""
    found: dict[Hashable, list[str]] = defaultdict(list)
    for key, name in pairs:
        found[key].append(name)
    return ((key, names) for key, names in found.items() if len(names) > 1)
