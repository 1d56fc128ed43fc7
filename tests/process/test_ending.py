"""Lineages: whatever a cut-off call started is ended, however it tried to get away; nothing else is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from plugin_harness import PluginHarness

from asyncstate.dunders.context import CancelToken
from asyncstate.errors import RunCancelled
from asyncstate.process import ending, lineage
from asyncstate.process.child import run_child, start_detached
from asyncstate.process.ending import belong, reaper
from asyncstate.process.lineage import living, look_at, start

DAEMON = """
import os, sys, time, signal
if "ignore" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if "setsid" in sys.argv or "twice" in sys.argv:
    if os.fork():
        os._exit(0)
    os.setsid()
if "twice" in sys.argv and os.fork():
    os._exit(0)
with open(sys.argv[1] + ".new", "w") as file:
    file.write(str(os.getpid()))
os.rename(sys.argv[1] + ".new", sys.argv[1])
os.close(1), os.close(2)
while True:
    time.sleep(600)
"""
KINDS = ("plain", "setsid", "twice", "ignore", "ignore twice")


def alive(pid):
    return look_at(pid) is not None


def wait_until(condition, seconds=30.0):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not come to that"
        time.sleep(0.01)


def pid_in(path):
    wait_until(path.exists)
    return int(path.read_text())


@pytest.fixture(autouse=True)
def short_grace(monkeypatch):
    monkeypatch.setattr(ending, "GRACE", 0.3)


@pytest.fixture
def call(tmp_path):
    """``with call(token):`` is a call that the token can cut off."""
    return PluginHarness(tmp_path).calling


def program(kind, file):
    return [sys.executable, "-c", DAEMON, str(file), *kind.split()]


@pytest.mark.parametrize("kind", KINDS)
def test_a_call_that_is_cut_off_leaves_nothing(call, tmp_path, kind):
    token = CancelToken()
    left, waits = tmp_path / "left", tmp_path / "waits"

    def cut_off():
        pid_in(left), pid_in(waits)
        token.cancel("SIGINT")

    cutter = threading.Thread(target=cut_off)
    cutter.start()
    with call(cancel=token):
        if kind not in ("plain", "ignore"):
            assert run_child(program(kind, left)).returncode == 0  # a command that ended, in the call that does not
        else:
            start_detached(program(kind, left), cwd="/", env=os.environ)
        with pytest.raises(RunCancelled):
            run_child(program("ignore", waits))
    cutter.join()
    reaper.wait()
    assert not alive(pid_in(left))
    assert not alive(pid_in(waits))


@pytest.mark.parametrize("kind", ["setsid", "twice"])
def test_what_an_ended_call_left_lives(call, tmp_path, kind):
    token, other = CancelToken(), CancelToken()
    file = tmp_path / "daemon"
    with call(cancel=token):
        assert run_child(program(kind, file)).returncode == 0
    other.cancel("SIGINT")
    reaper.wait()
    pid = pid_in(file)
    assert alive(pid)
    os.kill(pid, signal.SIGKILL)


def test_cutting_off_a_part_of_a_call_leaves_the_rest(tmp_path):
    whole = CancelToken()
    part, other = CancelToken(whole), CancelToken(whole)
    started = {}
    for token in (part, other):
        process, born = start(["sleep", "600"], stdin=subprocess.DEVNULL)
        belong(born, token)
        started[token] = process
    part.cancel("enough")
    assert started[part].wait() == -signal.SIGTERM
    reaper.wait()
    assert started[other].poll() is None
    whole.cancel("all of it")
    assert started[other].wait() == -signal.SIGTERM


def test_what_is_started_after_the_call_was_cut_off_ends_too():
    token = CancelToken()
    token.cancel("SIGINT")
    process, born = start(["sleep", "600"], stdin=subprocess.DEVNULL)
    belong(born, token)
    assert process.wait() == -signal.SIGTERM
    reaper.wait()


@pytest.mark.parametrize("kind", KINDS)
def test_a_time_out_ends_all_that_the_command_started(tmp_path, kind):
    file = tmp_path / "pid"
    command = ["sh", "-c", '"$@" & while :; do sleep 1; done', "sh", *program(kind, file)]
    for seconds in (1, 5, 25):  # until the program has come so far before its time was over
        assert run_child(command, timeout=seconds).timed_out
        if file.exists():
            break
    assert not alive(pid_in(file))


def test_a_program_of_another_thread_is_not_taken_for_ours(monkeypatch):
    """A thread of the application may start a program in the moment in which we bear a mark."""
    mark = lineage._marks.next()
    unmark = lineage._mark(mark)
    bystander = subprocess.Popen(["sleep", "600"])
    unmark()
    assert look_at(bystander.pid).mark == mark
    assert living([lineage.Lineage(mark, bystander.pid)]) == []
    bystander.kill()
    bystander.wait()


def test_marks_are_never_the_same():
    marks = {lineage._marks.next() for _ in range(1000)}
    assert len(marks) == 1000
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.write(writer, str(lineage._marks.next()).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert int(os.read(reader, 100)) not in marks
    os.close(reader), os.close(writer)


def test_a_fork_owns_no_program_of_its_parent():
    token = CancelToken()
    process, born = start(["true"], stdin=subprocess.DEVNULL)
    belong(born, token)
    child = os.fork()
    if not child:
        os._exit(int(ending.has_started(token)))
    assert os.waitpid(child, 0)[1] == 0
    assert ending.has_started(token)
    ending.release(token)
    process.wait()


def test_without_marks_the_session_stands_for_them(monkeypatch, tmp_path):
    monkeypatch.setattr(lineage, "_LIMIT", 10_000)  # no such limit
    token = CancelToken()
    process, born = start(["sh", "-c", "trap '' TERM; sleep 600 & while :; do sleep 1; done"], stdin=subprocess.DEVNULL)
    assert born.mark == 0
    belong(born, token)
    wait_until(lambda: len(living([born])) >= 2)
    token.cancel("SIGINT")
    assert process.wait() == -signal.SIGKILL
    reaper.wait()
    assert living([born]) == []


def test_without_proc_the_group_is_ended(monkeypatch):
    monkeypatch.setattr(ending, "processes", list)
    process, born = start(["sh", "-c", "trap '' TERM; while :; do sleep 1; done"], stdin=subprocess.DEVNULL)
    threading.Thread(target=process.wait).start()
    reaper.end([born])
    reaper.wait()
    assert process.wait() in (-signal.SIGKILL, -signal.SIGTERM)


def test_a_signal_does_not_reach_another_process_of_that_number():
    process = subprocess.Popen(["sleep", "600"])
    found = look_at(process.pid)
    ending.send(found.replaced(started=found.started - 1), signal.SIGKILL)
    assert process.poll() is None
    ending.send(found, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL


def test_what_a_thread_started_by_itself(tmp_path):
    began = lineage.ticks()
    go = threading.Event()
    found = {}

    def work():
        found["process"] = subprocess.Popen(["sh", "-c", 'sh -c "trap : TERM; while :; do sleep 1; done"; true'])
        found["thread"] = threading.get_native_id()
        go.wait()

    thread = threading.Thread(target=work)
    thread.start()
    wait_until(lambda: "thread" in found)
    marked, _ = start(["sleep", "600"])  # another call's, of this thread
    mine = lineage.ThreadChildren(threading.get_native_id(), began, lambda: True)
    assert mine.members(lineage.processes()) == []
    marked.kill()
    marked.wait()
    started = lineage.ThreadChildren(found["thread"], began, lambda: True)
    wait_until(lambda: len(started.members(lineage.processes())) >= 2)
    later = lineage.ThreadChildren(found["thread"], lineage.ticks() + 100, lambda: True)
    elsewhere = lineage.ThreadChildren(found["thread"], began, lambda: False)
    assert later.members(lineage.processes()) == elsewhere.members(lineage.processes()) == []
    reaper.end([started])
    reaper.wait()
    assert started.members(lineage.processes()) == []
    found["process"].wait()
    go.set()
    thread.join()


def test_a_shared_leader_and_what_it_started_for_others_are_no_members():
    """A worker takes the mark of each call; a program that it started for an earlier one has that call's mark."""
    mark = lineage.new_mark()
    leader, earlier = lineage.Process(10, 1, 10, 5, mark), lineage.Process(11, 10, 11, 6, mark - 1)
    child, below = lineage.Process(12, 10, 12, 7, mark), lineage.Process(13, 12, 12, 8, 0)
    everything = [leader, earlier, child, below]
    found = lineage.Lineage(mark, leader.pid, shared=True).members(everything)
    assert sorted(process.pid for process in found) == [12, 13]
    assert sorted(process.pid for process in lineage.Lineage(mark, 0).members(everything)) == [10, 11, 12, 13]


@pytest.fixture
def no_threads(monkeypatch):
    def refuse(_thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(ending.Thread, "start", refuse)


def test_without_a_thread_who_waits_ends_it(no_threads):
    own = ending.Reaper()  # that of the process may still work for an earlier test
    process, family = start(["sleep", "600"])
    with process:
        assert not own.end([family])
        own.wait([family])
        assert process.wait(30) == -signal.SIGTERM
    assert not own.busy


@pytest.mark.parametrize("kind", ["plain", "ignore"])
def test_a_time_out_ends_a_command_where_no_thread_starts(no_threads, tmp_path, kind):
    done = run_child([sys.executable, "-c", DAEMON, str(tmp_path / "pid"), kind], timeout=1.5)
    assert done.timed_out
    assert not reaper.busy


def test_the_reaper_survives_a_moment_without_memory(monkeypatch):
    seen = ending.processes
    failures = [MemoryError(), OSError(24, "Too many open files")]

    def fails():
        if failures:
            raise failures.pop()
        return seen()

    monkeypatch.setattr(ending, "processes", fails)
    process, family = start(["sleep", "600"])
    with process:
        reaper.end([family])
        reaper.wait([family])
        assert process.wait(30) == -signal.SIGTERM


def test_what_cannot_be_looked_for_is_killed_and_given_up(monkeypatch, tmp_path):
    def blind():
        raise MemoryError

    monkeypatch.setattr(ending, "processes", blind)
    monkeypatch.setattr(ending, "PATIENCE", 0.3)
    process, family = start([sys.executable, "-c", DAEMON, str(tmp_path / "pid"), "ignore"])
    with process:
        pid_in(tmp_path / "pid")
        reaper.end([family])
        reaper.wait([family])
        assert process.wait(30) == -signal.SIGKILL


def test_the_start_of_a_process_is_known_to_a_hundredth_of_a_second():
    before = time.time()
    with subprocess.Popen(["sleep", "60"]) as program:
        assert before - 0.02 <= lineage.started_at(program.pid) <= time.time() + 0.02
        program.kill()
    assert lineage.started_at(program.pid) == 0.0
    assert lineage.started_at(os.getpid()) < before
