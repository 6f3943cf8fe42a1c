"""Which model plays the caller, and how it is asked. Standard library only: options build it."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from pytest_voiceeval.wire.urls import is_loopback, mask_url, problem_of_http_url

if TYPE_CHECKING:
    from pathlib import Path

_COMPLETIONS = "/chat/completions"

MARGIN = 5.0
"""Seconds beyond its own patience after which a caller is given up from outside."""


@dataclass(frozen=True, repr=False)
class CallerModel:
    """A model behind an OpenAI-compatible chat endpoint. None leaves a parameter to the endpoint.

    Attributes:
        url: Base URL of the API, such as ``https://api.openai.com/v1``; a URL that ends in
            ``/chat/completions`` is taken as well.
        model: The model's name.
        api_key_env: Name of the environment variable that holds the key; None sends no key.
        temperature: Sampling temperature, 0 to 2.
        top_p: Nucleus sampling, above 0 up to 1.
        seed: Random seed.
        max_tokens: Most tokens of one answer, thinking included.
        timeout: Seconds for one request, from its first byte to the last of the answer.
        attempts: Most requests for one answer; only passing faults are tried again.
        patience: Seconds for one answer, waits and further attempts included.
        rpm: Most requests a minute, shared by everybody who uses the same ``rpm_dir``.
        rpm_dir: Folder of the shared count; None counts in this process only.
        max_words: A longer reply is cut at the end of a sentence.
        offline: Refuse an address that is not of this machine.
    """

    url: str
    model: str
    api_key_env: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    timeout: float = 60.0
    attempts: int = 5
    patience: float = 180.0
    rpm: int | None = None
    rpm_dir: Path | None = None
    max_words: int = 120
    offline: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot work, naming it.

        Raises:
            ValueError: A value is out of its range, or the address is none.
        """
        problem = problem_of_http_url(self.url)
        if problem:
            raise ValueError(
                f"the caller's model: {mask_url(self.url)!r} is not its address: {problem}; "
                "expected http://HOST:PORT/v1 or https://HOST/v1"
            )
        if self.offline and not is_loopback(self.url):
            raise ValueError(
                f"the caller's model: {mask_url(self.url)} is not on this machine, and offline runs"
                " connect to nothing else"
            )
        if not self.model.strip():
            raise ValueError("the caller's model: its name is empty")
        self._check_numbers()

    def __repr__(self) -> str:
        """All fields, the address masked: its query may hold a key."""
        shown = {field.name: getattr(self, field.name) for field in fields(self)}
        shown["url"] = self.shown_url
        return f"CallerModel({', '.join(f'{key}={value!r}' for key, value in shown.items())})"

    def _check_numbers(self) -> None:
        ranges = (
            ("temperature", self.temperature, 0, 2),
            ("top_p", self.top_p, math.ulp(0.0), 1),
            ("max_tokens", self.max_tokens, 1, math.inf),
            ("timeout", self.timeout, math.ulp(0.0), 86_400),
            ("attempts", self.attempts, 1, 100),
            ("patience", self.patience, math.ulp(0.0), 86_400),
            ("rpm", self.rpm, 1, 1_000_000),
            ("max_words", self.max_words, 5, math.inf),
        )
        for name, value, low, high in ranges:
            if value is not None and not low <= value <= high:  # NaN fails it
                shown = "above 0" if low == math.ulp(0.0) else f"at least {low:g}"
                limit = "" if high == math.inf else f" and at most {high:g}"
                raise ValueError(
                    f"the caller's model: {name} must be {shown}{limit}, got {value!r}"
                )

    @property
    def endpoint(self) -> str:
        """Where requests go."""
        base, mark, query = self.url.partition("?")
        return base.rstrip("/").removesuffix(_COMPLETIONS) + _COMPLETIONS + mark + query

    @property
    def shown_url(self) -> str:
        """The address as a message may show it."""
        return mask_url(self.url)

    @property
    def reply_limit(self) -> float:
        """Seconds after which a reply of this caller is overdue; twice the patience and a margin.

        One reply may take two answers: the second when the first was no line of a caller.
        """
        return 2 * self.patience + MARGIN
