"""Where the results of this run go, and what is written and said when it is over.

All processes of a run share one folder, made when it is first needed. Workers write their own
files; the process that started the run merges, writes and prints, once.
"""

from __future__ import annotations

import dataclasses
import os
import secrets
import tempfile
import time
from collections import Counter
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_voiceeval.call.errors import ResultsNotWritten
from pytest_voiceeval.plugin.editions import DataInUse
from pytest_voiceeval.plugin.keys import RUN, SELECTION
from pytest_voiceeval.plugin.marks import mark_reported
from pytest_voiceeval.plugin.options import read_settings
from pytest_voiceeval.plugin.remote import own_folder, send_lines, shared_folder
from pytest_voiceeval.report import evaluation_log, results_file
from pytest_voiceeval.report.data_used import data_figures, data_of, domain_of
from pytest_voiceeval.report.folders import (
    claim_folder,
    default_run_folder,
    drop_if_empty,
    new_folder,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pytest

    from pytest_voiceeval.report.evaluation_log import Entry

WORKER_KEY = "voiceeval_run"


@dataclasses.dataclass(slots=True)
class Run:
    """One run of pytest, known under the same name to all its processes.

    Attributes:
        id: Its name in `results.jsonl`; it begins with the time in UTC.
        folder: Where its results go.
        started_at: When it began, ISO 8601.
        calls: Its lines of `results.jsonl`, once it is over.
        problem: Why the files of the run were not written, else empty.
    """

    id: str
    folder: Path
    started_at: str
    calls: Sequence[Mapping[str, Any]] = ()
    problem: str = ""


class RunOutput:
    """The run's folder as one process sees it; every process writes only its own files.

    Attributes:
        data: Which data the calls are held on.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.worker = worker_id(config)
        self._run = run_of(config)
        self._shown_from = config.invocation_params.dir
        self.data = DataInUse()

    @property
    def folder(self) -> Path:
        """The run's folder; it need not exist yet."""
        return self._run.folder

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Write something for a call.

        Raises:
            ResultsNotWritten: It cannot be written: the disk is full, for example.
        """
        try:
            yield
        except OSError as error:
            raise ResultsNotWritten(
                f"nothing can be written to {self.folder}: {error}; name another folder with "
                "--voice-output DIR"
            ) from error

    def call_folder(self, name: str) -> Path:
        """A new folder for one call of the scenario `name`.

        Raises:
            ResultsNotWritten: It cannot be made.
        """
        with self.writing():
            return new_folder(self.folder, name)

    @property
    def lock_folder(self) -> Path:
        """Where the workers of this run lock the bots they share."""
        return Path(tempfile.gettempdir()) / f"voiceeval-locks-{os.getuid()}"

    @property
    def account(self) -> Path:
        """Where all processes of this run count what it has cost."""
        return _account(self._run)

    def bot_log(self, role: str) -> Path:
        """Where a bot of this process logs."""
        folder = self.folder / "bot_logs"
        with self.writing():
            folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{role}{'-' + self.worker if self.worker else ''}.log"

    def append(self, line: Mapping[str, Any]) -> None:
        """Add one call to `results.jsonl`.

        Raises:
            ResultsNotWritten: It cannot be added.
        """
        data = data_figures(self.data.of(domain_of(line)))
        with self.writing():
            self.folder.mkdir(parents=True, exist_ok=True)
            results_file.append(self.folder, self.worker, {"run": self._run.id, **data, **line})

    def log(self, entries: Iterable[Entry], name: str) -> None:
        """Add what was done in a call to `evaluation_log.txt`, which is no reason to lose one."""
        with suppress(OSError):
            evaluation_log.add(self.folder, evaluation_log.render(entries, name))

    def mark_reported(self, session: str) -> None:
        """Note in `results.jsonl` that the call `session` was reported by its item."""
        # another run that ended in the same folder may have merged this worker's lines
        for worker in dict.fromkeys((self.worker, "")):
            if mark_reported(results_file.worker_file(self.folder, worker), session):
                return

    def shown(self, path: Path) -> str:
        """The path as a reader in the current directory would type it."""
        return _shown(path, self._shown_from)


def _account(run: Run) -> Path:
    return run.folder / ".shared" / f"cost-{run.id}.json"


def worker_id(config: pytest.Config) -> str:
    """The xdist worker's name, empty in a process that is none."""
    return str(getattr(config, "workerinput", {}).get("workerid", ""))


def run_of(config: pytest.Config) -> Run:
    """This run; the process that started it decides, its workers are told."""
    if RUN not in config.stash:
        told = getattr(config, "workerinput", {}).get(WORKER_KEY)
        config.stash[RUN] = _told(told, config) if told else _begin(config, claim=True)
    return config.stash[RUN]


def tell_worker(node: Any) -> None:
    """xdist: let a worker write to this run's folder."""
    config: pytest.Config = node.config
    if RUN not in config.stash:
        # in a run that selects nothing there may be no call at all, so nothing is created
        selects = config.stash.get(SELECTION, None) is not None
        config.stash[RUN] = _begin(config, claim=selects)
    run = config.stash[RUN]
    node.workerinput[WORKER_KEY] = [run.id, shared_folder(node, run.folder), run.started_at]


def _told(told: Sequence[str], config: pytest.Config) -> Run:
    id_, folder, started_at = told
    return Run(id_, Path(folder) if folder else own_folder(id_, worker_id(config)), started_at)


def _begin(config: pytest.Config, *, claim: bool) -> Run:
    now = datetime.now(UTC)
    id_ = f"{now:%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"
    return Run(id_, _folder(config, now, claim=claim), now.isoformat(timespec="seconds"))


def _folder(config: pytest.Config, now: datetime, *, claim: bool) -> Path:
    """`--voice-output`, or a folder named by the time that no other run has."""
    base = config.invocation_params.dir
    asked = asked_folder(config)
    if asked:
        return (base / asked).absolute()
    unique = default_run_folder(base, now.astimezone(), f"_{os.getpid()}")
    return claim_folder(default_run_folder(base, now.astimezone()), unique) if claim else unique


def asked_folder(config: pytest.Config) -> str:
    """`--voice-output`, read alone: a run without calls is not to fail for another option."""
    by_option = config.getoption("voiceeval_voice_output")
    return str(by_option or config.getini("voiceeval_voice_output") or "")


# -- the end of the run


def finish_run(session: pytest.Session) -> None:
    """Merge what the workers wrote, and write the files of the whole folder.

    It runs in the process that started the run only, also when that was interrupted; what cannot
    be written is said in the summary, the calls' own files are there in any case.
    """
    config = session.config
    run = config.stash.get(RUN, None)
    if run is None or not run.folder.is_dir():
        return
    worker = worker_id(config)
    if worker:
        if run.folder == own_folder(run.id, worker):
            send_lines(config, run)
        return
    try:
        _write_files(run, session)
    except OSError as error:
        run.problem = f"{type(error).__name__}: {error}"


def _write_files(run: Run, session: pytest.Session) -> None:
    from pytest_voiceeval.plugin.probing import USED
    from pytest_voiceeval.report.run_args import add_invocation
    from pytest_voiceeval.report.session_files import calls_of_run, write_session_files

    _account(run).unlink(missing_ok=True)
    (_account(run).parent / USED).unlink(missing_ok=True)
    results_file.merge(run.folder)
    run.calls = calls_of_run(results_file.read(run.folder), run.id)
    if run.calls:
        write_session_files(run.folder)
        _log_end(run, session)
        add_invocation(run.folder, _invocation(run, session))
    elif not asked_folder(session.config):
        drop_if_empty(run.folder)


def _log_end(run: Run, session: pytest.Session) -> None:
    """Say in the log what the run came to, below its calls."""
    outcomes = Counter(str(line.get("outcome")) for line in run.calls)
    counted = ", ".join(f"{number} {outcome}" for outcome, number in outcomes.most_common())
    text = f"run over: {len(run.calls)} calls ({counted}), exit status {int(session.exitstatus)}"
    entry = evaluation_log.Entry(time.time(), text)
    with suppress(OSError):  # no reason to lose the run's other files
        evaluation_log.add(run.folder, evaluation_log.render([entry], run.id))


def _invocation(run: Run, session: pytest.Session) -> dict[str, Any]:
    from pytest_voiceeval.report.run_args import invocation

    config = session.config
    selection = config.stash.get(SELECTION, None)
    called = dict.fromkeys(str(line.get("scenario")) for line in run.calls)
    return invocation(
        run=run.id,
        started_at=run.started_at,
        argv=["pytest", *map(str, config.invocation_params.args)],
        options=_options(config),
        scenarios=selection.names if selection is not None else tuple(called),
        data=_data(run.calls),
        exit_status=int(session.exitstatus),
        versions=_versions(),
    )


def _data(calls: Sequence[Mapping[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """On which data the calls of each domain were held; more than one if workers differed."""
    found: dict[str, dict[Any, None]] = {}
    for line in calls:
        found.setdefault(domain_of(line), {})[data_of(line)] = None
    return {
        domain: [{"edition": edition, "fingerprint": print_} for edition, print_ in data]
        for domain, data in found.items()
    }


def _options(config: pytest.Config) -> dict[str, Any]:
    values = dataclasses.asdict(read_settings(config))
    return {name: str(v) if isinstance(v, Path) else v for name, v in values.items()}


def _versions() -> dict[str, str]:
    import platform
    from importlib.metadata import version

    ours = {name: version(name) for name in ("pytest-voiceeval", "pytest")}
    return {**ours, "python": platform.python_version()}


def summarise(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what the calls came to and where the results are; nothing in a run without calls."""
    run = terminalreporter.config.stash.get(RUN, None)
    if run is None:
        return
    if run.problem:
        terminalreporter.write_line(f"voiceeval: files of the run not written: {run.problem}")
    if not run.calls:
        return
    from pytest_voiceeval.report.terminal import short_summary, summary

    folder = _shown(run.folder, terminalreporter.config.invocation_params.dir)
    if terminalreporter.config.get_verbosity() < 0:
        terminalreporter.write_line(short_summary(run.calls, folder))
        return
    terminalreporter.write_sep("=", "voiceeval")
    from pytest_voiceeval.plugin.dialogues import fault_not_applicable

    skipped = terminalreporter.getreports("skipped")
    for line in (*fault_not_applicable(skipped), *summary(run.calls, folder)):
        terminalreporter.write_line(line)


def _shown(path: Path, base: Path) -> str:
    try:
        return str(path.relative_to(base))
    except ValueError:
        return str(path)
