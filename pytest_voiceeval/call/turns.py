"""When is the other side's turn over? A pure state machine over wire events.

A turn is over when every model run that started has stopped, no function call is open, a function
call that ended was followed by another run, something was said, and speech, if there is any, has
ended. Bots show different parts of this; what a bot does not show is never waited for longer than a
named limit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.call.messages import Exit, parse_server_message
from pytest_voiceeval.call.texts import ReplyText
from pytest_voiceeval.wire.frames import AudioFrame
from pytest_voiceeval.wire.rtvi import Envelope

if TYPE_CHECKING:
    from pytest_voiceeval.call.limits import CallLimits
    from pytest_voiceeval.wire.backlog import Event

_NO_SIGN = frozenset(
    {
        "bot-ready",
        "server-response",
        "error-response",
        "bot-audio-level",
        "user-audio-level",
        "system-log",
    }
)
"""Messages that say nothing about whether the bot is at work on its reply."""


_WORK = (
    "bot-llm-",
    "bot-tts-",
    "bot-output",
    "bot-started-speaking",
    "bot-stopped-speaking",
    "llm-function-call-",
    "server-message",
)
"""How messages begin that show the reply itself in the making."""


@dataclass
class BotHabits:
    """What one call has shown about a bot, across its turns.

    Attributes:
        may_speak: False once the bot has promised to keep to text.
        has_spoken: It has, promise or not.
        shows_silent: It puts out text that it does not speak.
    """

    may_speak: bool = True
    has_spoken: bool = False
    shows_silent: bool = False


@dataclass
class _Speech:
    """Speech of this turn; ``at`` is its last sign."""

    on: bool = False
    expected: bool = False
    ended: bool = False
    at: float = 0.0


@dataclass
class _Calls:
    """Function calls of this turn: those in progress, by id, and whether a run has to follow."""

    open: set[str] = field(default_factory=set)
    done: set[str] = field(default_factory=set)
    unanswered: bool = False

    def note(self, kind: str, identity: str) -> None:
        """Take one function call event; ids that ended stay ended, however often they are sent."""
        if kind == "llm-function-call-stopped":
            self.open.discard(identity)
            self.unanswered |= identity not in self.done
            self.done.add(identity)
        elif kind == "llm-function-call-in-progress" and identity not in self.done:
            self.open.add(identity)
            self.unanswered = True
        elif kind == "llm-function-call-started":
            self.unanswered = True


class TurnCollector:
    """One turn of a bot, from our message to the end of its reply.

    Feed it every event of the bot; :attr:`settles_at` tells when the turn is over if nothing
    more comes. All times are on the clock of the events.

    Attributes:
        sent_at: When our message went out.
        first_text_at: First event with words, None until then.
        last_sign_at: Last event that shows the bot at work, at first ``sent_at``.
        exit_at: When the bot ended the call, None if it did not.
        exit_words: What it said with that.
        spoke: Audio or speech events came.
    """

    def __init__(self, sent_at: float, limits: CallLimits, habits: BotHabits) -> None:
        self.sent_at = sent_at
        self.last_sign_at = sent_at
        self.first_sign_at: float | None = None
        self.exit_at: float | None = None
        self.exit_words = ""
        self._limits = limits
        self._habits = habits
        self._worked_at = sent_at
        self._reset()
        self._answered_send = False

    def _reset(self) -> None:
        self.first_text_at: float | None = None
        self.spoke = False
        self._text = ReplyText()
        self._composed: str | None = None
        self._runs = 0
        self._running = 0
        self._calls = _Calls()
        self._speech = _Speech()
        self._cut = False

    # -- what is known so far

    @property
    def text(self) -> str:
        """What was said so far."""
        if self._composed is None:
            # asked for by every later turn, too
            self._composed = self._text.compose()
        return self._composed

    @property
    def busy(self) -> bool:
        """A model run, a function call or speech is under way."""
        return bool(self._running or self._calls.open or self._speech.on)

    @property
    def at_work(self) -> bool:
        """A model run or a function call is under way, whatever is heard meanwhile."""
        return bool(self._running or self._calls.open)

    @property
    def worked_at(self) -> float:
        """When the bot last worked on its reply; metrics that trail in do not count."""
        return max(self._worked_at, self._speech.at)

    @property
    def open_calls(self) -> int:
        """Function calls in progress."""
        return len(self._calls.open)

    @property
    def partial(self) -> bool:
        """The words were cut off, or would be if the turn ended now."""
        return self._cut or bool(self._running or self._speech.on)

    # -- events

    def feed(self, event: Event) -> None:
        """Take the next event of the bot."""
        self._composed = None
        match event.kind:
            case AudioFrame(audio=audio):
                self._hear(event.at, voiced=bool(audio.strip(b"\0")))
            case Envelope() as message if message.type not in _NO_SIGN:
                self._sign(event.at)
                if message.type.startswith(_WORK):
                    self._worked_at = event.at
                self._read(event.at, message)

    def _sign(self, at: float) -> None:
        self.last_sign_at = at
        if self.first_sign_at is None:
            self.first_sign_at = at

    def _hear(self, at: float, *, voiced: bool) -> None:
        """Audio announces speech; silence, which some bots send all the time, does not."""
        if not voiced or self._speech.ended:
            return
        self._speech.expected = True
        self._speech.at = at
        self.spoke = self._habits.has_spoken = True

    def _read(self, at: float, message: Envelope) -> None:
        match message.type:
            case "bot-llm-started":
                self._run_started()
            case "bot-llm-stopped":
                self._running = max(0, self._running - 1)
            case "bot-interrupted":
                self._interrupted()
            case "bot-started-speaking" | "bot-stopped-speaking" | "bot-tts-started":
                self._speak(at, message.type)
            case "server-message":
                self._server_message(at, message.data)
            case kind if kind.startswith("llm-function-call-"):
                self._calls.note(kind, _call_id(message.data))
            case kind:
                self._add_text(at, kind, message.data)

    def _add_text(self, at: float, kind: str, data: Any) -> None:
        if not self._text.add(kind, data):
            return
        if self.first_text_at is None:
            self.first_text_at = at
        self._habits.shows_silent = self._habits.shows_silent or self._text.shows_silent

    def _run_started(self) -> None:
        self._runs += 1
        self._running += 1
        self._calls.unanswered = bool(self._calls.open)
        self._speech.ended = False
        self._text.begin_run()

    def _speak(self, at: float, kind: str) -> None:
        self._speech.expected = True
        self._speech.at = at
        self.spoke = self._habits.has_spoken = True
        if kind == "bot-started-speaking":
            self._speech.on = True
        elif kind == "bot-stopped-speaking":
            self._speech.on = self._speech.expected = False
            self._speech.ended = True

    def _interrupted(self) -> None:
        """Our own message interrupts first: what came before it belongs to an earlier reply."""
        if not self._runs and not self._answered_send:
            self._reset()
        else:
            self._cut = self._cut or self.busy
            self._running = 0
            self._calls.open.clear()
            self._calls.unanswered = False
            self._speech.on = self._speech.expected = False
        self._answered_send = True

    def _server_message(self, at: float, data: Any) -> None:
        match parse_server_message(data):
            case Exit(words=words) if self.exit_at is None:
                self.exit_at = at
                self.exit_words = words

    # -- is it over?

    @property
    def settles_at(self) -> float | None:
        """When the turn is over if nothing more comes; None while a reply is due."""
        if self.exit_at is not None:
            return self._settles_after_exit(self.exit_at)
        if self._running or self._calls.open:
            return None
        if self._speech.on:
            return self._speech.at + self._limits.speech
        if self.first_text_at is None and not self._speech.ended:
            return None
        settled = max(self.last_sign_at, self._speech.at) + self._settling()
        # a bot with background noise sends audio for ever
        return min(settled, self.last_sign_at + self._limits.speech)

    def _settles_after_exit(self, exit_at: float) -> float:
        if self.busy:
            return exit_at + self._limits.exit_words
        last = max(exit_at, self.last_sign_at, self._speech.at)
        return min(last + self._limits.exit_settle, exit_at + self._limits.exit_words)

    def _settling(self) -> float:
        if self._calls.unanswered:
            return self._limits.tool_settle
        if self._speech.ended and self._text.unheard:
            return self._limits.speech_start
        if self._speech.ended:
            return self._limits.speech_gap if self._more_speech_due else self._quiet
        if not self._runs and not self._speech.expected:
            return self._limits.text_gap
        return self._onset()

    @property
    def _more_speech_due(self) -> bool:
        """Announced sentences are unspoken, or a bot that shows no model runs may go on."""
        return self._text.pending or not self._runs

    def _onset(self) -> float:
        """How long speech may lag behind the text of the latest run."""
        if self._speech.expected:
            return self._limits.speech_start
        if self._habits.shows_silent and self._text.lagging:
            return self._limits.output_lag
        if self._text.last_run_silent:
            return self._quiet
        if self._habits.has_spoken:
            return self._limits.speech_start
        return self._limits.speech_onset if self._habits.may_speak else self._quiet

    @property
    def _quiet(self) -> float:
        """The tiny settling time, longer for a bot that was slow to react at all."""
        reaction = (self.first_sign_at or self.sent_at) - self.sent_at
        return max(self._limits.quiet, min(reaction, self._limits.speech_onset))


def _call_id(data: Any) -> str:
    return str(data.get("tool_call_id", "")) if isinstance(data, dict) else ""
