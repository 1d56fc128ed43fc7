"""Notes of what a run would leave if it were killed, and what becomes of them."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from types import SimpleNamespace

import pytest
from messages import said
from plugin_harness import PluginHarness

from asyncstate import filesystem, residue
from asyncstate.dunders.context import CancelToken
from asyncstate.errors import LockHeld, PathRefused, ResumeRefused, RunCancelled
from asyncstate.filesystem.replacement import Replacement
from asyncstate.guard.lock import RunLock, clear_cut_off, clear_residue
from asyncstate.process.child import run_child
from asyncstate.process.ending import belong, release
from asyncstate.process.lineage import look_at, start

KILLED = """
import os, signal, subprocess, sys
from asyncstate import filesystem, residue
from asyncstate.dunders.context import CancelToken
from asyncstate.process.ending import belong, release
from asyncstate.process.lineage import start
from asyncstate.guard.lock import RunLock
cache, tree = sys.argv[1:]
null = subprocess.DEVNULL
with RunLock(cache):
    residue.temporary_file("left-", directory=tree)
    folder = residue.make_temporary_folder("left-", tree)
    open(folder + "/inner", "w").close()
    residue.note_temporary(tree + "/renamed.0123456789abcdef")
    residue.note_temporary(tree + "/link.0123456789abcdef")
    os.symlink("/etc/hostname", tree + "/link.0123456789abcdef")
    ended, cut = CancelToken(), CancelToken()
    daemon, born = start(["sleep", "600"], stdout=null, stderr=null)
    belong(born, ended)
    release(ended)
    busy, born = start(["sleep", "600"], stdout=null, stderr=null)
    belong(born, cut)
    print(daemon.pid, busy.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def killed(tmp_path):
    """A run that was killed: its cache directory, the folder it worked in, what it let live and what it was at."""
    cache, tree = tmp_path / "cache", tmp_path / "tree"
    tree.mkdir()
    done = subprocess.run([sys.executable, "-c", KILLED, cache, tree], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    daemon, busy = map(int, done.stdout.split())
    yield cache, tree, daemon, busy
    for pid in (daemon, busy):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_the_next_run_clears_what_was_left_and_names_who_lives(killed, caplog):
    cache, tree, daemon, busy = killed
    assert len(list(tree.iterdir())) == 3
    (tree / "bystander").touch()
    with caplog.at_level(logging.WARNING), RunLock(str(cache)):
        assert [path.name for path in tree.iterdir()] == ["bystander"]
    assert f"process {busy} (sleep, since " in caplog.text
    assert f"kill {busy}" in caplog.text
    assert str(daemon) not in caplog.text
    assert look_at(busy) is not None  # it is named, not ended
    assert sorted(path.name for path in cache.iterdir()) == ["remains", "run.lock"]
    caplog.clear()
    with RunLock(str(cache)):  # it lives, and is named again
        assert f"kill {busy}" in caplog.text
    os.kill(busy, signal.SIGKILL)
    while look_at(busy) is not None:
        time.sleep(0.01)
    caplog.clear()
    with RunLock(str(cache)):  # nothing of it lives: it is named for the last time
        assert said("killed-run") in caplog.text
        assert "kill " not in caplog.text
    assert list((cache / "remains").iterdir()) == []
    caplog.clear()
    with RunLock(str(cache)):
        assert caplog.text == ""


async def test_a_run_that_is_resumed_waits_for_who_lives_or_is_refused(killed):
    cache, _, _, busy = killed
    with (
        pytest.raises(ResumeRefused, match=f"kill {busy}. {re.escape(said('beside-killed'))}"),
        RunLock(str(cache), wait=0.1, outlast=True),
    ):
        pass
    with pytest.raises(ResumeRefused):
        async with RunLock(str(cache), wait=0.1, outlast=True):
            pass
    with RunLock(str(cache)):  # it was given back
        pass
    asyncio.get_running_loop().call_later(0.3, os.kill, busy, signal.SIGKILL)
    async with RunLock(str(cache), outlast=True):
        assert look_at(busy) is None


def test_the_notes_of_a_run_that_lives_are_left_alone(tmp_path, caplog):
    cache, other = str(tmp_path / "cache"), tmp_path / "temporary.0123456789abcdef"
    with residue.Notes(cache, "a run"):
        residue.note_temporary(str(other))
        other.touch()
        clear_residue(cache)
        assert other.exists()
        assert len(residue.all_notes(cache)) == 1
    assert residue.all_notes(cache) == []


def test_notes_remove_only_what_has_a_temporary_name(tmp_path):
    names = ["etc", "0123456789abcde", "0123456789abcdef0", "0123456789ABCDEF", "0123456789abcdef/etc"]
    for name in names:
        (tmp_path / name).mkdir(parents=True)
    made = residue.temporary_path("a-", ".b", str(tmp_path)), str(tmp_path / residue.name_beside("c"))
    for name in made:
        os.mkdir(name)
    notes = tmp_path / "remains" / "a.notes"
    notes.parent.mkdir()
    notes.write_bytes(b"".join(b"T" + os.fsencode(tmp_path / name) + b"\0" for name in [*names, *made]))
    clear_residue(str(tmp_path))
    assert all((tmp_path / name).is_dir() for name in names)
    assert not any(map(os.path.exists, made))


def test_odd_notes_do_no_harm(tmp_path):
    folder = tmp_path / "remains"
    folder.mkdir()
    (folder / "a.notes").write_bytes(b"T/nowhere/at/all\0Trelative\0+x\0-\0?\0\0T" + b"/" * 9000 + b"\0T/cut off he")
    (folder / "n.notes").write_bytes("+²\0-²\0D²\0+".encode() + b"9" * 5000 + b"\0D-1\0")
    (folder / "b.notes").write_bytes(b"")
    os.mkfifo(folder / "c.notes")
    os.symlink("/dev/zero", folder / "d.notes")
    (folder / "e.notes").mkdir()
    clear_residue(str(tmp_path))
    assert sorted(path.name for path in folder.iterdir()) == ["d.notes", "e.notes"]


KILLED_COPY = """
import os, signal, sys
from asyncstate import filesystem
from asyncstate.filesystem import trees
from asyncstate.guard.lock import RunLock
cache, made = sys.argv[1:]
def die(*_args, **_options):
    os.kill(os.getpid(), signal.SIGKILL)
with RunLock(cache):
    if made == "copied":
        trees.check_cancelled = die
        filesystem.copy_tree("source", "tree/target", keep_owner=True)
    else:
        trees.remove_tree = die
        trees._remove_aside("tree/moved")
"""


@pytest.mark.parametrize("made", ["copied", "moved"])
@pytest.mark.parametrize(
    "owner", [os.geteuid(), pytest.param(1234, marks=pytest.mark.skipif(os.geteuid() != 0, reason="changes owners"))]
)
def test_a_temporary_tree_is_cleared_whoever_owns_it(tmp_path, made, owner):
    (tmp_path / "tree").mkdir()
    for tree in (tmp_path / "source", tmp_path / "tree" / "moved"):
        (tree / "inner").mkdir(parents=True)
        (tree / "inner" / "file").touch()
        for path in (tree, *tree.rglob("*")):
            os.chown(path, owner, -1)
    command = [sys.executable, "-c", KILLED_COPY, str(tmp_path / "cache"), made]
    assert subprocess.run(command, cwd=tmp_path, check=False).returncode == -signal.SIGKILL
    (left,) = (path for path in (tmp_path / "tree").iterdir() if path.name != "moved")
    assert (left.stat().st_uid, (left / "inner" / "file").exists()) == (owner, True)
    with RunLock(str(tmp_path / "cache")):
        assert not left.exists()


def test_a_directory_that_took_the_place_of_a_temporary_one_stays(tmp_path):
    with residue.Notes(str(tmp_path), "a run"):
        path = residue.make_temporary_folder(directory=str(tmp_path))
        (notes,) = residue.all_notes(str(tmp_path))
        dead = notes + "-copy.notes"
        with open(notes, "rb") as file, open(dead, "wb") as copy:
            copy.write(file.read())
    other = tmp_path / "precious"
    other.mkdir()
    (other / "file").touch()
    os.rename(path, f"{path}-away")
    os.rename(other, path)
    clear_residue(str(tmp_path))
    assert os.listdir(path) == ["file"]


def test_a_tree_that_is_exchanged_while_it_is_opened_stays(tmp_path):
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "file").touch()
    with pytest.raises(PathRefused, match="was exchanged"):
        filesystem.remove_tree(str(tmp_path / "tree"), os.stat(tmp_path))
    assert os.listdir(tmp_path / "tree") == ["file"]


def test_notes_that_cannot_be_read_are_kept(tmp_path, monkeypatch):
    (tmp_path / "remains").mkdir()
    (tmp_path / "remains" / "a.notes").write_bytes(b"Rtitle\0")
    monkeypatch.setattr(residue.os, "read", lambda *_: (_ for _ in ()).throw(OSError(5, "Input/output error")))
    clear_residue(str(tmp_path))
    assert (tmp_path / "remains" / "a.notes").exists()


def test_what_ended_is_not_among_the_started(tmp_path):
    with residue.Notes(str(tmp_path), "a run"):
        run_child(["true"])
        token = CancelToken()
        process, born = start(["sleep", "600"])
        belong(born, token)
        assert process.poll() is None
        (path,) = residue.all_notes(str(tmp_path))
        with open(path, "rb") as file:
            assert residue._read(file.fileno()).marks == [born.mark]
        release(token)
        with open(path, "rb") as file:
            assert residue._read(file.fileno()) == residue.Dead("a run", residue.Temporaries([], []), [])
        process.kill()
        process.wait()


def test_a_program_is_noted_before_it_can_do_anything(tmp_path, monkeypatch):
    """A run that is killed at once after it has started a program leaves a note of it."""
    seen = []

    def popen(*_argv, **_options):
        (path,) = residue.all_notes(str(tmp_path))
        seen.append(path)
        seen.append(subprocess.check_output(["cat", path]))
        raise OSError("no such program")

    with residue.Notes(str(tmp_path), "run"):
        with monkeypatch.context() as patch:
            patch.setattr("asyncstate.process.lineage.subprocess", SimpleNamespace(Popen=popen))
            with pytest.raises(OSError, match="no such program"):
                start(["true"])
        path, noted = seen
        assert noted.count(b"+") == 1
        mark = noted.rpartition(b"+")[2]
        assert (tmp_path / "remains" / path).read_bytes() == noted + b"-" + mark


def test_temporary_files_and_folders(tmp_path):
    descriptor, path = residue.temporary_file("a-", ".sh", str(tmp_path))
    os.close(descriptor)
    assert os.path.basename(path).startswith("a-")
    assert path.endswith(".sh")
    assert os.stat(path).st_mode & 0o777 == 0o600
    with residue.temporary_folder("b-", str(tmp_path)) as folder:
        assert os.stat(folder).st_mode & 0o777 == 0o700
        os.mkdir(f"{folder}/inner")
    assert not os.path.exists(folder)
    os.unlink(path)
    assert list(tmp_path.iterdir()) == []


def test_a_call_that_was_cut_off_leaves_no_file_and_makes_none(tmp_path):
    token, kept, path = CancelToken(), tmp_path / "kept", str(tmp_path / "written")
    with PluginHarness(tmp_path).calling(cancel=token):
        os.close(residue.temporary_file("half-", directory=str(tmp_path))[0])
        with Replacement(path) as new:
            token.cancel("SIGTERM")
            with pytest.raises(RunCancelled):
                new.commit(sync=False)
        with pytest.raises(RunCancelled):
            residue.temporary_file("late-", directory=str(tmp_path))
        with pytest.raises(RunCancelled):
            Replacement(path)
    with PluginHarness(tmp_path).calling(cancel=CancelToken()):
        kept.touch()
        residue.note_temporary(str(kept))
    assert [name for name in os.listdir(tmp_path) if name.startswith("half-")]
    clear_cut_off()
    assert not [name for name in os.listdir(tmp_path) if name.startswith("half-")]
    assert kept.exists()
    assert not residue.is_anything_cut_off()


def a_file(tmp_path):
    descriptor, path = residue.temporary_file(directory=str(tmp_path))
    os.close(descriptor)
    filesystem.remove(path)


def a_file_that_stays(tmp_path):
    os.close(residue.temporary_file(directory=str(tmp_path))[0])


def a_folder(tmp_path):
    with residue.temporary_folder(directory=str(tmp_path)) as folder:
        filesystem.replace_text(f"{folder}/made", "")
        open(f"{folder}/brought", "w").close()
        filesystem.remove(f"{folder}/brought")


def a_folder_that_is_renamed(tmp_path):
    folder = residue.make_temporary_folder(directory=str(tmp_path))
    filesystem.rename(folder, f"{folder}-again")
    filesystem.remove_tree(f"{folder}-again")


@pytest.mark.parametrize("make", [a_file, a_file_that_stays, a_folder, a_folder_that_is_renamed])
def test_no_temporary_file_is_a_change_of_its_call(tmp_path, make):
    with PluginHarness(tmp_path).calling():
        make(tmp_path)
        assert filesystem.changes_so_far() == {}


def test_the_cache_directory_is_no_change_nor_are_the_folders_made_for_it(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.opts["cachedir"] = str(tmp_path / "made/for/cache")
    with harness.calling():
        filesystem.makedirs(str(tmp_path / "made/for/cache/extrn_files"))
        filesystem.makedirs(str(tmp_path / "made/for/cached"))
        assert filesystem.changes_so_far() == {"created": [str(tmp_path / "made/for/cached")]}


def test_the_file_that_a_temporary_one_becomes_is_a_change(tmp_path):
    with PluginHarness(tmp_path).calling():
        descriptor, path = residue.temporary_file(directory=str(tmp_path))
        os.close(descriptor)
        filesystem.rename(path, str(tmp_path / "kept"))
        filesystem.replace_text(str(tmp_path / "written"), "x")
        found = filesystem.changes_so_far()
    assert {path for paths in found.values() for path in paths} == {str(tmp_path / "kept"), str(tmp_path / "written")}


def test_a_lock_excludes_others_also_within_a_process_until_it_is_closed(tmp_path):
    path = str(tmp_path / "lock")
    held = residue.take_lock(path)
    assert held is not None
    assert residue.take_lock(path) is None
    assert os.stat(path).st_mode & 0o777 == 0o600
    os.close(held)
    again = residue.take_lock(path)
    assert again is not None
    os.close(again)


def test_a_lock_leaves_the_other_names_of_its_file_alone(tmp_path):
    other, path = tmp_path / "other", tmp_path / "run.lock"
    other.write_text("precious")
    os.link(other, path)
    with RunLock(str(tmp_path)), pytest.raises(LockHeld), RunLock(str(tmp_path)):
        pass
    assert (other.read_text(), other.stat().st_nlink) == ("precious", 1)


def test_a_lock_is_not_taken_through_a_link(tmp_path):
    (tmp_path / "lock").symlink_to(tmp_path / "other")
    with pytest.raises(OSError, match="symbolic links"):
        residue.take_lock(str(tmp_path / "lock"))
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("take", [residue.take_lock, residue.locked_file])
def test_a_file_system_without_locks_is_named(tmp_path, monkeypatch, take):
    def refuse(_file, how):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(residue.fcntl, "flock", refuse)
    with pytest.raises(OSError, match="No locks available") as caught:
        take(str(tmp_path / "lock"))
    assert caught.value.filename == str(tmp_path / "lock")


def test_a_lock_of_several_names_that_cannot_be_replaced_is_closed(tmp_path, monkeypatch):
    path = tmp_path / "lock"
    path.touch()
    os.link(path, tmp_path / "other")

    def unlink(_path):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "unlink", unlink)
    before = os.listdir("/proc/self/fd")
    with pytest.raises(PermissionError):
        residue.take_lock(str(path))
    assert os.listdir("/proc/self/fd") == before
