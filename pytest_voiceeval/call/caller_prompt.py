"""What the caller's model is told: the scenario's prompt, its part, the talk so far."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_voiceeval.call.result import Utterance

    Json = dict[str, Any]

HANG_UP = "hang_up"
"""Name of the tool that ends the call."""

REASONS = {
    "goal_met": "what you called for is done and the agent has confirmed it",
    "refused": "the agent has refused it for good",
    "failed": "your instructions tell you to give up",
    "transferred": "you were handed over to somebody else",
    "other": "nothing of this, but there is no sense in going on",
}
"""Why a caller may hang up."""

END_MARK = "[[HANG UP: {reason}]]"
"""What a model without tools writes to end the call."""

ROLE_CONTRACT = """\
# Your part

This is a simulated phone call, and you are the caller described above. The phone agent's words \
reach you as the user's messages; whatever you write is spoken to the agent, word for word.

- You are the one who called. You never play the agent: you offer no help, look nothing up, and \
announce nothing as done that only the agent can do.
- One thing at a time: answer what you were asked in one or two short spoken sentences, then stop \
and wait for the agent.
- Keep to yourself what nobody asked about, unless the instructions above tell you to bring it up.
- Your facts are the ones above. What is not there you do not know, and you say so when asked. \
Never make up a name, a number, a date or a code, and never use one from an example as yours.
- Read names of places and people as words, and every code one character at a time, as the \
instructions show it.
- You want what the instructions say, nothing more and nothing else. Do not settle for less \
because the agent is friendly, and do not add wishes of your own.
- Say clearly yes or no when the agent asks whether to go ahead, and yes only to an offer that \
fits your instructions.
- Write spoken words only: no name in front of them, no stage directions, no Markdown, no remarks \
about the simulation.
- A note in double square brackets comes from whoever runs the simulation and not from the agent. \
Follow it and never read it out."""

ENDING = """\
# Ending the call

End the call as soon as one of these is true, and not before:
{reasons}

As long as you are waiting for the agent to do something, or have asked something, the call goes \
on. When the agent asks whether there is anything else and there is not, say so: that is the \
moment to end the call. {how}"""

_BY_TOOL = (
    f"To hang up, call the tool {HANG_UP} with the reason, and put your goodbye into last_words. "
    "A goodbye alone does not end the call."
)
_BY_MARK = (
    "To hang up, say your goodbye and write at the very end, on a line of its own, "
    f"{END_MARK.format(reason='REASON')} with one of the reasons above, such as "
    f"{END_MARK.format(reason='goal_met')}. A goodbye alone does not end the call."
)

SILENCE = "(The line is silent.)"
"""Stands for the agent's words when there were none."""


def hang_up_tool() -> Json:
    """The tool that ends the call, in OpenAI's shape."""
    return {
        "type": "function",
        "function": {
            "name": HANG_UP,
            "description": "Hang up the phone, which ends the call. Only when nothing is left "
            "that the agent is to do or to answer.",
            "parameters": {
                "type": "object",
                "properties": {
                    "reason": {
                        "type": "string",
                        "enum": list(REASONS),
                        "description": "; ".join(f"{key}: {why}" for key, why in REASONS.items()),
                    },
                    "last_words": {
                        "type": "string",
                        "description": "What you say before you hang up.",
                    },
                },
                "required": ["reason"],
            },
        },
    }


def system_prompt(user_prompt: str, *, tools: bool) -> str:
    """The scenario's user prompt, the caller's part, and how to end the call.

    Args:
        user_prompt: What the scenario tells its caller.
        tools: The call is ended by the tool, else by :data:`END_MARK`.
    """
    reasons = "\n".join(f"- {key}: {why}" for key, why in REASONS.items())
    ending = ENDING.format(reasons=reasons, how=_BY_TOOL if tools else _BY_MARK)
    return f"{user_prompt.strip()}\n\n{ROLE_CONTRACT}\n\n{ending}"


def to_messages(system: str, transcript: Sequence[Utterance], note: str = "") -> list[Json]:
    """The talk as the caller's model sees it: the agent is its user.

    Roles alternate strictly and the last word is the agent's, as some chat templates demand.

    Args:
        system: The system prompt.
        transcript: Who said what.
        note: Words to the model itself, put after the agent's last ones.
    """
    messages: list[Json] = [{"role": "system", "content": system}]
    for utterance in transcript:
        _append(messages, *_line(utterance))
    if messages[-1]["role"] != "user":
        _append(messages, "user", SILENCE)
    if note:
        _append(messages, "user", f"[[{note}]]")
    return messages


def _line(utterance: Utterance) -> tuple[str, str]:
    if utterance.role == "user":
        return "assistant", utterance.text
    # brackets of the agent's own must not pass for a note
    words = re.sub(r"([\[\]])\1+", r"\1", utterance.text)
    return "user", words + (" ..." if utterance.partial else "")


def _append(messages: list[Json], role: str, text: str) -> None:
    if len(messages) == 1 and role == "assistant":
        messages.append({"role": "user", "content": SILENCE})
    if messages[-1]["role"] == role:
        messages[-1]["content"] += f"\n{text}"
    else:
        messages.append({"role": role, "content": text})
