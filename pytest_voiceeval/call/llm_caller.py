"""A caller played by a language model, in this process and in text."""

from __future__ import annotations

import json
import re
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.call.caller import GOODBYE, CallerSide, HangUp, Say
from pytest_voiceeval.call.caller_identifiers import invented
from pytest_voiceeval.call.caller_line import Line, read_line
from pytest_voiceeval.call.caller_prompt import hang_up_tool, system_prompt, to_messages
from pytest_voiceeval.call.caller_stats import CallerStats, Handled
from pytest_voiceeval.call.chat_client import ChatClient
from pytest_voiceeval.call.chat_faults import ChatError
from pytest_voiceeval.call.errors import CallerFailed
from pytest_voiceeval.call.result import SideRecord
from pytest_voiceeval.scenario.prompts import VOICE_ALPHANUMERIC_RULE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_voiceeval.call.caller_model import CallerModel
    from pytest_voiceeval.call.caller_state import HeldState
    from pytest_voiceeval.call.chat_client import Compose
    from pytest_voiceeval.call.chat_reply import ChatReply
    from pytest_voiceeval.call.result import Utterance
    from pytest_voiceeval.scenario.model import Scenario

    Json = dict[str, Any]

GIVING_UP = "All right, then I will leave it at that. Goodbye."
"""Said for a caller that hangs up without a word and without what it wanted."""
REPETITION = 4
"""Words of the shortest reply whose repetition is worth a warning."""
SHOWN_WORDS = 200
"""Most characters of a model's words in an error."""

_FAREWELL = re.compile(
    r"\b(?:bye|goodbye|good night|farewell|thanks?|thank you|that(?:'s| is| was|'ll be| will be) "
    r"(?:all|it|everything)|nothing else|no more|have a (?:good|nice|great|lovely))\b",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"\?|\b(?:yes|yeah|please|go ahead|do it|do that|book it|book that|i'll take|i will take|"
    r"cancel (?:it|both|them)|confirm|let's do|move me|change it)\b",
    re.IGNORECASE,
)


class LLMCaller:
    """Lets a model play the scenario's caller. It sees the transcript and the user prompt only.

    A hang-up that comes with a request or a yes is held back until the agent has answered it: the
    words are said, and the model is asked once more.

    Args:
        scenario: Gives the caller its prompt.
        model: Where the model is and how it is asked.
        client: Asks the model; None makes one for this call.
        state: The caller's half of the state, which changes only as the agent's does; None gives it
            none.
    """

    def __init__(
        self,
        scenario: Scenario,
        model: CallerModel,
        client: ChatClient | None = None,
        state: HeldState | None = None,
    ) -> None:
        self._scenario = scenario
        self._model = model
        self._client = client or ChatClient(model)
        self._state = state
        self._open = AsyncExitStack()
        self._prompt = ""
        self._facts = ""
        self._context: list[Json] = []
        self._heard_out = False

    @property
    def state(self) -> HeldState | None:
        """Its half of the state."""
        return self._state

    @property
    def stats(self) -> CallerStats:
        """What had to be handled so far."""
        return self._client.stats

    async def start(self) -> None:
        """Read the prompt and the key; nothing is sent yet.

        Raises:
            CallerFailed: The key is missing, or the scenario gives its caller tools.
        """
        self._refuse_tools()
        if self._state is not None:
            await self._state.open()
        self._prompt = self._scenario.get_user_prompt()
        # its example codes are nobody's facts
        self._facts = self._prompt.replace(VOICE_ALPHANUMERIC_RULE, "")
        fault = None
        try:
            await self._open.enter_async_context(self._client)
        except ChatError as error:
            fault = str(error)
        if fault is not None:
            raise CallerFailed(f"the simulated caller cannot start: {fault}")

    async def reply(self, transcript: Sequence[Utterance]) -> Say | HangUp:
        """Let the model answer the agent's last turn.

        Raises:
            CallerFailed: Its endpoint gave no answer, or what it answered was no line of a caller,
                twice.
        """
        line = await self._line(transcript)
        if line.fault is not None:
            self.stats.note(line.fault.handled)
            line = await self._line(transcript, line.fault.reminder)
        if line.fault is not None:
            raise CallerFailed(
                f"the simulated caller {line.fault.complaint}, although it was asked again "
                f"(model {self._model.model!r} at {self._model.shown_url}){_shown(line.words)}"
            )
        self._note_content(line.words, transcript)
        return self._act(line)

    async def read_out(self, *, include_db: bool) -> CallerSide:  # noqa: ARG002 - it has none
        """Report what the model was told and said, what it cost, and its half of the state."""
        told = self.so_far()
        held = None if self._state is None else self._state.side()
        if held is None:
            return told
        state = replace(told.record, db_hash=held.record.db_hash, db=held.record.db)
        return replace(told, record=state)

    def so_far(self) -> CallerSide:
        """The same, at any time."""
        meter = self._client.meter
        record = SideRecord(
            context=tuple(self._context) or None,
            actions=(),
            tokens=meter.tokens,
            model_runs=meter.answers,
            uncounted_runs=meter.unknown,
        )
        unknown = (meter.note,) if meter.note else ()
        return CallerSide(record=record, warnings=(*self.stats.warnings(), *unknown))

    async def close(self) -> None:
        """Close the connection to the model."""
        await self._open.aclose()

    def _refuse_tools(self) -> None:
        given = json.loads(self._scenario.get_user_tools() or "{}")
        if given:
            raise CallerFailed(
                f"scenario {self._scenario.name!r} gives its caller tools ({', '.join(given)}), "
                "which only a bot can use: name a caller bot with --user-url or --user-cmd"
            )

    def _names(self) -> tuple[str, ...]:
        """The caller's name in the forms in which a model may write it in front of its lines."""
        with suppress(NotImplementedError, AttributeError):
            name = self._scenario.user_persona.name
            return (name, name.split()[0]) if name and name.strip() else ()
        return ()

    # -- asking

    async def _line(self, transcript: Sequence[Utterance], note: str = "") -> Line:
        def compose(takes_tools: bool) -> list[Json]:
            system = system_prompt(self._prompt, tools=takes_tools)
            self._context = to_messages(system, transcript, note)
            return self._context

        reply = await self._ask(compose)
        line = read_line(reply, max_words=self._model.max_words, names=self._names())
        self._context.append({"role": "assistant", "content": line.words})
        for handled, detail in line.notes:
            self.stats.note(handled, detail)
        return line

    async def _ask(self, compose: Compose) -> ChatReply:
        try:
            return await self._client.ask(compose, [hang_up_tool()])
        except ChatError as error:
            fault = str(error)
        # not chained: the cause is told in full
        raise CallerFailed(f"the simulated caller's model did not answer: {fault}")

    # -- acting

    def _act(self, line: Line) -> Say | HangUp:
        if line.ending is None:
            self._heard_out = False
            return Say(line.words)
        if line.words and not self._heard_out and not _says_goodbye(line.words):
            self._heard_out = True
            self.stats.note(Handled.EARLY_HANG_UP)
            return Say(line.words)
        if not line.words:
            self.stats.note(Handled.SILENT_HANG_UP)
        reason = line.ending.reason
        words = line.words or (GOODBYE if reason == "goal_met" else GIVING_UP)
        return HangUp(f"the caller hung up: {reason}", words)

    def _note_content(self, words: str, transcript: Sequence[Utterance]) -> None:
        own = {_plain(u.text) for u in transcript if u.role == "user"}
        if len(words.split()) >= REPETITION and _plain(words) in own:
            self.stats.note(Handled.REPEATED, repr(words[:60]))
        heard = [u.text for u in transcript if u.role == "agent"]
        for code in invented(words, [self._facts, *heard]):
            self.stats.note(Handled.INVENTED, repr(code))


def _says_goodbye(words: str) -> bool:
    """Whether nothing is left for the agent to do or answer."""
    return bool(_FAREWELL.search(words)) and not _REQUEST.search(words)


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _shown(words: str) -> str:
    return f": {words[:SHOWN_WORDS]!r}" if words else ""
