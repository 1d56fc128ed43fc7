"""Ending a run: by `stop` and `cancel` from anywhere, by cancelling who waits for it, and by time."""

import asyncio
import os
import signal
import threading

import pytest

from asyncstate import Settings, StateRuntime
from asyncstate.errors import LockHeld
from asyncstate.model.event import ChunkFinished, ChunkStarted, RunFinished

SLEEPS = (
    "first:\n  cmd.run:\n  - name: echo $$ > {pid}; exec sleep 300\nsecond:\n  test.nop:\n  - require: [cmd: first]\n"
)


@pytest.fixture
def settings(tmp_path):
    (tmp_path / "salt").mkdir()
    (tmp_path / "salt" / "web.sls").write_text(SLEEPS.format(pid=tmp_path / "pid"))
    (tmp_path / "salt" / "quick.sls").write_text("".join(f"s{n}: test.nop\n" for n in range(40)))
    return Settings(file_roots={"base": [str(tmp_path / "salt")]}, cachedir=str(tmp_path / "cache"))


@pytest.fixture
async def runtime(settings):
    async with asyncio.timeout(50), StateRuntime(settings) as runtime:
        yield runtime


async def until_it_sleeps(tmp_path):
    """Return the process ID of the first state's command once it sleeps."""
    pid = tmp_path / "pid"
    while not (pid.exists() and pid.read_text().strip()):  # noqa: ASYNC110 - another process writes it
        await asyncio.sleep(0.01)
    return int(pid.read_text())


def is_gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def results(report):
    return {row["__id__"]: row["result"] for row in report.rows.values()}


# --- stop and cancel


@pytest.mark.parametrize("where", ["loop", "thread"])
async def test_cancel_ends_what_runs(runtime, tmp_path, where):
    async with runtime.run(await runtime.compile(["web"])) as run:
        pid = await until_it_sleeps(tmp_path)
        if where == "loop":
            run.cancel("enough")
        else:
            threading.Thread(target=run.cancel, args=("enough",)).start()
    assert results(run.report) == {"first": False}
    assert (run.report.cancelled, run.report.exit_code) == ("enough", 125)
    assert len(run.report.not_started) == 1
    assert is_gone(pid)


@pytest.mark.parametrize("where", ["loop", "thread"])
async def test_stop_starts_nothing_more_and_lets_what_runs_finish(runtime, tmp_path, where):
    async with runtime.run(await runtime.compile(["web"])) as run:
        pid = await until_it_sleeps(tmp_path)
        if where == "loop":
            run.stop("enough")
        else:
            await asyncio.to_thread(run.stop, "enough")
        await asyncio.sleep(0.1)
        assert run.running, "what runs goes on"
        os.kill(pid, signal.SIGTERM)
    assert results(run.report) == {"first": False}
    assert run.report.cancelled == "enough"
    assert len(run.report.not_started) == 1


async def test_on_the_loop_stop_holds_at_once(runtime):
    def observe(event):
        if isinstance(event, ChunkFinished):
            run.stop("one is enough")

    run = runtime.run(await runtime.compile(["quick"]), observers=[observe], concurrency=1)
    async with run:
        pass
    assert len(run.report.rows) == 1
    assert len(run.report.not_started) == 39


@pytest.mark.parametrize("order", ["stop", "cancel"])
async def test_a_run_that_is_told_to_end_before_it_is_entered_starts_nothing(runtime, order):
    run = runtime.run(await runtime.compile(["quick"]))
    getattr(run, order)("not today")
    async with run:
        pass
    assert (run.report.rows, run.report.cancelled) == ({}, "not today")


@pytest.mark.parametrize("order", ["stop", "cancel"])
async def test_after_the_end_an_order_changes_nothing(runtime, order):
    async with runtime.run(await runtime.compile(["quick"])) as run:
        pass
    getattr(run, order)("too late")
    await asyncio.to_thread(getattr(run, order), "too late")
    assert run.report.ok


async def test_the_first_reason_counts(runtime, tmp_path):
    async with runtime.run(await runtime.compile(["web"])) as run:
        await until_it_sleeps(tmp_path)
        run.stop("first")
        run.cancel("second")
    assert run.report.cancelled == "first"


# --- cancelling who waits, and time


async def test_cancelling_the_task_cancels_the_run_and_waits_for_its_end(runtime, tmp_path):
    run = runtime.run(await runtime.compile(["web"]))

    async def wait_for_it():
        async with run:
            pass

    task = asyncio.create_task(wait_for_it())
    pid = await until_it_sleeps(tmp_path)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert is_gone(pid)
    assert results(run.report) == {"first": False}
    assert run.report.exit_code == 125


async def test_cancelling_apply_does_the_same(runtime, tmp_path):
    task = asyncio.create_task(runtime.apply(["web"]))
    pid = await until_it_sleeps(tmp_path)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert is_gone(pid)


async def test_a_time_out_of_the_program_is_a_cancellation(runtime, tmp_path):
    run = runtime.run(await runtime.compile(["web"]))

    async def run_out_of_time():
        async with asyncio.timeout(None) as limit, run:
            await until_it_sleeps(tmp_path)
            limit.reschedule(asyncio.get_running_loop().time())

    with pytest.raises(TimeoutError):
        await run_out_of_time()
    assert results(run.report) == {"first": False}
    assert run.report.exit_code == 125


async def test_a_time_out_of_the_run_is_in_the_report(runtime, tmp_path):
    report = await runtime.apply(["web"], timeout=1)
    assert report.exit_code == 124
    assert report.cancelled == "out of time after 1 seconds"


async def test_giving_up_waiting_leaves_the_run_alone(runtime, tmp_path):
    async with runtime.run(await runtime.compile(["web"])) as run:
        pid = await until_it_sleeps(tmp_path)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await run.wait()
        assert not is_gone(pid)
        run.cancel("done")
        await run.wait()
        assert run.report.cancelled == "done"


async def test_cancelling_who_waits_for_the_lock_leaves_it_to_others(runtime, tmp_path):
    plan = await runtime.compile(["quick"])
    async with runtime.run(await runtime.compile(["web"])) as first:
        await until_it_sleeps(tmp_path)
        with pytest.raises(LockHeld):
            await runtime.apply(["quick"])
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2), runtime.run(plan, wait=30):
                pytest.fail("two runs at a time")
        first.cancel("done")
    assert (await runtime.apply(["quick"])).ok


# --- reading


async def test_events_have_one_reader_at_a_time(runtime, tmp_path):
    async with runtime.run(await runtime.compile(["web"])) as run:
        await until_it_sleeps(tmp_path)

        async def read():
            return [event async for event in run]

        first = asyncio.create_task(read())
        await asyncio.sleep(0.05)
        with pytest.raises(RuntimeError, match="have a reader already"):
            await read()
        run.cancel("done")
        assert isinstance((await first)[-1], RunFinished)


async def test_a_reader_that_left_gets_the_rest_when_it_comes_back(runtime):
    async with runtime.run(await runtime.compile(["quick"])) as run:
        async for event in run:
            if isinstance(event, ChunkStarted):
                break
        rest = [event.seq async for event in run]
    assert rest == list(range(event.seq + 1, rest[-1] + 1))


async def test_a_reader_that_was_cancelled_comes_back(runtime, tmp_path):
    async with runtime.run(await runtime.compile(["web"])) as run:
        await until_it_sleeps(tmp_path)
        seen = []

        async def read():
            async for event in run:
                seen.append(event.seq)  # noqa: PERF401 - those before a cancellation count, too

        for _ in range(2):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(read(), 0.05)
        run.cancel("done")
        await read()
    assert seen == list(range(len(seen)))


async def test_a_reader_that_comes_when_all_is_over_held_nothing_up(runtime):
    async with runtime.run(await runtime.compile(["quick"])) as run:
        await run.wait()
        assert run.report.ok
        assert len([event async for event in run]) == 2 + 2 * 40
