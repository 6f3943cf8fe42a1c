"""When is a call over, and why? Asked at every tick; pure, on the loop's clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from pytest_voiceeval.call.ending import Ended
from pytest_voiceeval.call.errors import CallerFailed
from pytest_voiceeval.call.result import EndReason

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_voiceeval.call.audio.talk import Talk
    from pytest_voiceeval.call.limits import CallLimits
    from pytest_voiceeval.call.result import Side

AFTER_HANGUP = 2.0
"""Seconds without a sign of the agent after which it had nothing more to say to a caller who has
hung up."""


class CallersMind(Protocol):
    """What is known of a caller beyond the events of its bot."""

    def at_work_until(self, now: float) -> float:
        """Until when it was thinking of an answer."""

    def thinking_time(self, now: float) -> float:
        """Seconds until now that are not the agent's."""

    def why_left(self, words: str) -> str:
        """Why it hung up, by the words of its bot."""


class Endings:
    """Looks for the end of a call.

    Args:
        talk: The call.
        caller: Who calls.
        limits: Its limits.
        max_duration: Seconds from the first frame on.
        began: When that was.
        audible: Whether sound of a side is still on its way to the other.
        why_silent: Words about an agent that is silent, beside for how long.
    """

    def __init__(
        self,
        talk: Talk,
        caller: CallersMind,
        limits: CallLimits,
        max_duration: float,
        *,
        began: float,
        audible: Callable[[Side], bool],
        why_silent: Callable[[], str],
    ) -> None:
        self._talk = talk
        self._caller = caller
        self._limits = limits
        self._max_duration = max_duration
        self._began = began
        self._audible = audible
        self._why_silent = why_silent
        self.kickoff: float | None = None

    def check(self, now: float) -> Ended | None:
        """How the call ended, None if it goes on.

        Raises:
            CallerFailed: The caller never let the agent speak.
        """
        return (
            self._by_agent(now)
            or self._by_time(now)
            or self._by_caller(now)
            or self._by_turns()
            or self._by_silence(now)
        )

    def _by_agent(self, now: float) -> Ended | None:
        exit_ = self._talk.exits.get("agent")
        if exit_ is None or not self._has_left("agent", exit_[0], now):
            return None
        return Ended(EndReason.EXIT, exit_[1])

    def _by_time(self, now: float) -> Ended | None:
        if now - self._began - self._caller.thinking_time(now) < self._max_duration:
            return None
        exit_ = self._talk.exits.get("agent")
        if exit_ is not None:
            return Ended(EndReason.EXIT, exit_[1])
        reached = f"the conversation reached {self._max_duration:g} s (max_duration)"
        caller = self._talk.speaking_since("user")
        if caller is not None and now - caller > self._limits.speech:
            raise CallerFailed(
                f"the caller's bot failed: {reached}, and it had been speaking without a pause for "
                f"{now - caller:.0f} s (speech)"
            )
        return Ended(EndReason.TIMEOUT, reached + self._meanwhile(now))

    def _meanwhile(self, now: float) -> str:
        """Who was at what, where that tells why there was no time left."""
        sides: tuple[tuple[Side, str], ...] = (("agent", "the agent"), ("user", "the caller"))
        for side, who in sides:
            since = self._talk.speaking_since(side)
            if since is not None:
                return f"; {who} had been speaking for {now - since:.1f} s"
        agent, user = (self._talk.last_heard(side) for side in ("agent", "user"))
        owes = agent is None or (user is not None and user > agent)
        return self._why_silent() if owes else ""

    def _by_turns(self) -> Ended | None:
        most = self._limits.max_turns
        if self._talk.completed < most:
            return None
        return Ended(EndReason.TURN_LIMIT, f"{most} agent turns (max_turns)")

    def _by_caller(self, now: float) -> Ended | None:
        exit_ = self._talk.exits.get("user")
        if exit_ is None or "agent" in self._talk.exits:
            return None
        at, words = exit_
        if not self._has_left("user", at, now):
            return None
        detail = self._caller.why_left(words)
        if now >= at + self._limits.last_reply:
            seconds = f"{self._limits.last_reply:g} s (last_reply)"
            detail += f"; the agent did not finish its answer to the last words in {seconds}"
        elif self._at_it("agent") or now < self._last_sign("agent") + AFTER_HANGUP:
            return None
        return Ended(EndReason.CALLER_HANGUP, detail)

    def _by_silence(self, now: float) -> Ended | None:
        left = "user" in self._talk.exits
        if self.kickoff is None or left or self._heard("agent") or self._heard("user"):
            return None
        agent, user = (self._talk.last_heard(side) for side in ("agent", "user"))
        owed_by_user = agent is not None and (user is None or agent > user)
        if owed_by_user:
            return self._both_silent(now)
        since = max(self.kickoff, user or 0.0, agent or 0.0, self._talk.worked_at("agent") or 0.0)
        if now - since < self._limits.turn_silence:
            return None
        return Ended(EndReason.AGENT_SILENT, self._silence())

    def _both_silent(self, now: float) -> Ended | None:
        thinking = self._caller.at_work_until(now)
        since = max(self._last_sign("agent"), self._last_sign("user"), thinking)
        if now - since < self._limits.both_silent:
            return None
        seconds = f"{self._limits.both_silent:g} s (both_silent)"
        return Ended(
            EndReason.BOTH_SILENT,
            f"nobody spoke for {seconds}: the agent had spoken last, and the caller did not answer",
        )

    def _silence(self) -> str:
        seconds = f"{self._limits.turn_silence:g} s (turn_silence)"
        why = self._why_silent()
        return f"no sign of the agent for {seconds} in turn {self._talk.exchange}{why}"

    # -- about one side

    def _has_left(self, side: Side, at: float, now: float) -> bool:
        """Whether a side that ended the call has been heard to its last word, within bounds."""
        if now >= at + self._limits.exit_words:
            return True
        if self._at_it(side):
            return False
        wrote = self._talk.wrote_at(side)
        heard = self._talk.last_heard(side)
        if wrote is not None and (heard is None or heard < wrote):
            # words without their sound: the voice may not have begun
            return now >= wrote + self._limits.speech_start
        return now >= max(at, self._last_sign(side)) + self._limits.exit_settle

    def _at_it(self, side: Side) -> bool:
        return self._heard(side) or self._talk.busy(side)

    def _heard(self, side: Side) -> bool:
        return self._talk.speaking(side) or self._audible(side)

    def _last_sign(self, side: Side) -> float:
        signs = (self._talk.last_heard(side), self._talk.worked_at(side), self._began)
        return max(sign for sign in signs if sign is not None)
