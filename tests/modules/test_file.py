import hashlib
import os
import re
import stat
import subprocess
import threading

import pytest
from asyncstate.modules.file import diffs, modes
from hypothesis import given
from hypothesis import strategies as st
from plugin_harness import PluginHarness

from asyncstate import filesystem
from asyncstate.errors import CommandExecutionError, PathRefused

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="changes owners")


def run_all(command, rstrip=True, **_):
    done = subprocess.run(command, shell=isinstance(command, str), capture_output=True, text=True, check=False)
    stdout = done.stdout.strip() if rstrip else done.stdout
    return {"retcode": done.returncode, "stdout": stdout, "stderr": done.stderr.strip(), "pid": 1}


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "file")
    harness.salt["cmd.run_all"] = run_all
    harness.salt["cmd.run"] = lambda command, **_: run_all(command)["stdout"]
    return harness


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "f"
    path.write_text("one\ntwo\n")
    path.chmod(0o640)
    return path


def test_questions_about_paths(plugins, path, tmp_path):
    link = tmp_path / "link"
    link.symlink_to("f")
    for function, argument, answer in (
        ("file_exists", path, True),
        ("file_exists", tmp_path, False),
        ("directory_exists", tmp_path, True),
        ("path_exists_glob", tmp_path / "f*", True),
        ("path_exists_glob", tmp_path / "x*", False),
        ("is_link", link, True),
        ("is_link", path, False),
        ("is_hardlink", path, False),
        ("readlink", link, "f"),
        ("get_mode", path, "0640"),
        ("get_uid", path, os.geteuid()),
        ("dirname", "/a/b", "/a"),
        ("basename", "/a/b", "b"),
        ("normpath", "/a/../b", "/b"),
        ("diskusage", tmp_path, 8),
        ("get_hash", path, hashlib.sha256(b"one\ntwo\n").hexdigest()),
        ("get_sum", tmp_path / "no", "File not found"),
        ("contains", path, True),
    ):
        arguments = [str(argument), "two"] if function == "contains" else [str(argument)]
        assert plugins.call(f"file.{function}", *arguments) == answer, function
    assert plugins.call("file.join", "/a", "b", "c") == "/a/b/c"
    assert set(plugins.call("file.readdir", str(tmp_path))) >= {".", "..", "f", "link"}
    assert plugins.call("file.is_link", str(link), nostat=True) is True
    assert plugins.call("file.readlink", str(link), canonicalize=True) == str(path)
    assert plugins.call("file.access", str(path), "r") is True
    assert plugins.call("file.statvfs", str(path))["f_bsize"] > 0
    assert plugins.call("file.lstat", str(link))["st_size"] == 1
    assert plugins.call("file.lstat", str(tmp_path / "no")) == {}


def test_stats(plugins, path, tmp_path):
    row = plugins.call("file.stats", str(path), "md5")
    assert (row["type"], row["mode"], row["size"]) == ("file", "0640", 8)
    assert row["sum"] == hashlib.md5(b"one\ntwo\n").hexdigest()
    (tmp_path / "link").symlink_to("nowhere")
    assert plugins.call("file.stats", str(tmp_path / "link"))["type"] == "link"
    assert plugins.call("file.stats", str(tmp_path))["type"] == "dir"
    with pytest.raises(CommandExecutionError, match="Path not found"):
        plugins.call("file.stats", str(tmp_path / "no"))


def test_accounts(plugins):
    assert plugins.call("file.user_to_uid", "root") == 0
    assert plugins.call("file.uid_to_user", 0) == "root"
    assert plugins.call("file.user_to_uid", "nosuch") == ""
    assert plugins.call("file.uid_to_user", 4242424) == 4242424
    assert plugins.call("file.user_to_uid", None) == os.geteuid()
    assert plugins.call("file.group_to_gid", "root") == 0
    assert plugins.call("file.gid_to_group", "root") == "root"
    assert plugins.call("file.gid_to_group", 0) == "root"
    assert plugins.call("file.group_to_gid", "nosuch") == ""
    assert plugins.call("file.gid_to_group", "nosuch") == ""


@given(st.integers(0, 0o7777))
def test_modes_of_any_spelling_are_the_same(bits):
    text = f"{bits:04o}"
    spellings = (text, f"{bits:o}", f"0o{bits:o}", f"0{text}", int(f"{bits:o}"), f"'{text}'")
    assert {modes.normalize_mode(spelling) for spelling in spellings} == {text}
    assert modes.mode_bits(text) == bits


@pytest.mark.parametrize(
    ("mode", "wanted"), [("0644", "755"), ("0600", "700"), ("0640", "750"), ("0444", "555"), ("4755", "755")]
)
def test_directories_for_a_file_can_be_entered(mode, wanted):
    assert modes.directory_mode(mode) == wanted


@needs_root
def test_owners(plugins, path, tmp_path):
    link = tmp_path / "link"
    link.symlink_to("f")
    assert plugins.call("file.chown", str(path), "nobody", "nogroup") is None
    assert (plugins.call("file.get_user", str(path)), plugins.call("file.get_group", str(path))) == (
        "nobody",
        "nogroup",
    )
    plugins.call("file.lchown", str(link), "nobody", None)
    assert link.lstat().st_uid == 65534
    plugins.call("file.chgrp", str(path), "root")
    assert (path.stat().st_uid, path.stat().st_gid) == (65534, 0)
    assert plugins.call("file.chown", str(path), "nosuch", "root") == "User does not exist\n"
    assert plugins.call("file.chown", f"{path}.no", "root", "root") == "File not found"


def test_check_perms(plugins, path):
    row, before = plugins.call("file.check_perms", str(path), None, None, None, "0600")
    assert (row["changes"], before["lmode"]) == ({"mode": "0600"}, "0640")
    row, _ = plugins.call("file.check_perms", str(path), None, None, None, 600)
    assert row["changes"] == {}
    row, _ = plugins.call("file.check_perms", str(path), None, None, None, "rwx")
    assert (row["result"], row["comment"]) == (False, "Failed to change mode to 0rwx")
    plugins.opts["test"] = True
    row, _ = plugins.call("file.check_perms", str(path), None, "nosuch", None, "0644")
    assert (row["result"], row["changes"]) == (None, {"user": "nosuch", "mode": "0644"})
    assert plugins.call("file.get_mode", str(path)) == "0600"


@needs_root
def test_check_perms_keeps_set_user_id_bits(plugins, path):
    path.chmod(0o4755)
    row, _ = plugins.call("file.check_perms", str(path), None, "nobody", None, None)
    assert row["changes"] == {"user": "nobody"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o4755


def test_many_threads_may_make_the_same_directories(plugins, tmp_path):
    errors = []

    def make():
        try:
            plugins.call("file.makedirs", f"{tmp_path}/a/b/c/d/e/", mode="0755")
        except OSError as error:
            errors.append(error)

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_reading_and_writing(plugins, path):
    assert plugins.call("file.read", str(path)) == "one\ntwo\n"
    assert plugins.call("file.read", str(path), binary=True) == b"one\ntwo\n"
    assert plugins.call("file.append", str(path), "three", "four") == f'Wrote 2 lines to "{path}"'
    assert plugins.call("file.prepend", str(path), args=["zero"]) == f'Prepended 1 lines to "{path}"'
    assert path.read_text() == "zero\none\ntwo\nthree\nfour\n"
    assert plugins.call("file.write", str(path), args="only") == f'Wrote 1 lines to "{path}"'
    assert path.read_text() == "only\n"
    assert plugins.call("file.seek_read", str(path), 2, 1) == b"nl"
    assert plugins.call("file.seek_write", str(path), b"XY", 1) == 2
    plugins.call("file.truncate", str(path), 3)
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("oXY", 0o640)


def test_latin_1_files_stay_latin_1(plugins, path):
    path.write_bytes(b"caf\xe9\nend\n")
    plugins.call("file.replace", str(path), "end", "fin", backup=False)
    assert path.read_bytes() == b"caf\xe9\nfin\n"
    plugins.call("file.append", str(path), "\u20ac")
    assert path.read_text() == "café\nfin\n€\n"


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"name": "*.txt"}, ["a.txt", "sub/b.txt"]),
        ({"iname": "*.TXT", "maxdepth": 1}, ["a.txt"]),
        ({"regex": r"b\..*"}, ["sub/b.txt"]),
        ({"type": "d", "mindepth": 1}, ["sub"]),
        ({"type": "l"}, ["dead"]),
        ({"size": "+1k", "type": "f"}, ["big"]),
        ({"size": "-5b", "type": "f"}, ["a.txt", "sub/b.txt"]),
        ({"mtime": "+1d"}, ["a.txt"]),
        ({"grep": "hell"}, ["sub/b.txt"]),
        ({"owner": str(os.geteuid()), "name": "big"}, ["big"]),
    ],
)
def test_find(plugins, tmp_path, options, wanted):
    top = tmp_path / "t"
    (top / "sub").mkdir(parents=True)
    (top / "a.txt").write_text("a")
    (top / "sub" / "b.txt").write_text("hello")
    (top / "big").write_text("x" * 3000)
    (top / "link").symlink_to("big")
    (top / "dead").symlink_to("nowhere")
    os.utime(top / "a.txt", (1000, 1000))
    found = plugins.call("file.find", str(top), **options)
    expected = [str(top / name) for name in wanted]
    assert [name for name in found if name != str(top / "link") or "link" in wanted] == expected


@pytest.mark.parametrize(
    ("data", "binary"),
    [
        (b"", False),
        (b"plain\n", False),
        ("ünïcode ✓\n".encode(), False),
        ("✓".encode()[:2], False),
        (b"a\0b", True),
        (bytes(range(1, 32)) * 4, True),
        (b"\xe9" * 10, True),
    ],
)
def test_text_and_binary(data, binary):
    assert diffs.is_binary(data) is binary


@given(st.lists(st.text(alphabet="ab\u00e9 ", max_size=3), max_size=8), st.binary(max_size=40))
def test_lines_of_bytes_are_never_lost(lines, tail):
    data = "\n".join(lines).encode() + tail
    assert "".join(diffs.lines_of(data)).count("\n") == data.count(b"\n")
    if data.decode("utf-8", "replace").encode() == data:
        assert "".join(diffs.lines_of(data)).encode() == data


def test_a_new_file_has_the_mode_the_umask_leaves(plugins, tmp_path):
    umask = int(re.search(r"Umask:\s+(\d+)", (tmp_path / "/proc/self/status").read_text())[1], 8)
    filesystem.replace_content(str(tmp_path / "new"), b"x")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o666 & ~umask


def test_a_replaced_file_keeps_mode_owner_and_attributes(path):
    try:
        os.setxattr(path, "user.note", b"kept")
        noted = True
    except OSError:
        noted = False
    filesystem.replace_content(str(path), b"new")
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", 0o640)
    if noted:
        assert os.getxattr(path, "user.note") == b"kept"


def test_a_failed_replacement_leaves_no_trace(path):
    def fail():
        with filesystem.Replacement(str(path)) as new:
            new.write(b"half")
            raise RuntimeError("on the way")

    with pytest.raises(RuntimeError, match="on the way"):
        fail()
    assert path.read_text() == "one\ntwo\n"
    assert [entry.name for entry in path.parent.iterdir() if entry.name != "file_roots"] == ["f"]


def test_the_unfinished_file_is_private(path):
    with filesystem.Replacement(str(path)) as new:
        assert stat.S_IMODE(os.fstat(new.fd).st_mode) == 0o600


def test_a_mount_point_is_written_in_place(path, monkeypatch):
    inode = path.stat().st_ino

    def busy(*_, **__):
        raise OSError(16, "Device or resource busy")

    monkeypatch.setattr("os.rename", busy)
    filesystem.replace_content(str(path), b"new")
    assert (path.read_bytes(), path.stat().st_ino) == (b"new", inode)
    assert [entry.name for entry in path.parent.iterdir() if entry.name != "file_roots"] == ["f"]


@needs_root
def test_a_directory_link_planted_by_another_user_is_refused(plugins, tmp_path):
    victim, home = tmp_path / "victim", tmp_path / "home"
    victim.mkdir()
    home.mkdir()
    os.chown(home, 65534, 65534)
    (home / "sub").symlink_to(victim)
    os.lchown(home / "sub", 65534, 65534)
    with pytest.raises(PathRefused, match="Refusing to follow the symbolic link"):
        filesystem.replace_content(str(home / "sub" / "f"), b"evil")
    assert list(victim.iterdir()) == []
    os.chown(victim, 65534, 65534)
    filesystem.replace_content(str(home / "sub" / "f"), b"his own")
    assert (victim / "f").read_bytes() == b"his own"


def test_ordinary_links_among_directories_are_followed(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    filesystem.replace_content(f"{tmp_path}/link/../link//f", b"x")
    assert (tmp_path / "real" / "f").read_bytes() == b"x"


def test_a_circle_of_links_is_an_error(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="Too many levels"):
        filesystem.resolved(str(tmp_path / "a"))


def test_nothing_changes_the_process(plugins, path, tmp_path, monkeypatch):
    def forbidden(*_):
        raise AssertionError("process-wide state")

    for name in ("os.umask", "os.chdir", "os.seteuid", "os.setegid"):
        monkeypatch.setattr(name, forbidden)
    plugins.call("file.write", str(path), "x")
    plugins.call("file.makedirs", f"{tmp_path}/a/b/")
    plugins.call("file.touch", f"{tmp_path}/a/b/c")
    assert (tmp_path / "a" / "b" / "c").exists()


@pytest.mark.feature("F197")
@needs_root
def test_a_link_its_owner_cannot_exchange_is_followed(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    os.lchown(tmp_path / "link", 65534, 65534)
    filesystem.replace_content(f"{tmp_path}/link/f", b"x")
    (tmp_path / "file").symlink_to("real/f")
    os.lchown(tmp_path / "file", 65534, 65534)
    assert filesystem.resolved(f"{tmp_path}/file") == f"{tmp_path}/real/f"
    tmp_path.chmod(0o777)
    with pytest.raises(PathRefused, match="Refusing to follow"):
        filesystem.resolved(f"{tmp_path}/file")
    with pytest.raises(PathRefused, match="Refusing to follow"):
        filesystem.replace_content(f"{tmp_path}/link/f", b"y")
