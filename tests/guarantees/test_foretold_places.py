"""A dry run's verdict on a path comes true: failed means that the run fails, to change that it does not.

A table: every bundled state that takes a path, times what there may be at the path and above it, times accounts that
do not exist. The dry run and the run find the same ground.
"""

from __future__ import annotations

import inspect
import os
import shutil
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import virtualenv
from asyncstate.modules import linux_sysctl
from plugin_harness import PluginHarness, snapshot
from states_with_paths import STATES, UNKNOWN, harness_of_states, run_all
from tables import beside

from asyncstate.errors import AsyncStateError

if TYPE_CHECKING:
    from collections.abc import Callable

TABLES = beside(__file__)

TEXT = "root=secret\n"


def _nothing(path: Path) -> None:
    assert not path.exists()


def _a_file(path: Path) -> None:
    path.write_text(TEXT)


def _a_folder(path: Path) -> None:
    path.mkdir()
    (path / "in").write_text(TEXT)


def _read_only(path: Path) -> None:
    path.mkdir()
    path.chmod(0o555)


def _link(target: str, make: Callable[[Path], object]) -> Callable[[Path], None]:
    def plant(path: Path) -> None:
        make(path.parent / target)
        path.symlink_to(path.parent / target)

    return plant


def _attribute(name: str, make: Callable[[Path], object], of: str = "") -> Callable[[Path], None]:
    def plant(path: Path) -> None:
        make(path)
        subprocess.run(["chattr", f"+{name}", path / of], check=True, capture_output=True)

    return plant


PLACES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "nothing": (_nothing, "x"),
    "no folder": (_nothing, "x/y"),
    "no folder above": (_nothing, "x/y/z"),
    "a file for a folder": (_a_file, "x/y"),
    "a file for a folder above": (_a_file, "x/y/z"),
    "a file": (_a_file, "x"),
    "a file, slash": (_a_file, "x/"),
    "a folder": (_a_folder, "x"),
    "an empty folder": (os.mkdir, "x"),
    "a pipe": (os.mkfifo, "x"),
    "a link to nothing": (_link("nowhere", _nothing), "x"),
    "a link to nothing in no folder": (_link("nowhere/x", _nothing), "x"),
    "a link to nothing for a folder": (_link("nowhere", _nothing), "x/y"),
    "a link to a folder": (_link("real", os.mkdir), "x"),
    "a link to a file": (_link("real", _a_file), "x"),
}
FIXED: dict[str, tuple[Callable[[Path], Any], str]] = {
    "an immutable file": (_attribute("i", _a_file), "x"),
    "an append-only file": (_attribute("a", _a_file), "x"),
    "a file in an immutable folder": (_attribute("i", _a_folder), "x/in"),
    "nothing in an immutable folder": (_attribute("i", _a_folder), "x/y"),
    "no folder in an immutable folder": (_attribute("i", _a_folder), "x/y/z"),
    "a file in an append-only folder": (_attribute("a", _a_folder), "x/in"),
    "an immutable file in a folder": (_attribute("i", _a_folder, "in"), "x"),
    "an immutable folder": (_attribute("i", _a_folder), "x"),
}
ACCOUNTS = [("user", "a user that does not exist"), ("group", "a group that does not exist")]
LEFT_OUT = {
    "managed, attributes": "what it makes cannot be removed",
    "pip, requirements": "what is in a file of requirements, pip alone reads",
}

WRONG = TABLES["wrong"]
"""A value of each argument that no run accepts."""
ODD = TABLES["odd"]
"""Odd values of arguments; a state may accept some of them."""
PASSED_ON = {"cmd.run": {"group", "output_encoding", "success_retcodes", "template"}}
PASSED_ON["cmd.script"] = PASSED_ON["cmd.run"]
"""Arguments that a state takes by the name of another function."""


class Ground:
    """The folder in which a state finds its path, made anew for the dry run and for the run."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.folder = base / "ground"
        self.fixes = False
        (base / "home").mkdir()
        self.harness: PluginHarness = harness_of_states(base)
        self.harness.opts["foresight"] = True

    def rows(self, state: str, make: Callable[[Path], Any], below: str, **more: str) -> list[dict[str, Any]] | None:
        """Return the rows of a dry run and of a run; None if the state does not take ``more``."""
        function, arguments = STATES[state](f"{self.folder}/{below}", self.base)
        if more.keys() - inspect.signature(self.harness.states[function]).parameters.keys():
            return None
        return self.called(function, arguments | more, make)

    def called(self, function: str, arguments: dict[str, Any], make: Callable[[Path], Any]) -> list[dict[str, Any]]:
        """Return the rows of a dry run and of a run."""
        found = []
        for test in (True, False):
            self._renew(make)
            before = snapshot(self.folder)
            try:
                found.append(self.harness.state(function, test=test, **deepcopy(arguments)))
            except (
                AsyncStateError,
                OSError,
                ValueError,
                TypeError,
                LookupError,
            ) as error:  # a failed row of the engine's
                found.append({"result": False, "changes": {}, "comment": str(error)})
            if test:
                assert snapshot(self.folder) == before, "the dry run changed something"
        return found

    def open(self) -> None:
        """Make all folders removable."""
        if self.fixes:
            subprocess.run(["chattr", "-R", "-f", "-ia", self.base], check=False, capture_output=True)
        for name in ("ground", "home"):
            for top, folders, _ in os.walk(self.base / name):
                for folder in folders:
                    if not os.path.islink(f"{top}/{folder}"):
                        os.chmod(f"{top}/{folder}", 0o755)

    def _renew(self, make: Callable[[Path], Any]) -> None:
        self.open()
        for name in ("ground", "home"):
            shutil.rmtree(self.base / name, ignore_errors=True)
            (self.base / name).mkdir()
        (self.base / "own.txt").write_text("own=1\n")
        for name in ("got", "aside"):
            path = self.base / name
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            path.unlink(missing_ok=True)
        make(self.folder / "x")


@pytest.fixture
def ground(tmp_path, monkeypatch):
    (tmp_path / "proc" / "kernel").mkdir(parents=True)
    (tmp_path / "proc" / "kernel" / "ostype").write_text("Linux\n")
    monkeypatch.setattr(linux_sysctl, "_PROC", str(tmp_path / "proc"))
    made = Ground(tmp_path)
    yield made
    made.open()


def lie(dry: dict[str, Any], done: dict[str, Any]) -> str:
    """Return what the dry run says that does not come true."""
    told = f"dry run: {dry['result']} {dry['comment']!r}; run: {done['result']} {done['comment']!r}"
    if (dry["result"] is False) != (done["result"] is False):
        return told
    return told if dry["result"] is True and not dry["changes"] and done["changes"] else ""


@pytest.mark.feature("F112")
@pytest.mark.timeout(120)
@pytest.mark.parametrize("state", [state for state in STATES if state not in LEFT_OUT])
def test_what_a_dry_run_says_of_a_place_comes_true(ground, state):
    lies = {}
    for place, (make, below) in PLACES.items():
        lies[place] = lie(*ground.rows(state, make, below))
    for argument, what in ACCOUNTS:
        rows = ground.rows(state, _nothing, "x", **{argument: UNKNOWN})
        lies[what] = lie(*rows) if rows else ""
    assert {place: told for place, told in lies.items() if told} == {}


def test_what_a_dry_run_says_of_a_link_comes_true_where_virtualenv_follows_it(ground):
    program = Path(sys.executable).with_name("virtualenv")
    assert program.exists()

    def here(command, **options):
        """Do what the program does, without the time that it takes to start."""
        if command[0] != str(program):
            return run_all(command, **options)
        if command[1:] == ["--version"]:
            return {"retcode": 0, "stdout": f"virtualenv {virtualenv.__version__}", "stderr": ""}
        try:
            virtualenv.cli_run([f"--app-data={ground.base}/apps", "--without-pip", *command[1:]], setup_logging=False)
        except SystemExit as ended:
            return {"retcode": ended.code, "stdout": "", "stderr": ""}
        return {"retcode": 0, "stdout": "", "stderr": ""}

    ground.harness.salt["cmd.run_all"] = here
    lies, ends = {}, set()
    for place, (make, below) in PLACES.items():
        if place.startswith("a link"):
            arguments = {"name": f"{ground.folder}/{below}", "venv_bin": str(program)}
            dry, done = ground.called("virtualenv.managed", arguments, make)
            lies[place] = lie(dry, done)
            ends.add(done["result"])
    assert {place: told for place, told in lies.items() if told} == {}
    assert ends == {True, False}


@pytest.mark.feature("F112")
@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere; run the tests as an ordinary user")
@pytest.mark.parametrize("state", [state for state in STATES if not state.startswith(("git", "pip", "virtualenv"))])
def test_what_a_dry_run_says_of_a_folder_that_cannot_be_written_comes_true(ground, state):
    for below in ("x/y", "x/y/z"):
        assert lie(*ground.rows(state, _read_only, below)) == ""


@pytest.fixture
def fixable(ground):
    """The ground, where files can be made immutable."""
    probe = ground.base / "probe"
    probe.touch()
    if subprocess.run(["chattr", "+i", probe], check=False, capture_output=True).returncode:
        pytest.skip("this file system has no immutable files")
    subprocess.run(["chattr", "-i", probe], check=True)
    ground.fixes = True
    return ground


@pytest.mark.feature("F112")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files immutable")
@pytest.mark.timeout(120)
@pytest.mark.parametrize("state", [state for state in STATES if state not in LEFT_OUT and state != "virtualenv"])
def test_what_a_dry_run_says_of_what_not_even_root_may_change_comes_true(fixable, state):
    lies = {place: lie(*fixable.rows(state, make, below)) for place, (make, below) in FIXED.items()}
    assert {place: told for place, told in lies.items() if told} == {}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files immutable")
@pytest.mark.parametrize("more", [{"mode": "0666"}, {"user": "nobody"}])
def test_what_a_dry_run_says_of_owner_and_mode_of_a_file_with_the_right_content_comes_true(fixable, more):
    lies = {}
    for place, (make, below) in FIXED.items():
        arguments = {"name": f"{fixable.folder}/{below}", "contents": TEXT} | more
        lies[place] = lie(*fixable.called("file.managed", arguments, make))
    assert {place: told for place, told in lies.items() if told} == {}


@pytest.mark.parametrize("state", ["managed", "append", "touch at a time", "symlink", "serialize", "directory, clean"])
@pytest.mark.parametrize("place", ["no folder", "a file for a folder"])
def test_the_reason_is_that_of_the_run(ground, state, place):
    dry, done = ground.rows(state, *PLACES[place])
    assert (dry["result"], dry["comment"]) == (False, done["comment"])


def test_without_foresight_a_dry_run_does_not_look(ground):
    ground.harness.opts["foresight"] = False
    for state in ("managed", "touch at a time", "serialize", "directory, clean"):
        dry, done = ground.rows(state, *PLACES["no folder"])
        assert (dry["result"], done["result"]) == (None, False)
    for state in ("append", "prepend", "answers"):
        function, arguments = STATES[state](f"{ground.folder}/x", ground.base)
        dry, done = ground.called(function, arguments | {"source": "salt://nope"}, _nothing)
        assert (dry["result"], done["result"]) == (None, False)
    function, arguments = STATES["ssh key, absent"](f"{ground.folder}/x", ground.base)
    dry, done = ground.called(function, arguments | {"enc": "none"}, _nothing)
    assert (dry["result"], done["result"]) == (False, True)


VALUES = {
    **{name: call for name, call in STATES.items() if name not in LEFT_OUT},
    "command": lambda path, base: ("cmd.run", {"name": "true"}),
    "setting of a repository": lambda path, base: ("git.config_set", {"name": "a.b", "value": "x", "repo": f"{base}/r"}),
    "clone": lambda path, base: ("git.cloned", {"name": f"{base}/r", "target": path}),
    "commit": lambda path, base: ("git.detached", {"name": f"{base}/r", "target": path, "rev": "main"}),
    "latest": lambda path, base: ("git.latest", {"name": f"{base}/r", "target": path}),
    "script of the tree": lambda path, base: ("cmd.script", {"name": "salt://tree/f"}),
}  # fmt: skip


@pytest.fixture
def repository(ground):
    """A repository with one commit, in ``r`` beside the ground."""
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.com", "-C", str(ground.base / "r")]
    subprocess.run(["git", "init", "-q", "-b", "main", ground.base / "r"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)


@pytest.mark.feature("F112")
@pytest.mark.timeout(120)
@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize("state", VALUES)
def test_what_a_dry_run_says_of_a_value_comes_true(ground, state):
    function, arguments = VALUES[state](f"{ground.folder}/x", ground.base)
    names = PASSED_ON.get(function, set()) | inspect.signature(ground.harness.states[function]).parameters.keys()
    if function.startswith("cmd."):
        ground.harness.load("modules", "cmd")
    lies = {}
    for argument in sorted(names & WRONG.keys()):
        rows = ground.called(function, arguments | {argument: WRONG[argument]}, _nothing)
        lies[argument] = lie(*rows)
    assert {argument: told for argument, told in lies.items() if told} == {}


@pytest.mark.feature("F112")
@pytest.mark.timeout(120)
@pytest.mark.parametrize("make", [_nothing, _a_file])
@pytest.mark.parametrize("state", [state for state in STATES if state not in LEFT_OUT])
def test_what_a_dry_run_says_of_an_odd_value_comes_true(ground, state, make):
    function, arguments = STATES[state](f"{ground.folder}/x", ground.base)
    lies = {}
    for argument in inspect.signature(ground.harness.states[function]).parameters.keys() & ODD.keys():
        for value in ODD[argument]:
            lies[f"{argument}: {value!r}"] = lie(*ground.called(function, arguments | {argument: value}, make))
    assert {given: told for given, told in lies.items() if told} == {}


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize("name", ["nodot", "a.", ".a", "a_b.c", "a.1", "a.\n.b", ""])
def test_a_dry_run_refuses_what_is_no_name_of_a_git_setting(ground, name):
    arguments = {"name": name, "value": "x", "repo": f"{ground.base}/r"}
    dry, done = ground.called("git.config_set", arguments, _nothing)
    assert (dry["result"], dry["comment"]) == (False, done["comment"])


SCRIPTS = TABLES["scripts"] | {"cut": f"#!/bin/{'x' * 300}\n"}
WAYS = TABLES["ways of scripts"]


@pytest.mark.feature("F112")
@pytest.mark.parametrize("way", WAYS)
def test_what_a_dry_run_says_of_a_script_comes_true(ground, way):
    ground.harness.load("modules", "cmd")
    lies = {}
    for title, text in SCRIPTS.items():
        ground.harness.salt_file("script", text)
        lies[title] = lie(*ground.called("cmd.script", {"name": "salt://script", **WAYS[way]}, _nothing))
    assert {title: told for title, told in lies.items() if told} == {}


CALLS = TABLES["calls"]


@pytest.mark.feature("F112")
@pytest.mark.parametrize("what", CALLS)
def test_what_a_dry_run_says_of_a_call_comes_true(ground, what):
    ground.harness.load("modules", "cmd")
    function, arguments = CALLS[what]
    assert lie(*ground.called(function, {"name": f"{ground.folder}/x", **arguments}, _nothing)) == ""
