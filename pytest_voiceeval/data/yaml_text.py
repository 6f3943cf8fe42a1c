"""YAML as we accept it: the types of JSON, no tags, each key once, aliases of bounded size.

Plain scalars become numbers, booleans or null only where JSON would read them so. `0012`, `1_000`,
`12:30:00`, `2026-03-17` and `yes` stay texts. Import this module lazily: it imports PyYAML.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, NoReturn

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from pytest_voiceeval.data.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

try:  # the C parser is many times as fast and gives the same marks
    from yaml import CBaseLoader as _BaseLoader
except ImportError:  # pragma: no cover - depends on how PyYAML was built
    from yaml import BaseLoader as _BaseLoader  # type: ignore[assignment]

MAX_VALUES = 200_000
"""How many values a document may hold that repeats itself through aliases."""

_TAG = "tag:yaml.org,2002:"
_PLAIN = "plain"  # our own tag of an unquoted scalar, which alone may become a number
_LONGEST_NUMBER = 1000  # digits; longer ones are texts, as no database holds such a number
_NULL = re.compile(r"~|null|Null|NULL|")
_BOOLEAN = re.compile(r"true|True|TRUE|false|False|FALSE")
_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")


class _Loader(_BaseLoader):
    """Composes nodes and leaves their typing to `_Builder`."""

    def resolve(self, kind: type[Node], value: Any, implicit: Any) -> str:
        if kind is ScalarNode and implicit[0]:
            return _PLAIN
        return str(super().resolve(kind, value, implicit))  # type: ignore[no-untyped-call]


def parse_yaml(text: str, *, path: Path) -> Any:
    """Parse the one YAML document of the file `path`.

    Raises:
        DataError: a syntax error, a tag, a repeated key, an alias inside its own anchor, or
            aliases that write out to more than `MAX_VALUES` values.
    """
    return _read(text, path, _Builder.build)


def parse_yaml_list(text: str, *, path: Path) -> list[tuple[int, Any]]:
    """Parse a document that is a list, each item with the line it begins on.

    Raises:
        DataError: see `parse_yaml`; or it is not a list.
    """
    items: list[tuple[int, Any]] | None = _read(text, path, _Builder.build_list)
    return items or []


def _read(text: str, path: Path, build: Callable[[_Builder, Node], Any]) -> Any:
    try:
        node = yaml.compose(text, Loader=_Loader)
        return None if node is None else build(_Builder(path), node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else None
        raise DataError(f"is not YAML: {error.problem}", path=path, line=line) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        problem = f"is not YAML: the character {chr(error.character)!r} is not allowed"
        raise DataError(problem, path=path, line=line) from None
    except yaml.YAMLError as error:
        raise DataError(f"is not YAML: {error}", path=path) from None
    except RecursionError:
        raise DataError("nests too deeply to be read", path=path) from None


class _Builder:
    """Turns the nodes of one document into plain values, which never share a list or mapping."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.sizes: dict[int, int] = {}

    def build(self, root: Node) -> Any:
        written_out = self._size(root)
        if written_out > max(MAX_VALUES, 10 * len(self.sizes)):
            self._fail(f"aliases write out to {written_out:,} values, too many to use", root)
        return self._value(root)

    def build_list(self, root: Node) -> list[tuple[int, Any]]:
        if not isinstance(root, SequenceNode):
            self._fail("must be a list of records, each beginning with '- '", root)
        values = self.build(root)
        lines = (node.start_mark.line + 1 for node in root.value)
        return list(zip(lines, values, strict=True))

    def _fail(self, problem: str, node: Node) -> NoReturn:
        raise DataError(problem, path=self.path, line=node.start_mark.line + 1)

    def _size(self, node: Node) -> int:
        """Count the values below `node`, aliases written out; each node is visited once."""
        known = self.sizes.get(id(node))
        if known == 0:
            self._fail("an alias refers to the value it is part of", node)
        if known is None:
            self.sizes[id(node)] = 0
            known = self.sizes[id(node)] = 1 + sum(map(self._size, _children(node)))
        return known

    def _value(self, node: Node) -> Any:
        if isinstance(node, MappingNode):
            self._check_tag(node, "map")
            return self._mapping(node)
        if isinstance(node, SequenceNode):
            self._check_tag(node, "seq")
            return [self._value(item) for item in node.value]
        if node.tag == _PLAIN:
            return _scalar(node.value)
        self._check_tag(node, "str")
        return node.value

    def _check_tag(self, node: Node, kind: str) -> None:
        if node.tag not in (f"{_TAG}{kind}", "!"):
            self._fail(f"the tag {node.tag.replace(_TAG, '!!')!r} is not allowed", node)

    def _mapping(self, node: MappingNode) -> dict[str, Any]:
        result: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if _is_merge(key_node):
                merged = {**self._merge(value_node), **merged}
                continue
            key = self._key(key_node)
            if key in result:
                self._fail(f"the key {key!r} appears twice", key_node)
            result[key] = self._value(value_node)
        return {**merged, **result}

    def _key(self, node: Node) -> str:
        if not isinstance(node, ScalarNode):
            self._fail("a key must be a text", node)
        if node.tag != _PLAIN:
            self._check_tag(node, "str")
        return str(node.value)

    def _merge(self, node: Node) -> dict[str, Any]:
        """Read the value of a merge key: one mapping, or a list of them, the first one winning."""
        parts = node.value if isinstance(node, SequenceNode) else [node]
        merged: dict[str, Any] = {}
        for part in parts:
            if not isinstance(part, MappingNode):
                self._fail("'<<' merges mappings only", part)
            merged = {**self._mapping(part), **merged}
        return merged


def _children(node: Node) -> list[Node]:
    if isinstance(node, MappingNode):
        return [part for pair in node.value for part in pair]
    return node.value if isinstance(node, SequenceNode) else []


def _is_merge(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.tag == _PLAIN and node.value == "<<"


def _scalar(text: str) -> str | int | float | bool | None:
    """Type a plain scalar as JSON would."""
    if _NULL.fullmatch(text):
        return None
    if _BOOLEAN.fullmatch(text):
        return text.lower() == "true"
    if len(text) > _LONGEST_NUMBER:
        return text
    if _INTEGER.fullmatch(text):
        return int(text)
    number = float(text) if _FLOAT.fullmatch(text) else math.inf
    return number if math.isfinite(number) else text
