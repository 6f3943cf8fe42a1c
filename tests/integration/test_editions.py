"""`voiceeval data fetch`, then `--edition upstream`: the benchmark as its authors published it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_voiceeval.cli import main
from pytest_voiceeval.data.editions import EDITION_VARIABLE
from tests.integration.conftest import Run
from tests.integration.inner import look

__all__ = ["look"]

Results = Callable[[], list[dict[str, Any]]]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A data directory of our own, with nothing fetched."""
    for variable in ("HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / "home"))
    monkeypatch.delenv(EDITION_VARIABLE, raising=False)


@pytest.fixture
def mirror(upstream_root: Path, tmp_path: Path) -> Path:
    """The benchmark's files as a git repository of this machine."""
    folder = tmp_path / "mirror"
    shutil.copytree(upstream_root / "eva", folder, copy_function=shutil.copyfile)
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "x"], ["tag", "0.1.3"]):
        subprocess.run(["git", *who, *words], cwd=folder, check=True)
    return folder


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_what_was_fetched_runs_and_is_named_in_all_results(
    mirror: Path, upstream_root: Path, run: Run, results: Results, pytester: pytest.Pytester,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    assert main(["data", "fetch", "eva_airline", "--from", str(mirror)]) == 0
    assert "licence:  MIT, Copyright (c) 2026 ServiceNow" in capsys.readouterr().out
    script = upstream_root / "eva_sample_calls.json"
    ids = [f"eva_airline::{item}" for item in ("voluntary_date_change", "1_1_3", "5_1_2")]
    result = run(
        *ids, "--edition", "upstream", f"--script={script}", "-n", "1", "--junitxml", "junit.xml"
    )  # fmt: skip
    result.assert_outcomes(passed=3)
    [line] = [line for line in result.outlines if "edition upstream" in line]
    fingerprint = line.rpartition("(")[2].rstrip(")")
    data = {"edition": "upstream", "fingerprint": fingerprint}
    lines = {line["nodeid"]: {key: line[key] for key in data} for line in results()}
    assert lines == dict.fromkeys(ids, data)
    out = pytester.path / "out"
    metrics = [{key: one[key] for key in data} for one in read(out / "all_metrics.json")]
    assert metrics == [data] * 3
    [invocation] = read(out / "run_args.json")["invocations"]
    assert invocation["data"] == {"eva_airline": [data]}
    assert f"Data: eva_airline upstream {fingerprint}" in (out / "all_summary.txt").read_text()
    junit = (pytester.path / "junit.xml").read_text(encoding="utf-8")
    assert f'<property name="voiceeval.fingerprint" value="{fingerprint}"' in junit


def test_what_was_not_fetched_is_a_usage_error_with_the_command(
    pytester: pytest.Pytester, look: Run
) -> None:
    said = (
        "ERROR: eva_airline: *is not here; fetch it once with `voiceeval data fetch eva_airline`*"
    )
    result = look("--domain", "eva_airline", "--edition", "upstream")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([said])
    pytester.makeini("[pytest]\nvoiceeval_edition = upstream\n")
    look("--domain", "eva_airline").stderr.fnmatch_lines([said])
    # what stands on the command line counts, and the process is as it was
    assert look("--domain", "eva_airline", "--edition", "ours").ret == pytest.ExitCode.OK
    assert EDITION_VARIABLE not in os.environ


def test_domains_without_a_choice_take_no_notice(
    look: Run, upstream_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    domains = [f"--domain={name}" for name in ("restaurant", "customer_service", "qa")]

    def items(*options: str) -> list[str]:
        return [line for line in look(*domains, "-q", *options).outlines if "::" in line]

    collected = items()
    assert len(collected) == 31
    assert items("--edition", "upstream") == collected
    monkeypatch.setenv("EVAL_DATA_ROOT", str(upstream_root / "eva"))
    assert items("--edition", "ours") == collected


@pytest.mark.parametrize(
    ("edition", "folder", "found"),
    [("ours", "eva", "upstream"), ("upstream", None, "voiceeval")],
)
def test_a_root_with_another_edition_is_a_usage_error(
    look: Run, upstream_root: Path, monkeypatch: pytest.MonkeyPatch,
    edition: str, folder: str | None, found: str,
) -> None:  # fmt: skip
    from pytest_voiceeval.data.root import shipped_data_root

    root = upstream_root / folder if folder else shipped_data_root()
    monkeypatch.setenv("EVAL_DATA_ROOT", str(root))
    result = look("--domain", "eva_airline", "--edition", edition)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    why = f"*--edition {edition} *EVAL_DATA_ROOT names these data, *'{found}': drop one of the two"
    result.stderr.fnmatch_lines([f"ERROR: eva_airline: {why}"])


def test_a_root_of_the_edition_asked_for_is_none(
    look: Run, upstream_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVAL_DATA_ROOT", str(upstream_root / "eva"))
    result = look("--domain", "eva_airline", "--edition", "upstream")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["voiceeval: eva_airline: *, edition upstream (????????????)"])


@pytest.mark.parametrize("value", ["theirs", "voiceeval"])
def test_another_word_is_a_usage_error(pytester: pytest.Pytester, look: Run, value: str) -> None:
    assert look("--domain", "qa", "--edition", value).ret == pytest.ExitCode.USAGE_ERROR
    pytester.makeini(f"[pytest]\nvoiceeval_edition = {value}\n")
    result = look("--domain", "qa")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*voiceeval_edition: '{value}' is not one of ours, upstream"])


def test_a_call_of_a_test_of_the_users_own_is_held_to_it_too(
    pytester: pytest.Pytester, run: Run, results: Results, upstream_root: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Such a run selects nothing, so that nothing can be refused before its items run."""
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.voiceeval(scenario="eva_airline::voluntary_date_change")
        def test_it(call):
            assert call.passed
        """
    )
    monkeypatch.setenv("EVAL_DATA_ROOT", str(upstream_root / "eva"))
    result = run("--edition", "ours")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*--edition ours*"])
    [line] = results()
    assert (line["error"]["code"], line["edition"]) == ("scenario_invalid", None)
