"""Bundled states that need what an earlier state is to make: a dry run on a bare machine calls none of them failed.

tests/equivalence/test_dry_run_pairs.py applies pairs, too. These here need accounts, environments or folders, which no
test makes, so that only their dry run is looked at.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import tarfile
from functools import partial
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from messages import said
from tables import beside, rows

from asyncstate import Settings, StateRuntime
from asyncstate.dunders import NOT_TOLD

USER = "asyncstate-tests-app"
STATES = beside(__file__)


def pair(state):
    """A function and its arguments."""
    [both] = state.items()
    return both


MADE = {name: pair(state) for name, state in STATES.pop("made").items()}
NOT_OPPOSED = [tuple(map(pair, states)) for states in STATES.pop("not opposed")]
STATES = {name: list(map(pair, states)) for name, states in STATES.items()}
IN_A_FILE, BY_ROOT = STATES["in a file"], STATES["by programs of root"]
GROUPS = {
    ("file", "command"): IN_A_FILE,
    ("script",): IN_A_FILE[:6],
    ("folder",): STATES["in a folder"],
    ("user",): STATES["of a user"],
    ("group",): STATES["of a group"],
    ("environment",): STATES["in an environment"],
    ("grain",): STATES["with a grain"],
    ("key",): STATES["with a key"],
}
PAIRS = [(MADE[first], second) for made, needing in GROUPS.items() for first in made for second in needing]


def declared(state, folder, **more):
    def filled(value):
        if isinstance(value, str):
            return value.replace("<D>", folder)
        if isinstance(value, dict):
            return {key: filled(item) for key, item in value.items()}
        return [filled(item) for item in value] if isinstance(value, list) else value

    function, arguments = state
    return {function: [{key: filled(value)} for key, value in {**arguments, **more}.items()]}


class Site:
    """A tree, and a runtime for all that ask for no settings of their own."""

    def __init__(self, base):
        for name in ("s", "tree/f", "of_folders/sub/f"):
            path = base / "salt" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("of the tree\n")
        (base / "salt" / "folder").mkdir()
        with tarfile.open(base / "salt" / "folder" / "t.tar", "w") as archive:
            archive.add(base / "salt" / "s", "s")
        self.settings = {
            "file_roots": {"base": [str(base / "salt")]},
            "pillar_roots": {},
            "cachedir": str(base / "cache"),
            "conf_file": str(base / "minion"),
            "journal": "off",
        }
        self.loop = asyncio.Runner()
        self.runtime = StateRuntime(Settings(**self.settings))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    site = Site(tmp_path_factory.mktemp("site"))
    with site.loop as loop:
        loop.run(site.runtime.__aenter__())
        yield site
        loop.run(site.runtime.__aexit__(None, None, None))


class DryRuns:
    def __init__(self, base, site):
        self.folder = str(base / "made" / "later")
        self.site, self.settings = site, site.settings

    def row(self, first, second, **how):
        """The row of the second state, which requires the first, in a dry run unless ``test`` is False."""
        return self.rows(first, second, **how)[0]

    def rows(self, first, second, *, concurrency=1, test=True, **settings):
        """The row of the second state, and those of its sub-states."""

        async def rows(runtime):
            requiring = declared(second, self.folder, require=[{"id": "first"}])
            plan = await runtime.compile_data({"first": declared(first, self.folder), "second": requiring})
            async with runtime.run(plan, test=test, events=False, lock=False, concurrency=concurrency) as run:
                pass
            return [row for tag, row in run.report.rows.items() if row["__id__"] == "second"]

        async def of_its_own():
            async with StateRuntime(Settings(**self.settings, **settings)) as runtime:
                return await rows(runtime)

        return self.site.loop.run(of_its_own() if settings else rows(self.site.runtime))


@pytest.fixture
def dry_runs(tmp_path, site):
    return DryRuns(tmp_path, site)


@pytest.mark.feature("F112")
@pytest.mark.parametrize(("first", "second"), PAIRS, ids=lambda state: state[0])
def test_what_an_earlier_state_makes_is_not_missed(dry_runs, first, second):
    for row in dry_runs.rows(first, second):
        assert row["result"] is None, row["comment"]


@pytest.mark.feature("F112")
@pytest.mark.parametrize("second", STATES["with sub-states"], ids=lambda state: state[0])
def test_sub_states_cannot_be_told_either(dry_runs, tmp_path, second):
    key = ec.generate_private_key(ec.SECP256R1())
    (tmp_path / "key").write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
    )
    rows = dry_runs.rows(MADE["folder"], second)
    assert len(rows) == 2
    for row in rows:
        assert (row["result"], row["changes"], row.get(NOT_TOLD)) == (None, {}, True), row["comment"]
        assert row["comment"].startswith(said("not-told-yet", states="data.first has run, which changes "))
    done = dry_runs.rows(MADE["folder"], second, test=False)
    assert [row["result"] for row in done] == [True, True], done


@pytest.mark.feature("F112")
@rows("first", STATES["make folders"])
@rows("second", STATES["in a folder"])
def test_folders_on_the_way_to_what_an_earlier_state_makes_are_not_missed(dry_runs, first, second):
    row = dry_runs.row(first, second)
    assert row["result"] is not False, row["comment"]


@pytest.mark.feature("F112")
@pytest.mark.parametrize("function", ["file.replace", "file.exists", "file.missing"])
def test_without_foresight_rows_say_what_is_there_now(dry_runs, function):
    second = next(each for each in IN_A_FILE if each[0] == function)
    row = dry_runs.row(MADE["file"], second, foresight=False)
    assert row["result"] is (function == "file.missing")
    assert NOT_TOLD not in row


@pytest.mark.parametrize("settings", [{"implicit_order": "none"}, {"implicit_order": "strict"}, {}])
def test_rows_are_the_same_with_any_order_and_concurrency(dry_runs, settings):
    row = dry_runs.row(MADE["file"], IN_A_FILE[0], concurrency=8, **settings)
    assert row["result"] is None
    assert row["comment"].startswith(said("not-told-yet", states="data.first has run, which changes "))


def test_what_may_run_beside_others_still_needs_what_it_requires(dry_runs):
    function, arguments = IN_A_FILE[0]
    assert dry_runs.row(MADE["file"], (function, {**arguments, "parallel": True}))["result"] is None


@pytest.mark.parametrize("condition", [{"onlyif": "test -f /etc/passwd"}, {"unless": "false"}, {"unless": "exit 1"}])
@pytest.mark.parametrize("called", [("cmd.run", {"name": "echo x"}), ("cmd.script", {"source": "salt://s"})])
@pytest.mark.parametrize("made", [MADE["folder"], MADE["file"]])
def test_a_condition_in_a_folder_that_is_to_be_made_cannot_be_told(dry_runs, made, called, condition):
    function, arguments = called
    row = dry_runs.row(made, (function, {**arguments, "cwd": "<D>", **condition}))
    assert (row["result"], row.get(NOT_TOLD)) == (None, True), row["comment"]


IS_THERE = "test -e <D>/x"
TESTING = [
    {"unless": IS_THERE},
    {"onlyif": f"! {IS_THERE}"},
    {"creates": "<D>/x"},
    {"unless": [{"fun": "file.file_exists", "path": "<D>/x"}]},
]


@pytest.mark.feature("F112")
@pytest.mark.parametrize("condition", TESTING)
@pytest.mark.parametrize("function", ["cmd.run", "file.touch"])
def test_conditions_that_an_earlier_state_will_change_cannot_be_told(dry_runs, function, condition):
    later = (function, {"name": "<D>/../../never" if function == "file.touch" else "echo", **condition})
    row = dry_runs.row(MADE["file"], later)
    assert (row["result"], row.get(NOT_TOLD)) == (None, True), row["comment"]


@pytest.mark.parametrize("condition", [*TESTING, {"unless": "test -e <D>/../../nothing"}])
def test_what_is_missing_in_a_folder_that_is_made_is_missing_after_it(dry_runs, condition):
    row = dry_runs.row(MADE["folder"], ("cmd.run", {"name": "echo > <D>/x", **condition}))
    assert (row["result"], row.get(NOT_TOLD)) == (None, None), row["comment"]


@pytest.mark.feature("F112")
def test_a_file_that_a_folder_replaces_is_not_in_the_way(dry_runs):
    Path(dry_runs.folder).parent.mkdir()
    Path(dry_runs.folder).write_text("a file")
    row = dry_runs.row(("file.directory", {"name": "<D>", "force": True}), STATES["in a folder"][0])
    assert (row["result"], row.get(NOT_TOLD)) == (None, True), row["comment"]


@pytest.mark.feature("F112")
def test_what_a_tree_replaces_is_not_in_the_way_of_its_files(dry_runs):
    Path(dry_runs.folder).mkdir(parents=True)
    (Path(dry_runs.folder) / "sub").write_text("a file")
    tree = ("file.recurse", {"name": "<D>", "source": "salt://of_folders", "clean": True})
    nothing = ("test.nop", {"name": "a"})
    assert dry_runs.row(nothing, tree)["result"] is None
    assert dry_runs.row(nothing, tree, test=False)["result"] is True


OPPOSED = [
    *((first, second) for first in STATES["makers of a folder"] for second in STATES["over a folder"]),
    *((MADE["a plain file"], second) for second in STATES["under a file"]),
]


def with_a_repository(tmp_path, state):
    """Make a repository, ``<R>`` in the arguments of a state, and return the state."""
    repository = str(tmp_path / "r.git")
    run = partial(subprocess.run, check=True)
    run(["git", "init", "--quiet", "--initial-branch=main", repository])
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    run(["git", "-C", repository, *identity, "commit", "--quiet", "--allow-empty", "-m", "a"])
    function, arguments = state
    return function, {key: repository if value == "<R>" else value for key, value in arguments.items()}


@pytest.mark.feature("F112")
@pytest.mark.parametrize(("first", "second"), OPPOSED, ids=lambda state: state[0])
def test_another_kind_of_thing_at_one_place_cannot_be_told(dry_runs, tmp_path, first, second):
    second = with_a_repository(tmp_path, second)
    row = dry_runs.row(first, second)
    assert (row["result"], row["changes"], row.get(NOT_TOLD)) == (None, {}, True), row["comment"]
    assert dry_runs.row(first, second, test=False)["result"] is False


@pytest.mark.parametrize(("first", "second"), NOT_OPPOSED, ids=lambda state: state[0])
def test_things_of_one_kind_are_told(dry_runs, tmp_path, first, second):
    second = with_a_repository(tmp_path, second)
    row = dry_runs.row(first, second)
    assert (row["result"], row.get(NOT_TOLD)) == (None, None), row["comment"]
    assert dry_runs.row(first, second, test=False)["result"] is True


@pytest.mark.parametrize("state", STATES["surely fails"], ids=lambda state: state[0])
def test_what_surely_fails_is_not_to_change(dry_runs, state):
    nothing = ("test.nop", {"name": "a"})
    assert dry_runs.row(nothing, state)["result"] is False
    assert dry_runs.row(nothing, state, test=False)["result"] is False


WAITING = {
    "nothing": ({}, {}, {}),
    "require": ({}, {"require": [{"id": "first"}]}, {}),
    "order": ({"order": 1}, {}, {}),
    "order of the state": ({}, {"order": "last"}, {}),
    "strict": ({}, {}, {"implicit_order": "strict"}),
}


@pytest.mark.feature("F112")
@pytest.mark.parametrize("concurrency", [1, 4])
@pytest.mark.parametrize("why", WAITING)
def test_what_misses_something_below_a_command_of_unknown_effects_fails_unless_it_waits(dry_runs, why, concurrency):
    of_first, of_second, settings = WAITING[why]

    async def rows():
        async with StateRuntime(Settings(**dry_runs.settings, **settings)) as runtime:
            states = {
                "first": declared(MADE["script"], dry_runs.folder, **of_first),
                "second": declared(("cmd.run", {"name": "id", "runas": USER}), dry_runs.folder, **of_second),
            }
            plan = await runtime.compile_data(states)
            async with runtime.run(plan, test=True, events=False, lock=False, concurrency=concurrency) as run:
                pass
            return {row["__id__"]: row for row in run.report.rows.values()}

    row = asyncio.run(rows())["second"]
    assert row["result"] is (False if why == "nothing" else None), row["comment"]


def test_a_failure_of_its_own_stays_one(dry_runs):
    elsewhere = ("file.replace", {"name": "<D>/../../elsewhere", "pattern": "a", "repl": "b"})
    assert dry_runs.row(MADE["file"], elsewhere)["result"] is False


@pytest.mark.feature("F112")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root is refused; run the tests as root")
@pytest.mark.parametrize("owner", [None, "root", "nobody"])
@pytest.mark.parametrize("second", [*BY_ROOT, *STATES["in an environment"]], ids=lambda state: state[0])
def test_a_dry_run_refuses_what_the_run_refuses_in_a_folder_of_a_user(dry_runs, tmp_path, second, owner):
    subprocess.run(["git", "init", "--bare", "--quiet", str(tmp_path / "r.git")], check=True)
    if owner or second[0] == "file.patch":
        folder = Path(dry_runs.folder)
        folder.mkdir(parents=True)
        (folder / "x").write_text("a")
        shutil.chown(folder, owner or "root")
    foretold = dry_runs.row(MADE["folder of nobody"], second)
    assert (foretold["result"], foretold["changes"]) == (False, {})
    assert " as root in " in foretold["comment"]
    done = dry_runs.row(MADE["folder of nobody"], second, test=False)
    assert done["result"] is False
    assert said("exchanged", who="user nobody") in done["comment"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is refused; run the tests as root")
@pytest.mark.parametrize("there", [False, True])
def test_only_a_home_that_is_to_be_made_will_belong_to_its_user(dry_runs, tmp_path, there):
    subprocess.run(["git", "init", "--bare", "--quiet", str(tmp_path / "r.git")], check=True)
    if there:
        Path(dry_runs.folder).mkdir(parents=True)
    row = dry_runs.row(("user.present", {"name": USER, "home": "<D>"}), BY_ROOT[1])
    assert (row["result"] is False) is not there, row["comment"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is refused; run the tests as root")
@pytest.mark.parametrize("more", [{"unless": "true"}, {"user": "nobody"}])
def test_a_dry_run_refuses_nothing_that_is_skipped_or_runs_as_the_user(dry_runs, more):
    function, arguments = BY_ROOT[1]
    assert dry_runs.row(MADE["folder of nobody"], (function, {**arguments, **more}))["result"] is not False


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is refused; run the tests as root")
@pytest.mark.parametrize("there", [False, True])
def test_only_a_folder_that_is_to_be_made_will_belong_to_the_user_of_a_file_in_it(dry_runs, there):
    if there:
        Path(dry_runs.folder).mkdir(parents=True)
    made = ("file.managed", {"name": "<D>/x", "contents": "a", "user": "nobody", "makedirs": True})
    needing = ("git.present", {"name": "<D>/clone"})
    foretold = dry_runs.row(made, needing)
    done = dry_runs.row(made, needing, test=False)
    assert (foretold["result"] is False) is (done["result"] is False) is not there, (foretold, done)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is refused; run the tests as root")
@pytest.mark.parametrize("argument", ["requirements", "find_links", "editable", "cwd", "target"])
def test_a_dry_run_refuses_what_pip_is_told_to_use_of_a_user(dry_runs, argument):
    row = dry_runs.row(MADE["folder of nobody"], ("pip.installed", {"name": "a", argument: "<D>/r"}))
    assert row["result"] is False
    assert "runs pip as root in " in row["comment"]
