"""Nothing that an unprivileged user plants leads a state of root outside of that user's reach.

A table: every state that takes a path, times every kind of plant, times where it is planted.
"""

from __future__ import annotations

import os
import pkgutil
import stat
import subprocess
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import asyncstate.states
import pytest
from plugin_harness import PluginHarness
from protected_links import protect_links
from states_with_paths import NOBODY, STATES, harness_of_states, run_all

from asyncstate import Settings, StateRuntime, filesystem
from asyncstate.errors import CommandExecutionError, PathRefused

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SECRET = b"root=secret\n"

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root is led astray; run the tests as root"),
    pytest.mark.timeout(120),
]


@pytest.fixture
def ground(tmp_path):
    """A user's home, a folder like /tmp, and a tree of root's that nobody else may touch or read."""
    for name in ("home", "shared", "victim/d/inner"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("f", "d/g", "d/inner/h"):
        (tmp_path / "victim" / name).write_bytes(SECRET)
        (tmp_path / "victim" / name).chmod(0o600)
        os.utime(tmp_path / "victim" / name, (1_000_000, 1_000_000))
    os.symlink("f", tmp_path / "victim" / "link")
    os.chown(tmp_path / "home", NOBODY, NOBODY)
    (tmp_path / "shared").chmod(0o1777)
    return harness_of_states(tmp_path)


@pytest.fixture
def kernel(request, monkeypatch, tmp_path):
    """The kernel of this machine, or one that protects links in sticky folders."""
    if request.param == "protects links":
        protect_links(monkeypatch, tmp_path)


def _link(target: str) -> Callable[[Path], None]:
    def plant(path: Path) -> None:
        os.symlink(target.format(base=path.parent.parent), path)
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)

    return plant


def _hard(path: Path) -> None:
    os.link(path.parent.parent / "victim" / "f", path)


def _pipe(path: Path) -> None:
    os.mkfifo(path, 0o666)
    os.chown(path, NOBODY, NOBODY)


def _moved(path: Path) -> None:
    os.symlink("../victim", path)  # root's own link, which the owner of the folder brought here


PLANTS: dict[str, tuple[Callable[[Path], None], str]] = {
    "link to a file": (_link("../victim/f"), "x"),
    "link to a folder": (_link("../victim/d"), "x"),
    "link to a folder, slash": (_link("../victim/d"), "x/"),
    "link by a whole path": (_link("{base}/victim/f"), "x"),
    "link to nothing": (_link("../victim/new"), "x"),
    "link to a device": (_link("/dev/zero"), "x"),
    "hard link": (_hard, "x"),
    "pipe": (_pipe, "x"),
    "parent, a file": (_link("../victim"), "x/f"),
    "parent, a folder": (_link("../victim"), "x/d"),
    "parent, a folder, slash": (_link("../victim"), "x/d/"),
    "parent, a link": (_link("../victim"), "x/link"),
    "parent, nothing": (_link("../victim"), "x/new"),
    "grandparent": (_link("../victim"), "x/d/g"),
    "upwards": (_link("../victim/d"), "x/../f"),
    "link of root's that was moved": (_moved, "x/f"),
}


ELSEWHERE = {
    "mount.mounted": "test_nothing_is_mounted_over_what_a_link_of_a_users_leads_to",
    "mount.swap": "test_nothing_is_mounted_over_what_a_link_of_a_users_leads_to",
}
"""States whose paths are attacked in a test of their own, as what they do would change this machine."""
WITHOUT = {
    "saltutil": "has nothing to synchronise",
    "cmd": "what a command touches is its author's choice; where a script is kept has a test of its own",
    "file.accumulated": "keeps texts in memory",
    "file.mod_run_check_cmd": "no state: what others call for their check_cmd",
    "mount.unmounted": "unmounts what the kernel says is mounted",
    "docker_image.present": "an archive to load goes through the door; a folder to build is the server's to read",
    "http": "a file to send goes through the door",
    "postgres_cluster": "folders are made by pg_createcluster, as Debian has it",
    "postgres_tablespace": "the server opens the folder, as postgres",
    "user": "homes are made, moved and removed by programs: nobody else may exchange them, which has a test of its own",
    "alternatives.install": "the link is made by a program: the same",
    **dict.fromkeys(
        "alias alternatives.remove alternatives.auto alternatives.set docker_container docker_network environ event grains group host keyboard kmod locale module "
        "pkg pkgrepo postgres_database postgres_extension postgres_group postgres_privileges postgres_schema "
        "postgres_user salt service stateconf test timezone cron.present cron.absent cron.env_present cron.env_absent "
        "debconf.set docker_image.absent".split(),
        "takes no path, or none but root's own",
    ),
}
"""Modules and functions that take no path a user could plant anything at, and why."""
NO_STATES = {
    "mod_aggregate",
    "mod_aggregate_split",
    "mod_footprint",
    "mod_init",
    "mod_prefetch",
    "mod_watch",
    "new_row",
}


def test_every_state_is_in_the_table_or_says_why_not(ground, tmp_path):
    """Whoever adds a state that takes a path adds a row above, and one that takes none says so."""
    for each in pkgutil.iter_modules(asyncstate.states.__path__):
        if not each.name.startswith("_"):
            ground.load("states", each.name)
    functions = {name: name.partition(".")[2] for name in ground.states}
    states = {name for name, function in functions.items() if function not in NO_STATES and function[0].islower()}
    attacked = {call("x", tmp_path)[0] for call in STATES.values()} | set(ELSEWHERE)
    told = {name for name in states if name in WITHOUT or name.partition(".")[0] in WITHOUT}
    assert states - attacked - told == set()
    assert attacked - states == set()
    known = states | {name.partition(".")[0] for name in states}
    assert set(WITHOUT) - known == set(), "no such state"


def tree(folder: Path) -> list[tuple[Any, ...]]:
    """Return all of a tree: names, kinds, modes, owners, times and contents."""
    paths = [str(folder)]
    for top, folders, names in os.walk(folder):
        paths += [f"{top}/{name}" for name in (*folders, *names)]
    found = []
    for path in sorted(paths):
        status = os.lstat(path)
        content = b""
        if stat.S_ISREG(status.st_mode):
            with open(path, "rb") as file:
                content = file.read()
        elif stat.S_ISLNK(status.st_mode):
            content = os.readlink(path).encode()
        owners = status.st_uid, status.st_gid
        found.append((path, status.st_mode, *owners, status.st_ino, status.st_mtime_ns, content))
    return found


def given_away(folder: Path) -> list[str]:
    """Return the files with root's secret in them that others can read. What is exchanged meanwhile is left out."""
    return [
        path
        for top, _, names in os.walk(folder)
        for path in (f"{top}/{name}" for name in names)
        if _others_read(os.lstat, path) and _tells_the_secret(path)
    ]


def _others_read(look: Callable[[Any], os.stat_result], file: str | int) -> bool:
    try:
        status = look(file)
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and bool(status.st_uid == NOBODY or status.st_mode & 0o044)


def _tells_the_secret(path: str) -> bool:
    with suppress(OSError), open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW), "rb") as file:
        return _others_read(os.fstat, file.fileno()) and SECRET in file.read()
    return False


@pytest.mark.feature("F214")
@pytest.mark.parametrize(
    ("kernel", "where"),
    [("as it is", "home"), ("as it is", "shared"), ("protects links", "shared")],
    ids=["home", "shared", "shared, links protected"],
    indirect=["kernel"],
)
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["some", "all"])
@pytest.mark.usefixtures("kernel")
def test_no_plant_leads_a_state_of_root_elsewhere(ground, tmp_path, state, where, every):
    """In a home, each state meets every plant; in a shared folder every second one, and the next state the others."""
    victim = tree(tmp_path / "victim")
    turn = [*STATES].index(state)
    for number, (plant, (make, below)) in enumerate(PLANTS.items()):
        if where == "shared" and (turn + number) % 2 and not every:
            continue
        planted = tmp_path / where / "x"
        if where == "shared" and make is _moved:
            continue  # in a sticky folder nobody but root moves what is root's
        make(planted)
        everything = tree(tmp_path / where)
        function, arguments = STATES[state](f"{tmp_path}/{where}/{below}", tmp_path)
        told = f"{function} {plant}"
        dry = row_of(ground, function, test=True, **arguments)
        assert tree(tmp_path / "victim") == victim, f"dry run: {told}: {dry}"
        assert tree(tmp_path / where) == everything, f"dry run: {told}: {dry}"
        row = row_of(ground, function, test=False, **arguments)
        assert tree(tmp_path / "victim") == victim, f"{told}: {row}"
        assert given_away(tmp_path) == [], f"{told}: {row}"
        if "Refusing" in str(row["comment"]):
            assert row["result"] is False, f"{told}: {row}"
            assert dry["result"] is False, f"{told}: dry run says {dry}, the run {row}"
        restore(tmp_path, where)


@pytest.mark.parametrize("kernel", ["as it is", "protects links"], indirect=True)
@pytest.mark.parametrize("state", ["extracted", "extracted zip", "recurse"])
@pytest.mark.parametrize("target", ["../victim/d", "../home/d", "in"])
@pytest.mark.usefixtures("kernel")
def test_a_link_planted_below_the_path_of_a_state_is_judged_alike_by_dry_run_and_run(ground, tmp_path, state, target):
    victim = tree(tmp_path / "victim")
    for folder in (tmp_path / "shared" / "in", tmp_path / "home" / "d"):
        folder.mkdir()
        os.chown(folder, NOBODY, NOBODY)
    _link(target)(tmp_path / "shared" / "d")
    function, arguments = STATES[state](f"{tmp_path}/shared", tmp_path)
    dry = row_of(ground, function, test=True, **arguments)
    row = row_of(ground, function, test=False, **arguments)
    assert (dry["result"] is False) == (row["result"] is False), f"dry run says {dry}, the run {row}"
    assert "Permission denied" not in str(row["comment"])
    assert tree(tmp_path / "victim") == victim


def row_of(ground: PluginHarness, function: str, **arguments: Any) -> dict[str, Any]:
    """Return a state's row; what it cannot say in one of its own becomes one in the engine."""
    try:
        return ground.state(function, **arguments)
    except CommandExecutionError as error:
        return {"result": False, "changes": {}, "comment": str(error)}


def restore(base: Path, where: str) -> None:
    """Take away what the states made, so that the next plant finds the ground as it was."""
    for name in (where, "home"):
        for path in sorted((base / name).rglob("*"), reverse=True):
            if not path.is_symlink() and path.is_dir():  # the kernel may let nobody follow a planted link
                path.rmdir()
                continue
            try:
                path.unlink()
            except PermissionError:  # it was made immutable
                subprocess.run(["chattr", "-i", str(path)], check=False, capture_output=True)
                path.unlink()
    for name in ("got", "aside"):
        for path in (base / name, base / where / name):
            if path.is_symlink() or path.exists():
                path.unlink()
    if not (base / "own.txt").exists():
        (base / "own.txt").write_text("own=1\n")


@pytest.mark.parametrize("test", [True, False])
async def test_a_refusal_is_the_whole_comment_of_a_failed_row(ground, tmp_path, test):
    _link("../victim")(tmp_path / "home" / "L")
    (tmp_path / "srv").mkdir()
    (tmp_path / "srv" / "a.sls").write_text(f"a: {{file.absent: [{{name: {tmp_path}/home/L/f}}]}}")
    settings = Settings(file_roots={"base": [str(tmp_path / "srv")]}, cachedir=str(tmp_path / "cache"))
    async with StateRuntime(settings) as runtime:
        report = await runtime.apply(["a"], test=test)
    (row,) = report.rows.values()
    assert row["result"] is False
    assert row["changes"] == {}
    assert f"symbolic link {tmp_path}/home/L: user nobody can change it" in row["comment"]


@pytest.fixture
def programs(ground, tmp_path):
    """The states and modules that let programs act by paths; what they run is listed, and is run."""
    ground.ran = []

    def run(command, **options):
        ground.ran.append(command)
        return run_all(command, **{key: options[key] for key in ("cwd",) if key in options})

    ground.run = run
    return ground


def test_pip_of_root_runs_no_code_of_a_user(programs, tmp_path):
    programs.salt["cmd.run_all"] = programs.run
    home, proof = tmp_path / "home", tmp_path / "victim" / "proof"
    (home / "pip").mkdir()
    code = f"open({str(proof)!r}, 'w')\n"
    for name in ("pip/__init__.py", "pip/__main__.py", "setup.py"):
        (home / name).write_text(code)
    (home / "requirements.txt").write_text(f"{home}\n")
    given_to_user(home)
    for arguments in (
        {"pkgs": "x", "no_index": True, "cwd": str(home)},
        {"pkgs": str(home), "no_index": True},
        {"editable": str(home), "no_index": True},
        {"requirements": f"{home}/requirements.txt", "no_index": True},
        {"pkgs": "x", "no_index": True, "find_links": str(home)},
        {"pkgs": "x", "no_index": True, "target": f"{home}/lib"},
        {"pkgs": "x", "no_index": True, "log": f"{home}/log"},
    ):
        with pytest.raises(PathRefused, match="Refusing to run pip as root"):
            programs.call("pip.install", **arguments)
        assert not proof.exists(), arguments
    assert programs.ran == []


def test_no_cluster_is_made_and_no_image_built_where_a_user_can_exchange_folders(tmp_path):
    harness = PluginHarness(tmp_path)
    home, ran = tmp_path / "home", []
    (home / "data" / "in").mkdir(parents=True)
    given_to_user(home)
    harness.salt["cmd.run_all"] = lambda command, **_: ran.append(command)
    harness.salt["cmd.which"] = lambda name: f"/bin/{name}"
    harness.load("modules", "postgres")
    harness.load("modules", "docker")
    with pytest.raises(PathRefused, match="pg_createcluster"):
        harness.call("postgres.cluster_create", 15, datadir=f"{home}/data/in")
    with pytest.raises(PathRefused, match="docker build"):
        harness.call("docker.build", f"{home}/data/in", "shop")
    assert ran == []


def test_nothing_is_mounted_over_what_a_link_of_a_users_leads_to(programs, tmp_path):
    programs.salt["cmd.run_all"] = programs.run
    (tmp_path / "home" / "mnt").mkdir()
    (tmp_path / "home" / "swap").write_bytes(b"x")
    _link("../victim/d")(tmp_path / "home" / "L")
    given_to_user(tmp_path / "home")
    config = str(tmp_path / "fstab")
    for name in ("home/L", "home/mnt", "home/new", "shared/L"):
        if name == "shared/L":
            _link("../victim/d")(tmp_path / name)
        for test in (True, False):
            row = programs.state(
                "mount.mounted", name=f"{tmp_path}/{name}", device="tmpfs", fstype="tmpfs", config=config, mkmnt=True,
                test=test,
            )  # fmt: skip
            assert (row["result"], row["comment"].split(" /")[0]) == (False, "Refusing to run mount as root on"), name
    for test in (True, False):
        row = programs.state("mount.swap", name=f"{tmp_path}/home/swap", config=config, test=test)
        assert row["comment"].startswith("Refusing to run swapon as root"), row
    with pytest.raises(PathRefused, match="Refusing to run chroot as root"):
        programs.call("cmd.run_chroot", f"{tmp_path}/home", "true")
    assert programs.ran == []


def test_a_home_itself_can_be_mounted_over(programs, tmp_path):
    """Who owns it cannot put something else in its place."""
    filesystem.require_own_place(str(tmp_path / "home"), "mount")
    filesystem.require_own_place(str(tmp_path / "nothing" / "yet"), "mount")


def test_a_script_is_not_below_a_folder_that_a_user_can_exchange(ground, tmp_path):
    ground.salt_file("go.sh", "#!/bin/sh\ndirname $0\n")
    (tmp_path / "home" / "roots").mkdir()
    where = ground.call("cmd.script", "salt://go.sh", cwd=f"{tmp_path}/home/roots")["stdout"]
    assert not where.startswith(str(tmp_path / "home"))


def given_to_user(folder: Path) -> None:
    for path in folder.rglob("*"):
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


SWAPPER = """
import ctypes, os, sys
os.chdir(sys.argv[1])
os.setgid(65534); os.setuid(65534)
libc = ctypes.CDLL(None)
print("ready", flush=True)
while True:
    libc.renameat2(-100, b"sub", -100, b"L", 2)
"""


@pytest.mark.feature("F214")
@pytest.mark.parametrize(
    "rounds",
    [pytest.param(20, id="some"), pytest.param(1000, id="many", marks=[pytest.mark.slow, pytest.mark.timeout(900)])],
)
@pytest.mark.parametrize(
    "state",
    [
        "managed", "managed, makedirs", "directory", "directory, clean", "directory, recursively", "recurse",
        "recurse, clean", "absent", "touch", "symlink, forced", "copy to, forced", "copy from", "rename to, forced",
        "append", "replace", "tidied", "retention", "extracted", "extracted zip", "extracted by tar", "ini option",
    ],
)  # fmt: skip
def test_no_exchange_of_folders_leads_a_state_of_root_elsewhere(ground, tmp_path, state, rounds):
    home = tmp_path / "home"
    (home / "sub").mkdir()
    _link("../victim")(home / "L")
    os.chown(home / "sub", NOBODY, NOBODY)
    for folder in (*tmp_path.parents[:1], tmp_path):
        folder.chmod(0o755)
    before = tree(tmp_path / "victim")
    swapper = subprocess.Popen([sys.executable, "-c", SWAPPER, str(home)], stdout=subprocess.PIPE)
    assert swapper.stdout is not None
    until = time.monotonic() + (3 if rounds < 100 else 300)
    try:
        assert swapper.stdout.readline() == b"ready\n"
        for number in range(rounds):
            below = ("d", "f", "new")[number % 3]
            function, arguments = STATES[state](f"{home}/sub/{below}", tmp_path)
            if not (tmp_path / "own.txt").exists():
                (tmp_path / "own.txt").write_text("own=1\n")
            with suppress(OSError, CommandExecutionError):  # a row in the engine, which says what vanished
                ground.state(function, test=False, **arguments)
            assert tree(tmp_path / "victim") == before, f"round {number}"
            assert given_away(tmp_path / "home") == []
            if time.monotonic() > until:
                break
    finally:
        swapper.kill()
        swapper.wait()
        swapper.stdout.close()


@pytest.mark.feature("F214")
@pytest.mark.parametrize("there", [True, False])
def test_a_context_that_chcon_may_not_set_is_refused_before_anything_is_written(ground, tmp_path, there):
    path = tmp_path / "home" / "x"
    if there:
        path.write_text("own=1\n")
    ground.salt["cmd.run_all"] = lambda *_, **__: {"retcode": 0, "stdout": "u:r:old_t:s0", "stderr": ""}
    before = tree(tmp_path / "home")
    for test in (True, False):
        row = ground.state("file.managed", name=str(path), contents="new", selinux={"setype": "etc_t"}, test=test)
        assert row["result"] is False, row
        assert "Refusing to run chcon as root in" in row["comment"], row
        assert tree(tmp_path / "home") == before
    ground.salt["cmd.run_all"] = lambda *_, **__: {"retcode": 0, "stdout": "?", "stderr": ""}
    row = ground.state("file.managed", name=str(path), contents="new", selinux={"setype": "etc_t"}, test=False)
    assert "Failed to get selinux attributes" in str(row["comment"])
    assert tree(tmp_path / "home") == before
    ground.salt["cmd.run_all"] = lambda *_, **__: {"retcode": 0, "stdout": "u:r:old_t:s0", "stderr": ""}
    row = ground.state("file.managed", name=str(path), contents="new", selinux={"setype": "old_t"}, test=False)
    assert ("Refusing" in str(row["comment"])) is not there, row


@pytest.mark.parametrize("test", [True, False])
def test_programs_make_no_home_and_no_link_where_a_user_can_exchange_them(ground, tmp_path, test):
    """useradd, usermod, userdel and update-alternatives act by paths, and change the owner of what is there."""
    ran = []
    ground.salt["cmd.run_all"] = lambda command, **_: ran.append(command) or {"retcode": 0, "stdout": "", "stderr": ""}
    for name in ("user", "alternatives"):
        ground.load("states", name)
    ground.load("modules", "alternatives")
    home = f"{tmp_path}/home/bot"
    known = dict.fromkeys(("fullname", "roomnumber", "workphone", "homephone", "other", "shell"), "")
    known = {**known, "name": "bot", "uid": NOBODY, "gid": NOBODY, "groups": [], "home": home}
    ground.salt.update({"user.info": lambda name, **_: known if name == "bot" else {}})
    ground.salt.update(
        {f"user.{name}": lambda *_, **__: ran.append("user") or True for name in ("add", "chhome", "delete")}
    )
    ground.salt.update({"user.list_groups": lambda *_: [], "group.info": lambda *_, **__: {}})
    attempts = [
        ("user.present", {"name": "new", "home": home}),
        ("user.present", {"name": "bot", "home": "/home/bot", "persist_home": True}),
        ("user.absent", {"name": "bot", "purge": True}),
        ("alternatives.install", {"name": "x", "link": f"{tmp_path}/home/x", "path": "/bin/sh", "priority": 1}),
    ]
    for state, arguments in attempts:
        row = ground.state(state, test=test, **arguments)
        assert (row["result"], row["changes"]) == (False, {})
        assert "user nobody can put something else there" in row["comment"]
    assert ran == []
