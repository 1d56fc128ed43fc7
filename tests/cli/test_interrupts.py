"""Handlers of signals take note, and raise nothing; what does not end in time is ended."""

import signal
import subprocess
import sys
import time
import weakref

import pytest

from asyncstate.cli import interrupts
from asyncstate.cli.interrupts import Interrupted, check, deliver, delivered_to, in_words
from asyncstate.dunders import context
from asyncstate.dunders.context import CancelToken

BEGIN = """
import os, signal, sys, threading, time
from asyncstate.cli import interrupts
from asyncstate.cli.interrupts import check, in_words
interrupts._LATEST = 0.5
def send(number, after=0.0):
    time.sleep(after)
    os.kill(os.getpid(), number)
"""


def run(text):
    """Return how a program ended, and what it said."""
    done = subprocess.run([sys.executable, "-c", BEGIN + text], capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stderr


def test_a_signal_is_raised_at_the_next_safe_point_only():
    with in_words():
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(Interrupted, match="SIGTERM"):
            check()
        check()


def test_a_signal_in_a_callback_that_may_not_raise_is_not_lost():
    class Thing:
        pass

    thing = Thing()
    called = []
    reference = weakref.ref(thing, lambda _: (signal.raise_signal(signal.SIGHUP), called.append(True)))
    with in_words():
        del thing
        with pytest.raises(Interrupted, match="SIGHUP"):
            check()
    assert called == [True]
    assert reference() is None


def test_one_that_comes_after_the_last_safe_point_is_raised_at_the_end():
    with pytest.raises(Interrupted, match="SIGINT"), in_words():
        signal.raise_signal(signal.SIGINT)


def test_a_receiver_gets_what_had_arrived_before_it():
    got = []
    with in_words():
        signal.raise_signal(signal.SIGTERM)
        with delivered_to(got.append):
            deliver(signal.SIGINT)
        check()
    assert got == [signal.SIGTERM, signal.SIGINT]


@pytest.mark.parametrize(
    "blocked",
    [
        "lock = threading.Lock(); lock.acquire(); lock.acquire()",
        "os.mkfifo('FIFO'); open('FIFO')",
        "a, b = os.pipe(); os.read(a, 1)",
        "time.sleep(600)",
        "threading.Event().wait()",
    ],
)
@pytest.mark.parametrize(
    "start", ["", "import _thread\ndef refuse(*_): raise RuntimeError\n_thread.start_new_thread = refuse\n"]
)
def test_without_a_safe_point_the_process_ends_nevertheless(tmp_path, blocked, start):
    ready = "threading.Thread(target=send, args=(signal.SIGTERM, 0.1), daemon=True).start()"
    blocked = blocked.replace("FIFO", str(tmp_path / "fifo"))
    assert run(f"with in_words():\n    {ready}\n    {start and 'exec(' + repr(start) + ')'}\n    {blocked}") == (
        143,
        "asyncstate: ended by SIGTERM\n",
    )


@pytest.mark.parametrize("second", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_a_second_signal_ends_the_process_at_once(second):
    text = f"""
interrupts._LATEST = 600.0
with in_words():
    threading.Thread(target=lambda: (send(signal.SIGTERM, 0.2), send(signal.{second}, 1.3)), daemon=True).start()
    while True:
        time.sleep(600)
"""
    assert run(text) == (143, "asyncstate: ended by SIGTERM\n")


def test_the_same_signal_twice_at_once_is_one():
    text = """
with in_words():
    send(signal.SIGTERM), send(signal.SIGTERM)
    try:
        check()
    except interrupts.Interrupted as error:
        print("noted", error.name, file=sys.stderr)
"""
    assert run(text) == (0, "noted SIGTERM\n")


def test_who_does_not_read_standard_error_holds_up_nothing():
    text = """
read, write = os.pipe()
os.dup2(write, 2)
os.set_blocking(2, False)
try:
    while True:
        os.write(2, bytes(65536))
except BlockingIOError:
    os.set_blocking(2, True)
interrupts.end_now(signal.SIGTERM)
"""
    assert run(text)[0] == 143


def test_what_calls_have_started_is_killed(tmp_path):
    text = f"""
from asyncstate.dunders.context import CancelToken
from asyncstate.process.ending import belong
from asyncstate.process.lineage import start
token = CancelToken()
process, family = start(["sleep", "600"])
belong(family, token)
print(process.pid, file=open({str(tmp_path / "pid")!r}, "w"), flush=True)
interrupts.end_now(signal.SIGTERM)
"""
    assert run(text)[0] == 143
    from asyncstate.process.lineage import look_at

    pid, latest = int((tmp_path / "pid").read_text()), time.monotonic() + 30
    while look_at(pid) is not None:  # it was sent KILL, and the program has not waited for its end
        assert time.monotonic() < latest
        time.sleep(0.01)


def test_a_deadline_that_was_met_ends_nothing():
    text = """
with in_words():
    interrupts.end_within(signal.SIGTERM, 0.2)
    interrupts.ended_in_time()
    time.sleep(0.5)
"""
    assert run(text) == (0, "")
    assert interrupts._deadline.number == 0


@pytest.mark.parametrize(
    "start", ["", "import _thread\ndef refuse(*_): raise RuntimeError\n_thread.start_new_thread = refuse\n"]
)
def test_a_receiver_that_does_nothing_is_given_a_time_that_no_later_signal_prolongs_or_ends(start):
    text = f"""
{start}
ended = []
def receive(number):
    ended.append(number)
    interrupts.end_at_latest(number, 0.6 * len(ended))
began = time.monotonic()
def last_act(code, why):
    print(code, why, 0.6 <= time.monotonic() - began, len(ended), file=sys.stderr)
with in_words(last_act), interrupts.delivered_to(receive):
    for _ in range(3):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.1)
    while True:
        time.sleep(0.05)
"""
    assert run(text) == (143, "asyncstate: ended by SIGTERM\n143 SIGTERM True 3\n")


@pytest.mark.parametrize("late", ["SIGTERM", "SIGHUP", "SIGQUIT", "SIGINT"])
def test_a_signal_while_the_interpreter_ends_leaves_the_exit_code(late):
    text = f"""
import threading
from asyncstate import cli
cli._answer = lambda *_: 130
class Last:
    def __del__(self, kill=os.kill, pid=os.getpid(), number=signal.{late}): kill(pid, number)
sys.modules["__main__"].last = Last()
sys.exit(cli.main())
"""
    assert run(text) == (130, "")


def test_a_deadline_that_was_taken_back_cancels_nothing_even_if_its_thread_begins_late(monkeypatch):
    threads, token = [], CancelToken()
    monkeypatch.setattr(interrupts._thread, "start_new_thread", lambda work, args: threads.append((work, args)))
    monkeypatch.setattr(context, "blocking", {token})
    with in_words():
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(Interrupted):
            check()
    for work, args in threads:
        work(*args)
    assert len(threads) == 1
    assert not token.reason
