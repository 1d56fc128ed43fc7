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
from tables import rows

from asyncstate import Settings, StateRuntime
from asyncstate.dunders import NOT_TOLD

KEY = "AAAAC3NzaC1lZDI1NTE5AAAAIHJ1bm5pbmd0aGVzYW1ldGVzdGluZXZlcnlvcmRlcjAw"
USER, GROUP = "asyncstate-tests-app", "asyncstate-tests-crew"
KEY_OF = {"enc": "ssh-ed25519", "user": USER}
CLONE = {"name": "/nonexistent/r.git", "target": "<D>/clone", "user": USER}

MADE_FILE = ("file.managed", {"name": "<D>/x", "contents": "a", "makedirs": True})
MADE_FOLDER = ("file.directory", {"name": "<D>", "makedirs": True})
MADE_USER = ("user.present", {"name": USER})
MADE_GROUP = ("group.present", {"name": GROUP})
MADE_ENVIRONMENT = ("virtualenv.managed", {"name": "<D>/venv"})
MADE_GRAIN = ("grains.present", {"name": "made-by-tests", "value": "x"})
MADE_BY_COMMAND = ("cmd.run", {"name": "mkdir -p <D>; echo key = 1 > <D>/x"})
MADE_BY_SCRIPT = ("cmd.run", {"name": 'sh -c "$SOMETHING"'})
MADE_KEY = ("x509.private_key_managed", {"name": "<D>/x", "makedirs": True})

IN_A_FILE = [
    ("file.replace", {"name": "<D>/x", "pattern": "a", "repl": "b"}),
    ("file.line", {"name": "<D>/x", "content": "z", "mode": "ensure", "after": "a"}),
    ("file.blockreplace", {"name": "<D>/x", "content": "b", "append_if_not_found": True}),
    ("file.comment", {"name": "<D>/x", "regex": "a"}),
    ("file.uncomment", {"name": "<D>/x", "regex": "a"}),
    ("file.keyvalue", {"name": "<D>/x", "key": "a", "value": "b", "separator": "="}),
    ("file.patch", {"name": "<D>/x", "source": "salt://s"}),
    ("file.copy", {"name": "<D>/y", "source": "<D>/x"}),
    ("file.rename", {"name": "<D>/y", "source": "<D>/x"}),
    ("file.managed", {"name": "<D>/y", "source": "<D>/x"}),
    ("file.hardlink", {"name": "<D>/y", "target": "<D>/x"}),
    ("file.exists", {"name": "<D>/x"}),
    ("file.missing", {"name": "<D>/x"}),
    ("file.absent", {"name": "<D>/x"}),
    ("file.cached", {"name": "<D>/x"}),
    ("cmd.run", {"name": "cat x", "cwd": "<D>", "onlyif": "test -s <D>/x"}),
    ("cmd.script", {"source": "<D>/x"}),
    ("ini.options_absent", {"name": "<D>/x", "sections": {"a": ["b"]}}),
    ("archive.extracted", {"name": "<D>/u", "source": "<D>/x", "archive_format": "tar", "enforce_toplevel": False}),
    ("mount.mounted", {"name": "<D>/m", "device": "<D>/x", "fstype": "ext4", "persist": False}),
    ("ssh_auth.present", {"name": KEY, "user": "root", "source": "<D>/x"}),
    ("file.managed", {"name": "/tmp/y", "contents": "a", "check_cmd": "<D>/x -c"}),
    ("file.serialize", {"name": "/tmp/y", "dataset": {"a": 1}, "check_cmd": "<D>/x -c"}),
    ("file.managed", {"name": "/tmp/y", "source": "<D>/x", "source_hash": f"sha256={'0' * 64}"}),
    ("virtualenv.managed", {"name": "/tmp/v", "venv_bin": "venv", "python": "<D>/x"}),
    ("virtualenv.managed", {"name": "/tmp/v", "venv_bin": "<D>/x"}),
    ("pip.installed", {"name": "", "requirements": "<D>/x"}),
    ("mount.swap", {"name": "<D>/x", "persist": False}),
    ("alternatives.install", {"name": "x", "link": "/usr/bin/x", "path": "<D>/x", "priority": 1}),
]
IN_A_FOLDER = [
    ("file.managed", {"name": "<D>/y", "contents": "a"}),
    ("file.append", {"name": "<D>/y", "text": "a"}),
    ("file.serialize", {"name": "<D>/y", "dataset": {"a": 1}, "serializer": "json"}),
    ("file.symlink", {"name": "<D>/l", "target": "/x"}),
    ("file.copy", {"name": "<D>/y", "source": "/etc/passwd"}),
    ("file.recurse", {"name": "<D>/y", "source": "salt://"}),
    ("file.directory", {"name": "<D>/y"}),
    ("file.touch", {"name": "<D>/y"}),
    ("file.tidied", {"name": "<D>"}),
    ("file.retention_schedule", {"name": "<D>", "retain": {"most_recent": 1}}),
    ("cmd.run", {"name": "ls", "cwd": "<D>"}),
    ("ini.options_present", {"name": "<D>/x", "sections": {"a": {"b": "c"}}}),
    ("file.managed", {"name": "/tmp/y", "contents": "a", "check_cmd": "true", "tmp_dir": "<D>"}),
    ("mount.mounted", {"name": "<D>", "device": "none", "fstype": "tmpfs", "persist": False}),
]
OF_A_USER = [
    ("archive.extracted", {"name": "<D>", "source": "salt://s", "archive_format": "tar", "user": USER}),
    ("git.latest", CLONE),
    ("git.cloned", CLONE),
    ("git.present", {"name": "<D>/clone", "user": USER}),
    ("git.config_set", {"name": "a.b", "value": "c", "global": True, "user": USER}),
    ("file.managed", {"name": "<D>/y", "contents": "a", "user": USER, "makedirs": True}),
    ("file.directory", {"name": "<D>/y", "user": USER, "makedirs": True}),
    ("file.append", {"name": f"~{USER}/.profile", "text": "x"}),
    ("cron.present", {"name": "/bin/true", "user": USER}),
    ("ssh_auth.present", {"name": KEY, **KEY_OF}),
    ("ssh_known_hosts.present", {"name": "h", "key": KEY, **KEY_OF}),
    ("cmd.run", {"name": "id", "runas": USER}),
    ("pip.installed", {"name": "a", "user": USER}),
    ("virtualenv.managed", {"name": "<D>/v", "user": USER}),
    ("group.present", {"name": GROUP, "members": [USER]}),
    ("group.present", {"name": GROUP, "addusers": [USER]}),
]
OF_A_GROUP = [
    ("file.managed", {"name": "<D>/y", "contents": "a", "group": GROUP, "makedirs": True}),
    ("file.directory", {"name": "<D>/y", "group": GROUP, "makedirs": True}),
    ("archive.extracted", {"name": "<D>", "source": "salt://s", "archive_format": "tar", "group": GROUP}),
    ("user.present", {"name": USER, "groups": [GROUP]}),
    ("user.present", {"name": USER, "gid": GROUP}),
    ("cmd.run", {"name": "id", "group": GROUP}),
]
IN_AN_ENVIRONMENT = [
    ("pip.installed", {"name": "a", "bin_env": "<D>/venv"}),
    ("pip.removed", {"name": "a", "bin_env": "<D>/venv"}),
    ("pip.uptodate", {"name": "a", "bin_env": "<D>/venv"}),
]
WITH_A_KEY = [
    ("x509.certificate_managed", {"name": "<D>/c", "signing_private_key": "<D>/x", "CN": "a"}),
    ("x509.csr_managed", {"name": "<D>/c", "private_key": "<D>/x", "CN": "a"}),
]
WITH_SUB_STATES = [
    ("x509.private_key_managed", {"name": "<D>/k"}),
    ("x509.certificate_managed", {"name": "<D>/c", "signing_private_key": "<D>/../../key", "CN": "a"}),
    ("x509.csr_managed", {"name": "<D>/c", "private_key": "<D>/../../key", "CN": "a"}),
]
GIVEN_FOLDER = ("file.directory", {"name": "<D>", "user": "nobody", "makedirs": True})
BY_PROGRAMS_OF_ROOT = [
    ("git.latest", {"name": "<D>/../../r.git", "target": "<D>/clone"}),
    ("git.cloned", {"name": "<D>/../../r.git", "target": "<D>/clone"}),
    ("git.detached", {"name": "<D>/../../r.git", "target": "<D>/clone", "rev": "main"}),
    ("git.present", {"name": "<D>/clone"}),
    ("virtualenv.managed", {"name": "<D>/venv"}),
    *IN_AN_ENVIRONMENT,
    ("file.patch", {"name": "<D>/x", "source": "salt://s"}),
]
GROUPS = [
    (MADE_FILE, IN_A_FILE),
    (MADE_BY_COMMAND, IN_A_FILE),
    (MADE_BY_SCRIPT, IN_A_FILE[:6]),
    (MADE_FOLDER, IN_A_FOLDER),
    (MADE_USER, OF_A_USER),
    (MADE_GROUP, OF_A_GROUP),
    (MADE_ENVIRONMENT, IN_AN_ENVIRONMENT),
    (MADE_GRAIN, [("grains.exists", {"name": "made-by-tests"})]),
    (MADE_KEY, WITH_A_KEY),
]
PAIRS = [(first, second) for first, needing in GROUPS for second in needing]


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
@pytest.mark.parametrize("second", WITH_SUB_STATES, ids=lambda state: state[0])
def test_sub_states_cannot_be_told_either(dry_runs, tmp_path, second):
    key = ec.generate_private_key(ec.SECP256R1())
    (tmp_path / "key").write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
    )
    rows = dry_runs.rows(MADE_FOLDER, second)
    assert len(rows) == 2
    for row in rows:
        assert (row["result"], row["changes"], row.get(NOT_TOLD)) == (None, {}, True), row["comment"]
        assert row["comment"].startswith("This cannot be told before data.first has run, which changes ")
    done = dry_runs.rows(MADE_FOLDER, second, test=False)
    assert [row["result"] for row in done] == [True, True], done


MAKE_FOLDERS = [
    ("file.managed", {"name": "<D>/a/x", "contents": "a", "makedirs": True}),
    ("file.append", {"name": "<D>/a/x", "text": "a", "makedirs": True}),
    ("file.symlink", {"name": "<D>/a/x", "target": "/x", "makedirs": True}),
    ("file.copy", {"name": "<D>/a/x", "source": "/etc/passwd", "makedirs": True}),
    ("file.directory", {"name": "<D>/a/x", "makedirs": True}),
    ("file.recurse", {"name": "<D>/a/x", "source": "salt://folder"}),
    ("archive.extracted", {"name": "<D>/a/x", "source": "salt://folder/t.tar", "enforce_toplevel": False}),
    ("cmd.run", {"name": "mkdir -p <D>/a/x", "creates": "<D>/a/x"}),
]
"""States that make folders above what they are about."""


@pytest.mark.feature("F112")
@rows("first", MAKE_FOLDERS)
@rows("second", IN_A_FOLDER)
def test_folders_on_the_way_to_what_an_earlier_state_makes_are_not_missed(dry_runs, first, second):
    row = dry_runs.row(first, second)
    assert row["result"] is not False, row["comment"]


@pytest.mark.feature("F112")
@pytest.mark.parametrize("function", ["file.replace", "file.exists", "file.missing"])
def test_without_foresight_rows_say_what_is_there_now(dry_runs, function):
    second = next(each for each in IN_A_FILE if each[0] == function)
    row = dry_runs.row(MADE_FILE, second, foresight=False)
    assert row["result"] is (function == "file.missing")
    assert NOT_TOLD not in row


@pytest.mark.parametrize("settings", [{"implicit_order": "none"}, {"implicit_order": "strict"}, {}])
def test_rows_are_the_same_with_any_order_and_concurrency(dry_runs, settings):
    row = dry_runs.row(MADE_FILE, IN_A_FILE[0], concurrency=8, **settings)
    assert row["result"] is None
    assert row["comment"].startswith("This cannot be told before data.first has run, which changes ")


def test_what_may_run_beside_others_still_needs_what_it_requires(dry_runs):
    function, arguments = IN_A_FILE[0]
    assert dry_runs.row(MADE_FILE, (function, {**arguments, "parallel": True}))["result"] is None


@pytest.mark.parametrize("condition", [{"onlyif": "test -f /etc/passwd"}, {"unless": "false"}, {"unless": "exit 1"}])
@pytest.mark.parametrize("called", [("cmd.run", {"name": "echo x"}), ("cmd.script", {"source": "salt://s"})])
@pytest.mark.parametrize("made", [MADE_FOLDER, MADE_FILE])
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
    later = (function, {"name": "/tmp/never-made-by-tests" if function == "file.touch" else "echo", **condition})
    row = dry_runs.row(MADE_FILE, later)
    assert (row["result"], row.get(NOT_TOLD)) == (None, True), row["comment"]


@pytest.mark.parametrize("condition", [*TESTING, {"unless": "test -e /nonexistent"}])
def test_what_is_missing_in_a_folder_that_is_made_is_missing_after_it(dry_runs, condition):
    row = dry_runs.row(MADE_FOLDER, ("cmd.run", {"name": "echo > <D>/x", **condition}))
    assert (row["result"], row.get(NOT_TOLD)) == (None, None), row["comment"]


@pytest.mark.feature("F112")
def test_a_file_that_a_folder_replaces_is_not_in_the_way(dry_runs):
    Path(dry_runs.folder).parent.mkdir()
    Path(dry_runs.folder).write_text("a file")
    row = dry_runs.row(("file.directory", {"name": "<D>", "force": True}), IN_A_FOLDER[0])
    assert (row["result"], row.get(NOT_TOLD)) == (None, True), row["comment"]


@pytest.mark.feature("F112")
def test_what_a_tree_replaces_is_not_in_the_way_of_its_files(dry_runs):
    Path(dry_runs.folder).mkdir(parents=True)
    (Path(dry_runs.folder) / "sub").write_text("a file")
    tree = ("file.recurse", {"name": "<D>", "source": "salt://of_folders", "clean": True})
    nothing = ("test.nop", {"name": "a"})
    assert dry_runs.row(nothing, tree)["result"] is None
    assert dry_runs.row(nothing, tree, test=False)["result"] is True


FOLDER_MAKERS = [
    ("file.directory", {"name": "<D>/x", "makedirs": True}),
    ("file.managed", {"name": "<D>/x", "contents": "a", "makedirs": True}),
    ("file.recurse", {"name": "<D>", "source": "salt://tree"}),
]
OVER_A_FOLDER = [
    ("file.managed", {"name": "<D>", "contents": "a", "makedirs": True}),
    ("file.managed", {"name": "<D>", "source": "salt://s", "makedirs": True}),
    ("file.serialize", {"name": "<D>", "dataset": {"a": 1}, "serializer": "json", "makedirs": True}),
    ("file.append", {"name": "<D>", "text": "a", "makedirs": True}),
    ("file.prepend", {"name": "<D>", "text": "a", "makedirs": True}),
    ("file.symlink", {"name": "<D>", "target": "/x", "makedirs": True}),
    ("git.latest", {"name": "<R>", "target": "<D>"}),
    ("git.cloned", {"name": "<R>", "target": "<D>"}),
    ("git.detached", {"name": "<R>", "target": "<D>", "rev": "main"}),
]
UNDER_A_FILE = [
    ("file.directory", {"name": "<D>", "makedirs": True}),
    ("file.directory", {"name": "<D>/x/y", "makedirs": True}),
    ("file.managed", {"name": "<D>/x", "contents": "a", "makedirs": True}),
    ("file.recurse", {"name": "<D>", "source": "salt://tree"}),
    ("file.symlink", {"name": "<D>/x", "target": "/x", "makedirs": True}),
    ("git.latest", {"name": "<R>", "target": "<D>"}),
    ("git.cloned", {"name": "<R>", "target": "<D>/x"}),
]
A_FILE = ("file.managed", {"name": "<D>", "contents": "a", "makedirs": True})
OPPOSED = [
    *((first, second) for first in FOLDER_MAKERS for second in OVER_A_FOLDER),
    *((A_FILE, second) for second in UNDER_A_FILE),
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


NOT_OPPOSED = [
    (MADE_FOLDER, ("git.latest", {"name": "<R>", "target": "<D>"})),
    (MADE_FOLDER, ("file.recurse", {"name": "<D>", "source": "salt://tree"})),
    (("file.managed", {"name": "<D>/x", "contents": "a", "makedirs": True}), MADE_FOLDER),
    (MADE_FILE, ("file.managed", {"name": "<D>/xy", "contents": "a", "makedirs": True})),
    (MADE_FILE, ("git.latest", {"name": "<R>", "target": "<D>", "force_clone": True})),
    (A_FILE, ("file.directory", {"name": "<D>", "force": True, "makedirs": True})),
]


@pytest.mark.parametrize(("first", "second"), NOT_OPPOSED, ids=lambda state: state[0])
def test_things_of_one_kind_are_told(dry_runs, tmp_path, first, second):
    second = with_a_repository(tmp_path, second)
    row = dry_runs.row(first, second)
    assert (row["result"], row.get(NOT_TOLD)) == (None, None), row["comment"]
    assert dry_runs.row(first, second, test=False)["result"] is True


SURELY_FAILS = [
    ("cmd.run", {"name": "ls", "cwd": "/nonexistent/of/tests"}),
    ("cmd.run", {"name": "ls", "shell": "/nonexistent/of/tests"}),
    ("cmd.run", {"name": "id", "runas": USER}),
    ("cmd.run", {"name": "id", "group": GROUP}),
    ("cmd.script", {"source": "/nonexistent/of/tests"}),
    ("cmd.script", {"source": "salt://nonexistent"}),
    ("cmd.script", {"name": "salt://nonexistent"}),
    ("git.cloned", {"name": "/nonexistent/r.git", "target": "<D>/clone"}),
    ("git.config_set", {"name": "a.b", "value": "c", "global": True, "user": USER}),
    ("virtualenv.managed", {"name": "<D>/v", "user": USER}),
    ("archive.extracted", {"name": "/etc/passwd/x", "source": "salt://s.tar", "enforce_toplevel": False}),
]


@pytest.mark.parametrize("state", SURELY_FAILS, ids=lambda state: state[0])
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
                "first": declared(MADE_BY_SCRIPT, dry_runs.folder, **of_first),
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
    assert dry_runs.row(MADE_FILE, elsewhere)["result"] is False


@pytest.mark.feature("F112")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root is refused; run the tests as root")
@pytest.mark.parametrize("owner", [None, "root", "nobody"])
@pytest.mark.parametrize("second", BY_PROGRAMS_OF_ROOT, ids=lambda state: state[0])
def test_a_dry_run_refuses_what_the_run_refuses_in_a_folder_of_a_user(dry_runs, tmp_path, second, owner):
    subprocess.run(["git", "init", "--bare", "--quiet", str(tmp_path / "r.git")], check=True)
    if owner or second[0] == "file.patch":
        folder = Path(dry_runs.folder)
        folder.mkdir(parents=True)
        (folder / "x").write_text("a")
        shutil.chown(folder, owner or "root")
    foretold = dry_runs.row(GIVEN_FOLDER, second)
    assert (foretold["result"], foretold["changes"]) == (False, {})
    assert " as root in " in foretold["comment"]
    done = dry_runs.row(GIVEN_FOLDER, second, test=False)
    assert done["result"] is False
    assert "Refusing to run" in done["comment"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is refused; run the tests as root")
@pytest.mark.parametrize("there", [False, True])
def test_only_a_home_that_is_to_be_made_will_belong_to_its_user(dry_runs, tmp_path, there):
    subprocess.run(["git", "init", "--bare", "--quiet", str(tmp_path / "r.git")], check=True)
    if there:
        Path(dry_runs.folder).mkdir(parents=True)
    row = dry_runs.row(("user.present", {"name": USER, "home": "<D>"}), BY_PROGRAMS_OF_ROOT[1])
    assert (row["result"] is False) is not there, row["comment"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is refused; run the tests as root")
@pytest.mark.parametrize("more", [{"unless": "true"}, {"user": "nobody"}])
def test_a_dry_run_refuses_nothing_that_is_skipped_or_runs_as_the_user(dry_runs, more):
    function, arguments = BY_PROGRAMS_OF_ROOT[1]
    assert dry_runs.row(GIVEN_FOLDER, (function, {**arguments, **more}))["result"] is not False


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
    row = dry_runs.row(GIVEN_FOLDER, ("pip.installed", {"name": "a", argument: "<D>/r"}))
    assert row["result"] is False
    assert "runs pip as root in " in row["comment"]
