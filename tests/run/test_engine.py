import asyncio

import msgspec
import pytest
from fake_host import FakeHost, row, run_virtual
from fake_host import test_mode as in_test_mode
from hypothesis import given
from hypothesis import strategies as st
from plans import PlanBuilder

from asyncstate.dunders.context import current
from asyncstate.model.event import (
    ChunkFinished,
    ChunkOutput,
    ChunkRetried,
    ChunkStarted,
    RunFinished,
    RunStarted,
    StateEvent,
)
from asyncstate.model.plan import BrokenListener
from asyncstate.run.engine import Engine, RunOptions


def run(plan, host, observers=(), act=None, **options):
    """Run a plan on a virtual clock; return the report and the virtual seconds."""

    async def main():
        clock = asyncio.get_running_loop().time
        engine = Engine(plan, host, RunOptions(run_id="r", **options), observers, sleep=asyncio.sleep, clock=clock)
        if act is not None:
            asyncio.get_running_loop().call_later(act[0], getattr(engine, act[1]), *act[2:])
        return await engine.run()

    return run_virtual(main())


@pytest.fixture
def host():
    """States that wait, fail, change and watch; ``host.log`` says what was called in which order."""
    fake = FakeHost()
    fake.log = []

    async def nop(name, **kwargs):
        fake.log.append(name)
        return row(name)

    async def change(name):
        fake.log.append(name)
        return row(name, result=None if in_test_mode() else True, changes={"x": 1})

    async def fail(name):
        fake.log.append(name)
        return row(name, result=False)

    async def wait(name, seconds):
        fake.log.append(f"{name} begins")
        await asyncio.sleep(seconds)
        fake.log.append(f"{name} ends")
        return row(name)

    async def mod_watch(name, sfun=None, __reqs__=None, **kwargs):
        fake.log.append(f"{name} watched as {sfun}: {[low['__id__'] for low in (__reqs__ or {}).get('watch', ())]}")
        return row(name, changes={"restarted": True})

    for fun in (nop, change, fail, wait, mod_watch):
        fake.state(f"test.{fun.__name__}", fun)
    return fake


def results(report):
    return {tag.split("_|-")[1]: r["result"] for tag, r in report.rows.items()}


def comments(report):
    return {tag.split("_|-")[1]: r["comment"] for tag, r in report.rows.items()}


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
        report, _ = run(plan, make_host(), concurrency=concurrency)
        return {
            tag: {key: value for key, value in r.items() if key not in ("start_time", "duration")}
            for tag, r in report.rows.items()
        }

    assert rows(width) == rows(1)


def make_host():
    fake = FakeHost()

    async def nop(name):
        return row(name)

    async def change(name):
        return row(name, changes={"x": 1})

    async def fail(name):
        return row(name, result=False)

    async def wait(name, seconds):
        await asyncio.sleep(seconds)
        return row(name)

    async def mod_watch(name, **kwargs):
        return row(name, changes={"watched": True})

    for fun in (nop, change, fail, wait, mod_watch):
        fake.state(f"test.{fun.__name__}", fun)
    return fake


def test_watch_calls_mod_watch_when_nothing_changed_by_itself(host):
    plan = PlanBuilder().chunk("conf", "test.change").chunk("svc", "test.nop", watch=["conf"]).build()
    report, _ = run(plan, host)
    assert host.log == ["conf", "svc", "svc watched as nop: ['conf']"]
    assert report.rows["test_|-svc_|-svc_|-nop"]["changes"] == {"restarted": True}


def test_watch_of_a_state_that_changed_itself_calls_no_mod_watch(host):
    plan = PlanBuilder().chunk("conf", "test.change").chunk("svc", "test.change", watch=["conf"]).build()
    run(plan, host)
    assert host.log == ["conf", "svc"]


def test_watch_names_the_whole_group_of_an_aggregated_target(host):
    host.state("test.mod_aggregate", lambda low, chunks, running: low)
    plan = (
        PlanBuilder().chunk("one", "test.change").chunk("two", "test.change").chunk("svc", watch=["one"])
        .group("one", "two").build()
    )  # fmt: skip
    run(plan, host)
    assert host.log[-1] == "svc watched as nop: ['one', 'one', 'two']"


def test_prereq_runs_its_target_in_test_mode_first(host):
    plan = PlanBuilder().chunk("stop", prereq=["deploy"]).chunk("deploy", "test.change").build()
    report, _ = run(plan, host)
    assert host.log == ["deploy", "stop", "deploy"]
    assert results(report) == {"stop": True, "deploy": True}


def test_failed_prereq_leaves_the_predicted_row_without_changes(host):
    plan = PlanBuilder().chunk("stop", "test.fail", prereq=["deploy"]).chunk("deploy", "test.change").build()
    report, _ = run(plan, host)
    assert report.rows["test_|-deploy_|-deploy_|-change"]["changes"] == {}
    assert results(report) == {"stop": False, "deploy": None}


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
    assert host.log == ["conf", "quiet", "svc", "svc watched as nop: []"]


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
    async def mod_watch(name, sfun):
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
    assert host.log == ["wait begins", "wait ends", "deploy", "prep", "deploy"]


def test_sub_states_of_a_listener_have_rows_and_fail_the_run(host):
    @host.state("subs.mod_watch")
    async def mod_watch(name, sfun):
        low = {"state": "subs", "name": "inner", "fun": "go", "__id__": "inner"}
        return row(name, sub_state_run=[{"changes": {}, "result": False, "comment": "no", "low": low}])

    host.state("subs.nop", row)
    plan = PlanBuilder().chunk("conf", "test.change").chunk("svc", "subs.nop").listen("svc", "conf").build()
    report, _ = run(plan, host)
    assert list(report.rows)[-1] == "subs_|-inner_|-inner_|-go"
    assert "sub_state_run" not in report.rows["subs_|-listener_svc_|-svc_|-mod_watch"]
    assert report.exit_code == 2


@pytest.mark.parametrize(("target", "rows"), [("conf", 2), ("quiet", 0)])
def test_listener_that_does_not_exist_has_a_row_if_its_target_changed(host, target, rows):
    plan = PlanBuilder().chunk("conf", "test.change").chunk("quiet").build()
    number = next(chunk.index for chunk in plan.chunks if chunk.id == target)
    broken = BrokenListener((number,), "Listen_Error_|-x", {"name": "x", "result": False, "changes": {}, "comment": ""})
    report, _ = run(msgspec.structs.replace(plan, broken_listeners=(broken,)), host)
    assert ("Listen_Error_|-x" in report.rows) is bool(rows)
    assert report.exit_code == rows


def test_listener_whose_module_cannot_watch_fails_in_its_own_row(host):
    del host.loaders["states"].functions["test.mod_watch"]
    plan = PlanBuilder().chunk("conf", "test.change").chunk("svc").listen("svc", "conf").build()
    report, _ = run(plan, host)
    assert comments(report)["listener_svc"].startswith("State 'test.mod_watch' was not found in SLS 's'")


def test_retry_until_it_works_and_its_words(host):
    tries = []

    @host.state("try.it")
    async def it(name):
        tries.append(name)
        return row(name, result=len(tries) == 3, comment=f"try {len(tries)}")

    plan = PlanBuilder().chunk("r", "try.it", args={"retry": {"attempts": 5, "interval": 10}}).build()
    report, seconds = run(plan, host)
    assert seconds == pytest.approx(20)
    only = report.rows["try_|-r_|-r_|-it"]
    assert only["comment"] == (
        'Attempt 1: Returned a result of "False", with the following comment: "try 1"\n'
        'Attempt 2: Returned a result of "False", with the following comment: "try 2"\ntry 3'
    )
    assert only["duration"] >= 20000


def test_a_state_that_sleeps_between_attempts_leaves_its_slot_to_others(host):
    @host.state("try.it")
    async def it(name):
        return row(name, result=False)

    builder = PlanBuilder()
    for number in range(2):
        builder.chunk(f"r{number}", "try.it", args={"retry": {"attempts": 2, "interval": 100}})
    for number in range(4):
        builder.chunk(f"w{number}", "test.wait", args={"seconds": 25})
    report, seconds = run(builder.build(), host, concurrency=2)
    assert len(report.rows) == 6
    assert seconds == pytest.approx(100)


def test_retry_in_test_mode_only_announces(host):
    plan = PlanBuilder().chunk("r", "test.fail", args={"retry": True}).build()
    report, _ = run(plan, host, test=True)
    assert "would be retried every 30 seconds" in comments(report)["r"]
    assert host.log == ["r"]


@pytest.mark.parametrize("error", [ValueError("broken"), SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
def test_whatever_a_state_raises_is_one_failed_row(host, error):
    @host.state("bad.go")
    async def go(name):
        raise error

    plan = PlanBuilder().chunk("bad", "bad.go").chunk("after", require=["bad"]).chunk("other").build()
    report, _ = run(plan, host, concurrency=4)
    assert results(report) == {"bad": False, "after": False, "other": True}
    assert type(error).__name__ in comments(report)["bad"]
    assert comments(report)["after"] == "One or more requisite failed: s.bad"


@pytest.mark.parametrize(
    ("function", "args", "comment"),
    [
        ("no.such", {}, "State 'no.such' was not found in SLS 's'\nReason: 'no.such' is not available.\n"),
        ("test.wait", {}, "Missing parameter seconds for state test.wait\n"),
        ("test.fail", {"bogus": 1}, "'bogus' is an invalid keyword argument for 'test.fail'"),
        ("test.nop", {"umask": "zz"}, "Invalid umask: zz\n"),
    ],
)
def test_what_cannot_be_called_is_one_failed_row(host, function, args, comment):
    report, _ = run(PlanBuilder().chunk("x", function, args=args).chunk("y").build(), host)
    assert comments(report)["x"] == comment
    assert set(next(iter(report.rows.values()))) >= {
        "name", "result", "changes", "comment", "__id__", "__sls__", "__run_num__", "start_time", "duration",
    }  # fmt: skip
    assert results(report)["y"] is True


def test_timeout_of_one_state(host):
    plan = PlanBuilder().chunk("slow", "test.wait", args={"seconds": 50, "timeout": 5}).chunk("next").build()
    report, seconds = run(plan, host)
    assert seconds == pytest.approx(5)
    assert comments(report)["slow"] == "The state did not end within 5 seconds and was stopped."
    assert results(report) == {"slow": False, "next": True}


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


def test_mod_init_is_called_once_and_again_after_a_false(host):
    answers = iter([False, True])
    calls = []

    @host.state("m.mod_init")
    async def mod_init(low):
        calls.append(low["__id__"])
        low["mine"] = True
        return next(answers)

    host.state("m.go", row)
    builder = PlanBuilder()
    for number in range(4):
        builder.chunk(f"c{number}", "m.go")
    report, _ = run(builder.build(), host)
    assert calls == ["c0", "c1"]
    assert report.ok


def test_mod_init_that_raises_fails_its_state_only(host):
    @host.state("m.mod_init")
    async def mod_init(low):
        raise RuntimeError("no")

    host.state("m.go", row)
    report, _ = run(PlanBuilder().chunk("a", "m.go").chunk("b").build(), host)
    assert results(report) == {"a": False, "b": True}


def test_mod_aggregate_gets_the_members_that_may_run(host):
    seen = []

    @host.state("m.mod_aggregate")
    def mod_aggregate(low, chunks, running):
        seen.append((low["__id__"], [chunk["__id__"] for chunk in chunks], list(running)))
        low["items"] = [chunk["name"] for chunk in chunks]
        for chunk in chunks:
            chunk["__agg__"] = True
        return low

    host.state("m.go", lambda name, items=None: row(name, changes={"items": items or [name]}))
    plan = (
        PlanBuilder().chunk("bad", "test.fail").chunk("one", "m.go").chunk("two", "m.go", require=["bad"])
        .chunk("three", "m.go").group("one", "two", "three").build()
    )  # fmt: skip
    report, _ = run(plan, host, concurrency=4)
    assert seen == [("one", ["one", "three"], ["test_|-bad_|-bad_|-fail"])]
    assert report.rows["m_|-one_|-one_|-go"]["changes"] == {"items": ["one", "three"]}
    assert results(report) == {"bad": False, "one": True, "two": False, "three": True}


def test_mod_aggregate_that_raises_a_type_error_is_a_notice(host):
    host.state("m.mod_aggregate", lambda low, chunks: low)
    host.state("m.go", row)
    plan = PlanBuilder().chunk("one", "m.go").chunk("two", "m.go").group("one", "two").build()
    report, _ = run(plan, host)
    assert report.ok
    assert "m.mod_aggregate failed for s:one" in report.notices[0]


def test_each_call_sees_its_own_low_data_and_results_so_far(host):
    seen = {}

    @host.state("m.go")
    def go(name):
        context = current.get()
        seen[name] = (context.low["__id__"], sorted(tag.split("_|-")[1] for tag in context.running))
        seen["count"] = len(context.lowstate)
        context.low["name"] = "spoiled"
        return row(name)

    plan = PlanBuilder().chunk("a", "m.go").chunk("b", "m.go", require=["a"]).build()
    report, _ = run(plan, host, concurrency=4)
    assert seen == {"a": ("a", []), "b": ("b", ["a"]), "count": 2}
    assert list(report.rows) == [chunk.tag for chunk in plan.chunks]


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


def test_retries_are_events(host):
    events = []
    plan = PlanBuilder().chunk("a", "test.fail", args={"retry": {"attempts": 2, "interval": 1}}).build()
    run(plan, host, observers=[events.append], concurrency=2)
    assert [(e.attempt, e.interval) for e in events if isinstance(e, ChunkRetried)] == [(1, 1)]


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
    assert plan.rows["Listen_Error_|-known"] == row("y", result=False), "a plan stays as it is"


def test_reload_after_changes_that_bring_modules(host):
    @host.state("file.managed")
    async def managed(name):
        return row(name, changes={"diff": "New file"})

    plan = PlanBuilder().chunk("/x/m.py", "file.managed").chunk("/x/m.txt", "file.managed")
    plan.chunk("p", "test.nop", args={"reload_pillar": True, "reload_grains": True})
    run(plan.build(), host)
    assert host.reloads == 1
    assert host.services.calls == [("refresh", {"grains": True, "pillar": True})]
