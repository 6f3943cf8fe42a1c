"""Whether a prediction (what the agent did) matches a reference (what it should have done).

Objects match if every key of the reference is there and matches; extra keys are fine. Lists match
if every item of the reference has an item of its own in the prediction, in any order; extra items
are fine unless they are disallowed. Single values: `pytest_voiceeval.scoring.scalars`.

Where this differs from the reference harness is listed in ``docs/scoring.md``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_voiceeval.scoring.faults import StateError
from pytest_voiceeval.scoring.normalize import canonical_text
from pytest_voiceeval.scoring.pairing import can_pair_all
from pytest_voiceeval.scoring.scalars import MatchRules, match_scalars

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

ACTIONS: Final = "actions"
COMPARE_ARGS: Final = "compare_args"
"""The payload key whose lists `disallow_extra_items` makes exact."""


class PayloadError(ValueError):
    """A reference is not what can be matched, or a payload file cannot be read."""


def check_if_task_success(
    reference: str | os.PathLike[str],
    prediction: str | os.PathLike[str],
    *,
    ignore_capitalization: bool = False,
    ignore_punctuation: bool = False,
    clean_text: bool = False,
    disallow_extra_items: bool = False,
) -> bool:
    """Match two JSON files; `match_payloads` says how.

    Raises:
        OSError: A file cannot be opened.
        PayloadError: A file is not JSON, or the reference is not a payload.
    """
    return match_payloads(
        _load(reference),
        _load(prediction),
        ignore_capitalization=ignore_capitalization,
        ignore_punctuation=ignore_punctuation,
        clean_text=clean_text,
        disallow_extra_items=disallow_extra_items,
    )


def match_payloads(
    reference: Any,
    prediction: Any,
    *,
    ignore_capitalization: bool = False,
    ignore_punctuation: bool = False,
    clean_text: bool = False,
    disallow_extra_items: bool = False,
) -> bool:
    """Match two loaded payloads.

    * Object against object: every key of the reference is there and matches.
    * Object against list: the last item of the list is matched.
    * List against list (an object counts as a list of one): every reference item matches an item
      of its own, in any order. A reference of one item matches any of several.

    Args:
        reference: An object or a list of objects.
        prediction: Anything; what is not an object matches nothing.
        ignore_capitalization: Upper and lower case are the same.
        ignore_punctuation: Punctuation is left out.
        clean_text: Spoken and written forms are the same.
        disallow_extra_items: A list against a list must have the same length; so must the list
            under ``actions`` and every list inside it.

    Raises:
        PayloadError: The reference is neither an object nor a list of objects, or nested too
            deeply.
    """
    rules = MatchRules(ignore_capitalization, ignore_punctuation, clean_text, disallow_extra_items)
    expected, found = payload_items(reference, prediction)
    if disallow_extra_items and len(expected) != len(found):
        return False
    try:
        return can_pair_all(
            len(expected), len(found), lambda i, j: matches_payload(expected[i], found[j], rules)
        )
    except RecursionError:
        raise PayloadError("the reference is nested too deeply to be matched") from None


def match_dict(
    ref_dict: Mapping[str, Any],
    pred_dict: Any,
    ignore_capitalization: bool = False,
    ignore_punctuation: bool = False,
    clean_text: bool = False,
    *,
    disallow_extra_items: bool = False,
) -> bool:
    """Say whether every key of the reference is in the prediction and matches.

    Extra keys are fine; `disallow_extra_items` applies under ``actions``.
    """
    rules = MatchRules(ignore_capitalization, ignore_punctuation, clean_text, disallow_extra_items)
    return matches_payload(ref_dict, pred_dict, rules)


def match_list(
    ref_list: Sequence[Any],
    pred_list: Any,
    ignore_capitalization: bool = False,
    ignore_punctuation: bool = False,
    clean_text: bool = False,
    *,
    disallow_extra_items: bool = False,
) -> bool:
    """Say whether every reference item has a matching item of its own, in any order."""
    rules = MatchRules(ignore_capitalization, ignore_punctuation, clean_text, disallow_extra_items)
    return matches_list(ref_list, pred_list, rules)


def match_item(
    ref_value: Any,
    pred_value: Any,
    ignore_capitalization: bool = False,
    ignore_punctuation: bool = False,
    clean_text: bool = False,
    *,
    disallow_extra_items: bool = False,
) -> bool:
    """Match two values of any kind, going down into objects and lists."""
    rules = MatchRules(ignore_capitalization, ignore_punctuation, clean_text, disallow_extra_items)
    return matches_item(ref_value, pred_value, rules)


def match_str_and_float(
    ref_value: Any,
    pred_value: Any,
    ignore_capitalization: bool = False,
    ignore_punctuation: bool = False,
    clean_text: bool = False,
) -> bool:
    """Match two single values; `pytest_voiceeval.scoring.scalars` has the rules."""
    rules = MatchRules(ignore_capitalization, ignore_punctuation, clean_text)
    return match_scalars(ref_value, pred_value, rules)


def normalize_scenario_payload(payload: Any) -> Any:
    """Unwrap a list of exactly one object; anything else is returned as it is."""
    if isinstance(payload, list) and len(payload) == 1 and isinstance(payload[0], dict):
        return payload[0]
    return payload


def filter_arguments(
    arguments: Mapping[str, Any], compare_args: Sequence[str] | None
) -> Mapping[str, Any]:
    """Keep the arguments that count.

    Args:
        arguments: Arguments of a tool call.
        compare_args: None: all count, and the arguments are returned as they are. A list: only
            those names, a missing one as None. An empty list: none, only the call's name counts.

    Raises:
        PayloadError: `compare_args` is text, which would count its letters.
    """
    if compare_args is None:
        return arguments
    if isinstance(compare_args, str):
        raise PayloadError(
            f"compare_args must be a list of names or null, not the text {compare_args!r}"
        )
    return {name: arguments.get(name) for name in compare_args}


def match_action(ref: Mapping[str, Any], pred: Mapping[str, Any]) -> bool:
    """Compare two tool calls: the name, and the arguments that `compare_args` of `ref` names.

    Arguments are equal by the rules of the hash (1 is 1.0, true is not 1). Arguments that are not
    an object, or hold what JSON cannot, match nothing, whatever `compare_args` says.

    Args:
        ref: ``{"name", "arguments"?, "compare_args"?}``.
        pred: ``{"name", "arguments"?}``.

    Raises:
        PayloadError: `ref` has no name, or its arguments or `compare_args` are malformed.
        StateError: The arguments of `ref` hold what JSON cannot.
    """
    if not isinstance(ref.get("name"), str):
        raise PayloadError(f"a reference action needs a name, found {sorted(map(str, ref))}")
    expected = ref.get("arguments") or {}
    if not isinstance(expected, dict):
        raise PayloadError(f"the arguments of the reference action {ref['name']} are no object")
    wanted = canonical_text(filter_arguments(expected, ref.get("compare_args")))
    found = {} if pred.get("arguments") is None else pred["arguments"]
    if ref["name"] != pred.get("name") or not isinstance(found, dict):
        return False
    try:
        return wanted == canonical_text(filter_arguments(found, ref.get("compare_args")))
    except StateError:
        return False


def unknown_compare_args(ref: Mapping[str, Any]) -> tuple[str, ...]:
    """Names in `compare_args` that the reference's own arguments lack: most likely misspelled.

    They would be compared as None on both sides, so that nearly anything matches.
    """
    arguments = ref.get("arguments") or {}
    return tuple(name for name in ref.get("compare_args") or () if name not in arguments)


def payload_items(reference: Any, prediction: Any) -> tuple[list[Any], list[Any]]:
    """Bring both payloads to lists by the rules of `match_payloads`.

    Raises:
        PayloadError: The reference is neither an object nor a list of objects.
    """
    if isinstance(reference, dict):
        found = prediction[-1:] if isinstance(prediction, list) else [prediction]
        return [reference], found
    if not isinstance(reference, list) or not all(isinstance(item, dict) for item in reference):
        raise PayloadError(
            "a reference must be an object or a list of objects, such as"
            f' {{"actions": [...]}}, not {json.dumps(reference, default=str):.80}'
        )
    return reference, prediction if isinstance(prediction, list) else [prediction]


def compared_parts(
    reference: Mapping[str, Any], prediction: Mapping[str, Any]
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """What of two records counts: `compare_args` of the reference narrows their arguments.

    Records without it come back as they are; the key itself is never compared.
    """
    if COMPARE_ARGS not in reference:
        return reference, prediction
    names = reference[COMPARE_ARGS]
    wanted = {key: value for key, value in reference.items() if key != COMPARE_ARGS}
    if names is None:
        return wanted, prediction
    found = dict(prediction)
    for record in (wanted, found):
        arguments = record.get("arguments")
        if arguments is None or isinstance(arguments, dict):
            record["arguments"] = filter_arguments(arguments or {}, names)
    return wanted, found


def matches_payload(reference: Mapping[str, Any], prediction: Any, rules: MatchRules) -> bool:
    """`match_dict` with its flags in one object."""
    return isinstance(prediction, dict) and all(
        key in prediction and matches_item(value, prediction[key], rules_under(key, rules))
        for key, value in reference.items()
    )


def rules_under(key: str, rules: MatchRules) -> MatchRules:
    """The rules for one key of a payload: only lists under ``actions`` can be exact."""
    return rules if key == ACTIONS else rules.lenient


def matches_list(reference: Sequence[Any], prediction: Any, rules: MatchRules) -> bool:
    """`match_list` with its flags in one object."""
    if not isinstance(prediction, list | tuple):
        return False
    if rules.disallow_extra_items and len(reference) != len(prediction):
        return False
    return can_pair_all(
        len(reference),
        len(prediction),
        lambda i, j: matches_item(reference[i], prediction[j], rules),
    )


def matches_item(reference: Any, prediction: Any, rules: MatchRules) -> bool:
    """`match_item` with its flags in one object."""
    if isinstance(reference, dict):
        if not isinstance(prediction, dict):
            return False
        wanted, found = compared_parts(reference, prediction)
        return all(
            key in found and matches_item(value, found[key], rules) for key, value in wanted.items()
        )
    if isinstance(reference, list | tuple):
        return matches_list(reference, prediction, rules)
    return match_scalars(reference, prediction, rules)


def _load(path: str | os.PathLike[str]) -> Any:
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except RecursionError:
        raise PayloadError(f"{path} is nested too deeply to be read") from None
    except ValueError as error:
        raise PayloadError(f"{path} is not a JSON file: {error}") from error
