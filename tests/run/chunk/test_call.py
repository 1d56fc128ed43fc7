"""Calls of plugins: any behaviour of one ends in one row and one event for its chunk, and the run goes on."""

from __future__ import annotations

import asyncio
import threading

import pytest
from fake_host import FakeHost, comments, local_engine, results, row, run
from hypothesis import given
from hypothesis import strategies as st
from messages import said as said_of
from plans import PlanBuilder

from asyncstate import Settings, StateRuntime
from asyncstate.dunders.context import current
from asyncstate.errors import RenderError
from asyncstate.load.threads import WorkerThreads
from asyncstate.model.event import ChunkFinished, ChunkStarted
from asyncstate.model.result import NEVER_ENDED
from asyncstate.process.child import run_child
from asyncstate.process.ending import reaper


class Odd(str):
    """A text that cannot be read."""

    __slots__ = ()

    def __str__(self):
        raise RuntimeError("no")

    __repr__ = __str__


class Misbehaving:
    """Everything a function may do on the loop to those around it; each is a coroutine function of a name."""

    async def cancels_itself_and_returns(self, name):
        asyncio.current_task().cancel()
        return row(name)

    async def cancels_itself_and_waits(self, name):
        asyncio.current_task().cancel()
        await asyncio.sleep(1)
        return row(name)

    async def cancels_itself_twice(self, name):
        for _ in range(2):
            asyncio.current_task().cancel()
        await asyncio.sleep(0)
        return row(name)

    async def cancels_itself_and_swallows_it(self, name):
        asyncio.current_task().cancel()
        try:
            await asyncio.sleep(1)
        except asyncio.CancelledError:
            await asyncio.sleep(1)
        return row(name)

    async def raises_a_cancellation(self, name):
        raise asyncio.CancelledError

    async def raises_what_ends_programs(self, name):
        raise SystemExit(7)

    async def raises_what_has_no_words(self, name):
        raise ValueError(Odd())

    async def says_what_cannot_be_read(self, name):
        return row(name, comment=Odd("x"))

    async def returns_nothing(self, name):
        return None

    async def empties_its_low_data(self, name):
        current.get().low.clear()
        return row(name)

    async def takes_its_name_away(self, name):
        current.get().low.pop("name")
        raise RuntimeError(name)

    async def behaves(self, name):
        await asyncio.sleep(2)
        return row(name)


WAYS = [name for name in vars(Misbehaving) if not name.startswith("_")]


@given(ways=st.lists(st.sampled_from(WAYS), min_size=1, max_size=8), width=st.integers(1, 4), hooks=st.booleans())
def test_whatever_a_plugin_does_each_chunk_has_one_row_and_one_end(ways, width, hooks):
    host, misbehaving = FakeHost(), Misbehaving()
    for way in WAYS:
        host.state(f"{way}.go", getattr(misbehaving, way))
        if hooks:
            host.state(f"{way}.mod_init", getattr(misbehaving, way))
            host.state(f"{way}.mod_watch", lambda name, sfun, way=way, **_: getattr(misbehaving, way)(name))
    builder = PlanBuilder()
    for number, way in enumerate(ways):
        builder.chunk(f"s{number}", f"{way}.go")
    builder.chunk("last", "behaves.go")
    events = []
    report, _ = run(builder.build(), host, observers=[events.append], concurrency=width)
    assert len(report.rows) == len(ways) + 1
    assert not report.cancelled
    assert not report.not_started
    started = [event.tag for event in events if isinstance(event, ChunkStarted)]
    finished = [event.tag for event in events if isinstance(event, ChunkFinished)]
    assert sorted(started) == sorted(finished) == sorted(report.rows)
    assert results(report)["last"] is True
    for number, way in enumerate(ways):
        if way == "behaves" or (way == "cancels_itself_and_returns" and not hooks):
            assert results(report)[f"s{number}"] is True


@pytest.fixture
def host():
    fake = FakeHost()
    fake.workers = WorkerThreads()
    fake.log = []
    return fake


async def in_real_time(plan, host, observers=(), **options):
    from asyncstate.run.engine import RunOptions

    return await local_engine(plan, host, RunOptions(run_id="r", **options), observers).run()


async def test_every_attempt_has_its_own_copy_of_what_is_written(host):
    seen = []

    @host.state("own.go")
    def go(name, items, mapping):
        context = current.get()
        seen.append((list(items), dict(mapping), context.umask, sorted(context.low)))
        items.append("more")
        mapping["more"] = 1
        context.low.pop("umask", None)
        return row(name, result=len(seen) == 3)

    args = {"items": ["a"], "mapping": {"k": "v"}, "umask": "077", "retry": {"attempts": 3, "interval": 0}}
    report = await in_real_time(PlanBuilder().chunk("x", "own.go", args=args).build(), host)
    assert report.ok
    assert seen[0][:3] == (["a"], {"k": "v"}, 0o77)
    assert seen[1] == seen[0]
    assert seen[2] == seen[0]


def test_the_time_limit_holds_for_every_attempt():
    host, tries = FakeHost(), []

    @host.state("own.go")
    async def go(name):
        tries.append(name)
        await asyncio.sleep(50)

    args = {"timeout": 5, "retry": {"attempts": 3, "interval": 1}}
    report, seconds = run(PlanBuilder().chunk("x", "own.go", args=args).build(), host)
    assert len(tries) == 3
    assert seconds == pytest.approx(17)
    assert comments(report)["x"].count("did not end within 5 seconds and was stopped") == 3


@pytest.mark.parametrize(
    ("given", "said"),
    [*((number, said_of("number-too-large")) for number in (10**400, -(10**400))), ("x", "not a text")],
)
def test_a_time_limit_that_is_none_is_named(given, said):
    host = FakeHost()

    @host.state("own.go")
    def go(name):
        return row(name)

    report, _ = run(PlanBuilder().chunk("x", "own.go", args={"timeout": given}).build(), host)
    assert said in comments(report)["x"]
    assert "Traceback" not in comments(report)["x"]


@pytest.mark.parametrize("lasts", [20, 30])
def test_one_that_swallows_its_time_out_has_a_row_and_keeps_its_place_until_it_ends(lasts):
    host, log = FakeHost(), []

    @host.state("own.stubborn")
    async def stubborn(name):
        for second in range(lasts):
            try:
                await asyncio.sleep(1)
            except asyncio.CancelledError:
                log.append(f"told at {second}")
        log.append("ended")
        return row(name)

    @host.state("own.sleeps")
    async def sleeps(name):
        await asyncio.sleep(25)
        return row(name)

    @host.state("own.next")
    async def after(name):
        log.append("next")
        return row(name)

    events = []
    builder = PlanBuilder().chunk("x", "own.stubborn", args={"timeout": 5}).chunk("y", "own.next", onfail=["x"])
    plan = builder.chunk("needs", "own.next", require=["x"]).chunk("other", "own.sleeps").build()
    report, seconds = run(plan, host, observers=[events.append], concurrency=4)
    assert log[0] in {"told at 4", "told at 5"}
    ended = ["ended", "next"] if lasts < 25 else []
    assert log[1 : 1 + len(ended)] == ended
    assert len(log) == (3 if ended else 2), "told again when the run is over"
    assert comments(report)["x"].startswith(said_of("timed-out", seconds=5) + " and is not waited")
    (finished,) = [event for event in events if isinstance(event, ChunkFinished) and event.tag.startswith("own_|-x")]
    assert finished.time == pytest.approx(8)
    assert seconds == pytest.approx(25, abs=4)
    expected = {"x": False, "needs": False, "other": True}
    assert results(report) == (expected | {"y": True} if ended else expected)
    assert report.cancelled == ("" if ended else NEVER_ENDED)
    assert report.exit_code == 2
    assert report.not_started == (() if ended else (plan.chunks[1].tag,))


@pytest.mark.parametrize("args", [{}, {"retry": {"attempts": 2, "interval": 0}}])
async def test_a_thread_keeps_its_lane_its_node_and_its_next_attempt_until_it_returns(host, args):
    gate, running, most = threading.Event(), [], []
    later = threading.Timer(0.2, gate.set)  # what does not keep its turn starts before that

    def enter(name):
        running.append(name)
        most.append(len(running))

    @host.state("own.slow")
    def slow(name):
        current.get().cancel.on_cancel(lambda: gate.is_set() or later.start())
        enter(name)
        gate.wait(30)
        running.remove(name)
        return row(name)

    @host.state("own.quick")
    def quick(name):
        enter(name)
        running.remove(name)
        return row(name)

    builder = PlanBuilder().chunk("x", "own.slow", args={"timeout": 0.4, "lane": "one", **args})
    builder.chunk("lane", "own.quick", args={"lane": "one"}).chunk("edge", "own.quick", require_any=["x", "lane"])
    builder.chunk("alone", "own.quick", args={"exclusive": True})
    report = await in_real_time(builder.build(), host, concurrency=8)
    later.join()
    assert max(most) == 1
    assert len(most) == 4 + bool(args)
    assert results(report)["x"] is bool(args), "the second attempt finds the gate open"
    assert said_of("ended-late") in comments(report)["x"]


@pytest.mark.parametrize(
    ("states", "beside"),
    [
        (["file.a /d/x", "file.b /d/y", "file.a /d/z"], 1),
        (["file.a /d/x", "file.a /d/e/x", "file.a /e/x"], 3),
        (["own.a /d/x", "own.b /d/y", "file.b /d/z"], 3),
    ],
)
async def test_states_that_change_one_folder_take_turns(host, monkeypatch, states, beside):
    monkeypatch.setattr("asyncstate.load.threads.SHORT", 1e9)
    running, most, all_run = [], [], threading.Event()

    def call(name):
        running.append(name)
        most.append(len(running))
        if len(running) == beside:
            all_run.set()
        all_run.wait(30)
        running.remove(name)
        return row(name)

    builder = PlanBuilder()
    for number, (function, _, name) in enumerate(state.partition(" ") for state in states):
        host.state(function, call)
        builder.chunk(str(number), function, name=name)
    report = await in_real_time(builder.build(), host, concurrency=8)
    assert all(results(report).values())
    assert max(most) == beside


@pytest.mark.feature("F096")
@pytest.mark.parametrize("width", [1, 8])
async def test_the_run_is_over_when_all_else_waits_for_threads_that_do_not_end(host, monkeypatch, width):
    monkeypatch.setattr("asyncstate.run.chunk.time_limit.GRACE", 0.05)
    gate, called, events = threading.Event(), [], []

    @host.state("own.hangs")
    def hangs(name):
        gate.wait(120)

    @host.state("own.ok")
    def ok(name):
        called.append(name)
        return row(name, changes={"done": 1})

    twice = {"retry": {"attempts": 2, "interval": 0}}
    builder = PlanBuilder().chunk("one", "own.hangs", args={"timeout": 0.05, "lane": "one"})
    builder.chunk("again", "own.hangs", args={"timeout": 0.05, **twice}).chunk("free", "own.ok")
    builder.chunk("needs", "own.ok", require=["one"]).chunk("both", "own.ok", require=["needs", "again"])
    builder.chunk("lane", "own.ok", args={"lane": "one"}).chunk("alone", "own.ok", args={"exclusive": True})
    builder.chunk("handler", "own.ok", onfail=["one"]).chunk("last", "own.ok", require=["free"])
    plan = builder.listen("last", "free").build()
    report = await in_real_time(plan, host, [events.append], concurrency=width)
    gate.set()
    assert called == ["free", "last"]
    assert results(report) == {"one": False, "again": False, "free": True, "needs": False, "both": False, "last": True}
    assert [plan.chunk_of(node).tag for node in (5, 6, 7)] == list(report.not_started)[:3]
    assert (report.exit_code, report.cancelled) == (2, NEVER_ENDED)
    assert sorted(report.notices) == [said_of("thread-left", state=state) for state in ("s:again", "s:one")]
    began, ended = (
        [event.tag for event in events if isinstance(event, kind)] for kind in (ChunkStarted, ChunkFinished)
    )
    assert sorted(began) == sorted(ended)


async def test_a_state_whose_check_does_not_end_says_so(host, monkeypatch):
    monkeypatch.setattr("asyncstate.run.chunk.time_limit.GRACE", 0.05)
    gate = threading.Event()

    @host.state("own.hangs")
    def hangs(name):
        gate.wait(120)

    @host.state("own.ok")
    def ok(name):
        return row(name)

    builder = (
        PlanBuilder().chunk("asks", "own.ok", prereq=["hangs"]).chunk("hangs", "own.hangs", args={"timeout": 0.05})
    )
    report = await in_real_time(builder.build(), host)
    gate.set()
    assert results(report) == {"asks": False, "hangs": False}
    assert comments(report)["hangs"].startswith(said_of("timed-out", seconds=0.05))


async def test_a_thread_that_outlives_the_run_is_in_its_report(host, monkeypatch):
    monkeypatch.setattr("asyncstate.run.worker_pool.GRACE", 0.05)
    gate, begun = threading.Event(), []

    @host.state("own.slow")
    def slow(name):
        begun.append(name)
        gate.wait(120)
        return row(name)

    plan = PlanBuilder().chunk("x", "own.slow").chunk("y", "own.slow", require=["x"]).build()
    for seconds in (0.1, 3, 30):  # until the state had begun before it was cut off
        events = []
        report = await in_real_time(plan, host, [events.append], timeout=seconds)
        if begun:
            break
    gate.set()
    assert report.exit_code == 124
    assert report.notices == (said_of("thread-left", state="s:x"),)
    assert report.not_started == (plan.chunks[1].tag,)
    assert [type(event) for event in events if event.time].count(ChunkFinished) == 1


async def test_a_thread_that_ends_when_it_is_told_is_no_notice(host):
    begun = []

    def told(name):
        begun.append(name)
        stop = threading.Event()
        current.get().cancel.on_cancel(stop.set)
        stop.wait(120)
        return row(name)

    host.state("own.slow", told)
    for seconds in (0.1, 3, 30):  # until the state had begun before it was cut off
        report = await in_real_time(PlanBuilder().chunk("x", "own.slow").build(), host, timeout=seconds)
        if begun:
            break
    assert report.notices == ()
    assert "cancelled while it ran" in comments(report)["x"]


async def test_where_no_thread_can_be_started_the_state_fails(host, monkeypatch):
    real = threading.Thread.start

    def refuse(thread):
        if thread.name.startswith("asyncstate-"):
            raise RuntimeError("can't start new thread")
        real(thread)

    host.state("own.go", row)

    @host.state("test.nop")
    async def nop(name):
        return row(name)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr("asyncstate.load.threads.PATIENCE", 0.1)
    report = await in_real_time(PlanBuilder().chunk("x", "own.go").chunk("y").build(), host)
    assert set(results(report).values()) == {False}
    assert said_of("no-thread") in comments(report)["x"]


def test_a_pillar_that_no_longer_renders_fails_the_state_that_asked_for_it():
    host = FakeHost()
    host.state("test.nop", lambda name: row(name, changes={"x": 1}))

    def refresh(**_kwargs):
        raise RenderError("pillar/top.sls does not render")

    host.services.refresh = refresh
    plan = PlanBuilder().chunk("a", args={"reload_pillar": True}).chunk("b").build()
    report, _ = run(plan, host)
    assert results(report) == {"a": False, "b": True}
    assert report.rows[plan.chunks[0].tag]["changes"] == {"x": 1}
    assert "pillar/top.sls does not render" in comments(report)["a"]


RAISING = ("refused", "raises")
ENDINGS = (*RAISING, "says so", "well")
HALF_WAY = """
from asyncstate import filesystem
from asyncstate.errors import PathRefused

def done(name, how, base):
    for part in ("made", "gone"):
        filesystem.mkdir(f"{base}/{name}-{part}")
    filesystem.rmdir(f"{base}/{name}-gone")
    filesystem.replace_content(f"{base}/old", b"new")
    if how == "refused":
        raise PathRefused("Refusing to go on")
    if how == "raises":
        raise RuntimeError("oh")
    return {"name": name, "result": how == "well", "changes": {}, "comment": ""}
"""


async def test_a_state_that_raised_names_what_it_had_done_and_one_of_a_tree_that_returns_speaks_for_itself(tmp_path):
    (tmp_path / "srv" / "_states").mkdir(parents=True)
    (tmp_path / "srv" / "_states" / "half.py").write_text(HALF_WAY)
    (tmp_path / "srv" / "a.sls").write_text(
        "".join(f"{how}: {{half.done: [{{how: {how}}}, {{base: {tmp_path}}}]}}\n" for how in ENDINGS)
    )
    (tmp_path / "old").write_text("old")
    settings = Settings(file_roots={"base": [str(tmp_path / "srv")]}, cachedir=str(tmp_path / "cache"))
    async with StateRuntime(settings) as runtime:
        report = await runtime.apply(["a"])
    changes = {row["name"]: row["changes"] for row in report.rows.values()}
    assert changes == {
        how: {"created": [f"{tmp_path}/{how}-made"], "changed": [f"{tmp_path}/old"]} if how in RAISING else {}
        for how in ENDINGS
    }


@pytest.mark.parametrize("cut", [False, True])
async def test_programs_of_a_call_are_noted_as_wanted_only_if_it_ended_by_itself(monkeypatch, host, cut):
    begun, wanted = [], []
    monkeypatch.setattr("asyncstate.process.ending.residue.note_ended", wanted.extend)

    def go(name):
        begun.append(name)
        return row(name, comment=str(run_child(["sleep", "600" if cut else "0"]).returncode))

    host.state("own.go", go)
    for seconds in (0.1, 3, 30):  # until the program had begun before it was cut off
        report = await in_real_time(PlanBuilder().chunk("x", "own.go").build(), host, timeout=seconds if cut else 30)
        reaper.wait()
        if begun:
            break
    assert (bool(report.cancelled), len(wanted)) == (cut, 0 if cut else 1)
