"""What holds up the event loop is named; what does not, and what is nobody's fault, is not."""

from __future__ import annotations

import contextlib
import sys
import threading
import time

import pytest

from asyncstate import Settings, StateRuntime
from asyncstate.model.event import RunFinished
from asyncstate.run.engine import Engine
from asyncstate.run.loop_watch import LoopWatch, plugin_frame

SEEN_AT_THE_LATEST = 30
MODULE = """
import asyncio
import time

async def blocks(name, until):
    deadline = time.monotonic() + 30
    while not until() and time.monotonic() < deadline:
        time.sleep(0.001)  # the line that is named
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
    """Apply a state of a tree that ends when the run has named something; return the report and its events."""

    async def apply(function, until=None):
        (tmp_path / "_states").mkdir()
        (tmp_path / "_states" / "slow.py").write_text(MODULE)
        (tmp_path / "a.sls").write_text("a: test.nop\n")
        settings = Settings(file_roots={"base": [str(tmp_path)]}, cachedir=str(tmp_path), implicit_order="none")
        async with StateRuntime(settings) as runtime:
            plan = await runtime.host.workers.run(runtime.single_plan, f"slow.{function}", {"name": "x"})
            events = []
            run = runtime.run(plan, observers=[events.append])
            plan.chunks[0].args["until"] = until or (lambda: bool(run._engine._watch.issues))
            async with run:
                pass
        return run.report, events

    return apply


@pytest.mark.feature("F138")
async def test_a_state_that_blocks_the_loop_is_named_with_file_and_line(apply, tmp_path):
    report, events = await apply("blocks")
    (issue,) = report.warnings
    assert issue.file == str(tmp_path / "_states" / "slow.py")
    assert MODULE.splitlines()[issue.line - 1].split("  #")[0].strip() in {
        "time.sleep(0.001)",
        "while not until() and time.monotonic() < deadline:",
    }
    assert issue.message.startswith("blocks held up the event loop for 0.")
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


async def test_whoever_brings_a_clock_is_not_watched():
    from fake_host import FakeHost
    from plans import PlanBuilder

    from asyncstate.run.engine import RunOptions

    plan = PlanBuilder().build()
    engine = Engine(plan, FakeHost(), RunOptions(run_id="r"), clock=time.monotonic)
    before = threading.active_count()
    await engine.run()
    assert engine._watch is None
    assert threading.active_count() <= before


class Loop:
    """A loop that turns when it is told to."""

    def __init__(self, *, turns=False, closed=False):
        self.turns, self.closed = turns, closed
        self.asked = 0

    def call_soon_threadsafe(self, callback):
        self.asked += 1
        if self.closed:
            raise RuntimeError("Event loop is closed")
        if self.turns:
            callback()


def compiled(name, source, file):
    """A function of an imaginary file."""
    namespace = {}
    exec(compile(source, file, "exec"), namespace)
    return namespace[name]


ENTRANCE = sys.modules[Engine.__module__].__file__.replace("engine.py", "invoke.py")
call = compiled("call", "def call(f):\n    return f()\n", ENTRANCE)


def until(condition):
    deadline = time.monotonic() + SEEN_AT_THE_LATEST
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.001)


@pytest.fixture
def blocked():
    """Have a call of a plugin on the stack until a condition holds; return what the watch says."""

    def blocked(loop, condition):
        watch = LoopWatch(loop, interval=0.001, limit=0.005)
        function = compiled("f", "def f():\n    condition()\n", "/srv/salt/_states/mine.py")
        function.__globals__["condition"] = lambda: until(lambda: condition(watch))
        with watch:
            call(function)
        return watch.issues

    return blocked


def test_no_sign_of_the_loop_is_a_finding(blocked):
    (issue,) = blocked(Loop(), lambda watch: watch.issues)
    assert issue.file.endswith((".py",))
    assert issue.line > 0


def test_a_loop_that_turns_is_asked_and_nobody_is_named(blocked):
    loop = Loop(turns=True)
    assert blocked(loop, lambda _watch: loop.asked > 20) == ()


def test_the_watch_ends_with_the_loop_and_with_the_run(blocked):
    loop = Loop(closed=True)
    watching = {thread for thread in threading.enumerate() if thread.name == "asyncstate-loop-watch"}
    assert blocked(loop, lambda _watch: loop.asked) == ()
    own = {thread for thread in threading.enumerate() if thread.name == "asyncstate-loop-watch"} - watching
    for thread in own:
        thread.join(SEEN_AT_THE_LATEST)
    assert not any(thread.is_alive() for thread in own)
    assert loop.asked == 1


def here():
    return plugin_frame(sys._getframe())


def test_whose_fault_it_is():
    plugin = "/srv/salt/_states/mine.py"
    library = contextlib.__file__
    bundled = ENTRANCE.replace("run/invoke.py", "states/file.py")
    core = ENTRANCE.replace("run/invoke.py", "load/bridge.py")

    def named(*files):
        """Call through functions of these files, outermost first; return the file that is named."""
        found = []
        function = lambda: found.append(plugin_frame(sys._getframe(1)))  # noqa: E731
        for file in reversed(files):
            caller = compiled("call", "def call(f):\n    return lambda: f()\n", file)
            function = caller(function)
        function()
        return found[0] and found[0].f_code.co_filename

    assert named(ENTRANCE, plugin) == plugin
    assert named(ENTRANCE, bundled) == bundled
    assert named(ENTRANCE, plugin, library, library) == plugin
    assert named(ENTRANCE, plugin, core, "/srv/salt/_modules/other.py") == "/srv/salt/_modules/other.py"
    assert named(ENTRANCE, plugin, core) == plugin
    assert named(ENTRANCE, library) == library
    assert named(ENTRANCE, core) is None
    assert named(plugin) is None
    assert here() is None
