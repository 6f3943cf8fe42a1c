"""The command that runs one item again, fit to be pasted into a shell."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from pytest_voiceeval.report.characters import clean, columns
from pytest_voiceeval.report.layout import WIDTH, Lines

if TYPE_CHECKING:
    from collections.abc import Sequence

LABEL = "rerun: "


def rerun_lines(nodeid: str, options: Sequence[str] = ()) -> Lines:
    """The command in lines that a shell reads as one.

    Args:
        nodeid: The item.
        options: Arguments to repeat, a flag and its values each an argument of its own.
    """
    lines = [f"{LABEL}pytest {shell_quote(nodeid)}"]
    for group in _grouped(options):
        words = " ".join(map(shell_quote, group))
        if columns(f"{lines[-1]} {words} \\") <= WIDTH:
            lines[-1] += f" {words}"
        else:
            lines[-1] += " \\"
            lines.append(f"  {words}")
    return tuple(lines)


def shell_quote(text: str) -> str:
    """Quote one argument; what cannot be shown is written as an escape that the shell resolves."""
    if text == clean(text) and "\n" not in text:
        return shlex.quote(text)
    return "$'" + "".join(map(_ansi_c, text)) + "'"


def _ansi_c(char: str) -> str:
    if char in "\\'":
        return f"\\{char}"
    if char != "\n" and char == clean(char):
        return char
    # octal bytes, because \\u means a character of the shell's own encoding
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", "surrogateescape"))


def _grouped(options: Sequence[str]) -> list[list[str]]:
    """Keep a flag and its values on one line."""
    groups: list[list[str]] = []
    for option in options:
        if option.startswith("-") or not groups:
            groups.append([option])
        else:
            groups[-1].append(option)
    return groups
