"""Runs of a plan, whatever runs its chunks: order, width, failhard, listeners, how a run ends, its report and events."""

import asyncio
import threading

import msgspec
import pytest
from fake_dispatch import usual_fakes
from fake_host import comments, results, row, run_engine
from hypothesis import given
from hypothesis import strategies as st
from plans import PlanBuilder

from asyncstate.model.event import (
    ChunkFinished,
    ChunkOutput,
    ChunkStarted,
    RunFinished,
    RunStarted,
    StateEvent,
)
from asyncstate.model.plan import BrokenListener
from asyncstate.model.result import INTERNAL_ERROR, OUT_OF_MEMORY
from asyncstate.run.engine import Engine, RunOptions


@pytest.fixture
def host():
    """States that wait, fail, change and watch; ``host.log`` has the names of what was called, in order."""
    return usual_fakes()


def run(plan, dispatch, observers=(), act=None, **options):
    """Run a plan on a virtual clock; return the report and the virtual seconds."""
    dispatch.test = options.get("test", False)
    chosen = RunOptions(run_id="r", **options)
    return run_engine(lambda clock: Engine(plan, dispatch, chosen, observers, clock=clock), act)


def test_independent_states_run_beside_each_other(host):
    builder = PlanBuilder()
    for number in range(20):
        builder.chunk(f"w{number}", "test.wait", args={"seconds": 1})
    plan = builder.build()
    report, seconds = run(plan, host, concurrency=20)
    assert report.ok
    assert seconds == pytest.approx(1)
    _, seconds = run(plan, host, concurrency=5)
    assert seconds == pytest.approx(4)
    _, seconds = run(plan, host)
    assert seconds == pytest.approx(20)


def test_a_chain_takes_as_long_as_its_links(host):
    plan = PlanBuilder().chunk("a", "test.wait", args={"seconds": 1})
    plan.chunk("b", "test.wait", args={"seconds": 1}, require=["a"]).chunk("c", "test.wait", args={"seconds": 1})
    report, seconds = run(plan.build(), host, concurrency=8)
    assert seconds == pytest.approx(2)
    assert [r["__run_num__"] for r in report.rows.values()] == [0, 1, 2]


@given(data=st.data(), width=st.integers(2, 8))
def test_rows_are_the_same_at_any_width(data, width):
    builder = PlanBuilder()
    for number in range(data.draw(st.integers(1, 15))):
        targets = [f"c{n}" for n in data.draw(st.lists(st.integers(0, number - 1), max_size=2))] if number else []
        kind = data.draw(st.sampled_from(["require", "watch", "onchanges", "onfail"]))
        function, args = data.draw(
            st.sampled_from(
                [("nop", {}), ("change", {}), ("fail", {}), ("wait", {"seconds": 1}), ("wait", {"seconds": 3})]
            )
        )
        builder.chunk(f"c{number}", f"test.{function}", args=args, **{kind: targets})
    plan = builder.build()

    def rows(concurrency):
        report, _ = run(plan, usual_fakes(), concurrency=concurrency)
        return {
            tag: {key: value for key, value in r.items() if key not in ("start_time", "duration")}
            for tag, r in report.rows.items()
        }

    assert rows(width) == rows(1)


def test_failhard_leaves_later_states_without_a_row(host):
    plan = PlanBuilder().chunk("a", "test.fail", args={"failhard": True}).chunk("b").build()
    report, _ = run(plan, host)
    assert results(report) == {"a": False}
    assert report.not_started == (plan.chunks[1].tag,)
    assert report.exit_code == 2


def test_failhard_option_is_overridden_by_the_state_and_off_in_test_mode(host):
    plan = PlanBuilder().chunk("a", "test.fail", args={"failhard": False}).chunk("b", "test.fail").chunk("c").build()
    assert list(results(run(plan, host, failhard=True)[0])) == ["a", "b"]
    assert list(results(run(plan, host, failhard=True, test=True)[0])) == ["a", "b", "c"]


def test_handled_failure_does_not_fail_the_run(host):
    plan = PlanBuilder().chunk("bad", "test.fail").chunk("fix", onfail=["bad"], args={"onfail_stop": False}).build()
    report, _ = run(plan, host)
    assert report.handled == ("test_|-bad_|-bad_|-fail",)
    assert report.exit_code == 0


def test_failure_stays_a_failure_when_a_handler_fails(host):
    plan = (
        PlanBuilder().chunk("bad", "test.fail").chunk("fix", onfail=["bad"], args={"onfail_stop": False})
        .chunk("fix2", "test.fail", onfail=["bad"], args={"onfail_stop": False}).build()
    )  # fmt: skip
    assert run(plan, host)[0].exit_code == 2


def test_listeners_run_last_and_once(host):
    plan = (
        PlanBuilder().chunk("conf", "test.change").chunk("quiet").chunk("svc")
        .listen("svc", "conf").listen("svc", "conf", "quiet").listen("quiet", "svc").build()
    )  # fmt: skip
    report, _ = run(plan, host)
    assert list(report.rows)[-1] == "test_|-listener_svc_|-svc_|-mod_watch"
    assert host.log == ["conf", "quiet", "svc", "svc watched"]


def test_no_listener_is_called_after_a_stop_and_the_report_names_those_that_were_due(host):
    plan = (
        PlanBuilder().chunk("conf", "test.change").chunk("svc").chunk("other").chunk("slow", "test.wait", args={"seconds": 9})
        .listen("svc", "conf").listen("other", "svc").build()
    )  # fmt: skip
    report, _ = run(plan, host, act=(1, "stop", "SIGINT"))
    assert results(report) == {"conf": True, "svc": True, "other": True, "slow": True}
    assert report.not_started == ("test_|-listener_svc_|-svc_|-mod_watch",)


def test_a_stop_between_listeners_keeps_the_later_ones_back(host):
    @host.state("slow.mod_watch")
    async def mod_watch(name):
        await asyncio.sleep(5)
        return row(name)

    host.state("slow.nop", row)
    plan = (
        PlanBuilder().chunk("conf", "test.change").chunk("one", "slow.nop").chunk("two", "slow.nop")
        .listen("one", "conf").listen("two", "conf").build()
    )  # fmt: skip
    report, seconds = run(plan, host, act=(1, "stop", "SIGINT"))
    assert seconds == pytest.approx(5)
    assert list(results(report))[-1] == "listener_one"
    assert report.not_started == ("slow_|-listener_two_|-two_|-mod_watch",)


def test_a_check_of_an_exclusive_state_runs_alone(host):
    builder = PlanBuilder().chunk("wait", "test.wait", args={"seconds": 3}).chunk("prep", prereq=["deploy"])
    plan = builder.chunk("deploy", "test.change", args={"exclusive": True}).build()
    run(plan, host, concurrency=8)
    assert host.log == ["wait", "wait ends", "deploy", "prep", "deploy"]


def test_sub_states_of_a_listener_have_rows_and_fail_the_run(host):
    @host.state("subs.mod_watch")
    async def mod_watch(name):
        low = {"state": "subs", "name": "inner", "fun": "go", "__id__": "inner"}
        return row(name, sub_state_run=[{"changes": {}, "result": False, "comment": "no", "low": low}])

    host.state("subs.nop", row)
    plan = PlanBuilder().chunk("conf", "test.change").chunk("svc", "subs.nop").listen("svc", "conf").build()
    report, _ = run(plan, host)
    assert list(report.rows)[-1] == "subs_|-inner_|-inner_|-go"
    assert "sub_state_run" not in report.rows["subs_|-listener_svc_|-svc_|-mod_watch"]
    assert report.exit_code == 2


def test_timeout_of_the_run(host):
    plan = PlanBuilder().chunk("slow", "test.wait", args={"seconds": 50}).chunk("next", require=["slow"]).build()
    report, seconds = run(plan, host, timeout=5)
    assert seconds == pytest.approx(5)
    assert report.exit_code == 124
    assert "cancelled" in comments(report)["slow"]
    assert report.not_started == (plan.chunks[1].tag,)


def test_stop_lets_running_states_finish(host):
    plan = PlanBuilder().chunk("slow", "test.wait", args={"seconds": 50}).chunk("next", require=["slow"]).build()
    report, seconds = run(plan, host, act=(1, "stop", "SIGINT"))
    assert seconds == pytest.approx(50)
    assert results(report) == {"slow": True}
    assert (report.exit_code, report.not_started) == (130, (plan.chunks[1].tag,))


def test_cancel_ends_running_states_in_failed_rows(host):
    plan = PlanBuilder().chunk("slow", "test.wait", args={"seconds": 50}).chunk("next").build()
    report, seconds = run(plan, host, concurrency=2, act=(1, "cancel", "SIGTERM"))
    assert seconds == pytest.approx(1)
    assert results(report) == {"slow": False, "next": True}
    assert report.exit_code == 143


def test_events_tell_the_whole_story(host):
    events = []
    plan = PlanBuilder().chunk("a", "test.change", args={"fire_event": True}).chunk("b", require=["a"]).build()
    report, _ = run(plan, host, observers=[events.append])
    assert [event.seq for event in events] == list(range(len(events)))
    assert isinstance(events[0], RunStarted)
    assert isinstance(events[-1], RunFinished)
    assert [e.tag.split("_|-")[1] for e in events if isinstance(e, ChunkStarted)] == ["a", "b"]
    assert [e.why for e in events if isinstance(e, ChunkFinished)] == ["met", "met"]
    assert [e.name for e in events if isinstance(e, StateEvent)] == ["salt/state_result/r/a/a"]
    assert events[-1].changed == 1
    assert report.run_id == "r"


def test_long_running_states_are_named_again_and_again(host):
    events = []
    plan = PlanBuilder().chunk("slow", "test.wait", args={"seconds": 22}).build()
    run(plan, host, observers=[events.append])
    said = [event.text for event in events if isinstance(event, ChunkOutput)]
    assert said == ["still running after 10 s", "still running after 15 s", "still running after 20 s"]


def test_known_rows_come_first(host):
    builder = PlanBuilder().chunk("a")
    builder.rows = {"x_|-off_|-off_|-y": row("off", result=False)}
    report, _ = run(builder.build(), host)
    assert list(results(report)) == ["off", "a"]
    assert report.exit_code == 2


def test_a_listener_that_does_not_exist_is_a_row_if_it_would_have_run(host):
    plan = PlanBuilder().chunk("conf", "test.change").chunk("quiet").build()
    broken = [BrokenListener((index,), f"Listen_Error_|-{index}", row("x", result=False)) for index in (0, 1)]
    plan = msgspec.structs.replace(
        plan, broken_listeners=tuple(broken), rows={"Listen_Error_|-known": row("y", result=False)}
    )
    report, _ = run(plan, host)
    assert list(report.rows)[2:] == ["Listen_Error_|-0", "Listen_Error_|-known"]
    assert report.exit_code == 2
    assert plan.rows["Listen_Error_|-known"] == row("y", result=False), "a plan stays as it is"


@pytest.mark.parametrize(("error", "reason"), [(MemoryError(), OUT_OF_MEMORY), (KeyError("x"), INTERNAL_ERROR)])
def test_a_fault_of_the_scheduler_ends_the_run_with_its_rows_and_its_last_event(host, monkeypatch, error, reason):
    plan = PlanBuilder()
    for name in "abc":
        plan.chunk(name)
    events, ended, done = [], [], Engine.machine.done

    def fail(machine, node, outcome):
        if len(ended) == 2:
            raise error
        ended.append(node)
        return done(machine, node, outcome)

    monkeypatch.setattr(Engine.machine, "done", fail)
    engine = Engine(plan.build(), host, RunOptions(run_id="r", concurrency=1), [events.append])
    with pytest.raises(type(error)):
        asyncio.run(engine.run())
    assert (engine.report.cancelled, engine.report.exit_code, len(engine.report.rows)) == (reason, 70, 3)
    assert (type(events[-1]), events[-1].cancelled) == (RunFinished, reason)


class Journal:
    """A keeper that takes a while to open, in a thread."""

    def __init__(self):
        self.asked, self.may_open = threading.Event(), threading.Event()
        self.closed = 0

    def open(self, _shown):
        self.asked.set()
        self.may_open.wait()
        return self, []

    def close(self):
        self.closed += 1


@pytest.mark.parametrize("abandoned", [False, True])
def test_a_journal_that_opens_after_the_end_of_its_run_is_closed(host, abandoned):
    journal, threads = Journal(), []

    async def in_thread(work, *args):
        """As the threads of a host: who is cancelled does not wait for them."""
        threads.append(threading.Thread(target=work, args=args))
        threads[-1].start()
        await asyncio.Event().wait()

    async def begin(engine):
        task = asyncio.create_task(engine.run())
        while not journal.asked.is_set():  # noqa: ASYNC110 - a thread sets it
            await asyncio.sleep(0.001)
        if abandoned:
            engine.abandon("its loop was closed")
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    plan = PlanBuilder().chunk("a").build()
    engine = Engine(plan, host, RunOptions(run_id="r"), in_thread=in_thread, journal=journal.open)
    asyncio.run(begin(engine))
    if abandoned:
        asyncio.run(engine.clean_up())
    assert journal.closed == 0
    journal.may_open.set()
    threads[0].join()
    assert journal.closed == 1
