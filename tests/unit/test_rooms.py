"""The import table of ARCHITECTURE.md, enforced on the source; and what an import costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import pytest_voiceeval

PACKAGE = Path(pytest_voiceeval.__file__).parent
CHECKOUT = PACKAGE.parent

ALLOWED = {
    "scoring": set(),
    "wire": set(),
    "packs": set(),
    "tools": {"scoring"},
    "data": {"scoring"},
    "judge": {"scoring", "wire"},
    "scenario": {"scoring", "tools", "data", "packs"},
    "call": {"wire", "scenario", "scoring"},
    "bots": {"wire", "tools", "scenario", "data", "packs", "scoring"},
    "embedded": {"bots", "call", "wire", "scenario", "packs", "scoring"},
    "report": {"scoring", "scenario", "call"},
}
BOT_PROCESS_ONLY = {"pipecat", "fastapi"}


def imports_of(path: Path) -> set[str]:
    """Dotted names a module imports, at its top or inside a function; typing-only ones too."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def rooms_imported(path: Path) -> set[str]:
    parts = (name.split(".") for name in imports_of(path))
    return {part[1] for part in parts if part[0] == "pytest_voiceeval" and len(part) > 1}


@pytest.mark.parametrize("room", sorted(ALLOWED))
def test_room_imports_only_what_the_table_allows(room: str) -> None:
    names = {path.name for path in PACKAGE.iterdir()}
    for path in (PACKAGE / room).rglob("*.py"):
        # public names are resolved lazily by the package itself; rooms name their homes
        foreign = {name for name in rooms_imported(path) if name in names} - {room}
        assert foreign <= ALLOWED[room], f"{path.relative_to(CHECKOUT)} imports {foreign}"


def test_only_bots_imports_pipecat() -> None:
    for path in PACKAGE.rglob("*.py"):
        roots = {name.split(".")[0] for name in imports_of(path)}
        if roots & BOT_PROCESS_ONLY:
            assert path.is_relative_to(PACKAGE / "bots"), (
                f"{path} imports {roots & BOT_PROCESS_ONLY}"
            )


def test_packs_use_only_the_public_api() -> None:
    public = {"pytest_voiceeval", "pytest_voiceeval.tools"}
    for path in (CHECKOUT / "scenarios").rglob("*.py"):
        modules = {
            node.module
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module
        }
        ours = {name for name in modules if name.split(".")[0] == "pytest_voiceeval"}
        assert ours <= public, f"{path} imports {ours - public}"


def test_the_plugin_imports_only_pytest_and_the_standard_library() -> None:
    code = (
        "import sys, pytest; before = set(sys.modules); import pytest_voiceeval.plugin; "
        "new = {name.split('.')[0] for name in set(sys.modules) - before}; "
        "print(sorted(new - set(sys.stdlib_module_names) - {'pytest_voiceeval'}))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_every_public_name_resolves() -> None:
    for name in pytest_voiceeval.__all__:
        assert getattr(pytest_voiceeval, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        _ = pytest_voiceeval.Nonsense
