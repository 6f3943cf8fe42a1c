"""Every wait of a call, by name and in seconds. The name is in the error when one runs out."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class CallLimits:
    """The longest (and, where it says so, the settling) waits of one call.

    Attributes:
        connect: Opening one connection to a bot, retries while it is busy included.
        ready: From ``client-ready`` to ``bot-ready``.
        request: Each set-up request.
        optional_request: A set-up request the bot need not know.
        max_duration: The whole conversation; None takes the scenario's, else 900.
        max_turns: Agent turns, a number rather than seconds.
        turn_silence: No sign of the agent while a reply is due.
        both_silent: In a call with sound, nobody speaks although the caller's answer is due.
        caller_start: A caller getting ready.
        caller: One reply of the caller.
        caller_read_out: A caller reporting its side at the end.
        caller_close: A caller freeing what it took.
        last_reply: The agent's answer to the last words of a caller that hung up.
        quiet: Settling time once the agent's turn looks over and no speech is to come. It grows up
            to ``speech_onset`` with the time the bot takes to react to a message at all, because a
            turn that is answered before the bot has filed it is cut off in the agent's memory.
        speech_onset: How long the first speech of a bot that may speak can lag behind its text.
        speech_start: The same once it is known that this bot speaks.
        speech_gap: Pause between two sentences of one reply.
        speech: No sign of the end of speech that has begun.
        output_lag: How long the last put-out sentence of a bot that shows unspoken text can lag
            behind its model.
        text_gap: End of a reply of a bot that sends text but no other events.
        tool_settle: A closed function call that no further model run follows.
        tool_wait: Function calls still in progress when the conversation ends.
        exit_settle: From the agent's exit to the end of the call.
        exit_words: The agent's last words after its exit, at most.
        pull: Each of the two read-outs at the end.
        process_exit: Learning how a bot's process ended.
        state_prepare: The user's code setting the state of an agent with tools of its own.
        state_read: The user's code learning it at the end.
    """

    connect: float = 10.0
    ready: float = 5.0
    request: float = 15.0
    optional_request: float = 2.0
    max_duration: float | None = None
    max_turns: int = 60
    turn_silence: float = 30.0
    both_silent: float = 30.0
    caller_start: float = 90.0
    caller: float = 60.0
    caller_read_out: float = 60.0
    caller_close: float = 15.0
    last_reply: float = 30.0
    quiet: float = 0.02
    speech_onset: float = 0.3
    speech_start: float = 3.0
    speech_gap: float = 0.5
    speech: float = 60.0
    output_lag: float = 1.0
    text_gap: float = 1.0
    tool_settle: float = 2.0
    tool_wait: float = 10.0
    exit_settle: float = 0.5
    exit_words: float = 10.0
    pull: float = 15.0
    process_exit: float = 3.0
    state_prepare: float = 60.0
    state_read: float = 60.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and not (value > 0 and math.isfinite(value)):
                raise ValueError(f"the call limit {field.name!r} must be above 0, got {value!r}")

    def duration_for(self, scenario_max: float | None) -> float:
        """The conversation's limit: ours, else the scenario's, else the reference's 900 s."""
        return self.max_duration or scenario_max or 900.0
