"""Functions that hold up the event loop are named, and no others."""

from __future__ import annotations

import asyncio
import re
import threading
import time
import types

import pytest
from fake_host import FakeHost, local_engine
from messages import said
from plans import PlanBuilder

from asyncstate import Settings, StateRuntime
from asyncstate.guard.event_loop import LoopWatch
from asyncstate.load.plugin import LoadedFunction, LoadedModule
from asyncstate.model.event import RunFinished
from asyncstate.run.options import RunOptions

SEEN_AT_THE_LATEST = 30
MODULE = """
import asyncio
import time

async def blocks(name, until):
    deadline = time.monotonic() + 30
    while not until() and time.monotonic() < deadline:
        time.sleep(0.001)
    return {"name": name, "result": True, "changes": {}, "comment": ""}

async def awaits(name, until):
    while not until():
        await asyncio.sleep(0.001)
    return {"name": name, "result": True, "changes": {}, "comment": ""}

def in_a_thread(name, until):
    time.sleep(0.2)
    return {"name": name, "result": True, "changes": {}, "comment": ""}
"""


@pytest.fixture
def apply(tmp_path):
    """Apply a state of a tree that ends when the watch has seen enough; return the report and its events."""

    async def apply(function, until=None):
        (tmp_path / "_states").mkdir()
        (tmp_path / "_states" / "slow.py").write_text(MODULE)
        (tmp_path / "a.sls").write_text("a: test.nop\n")
        settings = Settings(file_roots={"base": [str(tmp_path)]}, cachedir=str(tmp_path), implicit_order="none")
        async with StateRuntime(settings) as runtime:
            plan = await runtime.host.workers.run(runtime.single_plan, f"slow.{function}", {"name": "x"})
            events = []
            run = runtime.run(plan, observers=[events.append])
            plan.chunks[0].args["until"] = until or (lambda: run._engine._dispatch.watch.ticks > 10)
            async with run:
                pass
        return run.report, events

    return apply


@pytest.mark.feature("F138")
async def test_a_state_that_blocks_the_loop_is_named_with_file_and_line(apply, tmp_path):
    report, events = await apply("blocks")
    (issue,) = report.warnings
    assert issue.file == str(tmp_path / "_states" / "slow.py")
    assert MODULE.splitlines()[issue.line - 1].startswith("async def blocks")
    assert re.sub(r"0\.\d+", "SOME", issue.message) == said("held-up", function="slow.blocks", seconds="SOME")
    assert "asyncio.to_thread" in issue.hint
    (row,) = report.rows.values()
    assert "held up" not in str(row)
    finished = events[-1]
    assert isinstance(finished, RunFinished)
    assert len(finished.warnings) == 1
    assert f"at {issue.file}:{issue.line}" in finished.warnings[0]


async def test_states_that_await_or_run_in_threads_are_not(apply):
    turns = iter(range(200))
    report, _ = await apply("awaits", lambda: next(turns, None) is None)
    assert report.warnings == ()


async def test_a_state_in_a_thread_is_not(apply):
    report, _ = await apply("in_a_thread", lambda: True)
    assert report.warnings == ()


async def test_the_traceback_of_a_watched_state_begins_in_its_own_file(apply, tmp_path):
    def fails():
        raise ValueError("odd")

    report, _ = await apply("awaits", fails)
    (row,) = report.rows.values()
    first = next(line for line in row["comment"].splitlines() if "File" in line)
    assert str(tmp_path / "_states" / "slow.py") in first


async def test_bundled_functions_are_not_watched(tmp_path):
    (tmp_path / "a.sls").write_text("a: test.nop\n")
    settings = Settings(file_roots={"base": [str(tmp_path)]}, cachedir=str(tmp_path))
    async with StateRuntime(settings) as runtime, runtime.run(await runtime.compile(["a"])) as run:
        await run.wait()
        names = {thread.name for thread in threading.enumerate()}
    assert run.report.ok
    assert "asyncstate-loop-watch" not in names


async def test_nobody_is_watched_without_a_watch():
    plan = PlanBuilder().build()
    engine = local_engine(plan, FakeHost(), RunOptions(run_id="r"))
    before = threading.active_count()
    await engine.run()
    assert threading.active_count() <= before


@pytest.fixture
def watch():
    """A watch whose ticks the test makes."""
    return LoopWatch(interval=0.01, limit=0.05)


def function(func):
    return LoadedFunction("mine.go", func, LoadedModule("mine", "mine.py", None))


@types.coroutine
def give(value):
    return (yield value)


def test_each_step_counts_for_itself(watch):
    async def go(name):
        watch.ticks += 4
        await give("one")
        watch.ticks += 4
        return await give("two")

    steps = watch.steps(function(go), go("x"))
    assert [steps.send(None), steps.send(1)] == ["one", "two"]
    with pytest.raises(StopIteration) as end:
        steps.send("value")
    assert end.value.value == "value"
    assert watch.issues == ()


def test_the_longest_step_is_told_and_where_the_function_stands(watch):
    async def go(name):
        watch.ticks += 5
        await give("one")
        watch.ticks += 9
        raise ValueError(name)

    steps = watch.steps(function(go), go("x"))
    steps.send(None)
    (issue,) = watch.issues
    assert issue.message == said("held-up", function="mine.go", seconds="0.05")
    with pytest.raises(ValueError, match="x"):
        steps.send(None)
    (issue,) = watch.issues
    assert issue.message == said("held-up", function="mine.go", seconds="0.09")
    assert (issue.file, issue.line) == (__file__, go.__code__.co_firstlineno)


def test_what_is_raised_into_a_call_arrives_in_it(watch):
    seen = []

    async def go(name):
        try:
            await give("one")
        except asyncio.CancelledError as error:
            seen.append(error)
            await give("clean")
            raise

    steps = watch.steps(function(go), go("x"))
    steps.send(None)
    assert steps.throw(asyncio.CancelledError()) == "clean"
    with pytest.raises(asyncio.CancelledError):
        steps.send(None)
    assert len(seen) == 1


def test_a_call_that_is_given_up_is_closed(watch):
    closed = []

    async def go(name):
        try:
            await give("one")
        finally:
            closed.append(name)

    steps = watch.steps(function(go), go("x"))
    steps.send(None)
    steps.close()
    assert closed == ["x"]


def test_the_thread_ends_with_the_run():
    async def go(name):
        return name

    watch = LoopWatch(interval=0.001)
    known = set(threading.enumerate())
    with watch:
        assert set(threading.enumerate()) == known
        for _ in range(2):
            with pytest.raises(StopIteration):
                watch.watched(function(go), go("x")).send(None)
        (thread,) = set(threading.enumerate()) - known
        deadline = time.monotonic() + SEEN_AT_THE_LATEST
        while watch.ticks < 2 and time.monotonic() < deadline:
            time.sleep(0.001)
        assert watch.ticks >= 2
    thread.join(SEEN_AT_THE_LATEST)
    assert not thread.is_alive()


def test_where_no_thread_can_be_started_nobody_watches(monkeypatch):
    def refuse(_thread):
        raise RuntimeError("can't start new thread")

    async def go(name):
        return name

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with LoopWatch() as watch:
        with pytest.raises(StopIteration):
            watch.watched(function(go), go("x")).send(None)
        assert watch.ticks == 0
    assert watch.issues == ()
