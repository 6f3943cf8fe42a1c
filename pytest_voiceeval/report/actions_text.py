"""What the recorded actions and the predicates lack, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.report.calls_text import when
from pytest_voiceeval.report.characters import flat, one_line
from pytest_voiceeval.report.layout import Lines, Section, clip, wrap
from pytest_voiceeval.report.values import arguments, brief, brief_pair
from pytest_voiceeval.scoring.delivery import without_empty
from pytest_voiceeval.scoring.describe import describe_key
from pytest_voiceeval.scoring.matching import ACTIONS

if TYPE_CHECKING:
    from pytest_voiceeval.call.result import ActionDifference, CallResult
    from pytest_voiceeval.scoring.explain import FieldDifference

_TITLES = ("name", "action_type", "type", "action", "tool")  # which field says what a record is
_NOT_ARGUMENTS = frozenset({"side", *_TITLES})
_VALUE_ROOM = 60
_NAMES_SHOWN = 6
_RESULTS_SHOWN = 3


def action_sections(result: CallResult) -> list[Section]:
    """Missing, changed and extra records, with the nearest candidate where there is one."""
    differences = result.action_differences
    if not differences:
        return []
    items = [_difference_lines(each, result) for each in differences]
    by_actions = concerns_actions(differences)
    if any(each.kind == "missing" for each in differences):
        delivered = _recorded_lines(result) if by_actions else _handed_in_lines(result)
        items.insert(_first_missing(differences) + 1, delivered)
    title = "actions (reference → recorded):" if by_actions else "result (reference → handed in):"
    return [Section((title,), tuple(items), keep=2)]


def concerns_actions(differences: Sequence[ActionDifference]) -> bool:
    """Whether the reference asks for recorded actions, not for a result that is handed in."""
    return any(each.path[:1] == (ACTIONS,) for each in differences)


def _first_missing(differences: Sequence[ActionDifference]) -> int:
    return max(i for i, each in enumerate(differences) if each.kind == "missing")


def title_of(each: ActionDifference) -> str:
    """What the record that differs is about."""
    return _title(each.recorded if each.kind == "extra" else each.reference, each.path)


def _difference_lines(each: ActionDifference, result: CallResult) -> Lines:
    if each.kind == "missing":
        text = _record(each.reference, each.path)
    elif each.kind == "extra":
        text = _record(each.recorded, each.path) + _turn_of(each.recorded, result)
    else:
        inside = [_field(field) for field in each.fields if field.blocking]
        title = _title(each.reference, each.path)
        if _is_one_of_several(each, result):
            title = _record(_unchanged(each), each.path)
        text = f"{title}{_turn_of_part(each, result)}: {'; '.join(inside)}"
    return wrap(text, lead=f"  {each.kind:<8} ", indent=11, limit=3)


def _field(field: FieldDifference) -> str:
    path = field.path[1:] if field.path[:1] == ("arguments",) else field.path
    where = ".".join(describe_key(str(part)) for part in path)
    if field.kind == "missing":
        texts = brief(field.expected, _VALUE_ROOM), "missing"
    elif field.kind == "extra":
        texts = "nothing", brief(field.actual, _VALUE_ROOM)
    else:
        texts = brief_pair(field.expected, field.actual, _VALUE_ROOM)
    return f"{where} {texts[0]} → {texts[1]}".strip()


def _is_one_of_several(each: ActionDifference, result: CallResult) -> bool:
    """Whether the title alone would not tell which record is meant."""
    title = _title(each.reference, each.path)
    titles = [_title(action, ()) for action in result.actions]
    return titles.count(title) > 1


def _unchanged(each: ActionDifference) -> Any:
    """The reference without the fields that differ: they are shown as differences."""
    differing = {field.path[:1] for field in each.fields if field.blocking}
    inner = {field.path[1:2] for field in each.fields if field.path[:1] == ("arguments",)}
    if not isinstance(each.reference, Mapping):
        return each.reference
    kept = {k: v for k, v in each.reference.items() if k == "arguments" or (k,) not in differing}
    if isinstance(kept.get("arguments"), Mapping):
        arguments_kept = {k: v for k, v in kept["arguments"].items() if (k,) not in inner}
        kept["arguments"] = arguments_kept
    return kept


def _record(record: Any, path: Sequence[str | int]) -> str:
    title = _title(record, path)
    if not isinstance(record, Mapping):
        return f"{title} {brief(record, _VALUE_ROOM)}"
    inner = record.get("arguments")
    shown = {key: value for key, value in record.items() if key not in _NOT_ARGUMENTS}
    if isinstance(inner, Mapping):
        shown = {**{k: v for k, v in shown.items() if k != "arguments"}, **inner}
    return f"{title}({', '.join(arguments(shown))})"


def _title(record: Any, path: Sequence[str | int]) -> str:
    """What a record is about: its own name, else its place in the answer."""
    if isinstance(record, Mapping):
        named = next((record[field] for field in _TITLES if record.get(field)), None)
        if named is not None:
            caller = "caller: " if record.get("side") == "user" else ""
            return caller + clip(one_line(str(named)), 40)
    return ".".join(str(part) for part in path if isinstance(part, str)) or "result"


def _turn_of(recorded: Any, result: CallResult) -> str:
    """The turn in which a record was made, if the call that made it is known."""
    if not isinstance(recorded, Mapping):
        return ""
    bare = {key: value for key, value in recorded.items() if key != "side"}
    for call in reversed(result.tool_calls):
        if call.record is not None and {**call.record} in (bare, dict(recorded)):
            return f" [{when(call)}]"
    return ""


def _turn_of_part(each: ActionDifference, result: CallResult) -> str:
    """The turn of a record, or that of the result of which a part differs."""
    if len(each.path) == 1 and isinstance(each.path[0], str) and result.prediction:
        return _turn_of(result.prediction[-1], result)
    return _turn_of(each.recorded, result)


def _handed_in_lines(result: CallResult) -> Lines:
    """What was handed in in its stead, the latest last."""
    handed_in = without_empty(result.prediction)[-_RESULTS_SHOWN:]
    if not handed_in:
        return ("  handed in nothing at all",)
    shown = [_record(each, ()) + _turn_of(each, result) for each in handed_in]
    return tuple(
        line for text in shown for line in wrap(text, lead="  handed in ", indent=12, limit=2)
    )


def _recorded_lines(result: CallResult) -> Lines:
    """The names of what was recorded: what is missing may hide under another name."""
    names = Counter(_title(action, ()) for action in result.actions)
    if not names:
        known = result.conversation.agent.actions is not None
        return (
            "  recorded nothing at all"
            if known
            else "  recorded not known: the agent's actions could not be read",
        )
    texts = [name if n == 1 else f"{name} (x{n})" for name, n in names.most_common(_NAMES_SHOWN)]
    more = ", …" if len(names) > _NAMES_SHOWN else ""
    return wrap(", ".join(texts) + more, lead="  recorded ", indent=11, limit=2)


def predicate_sections(result: CallResult) -> list[Section]:
    """The predicates that do not hold, each with what it answered."""
    failed = [verdict for verdict in result.assertion_verdicts if not verdict["passed"]]
    if not failed:
        return []
    return [
        Section(
            ("database predicates that do not hold:",),
            tuple(map(_predicate_lines, failed)),
        )
    ]


def _predicate_lines(verdict: Mapping[str, Any]) -> Lines:
    said = verdict["error"]
    if not said:
        expected, actual = brief_pair(verdict["expected"], verdict["actual"], _VALUE_ROOM)
        said = f"expected {expected}, got {actual}"
    side = " (caller's database)" if verdict.get("side") == "user" else ""
    note = f" - {verdict['message']}" if verdict.get("message") else ""
    return wrap(flat(f"{verdict['func_name']}{side}: {said}{note}"), lead="  ", indent=4, limit=3)
