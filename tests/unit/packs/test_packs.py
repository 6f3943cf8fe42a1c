"""Finding and loading packs: where they are, which one counts, and how a broken one is told."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
import textwrap

import pytest

from pytest_voiceeval import packs
from pytest_voiceeval.packs import PackError, find_pack, list_packs, load_pack, pack_of_module

TOML = 'description = "A shop"\n'


@pytest.fixture
def make_pack(tmp_path):
    """Write packs, and forget at the end what was loaded of them."""
    domains = []

    def make(domain, code="", *, root="scenarios", toml=TOML):
        folder = tmp_path / root / domain
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(textwrap.dedent(code), encoding="utf-8")
        if toml is not None:
            (folder / "pack.toml").write_text(toml, encoding="utf-8")
        if domain != "eva_airline":  # only looked for below, never loaded from here
            domains.append(domain)
        return folder

    yield make
    for domain in domains:
        packs.unload_pack(domain)


@pytest.fixture
def user_folder(tmp_path):
    folder = tmp_path / "scenarios"
    folder.mkdir()
    packs.add_user_folder(folder)
    yield folder
    packs.remove_user_folder(folder)


def test_shipped_pack_is_found():
    pack = find_pack("eva_airline")
    assert pack.source == "shipped"
    assert (pack.problem, pack.overrides, pack.data) == (None, (), "eva_airline")
    assert "Airline" in pack.description


def test_a_user_pack_is_an_ordinary_import(user_folder, make_pack):
    folder = make_pack("shop_import", "from .parts import PRICE\n")
    (folder / "parts.py").write_text("PRICE = 3\n")
    module = importlib.import_module("pytest_voiceeval.packs.shop_import")
    assert module.PRICE == 3
    assert module is load_pack("shop_import")
    assert module.parts.__name__ == "pytest_voiceeval.packs.shop_import.parts"
    assert find_pack("shop_import").source == "user"


def test_user_folder_is_searched_only_once_added(tmp_path, make_pack):
    make_pack("shop_hidden")
    with pytest.raises(PackError, match="no pack named 'shop_hidden'"):
        load_pack("shop_hidden")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("pytest_voiceeval.packs.shop_hidden")


def test_a_folder_without_pack_file_is_no_pack(user_folder, make_pack):
    make_pack("shop_helpers", toml=None)
    assert "shop_helpers" not in [pack.domain for pack in list_packs()]
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("pytest_voiceeval.packs.shop_helpers")


def test_a_stray_folder_does_not_hide_a_shipped_pack(user_folder, make_pack):
    make_pack("eva_airline", "raise AssertionError", toml=None)
    assert find_pack("eva_airline").source == "shipped"


def test_environment_names_folders_for_bot_processes(tmp_path, make_pack, monkeypatch):
    make_pack("shop_env", root="one")
    make_pack("shop_env_too", root="two")
    folders = [str(tmp_path / "one"), "", str(tmp_path / "two")]
    monkeypatch.setenv("VOICEEVAL_PACKS", os.pathsep.join(folders))
    assert {"shop_env", "shop_env_too"} <= {pack.domain for pack in list_packs()}
    assert packs.user_folders() == (tmp_path / "one", tmp_path / "two")


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(PackError, match=r"no folder of scenarios at .*nowhere"):
        packs.add_user_folder(tmp_path / "nowhere")


def test_the_user_s_pack_overrides_a_shipped_one_and_says_so(user_folder, make_pack):
    shipped = find_pack("eva_airline").path
    folder = make_pack("eva_airline", "MINE = True\n")
    pack = find_pack("eva_airline")
    assert (pack.path, pack.source, pack.overrides) == (folder, "user", (shipped,))


def test_an_override_that_appears_later_replaces_what_was_loaded(tmp_path, make_pack):
    make_pack("shop_later", "WHICH = 'first'\n", root="one")
    make_pack("shop_later", "WHICH = 'second'\n", root="two")
    one, two = tmp_path / "one", tmp_path / "two"
    packs.add_user_folder(one)
    try:
        assert load_pack("shop_later").WHICH == "first"
        packs.remove_user_folder(one)
        packs.add_user_folder(two)
        assert load_pack("shop_later").WHICH == "second"
    finally:
        packs.remove_user_folder(one)
        packs.remove_user_folder(two)


def test_two_of_one_name_in_one_source_are_an_error(tmp_path, user_folder, make_pack, monkeypatch):
    make_pack("shop_twice")
    make_pack("shop_twice", root="other")
    monkeypatch.setenv("VOICEEVAL_PACKS", str(tmp_path / "other"))
    with pytest.raises(PackError, match=r"two user packs are named 'shop_twice': .* and .*rename"):
        load_pack("shop_twice")


def test_the_same_folder_twice_is_one_pack(tmp_path, user_folder, make_pack, monkeypatch):
    make_pack("shop_linked")
    (tmp_path / "link").symlink_to(user_folder)
    monkeypatch.setenv("VOICEEVAL_PACKS", str(tmp_path / "link"))
    found = [pack for pack in list_packs() if pack.domain == "shop_linked"]
    assert [(pack.problem, pack.overrides) for pack in found] == [(None, ())]


def test_the_shipped_folder_as_a_user_folder_stays_shipped():
    folder = find_pack("eva_airline").path.parent
    packs.add_user_folder(folder)
    try:
        pack = find_pack("eva_airline")
        assert (pack.source, pack.overrides, pack.problem) == ("shipped", (), None)
    finally:
        packs.remove_user_folder(folder)


def test_an_installed_distribution_brings_packs(tmp_path, make_pack, monkeypatch):
    make_pack("voice", "NAME = __name__\n", root="site/acme_calls")
    (tmp_path / "site/acme_calls/__init__.py").write_text("")
    info = tmp_path / "site" / "acme_calls-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-calls\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[voiceeval.domains]\nacme = acme_calls.voice\nacme_gone = acme_calls.nothing\n"
    )
    monkeypatch.syspath_prepend(tmp_path / "site")
    try:
        assert find_pack("acme").source == "entry point"
        assert load_pack("acme").NAME == "pytest_voiceeval.packs.acme"
        with pytest.raises(PackError, match=r"the entry point acme_gone = 'acme_calls.nothing'"):
            load_pack("acme_gone")
    finally:
        packs.unload_pack("acme")


@pytest.mark.parametrize(
    ("toml", "problem"),
    [
        ("", "the key 'description' is missing"),
        ("description = 3\n", "'description' must be a text that is not empty, got 3"),
        ("description = ' '\n", "'description' must be a text"),
        (TOML + "dta = 'x'\n", "unknown key 'dta', did you mean 'data'"),
        ("description = \n", r"pack\.toml: .*line 1"),
    ],
    ids=["empty", "number", "blank", "typo", "syntax"],
)
def test_a_pack_file_is_checked(user_folder, make_pack, toml, problem):
    make_pack("shop_toml", toml=toml)
    with pytest.raises(PackError, match=problem):
        load_pack("shop_toml")
    with pytest.raises(PackError, match=problem):
        importlib.import_module("pytest_voiceeval.packs.shop_toml")
    assert "eva_airline" in [pack.domain for pack in list_packs() if pack.problem is None]


def test_a_byte_order_mark_does_no_harm(user_folder, make_pack):
    make_pack("shop_mark", toml="\ufeff" + TOML)
    assert packs.find_pack("shop_mark").description == "A shop"


def test_a_pack_without_code_is_told(user_folder):
    (user_folder / "shop_bare").mkdir()
    (user_folder / "shop_bare" / "pack.toml").write_text(TOML)
    with pytest.raises(PackError, match=r"shop_bare has a pack\.toml but no __init__\.py"):
        load_pack("shop_bare")


@pytest.mark.parametrize("name", ["two words", "class", "_private", "1st"])
def test_a_name_that_cannot_be_imported_is_told(user_folder, make_pack, name):
    make_pack(name)
    with pytest.raises(PackError, match="cannot be a domain"):
        load_pack(name)


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("x = 1\nundefined_name\n", r"__init__\.py:2\): NameError: name 'undefined_name'"),
        ("def f(:\n", r"__init__\.py:1\): SyntaxError"),
        ("import sys\nsys.exit(3)\n", r"__init__\.py:2\): SystemExit: 3"),
        ("from . import missing\n", r"ImportError: cannot import name 'missing'"),
    ],
    ids=["name", "syntax", "exit", "import"],
)
def test_a_broken_pack_is_told_with_its_line_and_hurts_no_other(user_folder, make_pack, code, text):
    make_pack("shop_broken", code)
    make_pack("shop_fine", "OK = 1\n")
    for _ in range(2):  # the second attempt tells the same, it does not run the code again
        with pytest.raises(PackError, match=rf"user pack 'shop_broken' cannot be loaded .*{text}"):
            load_pack("shop_broken")
    assert load_pack("shop_fine").OK == 1


def test_a_failed_import_leaves_no_modules_behind(user_folder, make_pack):
    folder = make_pack("shop_half", "from . import parts\nraise RuntimeError('no')\n")
    (folder / "parts.py").write_text("")
    with pytest.raises(PackError, match="RuntimeError: no"):
        load_pack("shop_half")
    assert [name for name in sys.modules if "shop_half" in name] == []


def test_unknown_names_come_with_the_closest():
    with pytest.raises(PackError, match="no pack named 'eva_arline', did you mean 'eva_airline'"):
        find_pack("eva_arline")


@pytest.mark.parametrize(
    ("module", "domain"),
    [
        ("pytest_voiceeval.packs.eva_airline", "eva_airline"),
        ("pytest_voiceeval.packs.eva_airline.base", "eva_airline"),
        ("pytest_voiceeval.scenario.model", None),
        ("conftest", None),
    ],
)
def test_pack_of_module(module, domain):
    assert pack_of_module(module) == domain


def test_a_wheel_s_own_copy_is_used_where_there_is_one(tmp_path):
    """A copy of the package as a wheel lays it out, run without the checkout."""
    source = find_pack("eva_airline").path.parent.parent / "pytest_voiceeval"
    site = tmp_path / "site" / "pytest_voiceeval"
    (site / "_shipped" / "scenarios" / "wheel_shop").mkdir(parents=True)
    shutil.copy(source / "__init__.py", site)
    shutil.copytree(source / "packs", site / "packs")
    pack = site / "_shipped" / "scenarios" / "wheel_shop"
    (pack / "pack.toml").write_text(TOML)
    (pack / "__init__.py").write_text("WHEEL = True\n")
    code = (
        f"import sys; sys.path.insert(0, {str(site.parent)!r});"
        "import pytest_voiceeval.packs.wheel_shop as p, pytest_voiceeval.packs as q;"
        "print(p.WHEEL, [x.domain for x in q.list_packs()])"
    )
    run = subprocess.run(
        [sys.executable, "-I", "-c", code],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert run.stdout == "True ['wheel_shop']\n", run.stderr
