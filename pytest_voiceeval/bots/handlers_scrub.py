"""Make a model context safe to send as JSON: media becomes a tag, the rest plain values.

A context may hold sound, images or files inline, as bytes or as base64 text. They are of no use
in a transcript and a few seconds of sound already exceed the size limit of a WebSocket message.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

MEDIA_KINDS = ("audio", "image", "file")
"""Words looked for in the names of surrounding keys, to say what a blob was."""

BINARY_TAG = "<binary>"
DATA_URL = re.compile(r"data:[^,\s]*,")
"""A data URL; the reference tags every text that begins with `data:`, spoken ones too."""

BLOB_KEYS = frozenset({"file_data", "b64_json"})
"""Keys whose value is always encoded media."""


def sanitize_context_for_transport(messages: Any) -> Any:
    """A JSON-ready copy of a model context, without its media.

    Replaced by `<audio>`, `<image>`, `<file>` or `<binary>`: bytes anywhere; `data:` URLs; the
    values of `file_data` and `b64_json`; the text under a key `data` inside something whose key
    names audio, image or file. Addresses, file names, formats and transcripts stay.

    Args:
        messages: The message list of a context; never changed.

    Returns:
        New lists and dictionaries with string keys; objects that JSON does not know become the
        dictionary of their fields, or their text.
    """
    return _scrub(messages, ())


def _scrub(value: Any, keys: tuple[str, ...]) -> Any:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _tag(keys)
    if isinstance(value, str):
        return _tag(keys) if _is_blob(value, keys) else value
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _scrub(item, (*keys, str(key))) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_scrub(item, keys) for item in value]
    return _scrub(_fields(value), keys)


def _is_blob(text: str, keys: tuple[str, ...]) -> bool:
    if DATA_URL.match(text):
        return True
    if not keys:
        return False
    return keys[-1] in BLOB_KEYS or (keys[-1] == "data" and _kind(keys[:-1]) is not None)


def _tag(keys: tuple[str, ...]) -> str:
    kind = _kind(keys)
    return f"<{kind}>" if kind else BINARY_TAG


def _kind(keys: tuple[str, ...]) -> str | None:
    """The medium named by the nearest of the surrounding keys."""
    for key in reversed(keys):
        for kind in MEDIA_KINDS:
            if kind in key.lower():
                return kind
    return None


def _fields(value: Any) -> Any:
    """An object of the model service (a message of its own format) as plain data."""
    if hasattr(value, "model_dump"):
        return value.model_dump()
    if hasattr(value, "__dict__"):
        return dict(vars(value))
    return str(value)
