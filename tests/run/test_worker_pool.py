"""Workers: whatever happens when, each chunk that began ends once, and nothing overlaps that must not."""

from __future__ import annotations

import asyncio

import pytest
from fake_host import FakeHost, comments, local_engine, results, row, run, run_virtual
from hypothesis import given
from hypothesis import strategies as st
from messages import said as said_of
from plans import PlanBuilder

from asyncstate.model.event import ChunkFinished, ChunkOutput, ChunkStarted, RunFinished
from asyncstate.model.result import NEVER_ENDED, Outcome
from asyncstate.run.dispatch import GRACE
from asyncstate.run.engine import RunOptions


def make_host(log):
    fake = FakeHost()

    async def nop(name):
        log(name, "in")
        log(name, "out")
        return row(name)

    async def wait(name, seconds):
        log(name, "in")
        try:
            await asyncio.sleep(seconds)
        finally:
            log(name, "out")
        return row(name, changes={"x": 1})

    async def stubborn(name, seconds):
        """Do not mind being cancelled."""
        log(name, "in")
        for _ in range(seconds):
            try:
                await asyncio.sleep(1)
            except asyncio.CancelledError:
                continue
        log(name, "out")
        return row(name, result=False)

    async def mod_watch(name, **_kwargs):
        log(name, "in")
        try:
            await asyncio.sleep(1)
        finally:
            log(name, "out")
        return row(name, changes={"watched": True})

    for func in (nop, wait, stubborn, mod_watch):
        fake.state(f"test.{func.__name__}", func)
    return fake


@st.composite
def trees(draw, *, calm=False):
    """A plan of states that wait, swallow cancellations, have time limits, lanes, retries, prereqs and listeners.

    In a ``calm`` one nothing stops the run and every call ends soon after its limit.
    """
    builder = PlanBuilder()
    size = draw(st.integers(1, 8))
    for number in range(size):
        function = draw(st.sampled_from(["nop", "wait", "wait", "stubborn"]))
        args = {} if function == "nop" else {"seconds": draw(st.integers(1, 6))}
        args |= draw(
            st.sampled_from([{}, {"timeout": 2}, {"lane": "one"}, {"exclusive": True}, {"lane": "one", "timeout": 1}])
        )
        args |= draw(st.sampled_from([{}, {}, {"retry": {"attempts": 2, "interval": 1}}, {"failhard": not calm}]))
        if calm and args.get("seconds", 0) >= args.get("timeout", 99) + GRACE:
            del args["timeout"]
        targets = draw(st.lists(st.integers(0, number - 1), max_size=2)) if number else []
        kind = draw(st.sampled_from(["require", "watch", "onfail"]))
        builder.chunk(f"c{number}", f"test.{function}", args=args, **{kind: [f"c{target}" for target in targets]})
    if draw(st.booleans()):
        builder.chunk("asks", prereq=[f"c{draw(st.integers(0, size - 1))}"])
    for _ in range(draw(st.integers(0, 2))):
        listener, target = draw(st.integers(0, size - 1)), draw(st.integers(0, size - 1))
        builder.listen(f"c{listener}", f"c{target}")
    return builder.build()


class Overlaps:
    """Who is at work when; ``wrong`` are those that were and must not have been.

    A call that is overdue has given its slot to others.
    """

    def __init__(self, plan, width):
        self.args = {chunk.name: chunk.args for chunk in plan.chunks}
        self.width, self.inside, self.wrong = width, {}, []

    def __call__(self, name, what):
        if what == "out":
            del self.inside[name]
            return
        self.inside[name] = now = asyncio.get_running_loop().time()
        in_lane = sum(self.args[each].get("lane") == "one" for each in self.inside)
        alone = any(self.args[each].get("exclusive") for each in self.inside)
        overdue = sum(began + self.args[each].get("timeout", 99) + GRACE <= now for each, began in self.inside.items())
        if (len(self.inside) > 1 and alone) or len(self.inside) > self.width + overdue or in_lane > 1:
            self.wrong.append(list(self.inside))


@pytest.mark.feature("F134", "F137")
@given(
    plan=trees(),
    width=st.integers(1, 5),
    end=st.sampled_from([None, "stop", "cancel", "timeout", "event"]),
    data=st.data(),
)
def test_what_began_ends_once_and_nothing_overlaps_that_must_not_whatever_ends_the_run(plan, width, end, data):
    overlaps, events = Overlaps(plan, width), []
    when = data.draw(st.integers(0, 12)) + 0.5
    options = {"timeout": when} if end == "timeout" else {}

    async def main():
        loop = asyncio.get_running_loop()
        run_options = RunOptions(run_id="r", concurrency=width, **options)
        watching = [events.append]
        engine = local_engine(plan, make_host(overlaps), run_options, watching, sleep=asyncio.sleep, clock=loop.time)
        if end in {"stop", "cancel"}:
            loop.call_later(when, getattr(engine, end), "enough")
        if end == "event":

            def cancel(event):
                if event.seq == int(when):
                    engine.cancel("enough")

            watching.append(cancel)
        return await engine.run()

    report, _ = run_virtual(main())
    assert not overlaps.wrong
    began = [(event.tag, event.check) for event in events if isinstance(event, ChunkStarted)]
    ended = [(event.tag, event.check) for event in events if isinstance(event, ChunkFinished)]
    assert sorted(began) == sorted(ended)
    assert isinstance(events[-1], RunFinished)
    started = {tag for tag, check in began if not check}
    assert started <= set(report.rows)
    tags = {chunk.tag for chunk in plan.chunks}
    assert tags <= set(report.rows) | set(report.not_started)
    assert not set(report.rows) & set(report.not_started)
    if end is None:
        assert report.cancelled in {"", NEVER_ENDED}
        assert report.cancelled or not overlaps.inside
    last = {event.tag: event.row for event in events if isinstance(event, ChunkFinished) and not event.check}
    shown = {
        tag: {key: value for key, value in row.items() if key != "__run_num__"} for tag, row in report.rows.items()
    }
    assert all(shown[tag] == row for tag, row in last.items())


@given(plan=trees(calm=True), width=st.integers(2, 5))
def test_any_concurrency_gives_the_serial_rows_listeners_and_all(plan, width):
    def rows(concurrency):
        report, _ = run(plan, make_host(lambda *_: None), concurrency=concurrency)
        timed = ("start_time", "duration", "comment")
        return {tag: {key: value for key, value in r.items() if key not in timed} for tag, r in report.rows.items()}

    assert list(rows(1).items()) == list(rows(width).items())


def test_a_cancelled_state_has_an_event():
    events = []
    plan = PlanBuilder().chunk("slow", "test.wait", args={"seconds": 50}).build()
    report, _ = run(plan, make_host(lambda *_: None), observers=[events.append], act=(1, "cancel", "enough"))
    (finished,) = [event for event in events if isinstance(event, ChunkFinished)]
    assert finished.row["comment"] == said_of("cancelled-while-running", why="enough")
    assert finished.row["duration"] == pytest.approx(1000)
    assert report.exit_code == 125


def test_a_cancelled_check_ends_and_its_chunk_has_no_row():
    events = []
    plan = PlanBuilder().chunk("asks", prereq=["slow"]).chunk("slow", "test.wait", args={"seconds": 50}).build()
    report, _ = run(plan, make_host(lambda *_: None), observers=[events.append], act=(1, "cancel", "enough"))
    assert [event.check for event in events if isinstance(event, ChunkFinished)] == [True]
    assert report.rows == {}
    assert set(report.not_started) == {chunk.tag for chunk in plan.chunks}


def test_one_that_swallows_every_cancellation_ends_neither_later_nor_never():
    log = []
    plan = PlanBuilder().chunk("x", "test.stubborn", args={"seconds": 10**6}).chunk("y").build()
    report, seconds = run(plan, make_host(lambda *words: log.append(words)), concurrency=2, timeout=5)
    assert seconds < 10
    assert report.exit_code == 124
    assert results(report) == {"x": False, "y": True}
    assert report.notices == (said_of("left-behind", state="s:x"),)


def test_what_ends_by_itself_after_a_cancellation_keeps_its_own_row():
    plan = PlanBuilder().chunk("x", "test.stubborn", args={"seconds": 3}).build()
    report, seconds = run(plan, make_host(lambda *_: None), act=(1, "cancel", "enough"))
    assert comments(report) == {"x": "done"}
    assert report.notices == ()
    assert seconds < 4


def test_what_is_not_waited_for_is_still_named():
    events = []
    builder = PlanBuilder().chunk("x", "test.stubborn", args={"seconds": 17, "timeout": 1})
    plan = builder.chunk("y", "test.wait", args={"seconds": 12}).build()
    run(plan, make_host(lambda *_: None), observers=[events.append])
    said = [event.text for event in events if isinstance(event, ChunkOutput) and "-x_" in event.tag]
    assert said == [said_of("not-waited-for", seconds=seconds) for seconds in (10, 15)]


@pytest.mark.parametrize("width", [1, 4])
def test_other_hosts_learn_of_a_state_that_does_not_end_and_of_what_waits_for_it(width):
    """One that waits for them, and which is waited for, would keep both runs from their ends."""
    told = {}

    class Waiting:
        def __init__(self):
            self.rows = {}
            self.arrived = asyncio.Queue()

        async def outcomes(self):
            yield await self.arrived.get()

        def words(self, nodes):
            return ""

        def ended(self, node, outcome):
            told[node] = (outcome.result, outcome.ran)
            if {0, 1} <= told.keys() and self.arrived.empty():
                self.arrived.put_nowait((plan.nodes.index(far), Outcome(result=True, changed=False)))

    builder = PlanBuilder().chunk("x", "test.stubborn", args={"seconds": 10**6, "timeout": 1, "lane": "one"})
    builder.chunk("handler", onfail=["x"]).remote("far").chunk("near", require=["far"])
    builder.chunk("lane", require=["far"], args={"lane": "one"}).chunk("needs", require=["x"])
    plan = builder.chunk("both", onfail=["x"], require=["far"]).build()
    (far,) = (node for node in plan.nodes if node.label == "far")

    async def main():
        options = RunOptions(run_id="r", concurrency=width)
        engine = local_engine(plan, make_host(lambda *_: None), options, elsewhere=Waiting())
        return await engine.run()

    report, _ = run_virtual(main())
    assert results(report) == {"x": False, "near": True, "needs": False}
    assert report.not_started == tuple(plan.chunks[number].tag for number in (1, 3, 5))
    assert told == {5: (False, False)} | {
        0: (False, True),
        1: (False, False),
        2: (True, True),
        3: (False, False),
        4: (False, False),
    }
    assert (report.exit_code, report.cancelled) == (2, NEVER_ENDED)


async def test_cancelling_the_task_of_a_run_cancels_the_run():
    events = []
    plan = PlanBuilder().chunk("slow", "test.wait", args={"seconds": 50}).build()
    began = asyncio.Event()

    def observe(event):
        events.append(event)
        if isinstance(event, ChunkStarted):
            began.set()

    engine = local_engine(plan, make_host(lambda *_: None), RunOptions(run_id="r"), [observe])
    task = asyncio.create_task(engine.run())
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert isinstance(events[-2], ChunkFinished)
    assert said_of("program-gave-up") in events[-2].row["comment"]
    assert (type(events[-1]), events[-1].cancelled) == (RunFinished, said_of("program-gave-up"))
    assert (engine.report.exit_code, len(engine.report.rows)) == (125, 1)


def test_a_cancellation_before_the_run_began_leaves_nothing_to_do():
    async def main():
        engine = local_engine(PlanBuilder().chunk("a").build(), make_host(lambda *_: None), RunOptions(run_id="r"))
        engine.cancel("enough")
        return await engine.run()

    report, _ = run_virtual(main())
    assert (report.rows, report.exit_code, len(report.not_started)) == ({}, 125, 1)


def test_modules_are_imported_in_no_thread_of_the_loop():
    import threading

    from asyncstate.load.threads import WorkerThreads

    host, asked = make_host(lambda *_: None), []
    host.workers = WorkerThreads()
    find = host.loaders["states"].find
    host.loaders["states"].find = lambda name: asked.append(threading.current_thread()) or find(name)
    report = asyncio.run(local_engine(PlanBuilder().chunk("a").build(), host, RunOptions(run_id="r")).run())
    assert report.ok
    assert asked
    assert threading.main_thread() not in asked
