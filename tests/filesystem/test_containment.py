"""The door to the file system: what root may be led to by others, and what it may not."""

import errno
import grp
import inspect
import os
import socket
import stat
import subprocess
import sys
import time

import pytest

from asyncstate import filesystem
from asyncstate.errors import PathRefused
from asyncstate.filesystem import rule

NOBODY = 65534
SECRET = b"root:secret\n"
DEEP = 200
"""Folders in each other: twice the depth of calls that are allowed meanwhile."""
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root is led astray; run the tests as root")


@pytest.fixture(params=["openat2", "by parts"])
def way(request, monkeypatch):
    """Both ways to a descriptor: with the kernel's call, and where it is missing."""
    if request.param == "by parts":
        monkeypatch.setattr(rule, "has_openat2", lambda: False)
    elif not rule.has_openat2():
        pytest.skip("this kernel has no openat2")
    return request.param


@pytest.fixture
def home(tmp_path, way):
    """A folder of a user's beside one of root's with a secret in it."""
    home, victim = tmp_path / "home", tmp_path / "victim"
    home.mkdir()
    victim.mkdir()
    (victim / "f").write_bytes(SECRET)
    (victim / "f").chmod(0o600)
    os.chown(home, NOBODY, NOBODY)
    return home


def planted(link, target):
    os.symlink(target, link)
    os.chown(link, NOBODY, NOBODY, follow_symlinks=False)


def own(path, data=b""):
    path.write_bytes(data)
    os.chown(path, NOBODY, NOBODY)


OPERATIONS = {
    "stat": filesystem.stat,
    "exists": filesystem.exists,
    "read": filesystem.read_bytes,
    "replace": lambda path: filesystem.replace_content(path, b"mine"),
    "copy from": lambda path: filesystem.copy_file(path, path + ".bak"),
    "chown": lambda path: filesystem.give(path, filesystem.Access(NOBODY, NOBODY, 0o666)),
    "times": lambda path: filesystem.set_times(path, (1, 1)),
    "remove": filesystem.remove,
    "rename away": lambda path: filesystem.rename(path, os.path.dirname(os.path.dirname(path)) + "/got"),
    "rename to": lambda path: filesystem.rename(os.path.dirname(os.path.dirname(path)) + "/mine", path),
    "link": lambda path: filesystem.link(path, os.path.dirname(os.path.dirname(path)) + "/got"),
    "link to": lambda path: filesystem.link(os.path.dirname(os.path.dirname(path)) + "/mine", path + "2"),
    "symlink": lambda path: filesystem.symlink("x", path + "2"),
    "mkdir": lambda path: filesystem.mkdir(path + "2"),
    "makedirs": lambda path: filesystem.makedirs(path + "2/a/b"),
    "mknod": lambda path: filesystem.mknod(path + "2", 0o600 | stat.S_IFIFO),
    "remove a tree": lambda path: filesystem.remove_tree(os.path.dirname(path) + "/d"),
    "copy a tree": lambda path: filesystem.copy_tree(os.path.dirname(path) + "/d", path + "2"),
    "list": lambda path: filesystem.listdir(os.path.dirname(path)),
    "resolve": filesystem.resolved,
}


def tree(folder):
    return sorted(
        (
            str(path),
            path.lstat().st_mode,
            path.lstat().st_uid,
            path.lstat().st_mtime,
            path.is_file() and path.read_bytes(),
        )
        for path in folder.rglob("*")
    )


@as_root
@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_no_link_of_a_user_leads_root_into_a_folder(home, name):
    (home.parent / "victim" / "d").mkdir()
    own(home / "mine")
    planted(home / "L", "../victim")
    before = tree(home.parent / "victim")
    with pytest.raises(PathRefused, match=f"symbolic link {home}/L: user nobody can change it"):
        OPERATIONS[name](f"{home}/L/f")
    assert tree(home.parent / "victim") == before


@as_root
@pytest.mark.parametrize("name", ["stat", "read", "copy from", "chown", "times", "resolve"])
def test_no_link_of_a_user_leads_root_to_a_file(home, name):
    planted(home / "L", home.parent / "victim" / "f")
    before = tree(home.parent)
    with pytest.raises(PathRefused, match=f"symbolic link {home}/L: .* belongs to user root"):
        OPERATIONS[name](f"{home}/L")
    assert tree(home.parent) == before


@as_root
def test_a_link_of_root_below_a_folder_of_a_user_is_not_followed(home):
    os.symlink("../victim", home / "moved")
    with pytest.raises(PathRefused, match="user nobody can change it"):
        filesystem.read_bytes(f"{home}/moved/f")


@pytest.mark.feature("F197")
@as_root
def test_a_link_of_root_in_a_folder_of_root_is_followed(tmp_path, way):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "f").write_bytes(b"content")
    os.symlink("real", tmp_path / "link")
    os.chown(tmp_path / "link", NOBODY, NOBODY, follow_symlinks=False)  # who only owns a link cannot change it
    assert filesystem.read_bytes(f"{tmp_path}/link/f") == b"content"
    filesystem.replace_content(f"{tmp_path}/link/f", b"new")
    assert (tmp_path / "real" / "f").read_bytes() == b"new"
    assert filesystem.resolved(f"{tmp_path}/link") == f"{tmp_path}/real"
    assert filesystem.read_bytes(f"{tmp_path}/link/../link//f") == b"new"
    os.symlink("real/f", tmp_path / "file")
    os.chown(tmp_path / "file", NOBODY, NOBODY, follow_symlinks=False)
    assert filesystem.resolved(f"{tmp_path}/file") == f"{tmp_path}/real/f"
    tmp_path.chmod(0o777)
    for act, name in ((filesystem.resolved, "file"), (OPERATIONS["replace"], "link/f")):
        with pytest.raises(PathRefused, match="Refusing to follow"):
            act(f"{tmp_path}/{name}")


@as_root
def test_a_user_s_link_to_what_is_his_is_followed(home):
    own(home / "real", b"his")
    planted(home / "L", "real")
    assert filesystem.read_bytes(f"{home}/L") == b"his"
    assert filesystem.resolved(f"{home}/L") == f"{home}/real"
    planted(home / "dangling", "none")
    assert filesystem.resolved(f"{home}/dangling") == f"{home}/none"


@as_root
def test_a_dangling_link_of_a_user_is_no_way_to_make_a_file_elsewhere(home):
    planted(home / "L", "../victim/new")
    with pytest.raises(PathRefused):
        filesystem.resolved(f"{home}/L")


@as_root
def test_in_a_sticky_folder_links_of_root_are_followed_and_those_of_others_not(home):
    shared = home.parent / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    os.symlink("../victim", shared / "ours")
    planted(shared / "theirs", "../victim")
    assert filesystem.read_bytes(f"{shared}/ours/f") == SECRET
    with pytest.raises(PathRefused):
        filesystem.read_bytes(f"{shared}/theirs/f")


@as_root
@pytest.mark.parametrize("mode", [0o777, 0o775])
def test_no_link_is_followed_in_a_folder_many_can_write_to(home, mode):
    shared = home.parent / "shared"
    shared.mkdir()
    os.chown(shared, 0, NOBODY)
    shared.chmod(mode)
    os.symlink("../victim", shared / "ours")
    with pytest.raises(PathRefused, match="others than root"):
        filesystem.read_bytes(f"{shared}/ours/f")


@as_root
def test_a_hard_link_planted_by_a_user_is_not_handed_over(home):
    os.link(home.parent / "victim" / "f", home / "h")
    for act in (OPERATIONS["read"], OPERATIONS["chown"], OPERATIONS["copy from"]):
        with pytest.raises(PathRefused, match="2 names and belongs to user root"):
            act(f"{home}/h")
    filesystem.replace_content(f"{home}/h", b"mine")  # a name is replaced, not what else has it
    assert (home.parent / "victim" / "f").read_bytes() == SECRET


def test_hard_links_nobody_planted_are_files_like_others(tmp_path, way):
    (tmp_path / "one").write_bytes(b"1")
    os.link(tmp_path / "one", tmp_path / "two")
    filesystem.give(f"{tmp_path}/two", filesystem.Access(mode=0o640))
    assert filesystem.read_bytes(f"{tmp_path}/two") == b"1"
    assert stat.S_IMODE(os.stat(tmp_path / "one").st_mode) == 0o640


@pytest.mark.timeout(20)
def test_pipes_devices_and_sockets_are_not_read(tmp_path, way):
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{tmp_path}/socket")
        os.symlink("/dev/zero", tmp_path / "zero")
        for name, kind in (("pipe", "a pipe"), ("socket", "a socket"), ("zero", "a character device")):
            with pytest.raises(PathRefused, match=f"Refusing to read {tmp_path}/{name}: it is {kind}"):
                filesystem.read_bytes(f"{tmp_path}/{name}")
    with pytest.raises(IsADirectoryError):
        filesystem.open_read(str(tmp_path))


def test_no_more_is_read_than_was_asked_for(tmp_path, way):
    (tmp_path / "f").write_bytes(b"12345")
    assert filesystem.read_bytes(f"{tmp_path}/f", 5) == b"12345"
    with pytest.raises(PathRefused, match="more than the 4 bytes"):
        filesystem.read_bytes(f"{tmp_path}/f", 4)
    with pytest.raises(PathRefused, match="more than the 3 bytes"):
        filesystem.read_bytes("/proc/self/status", 3)  # a file that says it is empty
    assert filesystem.read_bytes("/proc/self/status").startswith(b"Name:")


def test_a_tree_of_any_depth_is_removed(tmp_path, way):
    top = tmp_path / "deep"
    top.mkdir()
    folder = os.open(top, os.O_RDONLY)
    for _ in range(DEEP):
        os.mkdir("d", dir_fd=folder)
        os.symlink("/", "L", dir_fd=folder)
        inner = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(folder)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + DEEP // 2)
    try:
        filesystem.remove_tree(f"{top}/")
    finally:
        sys.setrecursionlimit(limit)
    assert os.listdir(tmp_path) == []


def test_removing_a_link_to_a_directory_as_a_tree_is_an_error(tmp_path, way):
    (tmp_path / "real").mkdir()
    os.symlink("real", tmp_path / "link")
    with pytest.raises(NotADirectoryError):
        filesystem.remove_tree(f"{tmp_path}/link")
    assert (tmp_path / "real").is_dir()


def test_a_tree_is_copied_with_links_modes_and_times(tmp_path, way):
    source = tmp_path / "source"
    (source / "d").mkdir(parents=True)
    (source / "d" / "f").write_bytes(b"x")
    (source / "d" / "f").chmod(0o4751)
    os.utime(source / "d" / "f", (5, 6))
    os.symlink("f", source / "d" / "L")
    filesystem.copy_tree(str(source), f"{tmp_path}/copy")
    copied = tmp_path / "copy" / "d" / "f"
    assert (copied.read_bytes(), stat.S_IMODE(copied.stat().st_mode), copied.stat().st_mtime) == (b"x", 0o4751, 6)
    assert os.readlink(tmp_path / "copy" / "d" / "L") == "f"
    if os.geteuid() == 0:
        os.chown(source / "d" / "f", NOBODY, -1)
        os.chmod(source / "d" / "f", 0o4751)
        filesystem.copy_tree(str(source), f"{tmp_path}/again")
        assert stat.S_IMODE((tmp_path / "again" / "d" / "f").stat().st_mode) == 0o751


@as_root
def test_a_tree_with_planted_files_is_not_copied(home):
    os.link(home.parent / "victim" / "f", home / "h")
    with pytest.raises(PathRefused, match=r"hard link .* of user root that user nobody"):
        filesystem.copy_tree(str(home), f"{home.parent}/copy")
    os.unlink(home / "h")
    os.mkfifo(home / "pipe")
    with pytest.raises(PathRefused, match="not a regular file"):
        filesystem.copy_tree(str(home), f"{home.parent}/copy")


def test_walking_a_tree_is_what_os_walk_does(tmp_path, way):
    for name in ("a/b/c", "a/d"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "a" / "f").write_text("")
    os.symlink("a", tmp_path / "L")
    os.symlink("gone", tmp_path / "dangling")
    for topdown in (True, False):
        ours = [(top, set(d), set(f)) for top, d, f in filesystem.walk(str(tmp_path), topdown=topdown)]
        assert sorted(ours) == sorted((t, set(d), set(f)) for t, d, f in os.walk(tmp_path, topdown=topdown))
        assert ours[0 if topdown else -1][0] == str(tmp_path)


def test_moving_into_a_directory(tmp_path, way):
    (tmp_path / "d").mkdir()
    (tmp_path / "f").write_text("x")
    filesystem.move(f"{tmp_path}/f", f"{tmp_path}/d")
    assert (tmp_path / "d" / "f").read_text() == "x"
    assert os.listdir(tmp_path) == ["d"]


def test_errors_are_those_of_the_kernel(tmp_path, way):
    (tmp_path / "f").write_text("")
    os.symlink("loop", tmp_path / "loop")
    for path, number in (
        ("none", errno.ENOENT),
        ("none/x", errno.ENOENT),
        ("f/x", errno.ENOTDIR),
        ("loop", errno.ELOOP),
    ):
        with pytest.raises(OSError, match="Errno") as caught:
            filesystem.stat(f"{tmp_path}/{path}")
        assert caught.value.errno == number
        assert not filesystem.exists(f"{tmp_path}/{path}")
    with pytest.raises(OSError, match="Too many levels"):
        filesystem.resolved(f"{tmp_path}/loop")
    with pytest.raises(FileNotFoundError, match=f"{tmp_path}/none/x"):
        filesystem.mkdir(f"{tmp_path}/none/x")


def test_parts_that_lead_upwards_and_relative_paths(tmp_path, way, monkeypatch):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "f").write_text("x")
    assert filesystem.read_bytes(f"{tmp_path}/a/b/../f") == b"x"
    monkeypatch.chdir(tmp_path / "a")
    assert filesystem.read_bytes("f") == b"x"
    assert filesystem.is_directory("b/..")
    assert filesystem.is_directory("/")
    assert sorted(filesystem.listdir(".")) == ["b", "f"]
    assert filesystem.lexists("f")
    assert not filesystem.is_link("/")


@as_root
def test_programs_run_as_root_only_where_nobody_else_exchanges_folders(home):
    shared = home.parent / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    (home / "of root").mkdir()
    for path in (home, home / "of root", home / "none" / "deep", shared, home.parent / "shared" / "none" / "deep"):
        if path.is_relative_to(shared) and path != shared:
            filesystem.require_unshared(f"{path.parent}", "git", make=True)
            filesystem.require_unshared(f"{path}", "git")
            continue
        with pytest.raises(PathRefused, match=r"Refusing to run git as root in .*: (user nobody|others than root) can"):
            filesystem.require_unshared(str(path), "git")
        filesystem.require_unshared(str(path), "git", "nobody")
    filesystem.require_unshared(f"{home.parent}/victim/none/deep", "git")
    assert (shared / "none").stat().st_uid == 0


@as_root
def test_a_group_is_trusted_as_long_as_nobody_is_in_it(tmp_path, way, monkeypatch):
    (tmp_path / "local").mkdir()
    os.chown(tmp_path / "local", 0, 4711)
    (tmp_path / "local").chmod(0o2775)
    (tmp_path / "f").write_text("x")
    os.symlink("../f", tmp_path / "local" / "L")
    with pytest.raises(PathRefused, match="others than root"):
        filesystem.stat(f"{tmp_path}/local/L")  # a group nobody knows may be anybody's
    members = []
    accounts = tmp_path / "group"
    accounts.write_text("")
    monkeypatch.setattr(filesystem.rule, "_ACCOUNTS", (str(accounts),))
    monkeypatch.setattr("grp.getgrgid", lambda gid: grp.struct_group(("staff", "x", gid, members)))
    assert filesystem.read_bytes(f"{tmp_path}/local/L") == b"x"
    members.append("eve")
    accounts.write_text("changed")
    os.utime(accounts, (1, 1))
    with pytest.raises(PathRefused, match="others than root"):
        filesystem.read_bytes(f"{tmp_path}/local/L")


def test_where_there_is_no_proc(tmp_path, way, monkeypatch):
    (tmp_path / "f").write_text("x")
    os.symlink("f", tmp_path / "L")
    real = os.open

    def without(path, *arguments, **options):
        if str(path).startswith("/proc/self/fd/"):
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", path)
        return real(path, *arguments, **options)

    monkeypatch.setattr("os.open", without)
    assert filesystem.read_bytes(f"{tmp_path}/L") == b"x"


@pytest.mark.usefixtures("another_file_system")
def test_what_is_moved_over_file_systems_keeps_owner_and_times(tmp_path, way):
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "f").write_text("x")
    (tmp_path / "g").write_text("y")
    for path in (tmp_path / "d" / "f", tmp_path / "g"):
        os.utime(path, (5, 6))
        if os.geteuid() == 0:
            os.chown(path, NOBODY, NOBODY)
    filesystem.move(f"{tmp_path}/d", f"{tmp_path}/e")
    filesystem.move(f"{tmp_path}/g", f"{tmp_path}/h")
    assert sorted(os.listdir(tmp_path)) == ["e", "h"]
    for path, text in ((tmp_path / "e" / "f", "x"), (tmp_path / "h", "y")):
        assert (path.read_text(), path.stat().st_mtime) == (text, 6)
        assert path.stat().st_uid == (NOBODY if os.geteuid() == 0 else os.geteuid())


def test_what_only_the_kernel_can_follow(way):
    read, write = os.pipe()
    try:
        assert stat.S_ISFIFO(filesystem.stat(f"/dev/fd/{read}").st_mode)
    finally:
        os.close(read)
        os.close(write)


def test_the_owner_of_a_link_itself(tmp_path, way):
    os.symlink("/etc/none", tmp_path / "L")
    if os.geteuid() == 0:
        filesystem.give(f"{tmp_path}/L", filesystem.Access(NOBODY, NOBODY, 0o600), follow=False)
        assert os.lstat(tmp_path / "L").st_uid == NOBODY
    else:
        filesystem.give(f"{tmp_path}/L", filesystem.Access(os.geteuid()), follow=False)
        assert os.lstat(tmp_path / "L").st_uid == os.geteuid()


SWAPPER = """
import ctypes, os, sys
os.chdir(sys.argv[1])
os.setgid(65534); os.setuid(65534)
libc = ctypes.CDLL(None)
print("ready", flush=True)
while True:
    libc.renameat2(-100, b"sub", -100, b"L", 2)
"""


@as_root
def test_no_exchange_of_folder_and_link_lets_root_out(home):
    rounds = 300
    (home / "sub").mkdir()
    os.chown(home / "sub", NOBODY, NOBODY)
    planted(home / "L", "../victim")
    before = tree(home.parent / "victim")
    home.parent.chmod(0o755)
    swapper = subprocess.Popen([sys.executable, "-c", SWAPPER, str(home)], stdout=subprocess.PIPE)
    assert swapper.stdout.readline() == b"ready\n"
    refused = done = 0
    until = time.monotonic() + 10
    try:
        for number in range(rounds):
            for act in (
                lambda path: filesystem.replace_content(path, b"x", access=filesystem.Access(NOBODY, NOBODY, 0o644)),
                lambda path: filesystem.give(path, filesystem.Access(NOBODY, NOBODY, 0o666)),
                filesystem.read_bytes,
                filesystem.remove,
                filesystem.makedirs,
                filesystem.remove_tree,
            ):
                try:
                    act(f"{home}/sub/f")
                    done += 1
                except PathRefused:
                    refused += 1
                except OSError:
                    pass
            if number > 50 and time.monotonic() > until:
                break
    finally:
        swapper.kill()
        swapper.wait()
        swapper.stdout.close()
    assert tree(home.parent / "victim") == before
    assert refused
    assert done


def test_a_process_without_rights_is_led_by_the_kernel(tmp_path, way, monkeypatch):
    monkeypatch.setattr(filesystem.rule, "is_root", lambda: False)
    (tmp_path / "d").mkdir()
    os.symlink("d", tmp_path / "L")
    (tmp_path / "L" / "f").write_text("x")
    if os.geteuid() == 0:
        os.chown(tmp_path / "L", NOBODY, NOBODY, follow_symlinks=False)
        os.chown(tmp_path, NOBODY, NOBODY)
    assert filesystem.read_bytes(f"{tmp_path}/L/f") == b"x"
    assert filesystem.resolved(f"{tmp_path}/L") == f"{tmp_path}/d"


@pytest.mark.parametrize("kind", ["i", "a"])
def test_a_tree_with_an_immutable_file_stays_whole(tmp_path, kind):
    tree = tmp_path / "tree"
    for name in ("a", "b", "c"):
        (tree / name).mkdir(parents=True)
        (tree / name / "f").touch()
    if subprocess.run(["chattr", f"+{kind}", tree / "b" / "f"], check=False, capture_output=True).returncode:
        pytest.skip("this user or file system makes no immutable files")
    try:
        with pytest.raises(PermissionError) as refused:
            filesystem.remove_tree(str(tree))
        assert refused.value.filename == str(tree / "b" / "f")
        assert len(list(tree.rglob("f"))) == 3
    finally:
        subprocess.run(["chattr", "-ia", tree / "b" / "f"], check=True)
    filesystem.remove_tree(str(tree))
    assert not tree.exists()
