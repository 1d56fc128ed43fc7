"""The run lock in programs: who runs, runs alone."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import json
import math
import os
import threading
from contextlib import suppress

import anyio
import pytest
from messages import match, said

from asyncstate import AsyncStateError, Settings, StateRuntime
from asyncstate.errors import LockHeld, PathRefused
from asyncstate.guard.lock import Holder, RunLock, Survivors, still_running
from asyncstate.guard.lock import _remove as remove_left
from asyncstate.process.lineage import Process
from asyncstate.residue import Temporaries


@pytest.fixture
def settings(tmp_path):
    (tmp_path / "salt").mkdir()
    (tmp_path / "salt" / "web.sls").write_text("a:\n  app.alone: []\n")
    return Settings(file_roots={"base": [str(tmp_path / "salt")]}, cachedir=str(tmp_path / "cache"))


class App:
    """A state that says when it runs beside itself."""

    def __init__(self):
        self.inside = 0
        self.most = 0
        self.calls = 0
        self.started = asyncio.Event()
        self.go = asyncio.Event()

    async def alone(self, name):
        self.inside += 1
        self.calls += 1
        self.most = max(self.most, self.inside)
        self.started.set()
        await self.go.wait()
        self.inside -= 1
        return {"name": name, "result": True, "changes": {}, "comment": ""}


@pytest.fixture
def app():
    return App()


@pytest.fixture
async def runtime(settings, app):
    async with StateRuntime(settings, states={"app.alone": app.alone}) as runtime:
        yield runtime


async def test_two_runs_of_a_program_exclude_each_other(runtime, app):
    first = asyncio.create_task(runtime.apply(["web"]))
    await app.started.wait()
    with pytest.raises(LockHeld, match=rf"process {os.getpid()}, since \d{{4}}-"):
        await runtime.apply(["web"])
    with pytest.raises(LockHeld):
        await runtime.single("app.alone", {"name": "b"})
    with pytest.raises(LockHeld):
        async with runtime.run(await runtime.compile(["web"])):
            raise AssertionError("it runs")
    app.go.set()
    assert (await first).ok
    assert app.calls == 1


async def test_who_waits_runs_afterwards(runtime, app):
    runs = [asyncio.create_task(runtime.apply(["web"], wait=60)) for _ in range(3)]
    await app.started.wait()
    app.go.set()
    reports = await asyncio.gather(*runs)
    assert [report.ok for report in reports] == [True] * 3
    assert (app.calls, app.most) == (3, 1)


async def test_waiting_holds_up_nothing_and_can_be_given_up(runtime, app, settings, loop_guard):
    with RunLock(settings.cachedir), loop_guard():
        waiting = asyncio.create_task(runtime.apply(["web"], wait=60))
        for _ in range(20):
            await asyncio.sleep(0.01)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    app.go.set()
    assert (await runtime.apply(["web"])).ok  # nothing of it was left locked


async def test_who_looks_takes_no_lock_and_nobody_must(runtime, app, settings):
    app.go.set()
    with RunLock(settings.cachedir):
        assert (await runtime.apply(["web"], mock=True)).ok
        assert (await runtime.apply(["web"], test=True)).ok
        assert (await runtime.apply(["web"], lock=False)).ok
        with pytest.raises(LockHeld):
            await runtime.apply(["web"], test=True, lock=True)


async def test_the_lock_is_free_when_the_run_is_over_whatever_its_end(runtime, app, settings):
    plan = await runtime.compile(["web"])
    async with runtime.run(plan) as run:
        await app.started.wait()
        run.cancel("enough")
    with RunLock(settings.cachedir):
        pass
    with pytest.raises(ZeroDivisionError):
        async with runtime.run(plan):
            _ = 1 / 0
    with RunLock(settings.cachedir):
        pass
    task = asyncio.create_task(runtime.apply(["web"]))
    app.started.clear()
    await app.started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with RunLock(settings.cachedir):
        pass


@pytest.mark.parametrize("by", ["asyncio", "anyio", "asyncio twice"])
async def test_a_lock_whose_task_is_cancelled_while_a_thread_takes_it_is_free(tmp_path, monkeypatch, by):
    go, loop = threading.Event(), asyncio.get_running_loop()
    limit, outer, scope = asyncio.timeout(None), asyncio.timeout(None), anyio.CancelScope()

    def cancel():
        limit.reschedule(loop.time()) if by != "anyio" else scope.cancel()
        if by == "asyncio twice":
            outer.reschedule(loop.time() + 0.02)
        loop.call_later(0.05, go.set)

    def slow(_directory):
        loop.call_soon_threadsafe(cancel)
        go.wait(10)
        return []

    monkeypatch.setattr("asyncstate.guard.lock.clear_residue", slow)
    lock = RunLock(str(tmp_path))
    with suppress(TimeoutError), scope:
        async with outer, limit, lock:
            pytest.fail("it was cancelled")
    assert limit.expired() or scope.cancelled_caught
    monkeypatch.undo()
    with RunLock(str(tmp_path)):
        assert lock._lock is None


async def test_a_lock_is_taken_and_released_where_no_thread_can_be_started(tmp_path, monkeypatch):
    def refuse(_thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr("asyncstate.load.threads.PATIENCE", 0.1)
    async with RunLock(str(tmp_path)) as lock:
        assert lock._lock is not None
    with RunLock(str(tmp_path)):
        pass


ODD = [b"", b"[]", b"null", b"{}", b'{"pid": [], "since": 1}', b'{"pid": 1e999, "since": ""}', b"\xff"]


@pytest.mark.parametrize("content", [*ODD, b"[" * 4000, b"9" * 5000])
def test_an_odd_holder_file(tmp_path, content):
    (tmp_path / "run.lock").write_bytes(content)
    assert RunLock(str(tmp_path)).holder() is None
    with RunLock(str(tmp_path)) as lock:
        assert lock.holder().pid == os.getpid()


def test_a_holder_file_that_would_block_or_never_end(tmp_path):
    os.mkfifo(tmp_path / "run.lock")
    assert RunLock(str(tmp_path)).holder() is None
    (tmp_path / "run.lock").unlink()
    (tmp_path / "run.lock").symlink_to("/dev/zero")
    assert RunLock(str(tmp_path)).holder() is None
    (tmp_path / "run.lock").unlink()
    (tmp_path / "run.lock").write_text(json.dumps({"pid": os.getpid(), "since": "now\x1b]0;x"}))
    assert RunLock(str(tmp_path)).holder() == Holder(os.getpid(), "now]0;x")


@pytest.fixture
def dead():
    """The ID of a process that has died."""
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    return child


def test_a_dead_process_is_no_holder(tmp_path, dead):
    """Its name stays in the file until the next run takes the lock."""
    (tmp_path / "run.lock").write_text(json.dumps({"pid": dead, "since": "a killed run"}))
    assert RunLock(str(tmp_path)).holder() is None
    with open(tmp_path / "run.lock") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(LockHeld, match=match("lock-held", path=f"{tmp_path}/run.lock")) as caught:
            RunLock(str(tmp_path)).__enter__()
    assert caught.value.pid == 0


def test_whoever_cleans_up_after_a_killed_run_has_named_itself(tmp_path, monkeypatch, dead):
    """Cleaning up may take seconds, in which others look who has the lock."""
    (tmp_path / "run.lock").write_text(json.dumps({"pid": dead, "since": "a killed run"}))
    named = []

    def clear(_directory):
        named.append(RunLock(str(tmp_path)).holder().pid)
        return []

    monkeypatch.setattr("asyncstate.guard.lock.clear_residue", clear)
    with RunLock(str(tmp_path)):
        pass
    assert named == [os.getpid()]
    assert (tmp_path / "run.lock").read_bytes() == b""


def test_a_holder_that_names_itself_a_moment_later_is_named(tmp_path, monkeypatch):
    with open(tmp_path / "run.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)

        def sleep(_seconds):
            (tmp_path / "run.lock").write_text(json.dumps({"pid": os.getpid(), "since": "now"}))

        monkeypatch.setattr("asyncstate.guard.lock.time.sleep", sleep)
        with pytest.raises(LockHeld) as caught:
            RunLock(str(tmp_path)).__enter__()
    assert caught.value.pid == os.getpid()


def test_trio_is_told_what_is_needed(settings):
    async def main():
        async with StateRuntime(settings):
            raise AssertionError("it was entered")

    async def drive():
        with pytest.raises(AsyncStateError, match=match("no-loop")):
            await main()

    # What trio's loop looks like from here: a coroutine that runs, and no loop of asyncio.
    with pytest.raises(StopIteration):
        drive().send(None)


async def test_threads_of_a_closed_runtime_end(settings):
    before = set(threading.enumerate())
    async with StateRuntime(settings) as runtime:
        await runtime.compile(["web"])
        mine = {thread for thread in threading.enumerate() if thread.name.startswith("asyncstate-")} - before
        assert mine
    for thread in mine:
        await asyncio.to_thread(thread.join, 5)
        assert not thread.is_alive()
    async with runtime:  # it may be opened again
        await runtime.compile(["web"])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has rights that others could use")
def test_root_keeps_its_lock_and_notes_where_nobody_else_writes(tmp_path):
    """Notes name files that the next run removes."""
    folder = tmp_path / "cache"
    folder.mkdir()
    for mode, owner, user in (
        (0o777, 0, "others than root"),
        (0o1777, 0, "others than root"),
        (0o755, 65534, "user nobody"),
    ):
        os.chown(folder, owner, -1)
        folder.chmod(mode)
        with pytest.raises(PathRefused, match=match("foreign-cache", folder=folder, user=user)), RunLock(str(folder)):
            pass
        if not mode & 0o1000:
            with pytest.raises(PathRefused), RunLock(str(folder / "below")):
                pass
    assert not (folder / "run.lock").exists()


def test_on_a_full_disk_the_lock_is_held_without_a_name(tmp_path, monkeypatch):
    """What frees the disk may be what the run is to do."""
    (tmp_path / "run.lock").write_text(json.dumps({"pid": os.getpid(), "since": "a killed run"}))
    written = []

    def full(_file, content, _offset):
        written.append(content)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)
    with RunLock(str(tmp_path)) as lock:
        assert written
        assert lock.holder() is None
        assert sorted(os.listdir(tmp_path)) == ["remains", "run.lock"]
        with pytest.raises(LockHeld, match=r"run\.lock\. Wait"):
            RunLock(str(tmp_path)).__enter__()


def test_a_lock_that_cannot_have_notes_leaves_nothing(tmp_path, monkeypatch):
    def full(*_names):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "rename", full)
    with pytest.raises(OSError, match="No space"):
        RunLock(str(tmp_path)).__enter__()
    monkeypatch.undo()
    assert os.listdir(tmp_path / "remains") == []
    with RunLock(str(tmp_path)):
        pass


@pytest.mark.parametrize(
    ("wait", "words"), [(0.0, "30 s for that"), (1.5, "1.5 s for that"), (math.inf, said("no-limit"))]
)
def test_how_long_a_resumed_run_waits_for_what_a_killed_one_left_is_said(tmp_path, monkeypatch, caplog, wait, words):
    left = ["sleep (process 5)", ""]
    monkeypatch.setattr("asyncstate.guard.lock.still_running", lambda _survivors: left.pop(0))
    monkeypatch.setattr("asyncstate.guard.lock._LOOK", 0)
    with RunLock(str(tmp_path), wait=wait, outlast=True):
        assert left == []
    assert caplog.messages == [said("waits-for-killed", how_long=words)]


def test_a_lock_whose_file_was_removed_meanwhile_counts_for_nobody(tmp_path, monkeypatch):
    """Whoever opens the path later gets another file, and would not be kept out."""
    real = fcntl.flock

    def flock(file, how):
        monkeypatch.setattr(fcntl, "flock", real)
        os.unlink(tmp_path / "run.lock")
        real(file, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(LockHeld):
        RunLock(str(tmp_path)).__enter__()
    with RunLock(str(tmp_path)), pytest.raises(LockHeld):
        RunLock(str(tmp_path)).__enter__()


def test_a_lock_is_given_back_although_a_child_of_a_fork_has_it_open(tmp_path):
    reading, writing = os.pipe()
    with RunLock(str(tmp_path)):
        child = os.fork()
        if not child:
            os.close(writing)
            os.read(reading, 1)
            os._exit(0)
    try:
        with RunLock(str(tmp_path)):
            pass
    finally:
        os.close(writing)
        os.close(reading)
        assert os.waitpid(child, 0)[1] == 0


def test_processes_that_outlive_their_run_are_named(monkeypatch):
    alive = [Process(pid=os.getpid(), parent=1, session=1, started=100, mark=7)] * 12
    monkeypatch.setattr("asyncstate.guard.lock.living", lambda lineages: alive if lineages else [])
    assert still_running([]) == ""
    named = still_running([Survivors("a run", [7])])
    assert f"process {os.getpid()} (" in named
    assert " and 2 more. " in named
    assert f" kill {os.getpid()} " in named


def test_what_a_dead_run_left_is_removed_but_for_folders_of_others(tmp_path):
    for folder in ("own", "empty", "theirs"):
        (tmp_path / folder).mkdir()
    for file in ("file", "own/file", "theirs/file"):
        (tmp_path / file).touch()
    paths = [str(tmp_path / name) for name in ("file", "own", "empty", "theirs", "gone")]
    made = Temporaries(paths, [(tmp_path / "own").stat().st_ino])
    assert remove_left(made) == 3
    assert sorted(os.listdir(tmp_path)) == ["theirs"]
