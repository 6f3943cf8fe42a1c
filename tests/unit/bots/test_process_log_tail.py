from __future__ import annotations

from pathlib import Path

import pytest

from pytest_voiceeval.bots.log_tail import LINE_CHARS, LINES, TAIL_BYTES, read_tail, secrets_of


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", ()),
        (b"a\nb\n", ("a", "b")),
        (b"a\n\n  \nb", ("a", "b")),
        (b"\x1b[31mred\x1b[0m\r\nbell\x07\n", ("red", "bell")),
        (b"caf\xc3\xa9 \xff\n", ("café �",)),
    ],
    ids=["empty", "two lines", "blank lines", "terminal escapes", "no UTF-8"],
)
def test_lines_are_fit_for_a_report(tmp_path: Path, content: bytes, lines: tuple[str, ...]) -> None:
    log = tmp_path / "log"
    log.write_bytes(content)
    assert read_tail(log) == lines


def test_a_missing_log_has_no_lines(tmp_path: Path) -> None:
    assert read_tail(tmp_path / "none") == ()


def test_a_big_log_is_read_from_its_end(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("".join(f"line {n}\n" for n in range(TAIL_BYTES)))
    lines = read_tail(log)
    assert len(lines) == LINES
    assert lines[-1] == f"line {TAIL_BYTES - 1}"


def test_a_long_line_is_shortened(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("x" * (3 * TAIL_BYTES) + "\n")
    (line,) = read_tail(log)
    assert len(line) == LINE_CHARS
    assert line.endswith("x…")


def test_starts_where_the_run_started_even_if_the_log_shrank(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("old\nnew\n")
    assert read_tail(log, start=4) == ("new",)
    assert read_tail(log, start=4000) == ()


def test_secrets_are_the_long_values_of_variables_named_so(tmp_path: Path) -> None:
    env = {
        "OPENAI_API_KEY": "sk-abcdefgh",
        "hf_token": "hf-abcdefgh-longer",
        "DB_PASSWORD": "short",
        "PATH": "/usr/bin:/bin",
    }
    assert secrets_of(env) == ["hf-abcdefgh-longer", "sk-abcdefgh"]
    log = tmp_path / "log"
    log.write_text("using sk-abcdefgh and hf-abcdefgh-longer\n")
    assert read_tail(log, hidden=secrets_of(env)) == ("using *** and ***",)
