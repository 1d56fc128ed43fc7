"""A child that does not end, whatever is done to it, holds up no call for longer than its bounds."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from asyncstate.dunders import context
from asyncstate.dunders.context import CancelToken
from asyncstate.errors import CommandExecutionError, RunCancelled
from asyncstate.process import child
from asyncstate.process.child import run_child

TRACER = """
import ctypes, sys, time
SEIZE = 0x4206
traced = ctypes.CDLL(None).ptrace(SEIZE, int(sys.argv[1]), 0, 0)
print("no" if traced else "traced", flush=True)
sys.stdin.read()
"""
"""Traces a process and never reaps it: to its parent, it does not end."""


@contextmanager
def tracer(pid):
    with subprocess.Popen(
        [sys.executable, "-c", TRACER, str(pid)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            if process.stdout.readline() != "traced\n":
                pytest.skip("this machine lets no process trace another one")
            yield
        finally:
            process.kill()


@pytest.fixture
def pid(tmp_path, monkeypatch):
    """A function that waits for the pid which a child has written."""
    monkeypatch.setattr(child, "PATIENCE", 0.3)
    os.mkfifo(tmp_path / "pid")
    os.mkfifo(tmp_path / "go")
    return lambda: int((tmp_path / "pid").read_text())


def script(tmp_path, then):
    return ["sh", "-c", f"echo $$ > {tmp_path}/pid; read line < {tmp_path}/go; {then}"]


def started(argv, token=None, **options):
    """Run a child in a thread; return the thread, and the list that gets what the call returns or raises."""
    found = []

    def run():
        if token is not None:
            context.current.set(SimpleNamespace(cancel=token))
        try:
            found.append(run_child(argv, **options))
        except BaseException as error:  # noqa: BLE001 - it is what the test looks at
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, found


def gone(pid):
    end = time.monotonic() + 20
    while time.monotonic() < end and os.path.exists(f"/proc/{pid}"):
        time.sleep(0.02)
    return not os.path.exists(f"/proc/{pid}")


@pytest.mark.parametrize(("then", "timeout"), [("exit 3", None), ("sleep 60", 0.2)])
def test_a_child_that_its_parent_cannot_reap_is_an_error(tmp_path, pid, caplog, then, timeout):
    caplog.set_level(logging.WARNING)
    thread, found = started(script(tmp_path, then), timeout=None if timeout is None else timeout + 5)
    number = pid()
    with tracer(number):
        (tmp_path / "go").write_text("go\n")
        thread.join(30)
        assert not thread.is_alive()
        (error,) = found
        assert isinstance(error, CommandExecutionError)
        assert f"its process {number} is still there" in str(error)
        assert f"process {number} was killed" in caplog.text
    assert gone(number), "nobody has reaped it"


def test_a_cancelled_call_does_not_wait_for_it(tmp_path, pid):
    token = CancelToken()
    thread, found = started(script(tmp_path, "sleep 60"), token)
    number = pid()
    with tracer(number):
        token.cancel("enough")
        thread.join(30)
        assert not thread.is_alive()
        (error,) = found
        assert isinstance(error, RunCancelled)
    assert gone(number), "nobody has reaped it"
