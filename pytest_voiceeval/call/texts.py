"""The words of one reply, put together from up to three kinds of text events, none counted twice.

``bot-output`` is what the bot put out, sentence by sentence, with its progress when it is spoken.
``bot-tts-text`` is what was spoken, ``bot-llm-text`` what the model wrote. A bot sends any
combination of them, and sentences may trail into the next model run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Progress = Literal["new", "in-progress", "completed"]
_ORDER: dict[str, int] = {"new": 0, "in-progress": 1, "completed": 2}
_PIECES = ("word", "token")


@dataclass
class Segment:
    """One ``bot-output`` segment and how far it has been spoken."""

    text: str
    id: Any
    progress: Progress
    will_be_spoken: bool | None
    run: int
    by_pieces: bool = False
    heard: str = ""

    @property
    def pending(self) -> bool:
        """Still to be spoken."""
        return self.will_be_spoken is not False and self.progress != "completed"

    @property
    def silent(self) -> bool:
        """Announced as text that is not spoken."""
        return self.will_be_spoken is False

    def advance(self, progress: Progress) -> None:
        """Note progress; a late or repeated message never takes it back."""
        if _ORDER[progress] > _ORDER[self.progress]:
            self.progress = progress

    def hear(self, piece: str) -> None:
        """Note one more spoken word of it."""
        self.heard += piece
        if self.by_pieces:
            self.text = _join((self.text, piece))
        whole = _squash(self.heard).endswith(_squash(self.text))
        self.advance("completed" if whole else "in-progress")


@dataclass
class _Run:
    model: list[str] = field(default_factory=list)
    raw: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(_undouble(self.model or self.raw)).strip()


class ReplyText:
    """Collects text events of one reply; :meth:`compose` tells what was said."""

    def __init__(self) -> None:
        # index 0 holds what came before, or without, any model run
        self._runs: list[_Run] = [_Run()]
        self._segments: list[Segment] = []
        self._spoken: list[str] = []
        self._spoken_raw: list[str] = []

    def begin_run(self) -> None:
        """The model starts to write again."""
        self._runs.append(_Run())

    def add(self, kind: str, data: Any) -> bool:
        """Take one text event; False if it is of another kind or holds no text."""
        if not isinstance(data, Mapping) or not isinstance(data.get("text"), str):
            return False
        match kind:
            case "bot-output":
                return self._output(data)
            case "bot-llm-text":
                self._runs[-1].model.append(data["text"])
            case "llm-raw-text":
                self._runs[-1].raw.append(data["text"])
            case "bot-tts-text":
                self._spoken.append(data["text"])
            case "tts-raw-text":
                self._spoken_raw.append(data["text"])
            case _:
                return False
        return bool(data["text"].strip())

    @property
    def pending(self) -> bool:
        """Some announced segment is still to be spoken."""
        return any(segment.pending for segment in self._segments)

    @property
    def unheard(self) -> bool:
        """The latest model run has words but, unlike earlier ones, none that were put out."""
        if not self._segments or not self._runs[-1].text:
            return False
        return not self._homes()[-1]

    @property
    def lagging(self) -> bool:
        """Words of the latest model run have not been put out yet, as far as can be told."""
        shown = sum(len(_squash(segment.text)) for segment in self._homes()[-1])
        return shown < len(_squash(self._runs[-1].text))

    @property
    def shows_silent(self) -> bool:
        """Text that is not spoken is put out too."""
        return any(segment.silent for segment in self._segments)

    @property
    def last_run_silent(self) -> bool:
        """All that the latest model run put out was announced as not spoken."""
        latest = [s for s in self._segments if s.run == len(self._runs) - 1]
        return bool(latest) and all(segment.silent for segment in latest)

    def compose(self) -> str:
        """What was said so far, stripped; the empty string if nothing was."""
        if self._segments:
            return _join(self._by_run())
        spoken = _join(_undouble(self._spoken or self._spoken_raw))
        return spoken or _join(run.text for run in self._runs)

    def _by_run(self) -> Iterable[str]:
        """For each model run its segments, or the model's words where no segment shows them."""
        homes = self._homes()
        if len(homes) > 1 and any(homes[1:]):
            # unspoken text from before the first run is the tail of the reply before
            homes[0] = [segment for segment in homes[0] if not segment.silent]
        for run, segments in zip(self._runs, homes, strict=True):
            shown = _join(segment.text for segment in segments)
            # text that is not spoken may lag behind the end of its run
            trails = all(s.silent for s in segments) and _squash(run.text).startswith(
                _squash(shown)
            )
            yield run.text if run.text and trails else shown

    def _homes(self) -> list[list[Segment]]:
        """Segments by the run whose words they are.

        They come in the order of the words, so each is looked for behind the one before it. Words
        changed for speech belong to the first run that has none yet.
        """
        homes: list[list[Segment]] = [[] for _ in self._runs]
        words = [_squash(run.text) for run in self._runs]
        run, at = 0, 0
        for segment in self._segments:
            found = _find(_squash(segment.text), words, run, at)
            if found is not None:
                run, at = found
                homes[run].append(segment)
            else:
                homes[self._unheard_run(segment, homes)].append(segment)
        return homes

    def _unheard_run(self, segment: Segment, homes: Sequence[Sequence[Segment]]) -> int:
        for index, run in enumerate(self._runs[: segment.run + 1]):
            if run.text and not homes[index]:
                return index
        return segment.run

    def _output(self, data: Mapping[str, Any]) -> bool:
        kind = data.get("output_type") or data.get("text_type") or data.get("aggregated_by")
        progress = _progress_of(data)
        known = self._known(data, progress, piece=kind in _PIECES)
        if known is None:
            self._append(data, progress, piece=kind in _PIECES)
        elif kind in _PIECES:
            known.hear(data["text"])
        else:
            known.advance(progress)
        return bool(data["text"].strip())

    def _known(self, data: Mapping[str, Any], progress: Progress, *, piece: bool) -> Segment | None:
        """The segment this message is about, None if it opens one."""
        identity = data.get("segment_id")
        if identity is not None:
            known = next((s for s in self._segments if s.id == identity), None)
            return known or (None if piece else self._renamed(data["text"], progress))
        if piece:
            word = _squash(data["text"])
            return next((s for s in self._segments if s.pending and word in _squash(s.text)), None)
        same = [s for s in self._segments if s.text == data["text"]]
        waiting = next((s for s in same if s.pending and progress != "new"), None)
        repeated = (
            self._segments[-1] if self._segments and same[-1:] == self._segments[-1:] else None
        )
        return waiting or repeated

    def _renamed(self, text: str, progress: Progress) -> Segment | None:
        """What was announced under another id: Pipecat 1.12 gives a sentence two."""
        if progress != "completed":
            return None
        announced = (s for s in self._segments if s.progress == "new" and s.pending)
        return next((s for s in announced if s.text == text), None)

    def _append(self, data: Mapping[str, Any], progress: Progress, *, piece: bool) -> None:
        announced = data.get("will_be_spoken")
        segment = Segment(
            text=data["text"],
            id=data.get("segment_id"),
            progress=progress,
            will_be_spoken=announced if isinstance(announced, bool) else None,
            run=len(self._runs) - 1,
            by_pieces=piece,
        )
        self._segments.append(segment)


def _progress_of(data: Mapping[str, Any]) -> Progress:
    """Progress in the terms of protocol 2; version 1 only said whether it was spoken."""
    match data.get("spoken_status"):
        case "new" | "in-progress" | "completed" as status:
            progress: Progress = status
            return progress
    return "completed" if data.get("spoken") is True else "new"


def _find(text: str, words: Sequence[str], run: int, at: int) -> tuple[int, int] | None:
    """Run and position behind ``text``, looked for from a run and position on."""
    for index in range(run, len(words) if text else 0):
        position = words[index].find(text, at if index == run else 0)
        if position >= 0:
            return index, position + len(text)
    return None


def _join(pieces: Iterable[str]) -> str:
    """Put pieces next to each other with a space where neither side brought one."""
    text = ""
    for piece in pieces:
        if not piece:
            continue
        glued = not text or text[-1].isspace() or piece[0].isspace() or piece[0] in ",.;:!?)"
        text += piece if glued else f" {piece}"
    return text.strip()


def _squash(text: str) -> str:
    """Letters and digits only: how two spellings of the same words are recognised."""
    return re.sub(r"\W+", "", text).casefold()


def _undouble(pieces: Sequence[str]) -> Sequence[str]:
    """Drop the second copy when every single event was delivered twice."""
    half = pieces[::2]
    doubled = len(pieces) % 2 == 0 and list(half) == list(pieces[1::2])
    return half if doubled and len(_join(half).split()) > 1 else pieces
