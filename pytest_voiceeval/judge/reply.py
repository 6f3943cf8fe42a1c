"""From an endpoint's answer to a verdict: a score with its reason, or why there is none."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pytest_voiceeval.judge.evidence import neutral
from pytest_voiceeval.judge.faults import JudgeFault, unreadable
from pytest_voiceeval.judge.fields import field_of, has_field, refuses
from pytest_voiceeval.judge.objects import Found, objects_in
from pytest_voiceeval.judge.scores import read_score
from pytest_voiceeval.judge.verdicts import KEY

SHOWN: Final = 160
"""Characters of a reply that a message quotes."""

_CUT = frozenset({"length", "max_tokens", "max_output_tokens", "model_length", "incomplete"})
_FILTERED = frozenset({"content_filter", "safety", "refusal", "recitation", "prohibited_content"})
_IGNORED = re.compile(r"[\s\\]+")


@dataclass(frozen=True)
class Reading:
    """What the judge said.

    Attributes:
        score: From 0 to 1.
        reason: Its reason, empty if it gave none.
        fields: Everything in its object, as it came.
    """

    score: float
    reason: str
    fields: Mapping[str, Any]


def text_of(completion: Any) -> str:
    """The text of a chat completion.

    Raises:
        JudgeFault: It has none (`empty`), was cut off at its token limit (`cut_off`), the model
            refused (`refused`), or it is no chat completion (`bad_response`).
    """
    choice, message = _message(completion)
    text = _joined(message.get("content"))
    finish = str(choice.get("finish_reason") or "").lower()
    if finish in _CUT:
        what = "was cut off at" if text.strip() else "used up"
        rest = "" if text.strip() else " before it began with its answer"
        raise JudgeFault(
            "cut_off",
            f"the judge's model {what} its token limit{rest} (finish_reason {finish!r}); "
            "allow more with max_tokens (--judge-max-tokens)",
        )
    refusal = message.get("refusal")
    if refusal or finish in _FILTERED:
        said = _brief(str(refusal)) if refusal else f"finish_reason {finish!r}"
        raise JudgeFault("refused", f"the judge's model refused: {said}")
    if not text.strip():
        thought = any(message.get(key) for key in ("reasoning_content", "reasoning"))
        but = ", only reasoning" if thought else ""
        raise unreadable("empty", f"the reply is empty{but}")
    return text


def _message(completion: Any) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    fields = completion if isinstance(completion, Mapping) else {}
    if fields.get("error") and not fields.get("choices"):
        error = fields["error"]
        said = error.get("message") if isinstance(error, Mapping) else error
        raise JudgeFault("endpoint_error", f"the endpoint answered with an error: {_brief(said)}")
    choices = fields.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(choice, Mapping) or not isinstance(message, Mapping):
        raise JudgeFault(
            "bad_response", f"the answer is no chat completion: {_brief(json.dumps(completion))}"
        )
    return choice, message


def _joined(content: Any) -> str:
    """The text of a message, which may come in parts; parts of reasoning are none."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    parts = [part for part in content if isinstance(part, Mapping)]
    texts = [part.get("text") for part in parts if part.get("type") in {"text", "output_text"}]
    return "".join(text for text in texts if isinstance(text, str))


def read_verdict(text: str, evidence: str = "") -> Reading:
    """Read the one verdict in a model's text.

    Args:
        text: What the model wrote.
        evidence: What it was given to read; an object that stands there word for word is a
            quotation and no verdict.

    Raises:
        JudgeFault: There is none, it was cut off, several disagree, or its score is none.
    """
    scored = [found for found in objects_in(text) if has_field(found.value, "score")]
    said = _without_quotations(scored, evidence)
    if not said:
        what = "only a quotation of what it was shown" if scored else "no object with a score"
        raise unreadable("no_verdict", f"the reply holds {what}: {_brief(text)}")
    readings = [_reading(found.value) for found in said]
    first = readings[-1]
    if any(_decides(reading) != _decides(first) for reading in readings):
        scores = ", ".join(dict.fromkeys(f"{reading.score:g}" for reading in readings))
        raise unreadable("conflicting", f"the reply holds several verdicts, with scores {scores}")
    return first


def _without_quotations(found: list[Found], evidence: str) -> list[Found]:
    if not found or not evidence:
        return found
    # texts within JSON within a text have a backslash or two before each quotation mark
    shown = _IGNORED.sub("", evidence)
    return [each for each in found if _IGNORED.sub("", neutral(each.raw)) not in shown]


def _reading(fields: Mapping[str, Any]) -> Reading:
    if refuses(fields):
        raise unreadable("abstained", "the judge says that it cannot judge, and gives a score")
    reason = field_of(fields, "reason")
    return Reading(
        score=read_score(field_of(fields, "score")),
        reason=reason if isinstance(reason, str) else _as_text(reason),
        fields=fields,
    )


def _as_text(reason: Any) -> str:
    return "" if reason is None else json.dumps(reason, ensure_ascii=False)


def _decides(reading: Reading) -> tuple[float, Any]:
    verdicts = field_of(reading.fields, KEY)
    return reading.score, json.dumps(verdicts, sort_keys=True)


def _brief(value: Any) -> str:
    text = " ".join(str(value).split())
    return repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}…")
