"""Resuming when the disk of the state directory is full or cannot be written, with real file systems of their own."""

import os
import shutil
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None, reason="needs root, to mount file systems for itself"
)

PROGRAM = """
import asyncio, os, signal, subprocess, sys
from asyncstate import Settings, StateRuntime
from asyncstate.errors import AsyncStateError

folder = sys.argv[1]
state_dir, calls = folder + "/state", folder + "/calls"
DATA = {f"s{number}": {"here.step": [{"require": [{"here": f"s{number - 1}"}]}] if number else []} for number in range(20)}


def step(name, **_kwargs):
    with open(calls, "a") as file:
        file.write(name + " ")
    return {"name": name, "changes": {name: 1}, "result": True, "comment": "long " * 20}


async def apply(**options):
    settings = Settings(state_dir=state_dir, cachedir=folder + "/cache", journal=options.pop("journal", "on"), prefetch=False)
    async with StateRuntime(settings, states={"here.step": step}) as runtime:
        plan = await runtime.compile_data(DATA)
        async with runtime.run(plan, events=False, concurrency=1, **options) as run:
            pass
    return run.report


def die_at(number):
    def observer(event):
        if type(event).__name__ == "ChunkFinished" and event.tag.startswith(f"here_|-s{number}_"):
            os.kill(os.getpid(), signal.SIGKILL)
    return observer


def killed(number):
    pid = os.fork()
    if not pid:
        asyncio.run(apply(observers=[die_at(number)]))
        os._exit(1)
    assert os.waitpid(pid, 0)[1] == signal.SIGKILL


def resumed(**options):
    open(calls, "w").close()
    try:
        report = asyncio.run(apply(resume="latest", **options))
    except (AsyncStateError, OSError) as error:
        print(f"{type(error).__name__}: {error}")
    else:
        print(f"exit {report.exit_code}; {len(report.rows)} rows; {report.notices}")
    print("called", open(calls).read())


os.makedirs(state_dir)
"""
FULL = """
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m,mode=700", "none", state_dir], check=True)
killed(9)
with open(state_dir + "/filler", "wb", buffering=0) as file:
    try:
        while file.write(b"x" * 4096):
            pass
    except OSError as error:
        print(error.strerror)
resumed(journal="required")
resumed()
os.unlink(state_dir + "/filler")
resumed()
"""
READ_ONLY = """
subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=700", "none", state_dir], check=True)
killed(9)
subprocess.run(["mount", "-o", "remount,ro", state_dir], check=True)
resumed(journal="required")
resumed()
subprocess.run(["mount", "-o", "remount,rw", state_dir], check=True)
resumed()
"""


def said(tmp_path, text):
    done = subprocess.run(
        ["unshare", "--mount", sys.executable, "-c", PROGRAM + text, tmp_path],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    if "unshare" in done.stderr:
        pytest.skip("this sandbox gives no mount namespaces")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


LEFT = "called " + " ".join(f"s{number}" for number in range(10, 20)) + " "


def test_on_a_full_disk(tmp_path):
    full, refused, nothing, resumed, *rest = said(tmp_path, FULL)
    assert full == "No space left on device"
    assert refused.startswith("JournalError: ")
    assert "No space left on device" in refused
    assert nothing == "called "
    assert resumed.startswith("exit 0; 20 rows; ('This run is not in ")
    assert rest == [LEFT, "exit 0; 20 rows; ()", LEFT]  # the killed run is as it was


def test_on_a_disk_that_cannot_be_written(tmp_path):
    refused, nothing, resumed, *rest = said(tmp_path, READ_ONLY)
    assert "Read-only file system" in refused
    assert nothing == "called "
    assert resumed.startswith("exit 0; 20 rows; ('This run is not in ")
    assert rest == [LEFT, "exit 0; 20 rows; ()", LEFT]
