"""Whatever fails while trees of files are made, each file is the old one or the new one, and nothing else is left."""

from __future__ import annotations

import errno
import io
import os
from contextlib import suppress

import pytest

from asyncstate import filesystem
from asyncstate.errors import RunCancelled
from asyncstate.filesystem import Beneath

OLD, NEW = b"old\n", b"new " * 1000
FAILING = ("write", "rename", "open", "fchmod", "utime", "mkdir", "symlink", "unlink", "fstat")


def unpacked(_source, target):
    with Beneath(str(target)) as top:
        for name in ("one", "sub/two"):
            top.write(name, io.BytesIO(NEW), 0o640, 1_600_000_000)
        top.symlink("one", "link")


def copied(source, target):
    filesystem.copy_tree(str(source), str(target))


def copied_file(source, target):
    for name in ("one", "sub/two"):
        filesystem.copy_file(str(source / name), str(target / name))
    filesystem.symlink("one", str(target / "link"))


WAYS = {"an archive": unpacked, "a copy of a tree": copied, "copies of files": copied_file}


@pytest.fixture
def trees(tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    for folder, text in ((source, NEW), (target, OLD)):
        (folder / "sub").mkdir(parents=True)
        (folder / "one").write_bytes(text)
        (folder / "sub" / "two").write_bytes(text)
    (source / "link").symlink_to("one")
    return source, target


def found(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def fail(monkeypatch, function, number, error):
    """Let the call ``number`` of a function of os fail, after half of what it writes; return the calls so far."""
    real, calls = getattr(os, function), []

    def failing(*args, **kwargs):
        calls.append(args)
        if len(calls) == number:
            if function == "write":
                real(args[0], bytes(args[1])[: len(args[1]) // 2])
            raise error
        return real(*args, **kwargs)

    monkeypatch.setattr(os, function, failing)
    return calls


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("function", FAILING)
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), RunCancelled("cut off")])
def test_a_file_is_old_or_new_whatever_fails(trees, monkeypatch, way, function, error):
    source, target = trees
    for number in range(1, 50):
        for name in ("one", "sub/two"):
            (target / name).write_bytes(OLD)
        with monkeypatch.context() as patched:
            calls = fail(patched, function, number, error)
            with suppress(OSError, RunCancelled):
                way(source, target)
        for name, text in found(target).items():
            assert text in (OLD, NEW), name
        assert found(target).keys() <= {"one", "sub/two", "link"}
        if len(calls) < number:
            break
    assert set(found(target).values()) == {NEW}


@pytest.mark.parametrize("way", [unpacked, copied])
def test_a_file_is_made_in_its_own_folder(trees, monkeypatch, way):
    """So it is on the file system of the folder, and has its group and its default permissions."""
    source, target = trees
    os.chmod(target / "sub", 0o2750)
    real, made = os.open, []

    def opened(name, flags, *args, dir_fd=None, **kwargs):
        if flags & os.O_CREAT:
            made.append(os.readlink(f"/proc/self/fd/{dir_fd}"))
        return real(name, flags, *args, dir_fd=dir_fd, **kwargs)

    monkeypatch.setattr(os, "open", opened)
    way(source, target)
    monkeypatch.undo()
    assert sorted(made) == [str(target), str(target / "sub")]
    assert (target / "sub" / "two").stat().st_gid == (target / "sub").stat().st_gid
    assert found(target) == {"one": NEW, "sub/two": NEW, "link": NEW}


@pytest.mark.parametrize("function", FAILING)
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), RunCancelled("cut off")])
def test_a_new_tree_is_whole_or_not_there(trees, tmp_path, monkeypatch, function, error):
    source, new = trees[0], tmp_path / "above" / "new"
    for number in range(1, 50):
        with monkeypatch.context() as patched:
            calls = fail(patched, function, number, error)
            with suppress(OSError, RunCancelled):
                copied(source, new)
        assert not new.exists() or found(new) == found(source)
        if len(calls) < number:
            break
        if function not in {"unlink", "rmdir"} and new.parent.exists() and not new.exists():
            assert list(new.parent.iterdir()) == []
        elif new.exists():
            filesystem.remove_tree(str(new))
    assert found(new) == found(source)


LAYOUTS = {
    "all hole": ([], 1 << 22),
    "data at both ends": ([(0, b"head"), ((1 << 22) - 4, b"tail")], 1 << 22),
    "a hole at the end": ([(0, b"x" * 70_000)], 1 << 22),
    "data between holes": ([(1 << 20, b"mid"), (1 << 21, b"y" * 5000)], 1 << 22),
    "no hole": ([(0, b"z" * 300_000)], 300_000),
    "empty": ([], 0),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seeks", [True, False])
def test_holes_of_a_copied_file_stay_holes(tmp_path, monkeypatch, layout, seeks):
    parts, size = LAYOUTS[layout]
    (tmp_path / "source").mkdir()
    with open(tmp_path / "source" / "f", "wb") as file:
        for at, data in parts:
            file.seek(at)
            file.write(data)
        file.truncate(size)
    before = (tmp_path / "source" / "f").stat()
    real = os.lseek

    def lseek(file, at, how):
        if how == os.SEEK_DATA:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        return real(file, at, how)

    if not seeks:
        monkeypatch.setattr(os, "lseek", lseek)
    filesystem.copy_tree(str(tmp_path / "source"), str(tmp_path / "tree"))
    filesystem.copy_file(str(tmp_path / "source" / "f"), str(tmp_path / "file"))
    for copy in (tmp_path / "tree" / "f", tmp_path / "file"):
        assert copy.read_bytes() == (tmp_path / "source" / "f").read_bytes()
        assert not seeks or copy.stat().st_blocks <= before.st_blocks


@pytest.mark.parametrize(
    "path", ["/sys/kernel/mm/transparent_hugepage/enabled", "/proc/self/status", "/sys/power/state"]
)
def test_a_file_that_the_kernel_makes_up_is_copied_as_it_reads(tmp_path, path):
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError:
        pytest.skip(f"this system has no {path}")
    with filesystem.Replacement(str(tmp_path / "copy")) as copy:
        copy.copy_from(path)
        copy.commit(sync=False)
    assert len((tmp_path / "copy").read_bytes()) in range(len(content) - 9, len(content) + 9)


def test_a_file_that_ends_earlier_than_its_size_says_is_not_filled(tmp_path, monkeypatch):
    with open(tmp_path / "f", "wb") as file:
        file.write(b"x" * 5000)
        file.truncate(1 << 20)
    real, read = os.read, []

    def short(descriptor, count):
        if count < 1 << 20 and not read:
            read.append(1)
            return real(descriptor, 100)
        return b"" if read else real(descriptor, count)

    monkeypatch.setattr(os, "read", short)
    filesystem.copy_file(str(tmp_path / "f"), str(tmp_path / "copy"))
    assert (tmp_path / "copy").stat().st_size == 100
