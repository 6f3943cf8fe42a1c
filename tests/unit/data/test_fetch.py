"""Fetching an upstream edition: from git, from a folder, and everything that can go wrong."""

from __future__ import annotations

import hashlib
import http.server
import os
import socket
import subprocess
import threading
from pathlib import Path

import pytest

from pytest_voiceeval.data import fetch as fetching
from pytest_voiceeval.data.editions import UPSTREAM, Upstream
from pytest_voiceeval.data.fetch import FetchError, fetch, upstream_of
from pytest_voiceeval.data.git import Repository

LIBRARY = Upstream(
    domain="library",
    project="Example/library",
    repository="http://127.0.0.1:9/library",
    tag="1.0",
    commit="0000000",
    licence="MIT",
)
FILES = {
    "LICENSE": b"MIT License\n\nCopyright (c) 2026 Example\n",
    "data/books.jsonl": b'{"id": "1"}\r\n{"id": "2"}\n',
    "data/books/1.json": b"{}\n",
    "data/books/2.json": b'{"a": 1}',
    "configs/agent.yaml": b"role: librarian\n",
}
CHECKSUMS = {path: hashlib.sha256(content).hexdigest() for path, content in FILES.items()}


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A user of our own: no settings of git, an empty data directory."""
    for variable in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / "home"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return tmp_path / "home"


def fill(folder, files=FILES):
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


def git(folder, *arguments):
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    done = subprocess.run(
        ["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def commit(folder):
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "x")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def plain(tmp_path):
    return fill(tmp_path / "plain")


@pytest.fixture
def mirror(tmp_path):
    folder = fill(tmp_path / "mirror")
    git(folder, "init", "--quiet")
    commit(folder)
    return folder


def get(source, **more):
    return fetch(LIBRARY, None if source is None else str(source), checksums=CHECKSUMS, **more)


def installed():
    """What lies in the data directory, half done or not."""
    base = LIBRARY.folder.parent
    return sorted(path.name for path in base.iterdir()) if base.is_dir() else []


def content_of(folder):
    return {path: (folder / path).read_bytes() for path in FILES}


class TestSources:
    def test_the_tag_of_a_repository(self, mirror):
        git(mirror, "tag", "1.0")
        tagged = git(mirror, "rev-parse", "HEAD")
        fill(mirror, {"LICENSE": b"another\n", "more": b""})
        commit(mirror)
        found = get(mirror)
        assert (found.commit, found.files, found.is_new) == (tagged, 5, True)
        assert content_of(found.folder) == FILES
        assert {path.name for path in found.folder.iterdir()} == {
            "LICENSE", "data", "configs", "fetched.json",
        }  # fmt: skip
        assert found.copyright == "Copyright (c) 2026 Example"
        assert installed() == [LIBRARY.folder.name]

    def test_the_head_of_a_mirror_without_the_tag(self, mirror):
        assert get(f"file://{mirror}").commit == git(mirror, "rev-parse", "HEAD")

    def test_a_folder_with_the_plain_files(self, plain):
        found = get(plain)
        assert (found.commit, content_of(found.folder)) == (None, FILES)

    def test_a_relative_folder(self, mirror, monkeypatch):
        monkeypatch.chdir(mirror.parent)
        assert get("mirror").is_new

    def test_what_is_there_is_verified_and_left_alone(self, mirror):
        first = get(mirror)
        again = get("/nowhere")
        assert (again.is_new, again.commit, again.files) == (False, first.commit, 5)

    def test_settings_of_the_user_do_not_change_a_byte(self, mirror, home, monkeypatch):
        fill(mirror, {".gitattributes": b"* text eol=crlf ident\n"})
        git(mirror, "add", ".gitattributes")
        git(mirror, "commit", "--quiet", "--message", "x")
        home.mkdir()
        (home / ".gitconfig").write_text("[core]\nautocrlf = true\n[fetch]\nprune = true\n")
        monkeypatch.setenv("GIT_DIR", str(home / "elsewhere"))  # as inside a hook
        monkeypatch.setenv("GIT_INDEX_FILE", str(home / "index"))
        assert content_of(get(mirror).folder) == FILES

    def test_a_file_that_is_a_folder_or_a_link_there_is_missing(self, mirror):
        (mirror / "LICENSE").unlink()
        (mirror / "LICENSE").mkdir()
        fill(mirror, {"LICENSE/x": b""})
        commit(mirror)
        with pytest.raises(FetchError, match=r"LICENSE: expected sha256 .*, found no such file"):
            get(mirror)


class TestDifferences:
    def test_the_first_are_named_with_both_digests(self, mirror):
        fill(mirror, dict.fromkeys([*FILES][1:], b"wrong"))
        commit(mirror)
        with pytest.raises(FetchError) as raised:
            get(mirror)
        wrong = hashlib.sha256(b"wrong").hexdigest()
        assert str(raised.value).splitlines() == [
            f"{mirror}: 4 of 5 files are not as published; nothing was installed",
            *(f"  {p}: expected sha256 {CHECKSUMS[p]}, found {wrong}" for p in [*FILES][1:4]),
            "  and 1 more",
        ]
        assert installed() == []

    def test_an_edition_that_is_there_survives(self, plain, mirror):
        get(plain)
        fill(mirror, {"LICENSE": b"wrong"})
        commit(mirror)
        with pytest.raises(FetchError, match="1 of 5 files are not as published"):
            get(mirror, force=True)
        assert content_of(LIBRARY.folder) == FILES
        assert installed() == [LIBRARY.folder.name]

    def test_a_damaged_edition_says_so_and_is_replaced_by_force(self, plain):
        folder = get(plain).folder
        (folder / "LICENSE").unlink()
        with pytest.raises(FetchError, match=r"1 of 5 .*; fetch it anew with --force\n  LICENSE"):
            get(plain)
        assert get(plain, force=True).is_new
        assert content_of(folder) == FILES


class TestProblems:
    @pytest.mark.parametrize(
        ("source", "problem"),
        [
            ("/nowhere", "--from /nowhere: there is no such folder, and it is no address"),
            (" ", "--from is empty: name a folder or an address"),
            (".", r"--from \.: is neither a git repository nor a copy of Example/library: none of"),
            ("ext::sh", "ext::sh: transport 'ext' not allowed; nothing was installed"),
            ("file:///nowhere", "file:///nowhere: '/nowhere' does not appear to be a git rep"),
            ("https://me:pw@127.0.0.1:9/x", r"^https://127\.0\.0\.1:9/x: unable to access 'https"),
            (None, r"^http://127.*Failed to connect.*; nothing was installed; a copy of it will"),
        ],
        ids=["path", "empty", "folder", "protocol", "no repository", "unreachable", "upstream"],
    )
    def test_one_line_each(self, tmp_path, monkeypatch, source, problem):
        monkeypatch.chdir(tmp_path)
        with pytest.raises(FetchError, match=problem) as raised:
            get(source)
        assert "\n" not in str(raised.value)
        assert "pw" not in str(raised.value)
        assert installed() == []

    def test_a_repository_without_a_commit(self, tmp_path):
        git(tmp_path, "init", "--quiet")
        with pytest.raises(
            FetchError, match="couldn't find remote ref HEAD; nothing was installed"
        ):
            get(tmp_path)

    def test_without_git(self, mirror, plain, monkeypatch):
        monkeypatch.setenv("PATH", "")
        with pytest.raises(FetchError, match="git is not installed, or not on PATH"):
            get(mirror)
        assert get(plain).is_new

    def test_a_data_directory_that_cannot_be_written(self, plain, home):
        home.write_text("a file")
        with pytest.raises(FetchError, match=r"home/.*: Not a directory; nothing was installed"):
            get(plain)

    @pytest.mark.parametrize(
        ("domain", "hint"), [("eva_airlines", ", did you mean 'eva_airline'"), ("qa", "")]
    )
    def test_a_domain_without_upstream(self, domain, hint):
        text = f"^'{domain}' has no upstream edition{hint}.*; domains that have one: eva_airline$"
        with pytest.raises(FetchError, match=text):
            upstream_of(domain)

    def test_nobody_is_asked_for_a_password(self):
        class Closed(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="x"')
                self.end_headers()

            def log_message(self, *args):
                """Say nothing."""

        with http.server.HTTPServer(("127.0.0.1", 0), Closed) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            with pytest.raises(FetchError, match="terminal prompts disabled; nothing was"):
                get(f"http://127.0.0.1:{server.server_port}/x", seconds=30)
            server.shutdown()

    def test_a_server_that_says_nothing_meets_the_deadline(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            with pytest.raises(
                FetchError, match=r"git fetch took longer than its deadline of 0\.5"
            ):
                get(f"git://127.0.0.1:{port}/x", seconds=0.5)
            peer, _ = server.accept()
            peer.settimeout(30)
            while peer.recv(4096):  # ends when git has ended
                pass
            peer.close()
        assert installed() == []

    @pytest.mark.parametrize("at", ["fetch", "read"])
    def test_an_interrupt_leaves_nothing(self, mirror, plain, monkeypatch, at):
        def interrupt(*args):
            raise KeyboardInterrupt

        monkeypatch.setattr(Repository, at, interrupt)
        with pytest.raises(KeyboardInterrupt):
            get(mirror)
        assert installed() == []
        get(plain)
        with pytest.raises(KeyboardInterrupt):
            get(mirror, force=True)
        assert content_of(LIBRARY.folder) == FILES

    def test_what_was_there_comes_back_if_it_cannot_be_replaced(self, tmp_path):
        old = fill(tmp_path / "target")
        with pytest.raises(FileNotFoundError):
            fetching._put_in_place(tmp_path / "nowhere", old, tmp_path / "aside")
        assert content_of(old) == FILES


def test_the_list_that_ships_with_us():
    for upstream in UPSTREAM.values():
        listed = upstream.checksums
        assert "LICENSE" in listed
        assert all(len(digest) == 64 and int(digest, 16) for digest in listed.values())
        assert not any(Path(path).is_absolute() or ".." in path for path in listed)


def test_the_list_is_that_of_the_benchmark(upstream_root):
    found = fetch(UPSTREAM["eva_airline"], str(upstream_root / "eva"))
    assert (found.files, found.copyright) == (53, "Copyright (c) 2026 ServiceNow")
    files = {str(path.relative_to(found.folder)) for path in found.folder.rglob("*.json")}
    assert len(files) == 50 + 1
    assert os.access(found.folder, os.R_OK | os.X_OK)
