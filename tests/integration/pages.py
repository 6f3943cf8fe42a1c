"""Code blocks of the documentation, read as a reader would copy them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
DOCS = CHECKOUT / "docs"

_FENCE = re.compile(r'^```(\w*)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block.

    Attributes:
        page: the page, relative to the checkout.
        line: line of its fence.
        language: its info string's first word.
        title: the file it is to be written to, or None.
        text: its content.
    """

    page: str
    line: int
    language: str
    title: str | None
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def commands(self) -> list[str]:
        """The commands of a console block: what follows `$ `, or every line if none has it."""
        lines = self.text.replace("\\\n", " ").splitlines()
        typed = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        return [" ".join(line.split()) for line in typed or lines if line.strip()]

    @property
    def output(self) -> list[str]:
        """What a console block shows below its commands."""
        lines = self.text.splitlines()
        shows = any(line.startswith("$ ") for line in lines)
        return [line for line in lines if shows and not line.startswith("$ ")]

    def write(self, folder: Path) -> None:
        """Write it to the file that its title names."""
        assert self.title is not None
        path = folder / self.title
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.text, encoding="utf-8")


def blocks(page: Path) -> list[Block]:
    """All blocks of a page."""
    text = page.read_text(encoding="utf-8")
    name = str(page.relative_to(CHECKOUT))
    return [
        Block(name, text.count("\n", 0, found.start()) + 1, found[1], found[2], found[3])
        for found in _FENCE.finditer(text)
    ]


def files(page: Path) -> list[Block]:
    """The blocks of a page that are whole files."""
    return [block for block in blocks(page) if block.title]
