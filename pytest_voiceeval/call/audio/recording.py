"""Recordings that are valid WAV files at every moment, so that a crash keeps what was heard."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, BinaryIO, Self

from pytest_voiceeval.call.audio.plan import CHUNK, RATE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import TracebackType

    import numpy as np
    from numpy.typing import NDArray

    from pytest_voiceeval.wire.frames import AudioFrame

    Samples = NDArray[np.int16]

RECORDING = "conversation_log.wav"
_HEADER = struct.Struct("<4sI4s4sIHHIIHH4sI")
_SILENCE = bytes(4 * CHUNK)
_GAP = 0.06
"""Seconds a frame of a track may be late before silence is put in: what a network does."""
_PAUSE = 0.5
"""Seconds after which half a sample is an end, and not the first half of what follows."""
MOST_TRACKS = 8
"""Files of one side: each is as long as the call, and a bot could change its format for ever."""


class WavWriter:
    """Writes 16-bit PCM, and once a second the sizes in the header.

    A file that is never closed is short by less than a second, and whole otherwise.
    """

    def __init__(self, path: Path, channels: int, rate: int) -> None:
        self._block = 2 * channels
        self._format = (channels, rate)
        self._written = 0
        self._noted = 0
        self._file: BinaryIO = path.open("wb")
        self._note_size()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def frames(self) -> int:
        """Samples of each channel so far."""
        return self._written // self._block

    def write(self, data: bytes) -> None:
        """Append samples, channels interleaved."""
        self._file.write(data)
        self._written += len(data)
        if self._written - self._noted >= self._block * self._format[1]:
            self._note_size()

    def close(self) -> None:
        """Write the final sizes; harmless when closed."""
        if not self._file.closed:
            self._note_size()
            self._file.close()

    def _note_size(self) -> None:
        # sound first: a header never promises more than there is
        self._file.flush()
        self._file.seek(0)
        self._file.write(self._header())
        self._file.flush()
        self._file.seek(_HEADER.size + self._written)
        self._noted = self._written

    def _header(self) -> bytes:
        channels, rate = self._format
        size = min(self._written, 2**32 - 1 - _HEADER.size)
        form = (b"fmt ", 16, 1, channels, rate, rate * self._block, self._block, 16)
        return _HEADER.pack(b"RIFF", size + _HEADER.size - 8, b"WAVE", *form, b"data", size)


class StereoRecorder:
    """The call as both heard it: left went to the agent, right to the caller, on one clock."""

    def __init__(self, path: Path) -> None:
        self._wav = WavWriter(path, 2, RATE)

    def take(self, left: Samples | None, right: Samples | None) -> None:
        """Append one tick; None is silence."""
        import numpy as np

        if left is None and right is None:
            self._wav.write(_SILENCE)
            return
        both = np.zeros((CHUNK, 2), "<i2")
        if left is not None:
            both[:, 0] = left
        if right is not None:
            both[:, 1] = right
        self._wav.write(both.tobytes())

    def close(self) -> None:
        """Finish the file."""
        self._wav.close()


class TrackRecorder:
    """What one bot sent, as it sent it; a file for each rate and number of channels.

    Silence is put where nothing came, so that a track lies on the clock of the recording.

    Args:
        folder: Where the files go.
        side: Whose sound it is.
        note: Takes texts about what is missing.
    """

    def __init__(
        self, folder: Path, side: str, note: Callable[[str], None] = lambda _: None
    ) -> None:
        self._folder = folder
        self._side = side
        self._note = note
        self._files: dict[tuple[int, int], WavWriter] = {}
        self._form = (0, 0)
        self._carry = b""  # a sample of which the rest has not come
        self._left_out = False

    def take(self, at: float, frame: AudioFrame) -> None:
        """Append a frame that arrived `at` seconds after the first frame of the recording."""
        rate, channels = form = (frame.sample_rate, max(1, frame.num_channels))
        file = self._file_of(form)
        if file is None:
            return
        if form != self._form:
            self._form, self._carry = form, b""
        missing = round(at * rate) - file.frames
        if missing > _PAUSE * rate:
            self._carry = b""
        if missing > _GAP * rate:
            file.write(bytes(2 * channels * missing))
        data = self._carry + frame.audio
        whole = len(data) - len(data) % (2 * channels)
        self._carry = data[whole:]
        file.write(data[:whole])

    def _file_of(self, form: tuple[int, int]) -> WavWriter | None:
        if form not in self._files and len(self._files) == MOST_TRACKS:
            if not self._left_out:
                self._left_out = True
                self._note(f"its tracks have the first {MOST_TRACKS} of its audio formats only")
            return None
        if form not in self._files:
            number = f".{len(self._files) + 1}" if self._files else ""
            path = self._folder / f"track_{self._side}{number}.wav"
            self._files[form] = WavWriter(path, form[1], form[0])
        return self._files[form]

    def close(self) -> None:
        """Finish the files."""
        for file in self._files.values():
            file.close()
