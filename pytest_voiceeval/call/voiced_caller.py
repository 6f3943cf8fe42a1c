"""A caller in a call with sound that a language model plays: a bot of ours is its ears and voice.

The bot's requests for an answer come to this process, where the same caller answers that calls in
text. So all that is known about it there holds here too: what it is told, what is taken out of its
lines, how it hangs up, its rate cap, what it costs, and where its key is.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.call.bot_caller import BotCaller
from pytest_voiceeval.call.caller import CallerSide, HangUp, Say
from pytest_voiceeval.call.caller_prompt import system_prompt
from pytest_voiceeval.call.errors import CallerFailed, CallError
from pytest_voiceeval.call.result import Utterance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_voiceeval.call.limits import CallLimits
    from pytest_voiceeval.call.llm_caller import LLMCaller
    from pytest_voiceeval.call.pace import Pace
    from pytest_voiceeval.call.result import ExitProbe, Side
    from pytest_voiceeval.call.setup import SideSetup
    from pytest_voiceeval.scenario.model import Scenario

ENDING_TOOL = "EndConversationTool"
"""Class of the tool by which the bot hangs up."""
LAST_ANSWERS = 10.0
"""Seconds that answers nobody waits for any more may take to tell what they cost."""

_SPEAKERS: Mapping[str, Side] = {"user": "agent", "assistant": "user"}


class VoicedCaller(BotCaller):
    """Lets a caller in this process speak and hear through a bot.

    Args:
        url: Address of the bot, any ``{session}`` filled in.
        scenario: What the call is about.
        limits: Longest waits.
        mind: Knows what to say.
        process_exit: Tells how the bot's process ended.
        call_dir: Folder of the call's files, if the bot is to know it.
        pace: Says when the agent may be spoken to.
    """

    def __init__(
        self,
        url: str,
        scenario: Scenario,
        limits: CallLimits | None = None,
        *,
        mind: LLMCaller,
        process_exit: ExitProbe | None = None,
        call_dir: str | None = None,
        pace: Pace | None = None,
    ) -> None:
        super().__init__(
            url, scenario, limits, process_exit=process_exit, call_dir=call_dir, audio=True
        )
        self._mind = mind
        self._pace = pace
        self._answers: set[asyncio.Task[Say | HangUp]] = set()
        self._asking = 0
        self._changed_at = 0.0
        self._thought = 0.0
        self._hung_up: HangUp | None = None
        self._over = False
        self._fault: CallError | None = None

    async def start(self) -> None:
        """Read the key, then set the bot up and open its talk connection.

        Raises:
            CallerFailed: There is no key, or the bot cannot be reached or refuses.
        """
        await self._mind.start()
        await super().start()

    async def think(self, messages: Sequence[Mapping[str, Any]]) -> Say | HangUp | None:
        """What the bot is to say next; None for nothing, once the call is over for this caller.

        A bot that is interrupted no longer waits. Its answer is finished all the same, because it
        is paid for, and dropped.

        Args:
            messages: The bot's context, in OpenAI's shape.

        Raises:
            CallError: There is no answer; the call will end by the same error.
        """
        if self._over or self._hung_up is not None or self._fault is not None:
            return None
        answer = asyncio.create_task(self._mind.reply(as_heard(messages)))
        self._answers.add(answer)
        answer.add_done_callback(_seen)
        with self._at_work():
            try:
                said = await asyncio.shield(answer)
                if self._pace is not None:
                    await self._pace.turn()
            except CallError as error:
                self._fault = error
                raise
            except Exception as error:
                self._fault = CallerFailed(
                    f"the simulated caller failed ({type(error).__name__}: {error}) while replying"
                )
                raise self._fault from error
        if isinstance(said, HangUp):
            self._hung_up = said
        return said

    # -- what the call asks of it

    def at_work_until(self, now: float) -> float:
        """Until when it was thinking: now, as long as it does."""
        return now if self._asking else self._changed_at

    def thinking_time(self, now: float) -> float:
        """Seconds it has thought so far; they are not the agent's."""
        return self._thought + (now - self._changed_at if self._asking else 0.0)

    def why_left(self, words: str) -> str:
        """In its own words; the bot has none."""
        return super().why_left(words) if self._hung_up is None else self._hung_up.reason

    def failure(self, fatal: str) -> CallError:
        """Its own fault, of which the bot only knows that there was no answer."""
        return self._fault or super().failure(fatal)

    async def read_out(self, *, include_db: bool) -> CallerSide:
        """What the bot heard and did, and what its answers cost; it is asked for none any more."""
        self._over = True
        side = await super().read_out(include_db=include_db)
        waiting = {answer for answer in self._answers if not answer.done()}
        if waiting:
            await asyncio.wait(waiting, timeout=LAST_ANSWERS)
        told = self._mind.so_far()
        record = replace(
            side.record,
            context=told.record.context or side.record.context,
            tokens=told.record.tokens,
            model_runs=told.record.model_runs,
            uncounted_runs=told.record.uncounted_runs,
        )
        return replace(side, record=record, warnings=(*told.warnings, *side.warnings))

    def so_far(self) -> CallerSide:
        """What its answers cost, at any time."""
        return self._mind.so_far()

    async def close(self) -> None:
        """Close both connections, the bot's and the model's."""
        for answer in self._answers:
            answer.cancel()
        await asyncio.gather(*self._answers, return_exceptions=True)
        try:
            await super().close()
        finally:
            await self._mind.close()

    def _own_setup(self, setup: SideSetup) -> SideSetup:
        """The bot's prompt is that of its mind, its one tool the end of the call."""
        prompt = system_prompt(setup.prompt, tools=True)
        return replace(setup, prompt=prompt, tools=json.dumps({ENDING_TOOL: {}}))

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        self._count(+1)
        try:
            yield
        finally:
            self._count(-1)

    def _count(self, change: int) -> None:
        now = time.monotonic()
        self._thought = self.thinking_time(now)
        self._changed_at = now
        self._asking += change


def as_heard(messages: Sequence[Mapping[str, Any]]) -> tuple[Utterance, ...]:
    """A bot's context as the talk it stands for: its user is the agent, itself the caller."""
    talk: list[Utterance] = []
    for message in messages:
        side, words = _SPEAKERS.get(message["role"]), _words(message.get("content"))
        if side is not None and words:
            talk.append(Utterance(side, words, 0.0, 0.0, len(talk) + 1))
    return tuple(talk)


def _words(content: Any) -> str:
    """A message's text, in one piece or in parts."""
    if isinstance(content, str):
        return content.strip()
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, Mapping)]
    return " ".join(text for text in texts if isinstance(text, str)).strip()


def _seen(answer: asyncio.Task[Any]) -> None:
    """Keep asyncio from reporting the failure of an answer that nobody waits for any more."""
    if not answer.cancelled():
        answer.exception()
