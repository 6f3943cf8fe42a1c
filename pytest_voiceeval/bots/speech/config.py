"""What a bot with a voice is made of, and the keys of its configuration file."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Protocol

from pytest_voiceeval.bots.log_tail import secrets_of
from pytest_voiceeval.wire.secret import Secret

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SPEAKING = {
    "tones": "pytest_voiceeval.bots.speech.tone_services.ToneTTSService",
    "espeak": "pytest_voiceeval.bots.speech.espeak.EspeakTTSService",
    "openai": "pipecat.services.openai.tts.OpenAITTSService",
    "elevenlabs": "pipecat.services.elevenlabs.tts.ElevenLabsTTSService",
    "cartesia": "pipecat.services.cartesia.tts.CartesiaTTSService",
    "deepgram": "pipecat.services.deepgram.tts.DeepgramTTSService",
    "piper": "pipecat.services.piper.tts.PiperTTSService",
    "riva": "pipecat.services.nvidia.tts.NvidiaTTSService",
}
"""`tts.type` to the class that speaks."""

HEARING = {
    "tones": "pytest_voiceeval.bots.speech.tone_services.ToneSTTService",
    "openai": "pipecat.services.openai.stt.OpenAISTTService",
    "deepgram": "pipecat.services.deepgram.stt.DeepgramSTTService",
    "whisper": "pipecat.services.whisper.stt.WhisperSTTService",
    "riva": "pipecat.services.nvidia.stt.NvidiaSTTService",
}
"""`stt.type` to the class that hears."""

DETECTING = ("tones", "silero")
"""`vad.type`."""

_VAD_NUMBERS = ("confidence", "start_secs", "stop_secs", "min_volume")
_KEYS = {
    "": ("llm", "server", "stt", "tts", "vad", "turn_taking", "transport"),
    "vad": ("type", *_VAD_NUMBERS),
    "turn_taking": ("speech_timeout",),
    "transport": ("audio_out_10ms_chunks",),
}
"""What counts in a file, by section; the sections first."""
_NEAR = 0.75

_VARIABLE = re.compile(r"\$\{(\w+)\}")


class SpeechError(ValueError):
    """A bot cannot speak or hear like this; the text names the key at fault."""


class Keys(Protocol):
    """Reads keys of a configuration file, `section.name`, and complains about wrong types."""

    def get(self, key: str, kind: type, default: Any = None) -> Any:
        """The value, or the default where the key is absent or null."""


@dataclass(frozen=True)
class ServiceConfig:
    """One service of Pipecat's, or ours.

    Attributes:
        section: `stt` or `tts`.
        path: Dotted path of its class.
        arguments: What it is made with; may hold keys, so it is not shown.
    """

    section: str
    path: str
    arguments: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def secrets(self) -> list[Secret]:
        """What no message may show: arguments that are named like a secret."""
        texts = enumerate(_named_texts(self.section, self.arguments))
        found = secrets_of({f"{name} {number}": text for number, (name, text) in texts})
        return [Secret(text) for text in found]

    def load(self) -> Callable[..., Any]:
        """Import the class.

        Raises:
            SpeechError: There is no such class, or a package that it needs is not installed.
        """
        import importlib

        module, _, name = self.path.rpartition(".")
        try:
            loaded: Callable[..., Any] = getattr(importlib.import_module(module), name)
        except Exception as error:  # importing somebody else's code
            raise SpeechError(f"{self.section}: no class {self.path}: {error}") from error
        return loaded

    def check(self) -> None:
        """Find what would go wrong in the middle of a call.

        A service of ours is made once, and takes no key it does not know. Others are not: they may
        load a model; and what they do not know, most of them ignore.

        Raises:
            SpeechError: See `load`; it is no class; or it cannot be made with its arguments.
        """
        loaded = self.load()
        if not isinstance(loaded, type):
            raise SpeechError(f"{self.section}: {self.path} is no class")
        if loaded.__module__.startswith(f"{__package__}."):
            known = _names_of(loaded)
            unknown = [name for name in self.arguments if name not in known]
            if unknown:
                raise SpeechError(f"{self.section}: {loaded.__name__} takes no {unknown[0]}")
            self.make()
            return
        try:
            inspect.signature(loaded).bind(**self.arguments)
        except TypeError as error:
            raise SpeechError(f"{self.section}: {self.path}: {error}") from None
        except ValueError:
            return  # written in C: it does not say what it takes

    def make(self) -> Any:
        """Make the service.

        Raises:
            SpeechError: See `load`; or the class does not take the arguments.
        """
        loaded = self.load()
        try:
            return loaded(**self.arguments)
        except SpeechError as error:
            raise SpeechError(f"{self.section}: {error}") from None
        except Exception as error:
            kind = type(error).__name__  # its text may repeat a key
            detail = f": {error}" if isinstance(error, TypeError) else ""
            raise SpeechError(
                f"{self.section}: {self.path} cannot be made with "
                f"{', '.join(self.arguments) or 'no arguments'}: {kind}{detail}"
            ) from error


@dataclass(frozen=True)
class SpeechConfig:
    """How a bot hears, speaks, and tells when it is its turn. Durations in seconds.

    Attributes:
        stt: What hears.
        tts: What speaks.
        vad: `tones` or `silero` (a model for speech).
        vad_params: `confidence`, `start_secs`, `stop_secs`, `min_volume` as far as given.
        speech_timeout: How long the other side is silent before its turn counts as over.
        chunks: How many 10 ms of sound leave in one frame.
    """

    stt: ServiceConfig = ServiceConfig("stt", HEARING["tones"])
    tts: ServiceConfig = ServiceConfig("tts", SPEAKING["tones"])
    vad: str = "tones"
    vad_params: Mapping[str, float] = field(default_factory=dict)
    speech_timeout: float = 0.4
    chunks: int = 4

    @property
    def secrets(self) -> list[Secret]:
        """What no message may show."""
        return [*self.stt.secrets, *self.tts.secrets]


def read_speech(
    file: Keys, sections: Mapping[str, Any], environ: Mapping[str, str] = os.environ
) -> SpeechConfig:
    """Read the sections `stt`, `tts`, `vad`, `turn_taking` and `transport` of a file.

    Args:
        file: Reads single keys.
        sections: The file as it was parsed.
        environ: Where `${NAME}` in a value comes from.

    Raises:
        SpeechError: A key cannot be used.
    """
    _refuse_slips(sections)
    vad = file.get("vad.type", str, "tones" if _hears_tones(sections) else "silero")
    if vad not in DETECTING:
        raise SpeechError(f"vad.type {vad!r} is none of {', '.join(DETECTING)}")
    params = {name: file.get(f"vad.{name}", float) for name in _VAD_NUMBERS}
    chunks = file.get("transport.audio_out_10ms_chunks", int, 4)
    timeout = file.get("turn_taking.speech_timeout", float, 0.4)
    if chunks < 1 or not timeout >= 0:
        raise SpeechError(
            "transport.audio_out_10ms_chunks must be 1 or more and turn_taking.speech_timeout 0 or "
            f"more, got {chunks} and {timeout}"
        )
    return SpeechConfig(
        stt=_service("stt", HEARING, sections, environ),
        tts=_service("tts", SPEAKING, sections, environ),
        vad=vad,
        vad_params={name: value for name, value in params.items() if value is not None},
        speech_timeout=timeout,
        chunks=chunks,
    )


def _refuse_slips(sections: Mapping[str, Any]) -> None:
    """Refuse what is nearly a key of ours; what is none at all is for somebody else.

    Raises:
        SpeechError: It names the key.
    """
    for section, known in _KEYS.items():
        given = sections.get(section) if section else sections
        for key in given if isinstance(given, Mapping) else ():
            near = get_close_matches(str(key), known, 1, _NEAR)
            if near and key not in known:
                where = f"{section}." if section else ""
                raise SpeechError(f"there is no {where}{key}; did you mean {where}{near[0]}?")


def _hears_tones(sections: Mapping[str, Any]) -> bool:
    section = sections.get("stt") or {}
    if not isinstance(section, Mapping) or "class" in section:
        return False
    return bool(section.get("type", "tones") == "tones")


def _service(
    name: str,
    table: Mapping[str, str],
    sections: Mapping[str, Any],
    environ: Mapping[str, str],
) -> ServiceConfig:
    """`type:` of the table or `class:` any dotted path; every other key is an argument."""
    section = sections.get(name) or {}
    if not isinstance(section, Mapping):
        raise SpeechError(f"`{name}` must be a section of keys")
    arguments = {key: value for key, value in section.items() if key not in {"type", "class"}}
    kind, path = section.get("type"), section.get("class")
    if kind is not None and path is not None:
        raise SpeechError(f"{name}: `type` and `class` both name the service: give one")
    if path is None:
        path = table.get(kind or "tones")
    if path is None:
        raise SpeechError(
            f"{name}.type {kind!r} is none of {', '.join(table)}; name any other service with "
            f"{name}.class: package.module.ClassName"
        )
    if not isinstance(path, str) or "." not in path:
        raise SpeechError(f"{name}.class must be a dotted path such as package.module.ClassName")
    expand = _expander(name, environ)
    return ServiceConfig(name, path, {key: expand(value) for key, value in arguments.items()})


def _names_of(kind: type) -> set[str]:
    """All that a class and those it is made of call their arguments."""
    return {
        name
        for each in kind.__mro__
        if "__init__" in vars(each)
        for name, parameter in inspect.signature(vars(each)["__init__"]).parameters.items()
        if parameter.kind is not parameter.VAR_KEYWORD and name != "self"
    }


def _named_texts(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """All texts in a value, however deep, each with the name it stands under."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _named_texts(str(key), item)
    elif isinstance(value, list):
        for item in value:
            yield from _named_texts(name, item)


def _expander(section: str, environ: Mapping[str, str]) -> Callable[[Any], Any]:
    """Put environment variables where a value says `${NAME}`, however deep."""

    def variable(found: re.Match[str]) -> str:
        if found[1] not in environ:
            raise SpeechError(f"{section}: the environment variable {found[1]} is not set")
        return environ[found[1]]

    def expand(value: Any) -> Any:
        if isinstance(value, str):
            return _VARIABLE.sub(variable, value)
        if isinstance(value, Mapping):
            return {key: expand(item) for key, item in value.items()}
        if isinstance(value, list):
            return [expand(item) for item in value]
        return value

    return expand
