"""A loop that is closed under a run, and a program that ends: both are noticed without the loop."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from importlib.util import find_spec

import pytest

from asyncstate import Settings, StateRuntime
from asyncstate.guard.event_loop import LOOP_CLOSED, LoopEnd, loop_bound
from asyncstate.guard.lock import RunLock
from asyncstate.model.event import ChunkFinished, RunFinished
from asyncstate.process.ending import reaper

LOOPS = ["asyncio", pytest.param("uvloop", marks=pytest.mark.skipif(not find_spec("uvloop"), reason="needs uvloop"))]


@pytest.fixture
def loop(kind):
    if kind == "uvloop":
        import uvloop

        return uvloop.new_event_loop()
    return asyncio.new_event_loop()


async def started(end):
    end.start()


@pytest.mark.parametrize("kind", LOOPS)
def test_a_loop_that_is_closed_is_noticed_at_once(loop):
    said = []
    end = LoopEnd(lambda: said.append("closed"), lambda: None)
    loop.run_until_complete(started(end))
    loop.run_until_complete(asyncio.sleep(0.01))
    assert said == []
    loop.close()
    assert said == ["closed"]


@pytest.mark.parametrize("kind", LOOPS)
def test_what_is_stopped_says_nothing(loop):
    said = []
    end = LoopEnd(lambda: said.append("closed"), lambda: None)
    loop.run_until_complete(started(end))
    end.stop()
    end.stop()
    loop.close()
    assert said == []


@pytest.fixture
def threads(few, monkeypatch):
    """Where there are ``few``, none can start any more that cleans up."""
    start = threading.Thread.start

    def refuse(thread):
        if thread.name == "asyncstate-clean-up":
            raise RuntimeError("can't start new thread")
        start(thread)

    if few:
        monkeypatch.setattr(threading.Thread, "start", refuse)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("kind", LOOPS)
def test_a_run_whose_loop_is_closed_has_its_rows_its_last_event_and_its_report(loop, tmp_path):
    (tmp_path / "all.sls").write_text(
        f"first: test.nop\nslow:\n  cmd.run:\n    - name: touch {tmp_path}/begun; exec sleep 600\n"
        "    - require: [test: first]\nlater:\n  test.nop:\n    - require: [cmd: slow]\n"
    )
    cache = str(tmp_path / "cache")
    runtime = StateRuntime(Settings(file_roots={"base": [str(tmp_path)]}, cachedir=cache))
    events = []

    async def begin():
        await runtime.__aenter__()
        run = runtime.run(await runtime.compile(["all"]), observers=[events.append])
        await run.__aenter__()
        while not (tmp_path / "begun").exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.01)
        return run

    run = loop.run_until_complete(begin())
    loop.close()
    report = run.report
    assert (report.cancelled, report.exit_code) == (LOOP_CLOSED, 125)
    assert [row["result"] for row in report.rows.values()] == [True, False]
    assert f"cancelled while it ran ({LOOP_CLOSED})" in list(report.rows.values())[1]["comment"]
    assert [type(event) for event in events][-2:] == [ChunkFinished, RunFinished]
    assert (events[-1].cancelled, len(events[-1].not_started)) == (LOOP_CLOSED, 1)
    reaper.wait()
    with RunLock(cache, wait=60):
        pass


class Workers:
    reason = ""

    def cut_off(self, reason):
        self.reason = reason


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("kind", LOOPS)
def test_work_whose_loop_is_closed_is_cut_off_and_gives_back_its_lock(loop, tmp_path):
    workers = Workers()
    lock = RunLock(str(tmp_path))

    async def begin():
        block = loop_bound(workers, lock)
        block.__enter__()
        return block

    with lock:
        block = loop.run_until_complete(begin())
        loop.close()
        assert workers.reason == LOOP_CLOSED
        with RunLock(str(tmp_path), wait=60):
            pass
        block.__exit__(None, None, None)


def test_a_program_that_ends_waits_for_a_loop_in_a_daemon_thread():
    program = (
        "import asyncio, threading\n"
        "from asyncstate.guard.event_loop import LoopEnd\n"
        "async def main():\n"
        "    left = asyncio.Event()\n"
        "    end = LoopEnd(lambda: print('closed'), left.set)\n"
        "    end.start(); begun.set()\n"
        "    await left.wait(); print('left', flush=True); end.stop()\n"
        "begun = threading.Event()\n"
        "threading.Thread(target=asyncio.run, args=(main(),), daemon=True).start()\n"
        "begun.wait()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "left\n", "")
