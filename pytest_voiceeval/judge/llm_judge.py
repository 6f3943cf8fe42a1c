"""A language model as a judge, behind an OpenAI-compatible chat endpoint."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_voiceeval.judge import prompts
from pytest_voiceeval.judge.addresses import completions_url
from pytest_voiceeval.judge.compaction import CHARACTERS, MESSAGES, SYSTEM_CHARACTERS, Limits
from pytest_voiceeval.judge.endpoint import Endpoint, Key
from pytest_voiceeval.judge.evidence import fenced, numbered, spoken
from pytest_voiceeval.judge.faults import JudgeFault
from pytest_voiceeval.judge.histories import Shown, show
from pytest_voiceeval.judge.numbers import positive_int, positive_seconds
from pytest_voiceeval.judge.question import Question
from pytest_voiceeval.judge.reply import read_verdict, text_of
from pytest_voiceeval.scoring.matching import normalize_scenario_payload
from pytest_voiceeval.wire.urls import mask_url

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import requests

TIMEOUT: Final = 120.0
NO_EVIDENCE: Final = "No observed agent evidence was provided."

Json = dict[str, Any]


class LLMJudge:
    """Asks a model how well an agent did, and reads its verdict exactly or not at all.

    What differs from the reference harness: nothing is sent that was not given, but for
    `response_format`, which is dropped where an endpoint answers 400; no `Authorization` header
    without a key; `.env` files are not read; faults that pass are tried again; a result that holds
    no verdict says so under `error`. Its methods may be used by several threads at once.

    Args:
        url: Address of the chat completions; `/chat/completions` is added to a base `…/v1`.
        model: Name of the model.
        api_key: The key; None looks into the environment.
        api_key_name: Environment variable that holds the key. If it is not set, none is sent.
        default_prompt: In place of `DEFAULT_PROMPT`.
        timeout: Seconds for one request; None means 120.
        compact_context: Shorten the two histories of `judge_scenario`.
        context_message_limit: Messages of a history that are kept then; None means 40.
        context_system_string_limit: Characters of a text in a system message; None means 2500.
        context_string_limit: Characters of any other text; None means 6000.
        **kwargs: More keys of the request body, such as `temperature`; those that are None are
            left out.

    Raises:
        ValueError: A number is out of its range, or the address is none; the text names it.
    """

    DEFAULT_PROMPT: Final = prompts.DEFAULT_PROMPT
    SCENARIO_PROMPT: Final = prompts.SCENARIO_PROMPT

    def __init__(  # noqa: PLR0917 - the signature is the reference's
        self,
        url: str,
        model: str,
        api_key: str | None = None,
        api_key_name: str = "API_KEY",
        default_prompt: str | None = None,
        timeout: float | None = TIMEOUT,
        compact_context: bool = False,
        context_message_limit: int | None = None,
        context_system_string_limit: int | None = None,
        context_string_limit: int | None = None,
        **kwargs: Any,
    ) -> None:
        positive_seconds("timeout", timeout)
        for name in ("max_tokens", "thinking_token_budget"):
            positive_int(name, kwargs.get(name))
        address = completions_url(url)
        self.model = model
        self.default_prompt = default_prompt or self.DEFAULT_PROMPT
        self.timeout = TIMEOUT if timeout is None else timeout
        self.compact_context = compact_context
        self.limits = Limits(
            _or(context_message_limit, MESSAGES),
            _or(context_system_string_limit, SYSTEM_CHARACTERS),
            _or(context_string_limit, CHARACTERS),
        )
        self._key = Key(api_key if api_key is not None else os.environ.get(api_key_name))
        self._parameters = {key: value for key, value in kwargs.items() if value is not None}
        self._endpoint = Endpoint(address, self._key, self.timeout)
        self._structured = "response_format" not in kwargs

    def __repr__(self) -> str:
        return f"LLMJudge({mask_url(self.url)!r}, {self.model!r})"

    @property
    def url(self) -> str:
        """Where requests go; it may hold secrets."""
        return self._endpoint.url

    @property
    def shown_url(self) -> str:
        """The same as it may be shown."""
        return mask_url(self.url)

    @property
    def context_message_limit(self) -> int:
        """Messages of a history that are kept."""
        return self.limits.messages

    @property
    def context_system_string_limit(self) -> int:
        """Characters that are kept of a text in a system message."""
        return self.limits.system

    @property
    def context_string_limit(self) -> int:
        """Characters that are kept of any other text."""
        return self.limits.text

    @property
    def headers(self) -> dict[str, str]:
        """The headers of a request, the key included."""
        return {"Content-Type": "application/json", **self._key.header}

    # -- judging

    def judge(self, reference: str, prediction: str, prompt: str | None = None) -> Json:
        """Score how well a prediction matches a reference.

        Args:
            reference: What is right.
            prediction: What was answered.
            prompt: In place of the default prompt.

        Returns:
            `score` (0 to 1) and `reason`, what was sent (`judge_input`), `model`, `attempts` and
            `usage`. Without a verdict `score` is 0.0, `reason` says why, and `error` holds
            `code` and `message`; with one there is no `error`.
        """
        content = fenced({"reference": str(reference), "prediction": str(prediction)})
        return self._ask(prompt or self.default_prompt, content, ())

    def judge_file(self, reference: str, prediction: str, prompt: str | None = None) -> Json:
        """As `judge`, for two JSON files; a list of one object counts as that object.

        Raises:
            OSError: A file cannot be read.
            ValueError: A file is no JSON; the text names it.
        """
        texts = [_payload_text(Path(path)) for path in (reference, prediction)]
        return self.judge(texts[0], texts[1], prompt)

    def judge_scenario(  # noqa: PLR0917 - the signature is the reference's
        self,
        reference: str | None = None,
        prediction: str | None = None,
        conversation: Sequence[Any] | None = None,
        agent_context_history: Sequence[Any] | None = None,
        user_context_history: Sequence[Any] | None = None,
        context_history: Sequence[Any] | None = None,
        nl_assertions: Sequence[str] | None = None,
        prompt: str | None = None,
    ) -> Json:
        """Score how an agent did in a call, and decide about statements.

        Args:
            reference: What should have come out.
            prediction: What was recorded.
            conversation: Turns with `role` and `text`.
            agent_context_history: Messages of the agent's model, tool calls included.
            user_context_history: Messages of the caller's model.
            context_history: Another name of `agent_context_history`.
            nl_assertions: Statements to decide about.
            prompt: In place of `SCENARIO_PROMPT`.

        Returns:
            As `judge`. With statements also `nl_assertion_verdicts` (one
            `{index, assertion, passed, reason}` each), `nl_assertion_pass_count`,
            `nl_assertion_total` and `nl_assertion_pass_rate`. Verdicts that are missing, malformed
            or there twice are filled in with `passed` false, and `error` says so.
        """
        asserted = [str(text) for text in nl_assertions or ()]
        histories = self._histories(agent_context_history or context_history, user_context_history)
        said = spoken(conversation or ())
        content = fenced(
            {
                "reference": reference,
                "prediction": prediction,
                "conversation": said,
                "nl_assertions": numbered(asserted),
                **histories.parts,
            }
        )
        seen = bool((prediction or "").strip() or said or histories.present)
        return self._ask(prompt or self.SCENARIO_PROMPT, content, asserted, seen=seen)

    def _histories(self, agent: Sequence[Any] | None, user: Sequence[Any] | None) -> Shown:
        given = {"agent_context_history": agent, "user_context_history": user}
        return show(given, self.limits if self.compact_context else None)

    def _ask(
        self, prompt: str, content: str, assertions: Sequence[str], *, seen: bool = True
    ) -> Json:
        question = Question(prompt, content, assertions)
        if not seen:
            return question.unanswered("no_evidence", NO_EVIDENCE) | {"model": self.model}
        return question.put_to(self._complete) | {"model": self.model}

    def _complete(self, messages: list[Json], note: Callable[[float, str], None]) -> Any:
        """Send messages; without `response_format` if that is what the endpoint refuses."""
        structured = self._structured
        try:
            return self._endpoint.complete(self._body(messages, structured=structured), note)
        except JudgeFault as fault:
            if not structured or fault.status not in {400, 422} or fault.code == "too_long":
                raise
        completion = self._endpoint.complete(self._body(messages, structured=False), note)
        self._structured = False
        return completion

    def _body(self, messages: list[Json], *, structured: bool) -> Json:
        wanted = {"response_format": {"type": "json_object"}} if structured else {}
        return {"model": self.model, "messages": messages, **wanted, **self._parameters}

    def _get_payload(self, user_content: str, prompt: str | None = None) -> Json:
        """The body of the first request about some evidence."""
        messages = [
            {"role": "system", "content": prompt or self.default_prompt},
            {"role": "user", "content": user_content},
        ]
        return self._body(messages, structured=self._structured)

    def _parse_response(self, response: requests.Response) -> Json:
        """Read a verdict out of an HTTP answer.

        Returns:
            Its fields, `score` as a float from 0 to 1 and `reason` as a text.

        Raises:
            ValueError: There is no verdict that can be used; the text says why.
            requests.HTTPError: The status is an error's.
        """
        response.raise_for_status()
        reading = read_verdict(text_of(response.json()))
        return {**reading.fields, "score": reading.score, "reason": reading.reason}


def _or(value: int | None, default: int) -> int:
    return default if value is None else value


def _payload_text(path: Path) -> str:
    try:
        payload = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is no JSON: {error}") from None
    return json.dumps(normalize_scenario_payload(payload), ensure_ascii=False)
