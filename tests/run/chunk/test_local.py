"""Chunks run in this process: what the verdicts, hooks, retries and time limits of a run come to with plugins."""

import asyncio

import pytest
from fake_host import FakeHost, comments, results, row, run
from fake_host import test_mode as in_test_mode
from messages import said as said_of
from plans import PlanBuilder

from asyncstate.dunders.context import current
from asyncstate.model.event import (
    ChunkRetried,
)


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


def test_listener_whose_module_cannot_watch_fails_in_its_own_row(host):
    del host.loaders["states"].functions["test.mod_watch"]
    plan = PlanBuilder().chunk("conf", "test.change").chunk("svc").listen("svc", "conf").build()
    report, _ = run(plan, host)
    assert comments(report)["listener_svc"].startswith(said_of("no-such-state", function="test.mod_watch", sls="s"))


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


@pytest.mark.parametrize("width", [1, 4])
def test_a_stop_ends_a_retry_with_the_row_of_its_last_attempt(host, width):
    @host.state("try.it")
    async def it(name):
        await asyncio.sleep(1)
        return row(name, result=False, comment="not yet")

    plan = PlanBuilder().chunk("r", "try.it", args={"retry": {"attempts": 5, "interval": 10}}).build()
    report, seconds = run(plan, host, concurrency=width, act=(15, "stop", "SIGINT"))
    assert seconds == pytest.approx(15)
    assert comments(report)["r"] == (
        'Attempt 1: Returned a result of "False", with the following comment: "not yet"\n'
        "not yet\n" + said_of("stopped-before-attempt", number=3, attempts=5)
    )
    assert report.exit_code == 130


def test_retry_in_test_mode_only_announces(host):
    plan = PlanBuilder().chunk("r", "test.fail", args={"retry": True}).build()
    report, _ = run(plan, host, test=True)
    assert "would be retried every 30 seconds" in comments(report)["r"]
    assert host.log == ["r"]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("broken"), "ValueError: broken"),
        (SystemExit(3), "the function called sys.exit(3)"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (GeneratorExit(), "GeneratorExit"),
    ],
)
def test_whatever_a_state_raises_is_one_failed_row(host, error, said):
    @host.state("bad.go")
    async def go(name):
        raise error

    plan = PlanBuilder().chunk("bad", "bad.go").chunk("after", require=["bad"]).chunk("other").build()
    report, _ = run(plan, host, concurrency=4)
    assert results(report) == {"bad": False, "after": False, "other": True}
    assert said in comments(report)["bad"]
    assert comments(report)["after"] == said_of("requisite-failed", states="s.bad")


@pytest.mark.parametrize(
    ("function", "args", "comment"),
    [
        (
            "no.such",
            {},
            said_of("no-such-state", function="no.such", sls="s") + "\nReason: 'no.such' is not available.\n",
        ),
        ("test.wait", {}, "Missing parameter seconds for state test.wait\n"),
        ("test.fail", {"bogus": 1}, said_of("unknown-argument", name="bogus", function="test.fail")),
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
    assert comments(report)["slow"] == said_of("timed-out", seconds=5) + " and was stopped."
    assert results(report) == {"slow": False, "next": True}


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


def test_retries_are_events(host):
    events = []
    plan = PlanBuilder().chunk("a", "test.fail", args={"retry": {"attempts": 2, "interval": 1}}).build()
    run(plan, host, observers=[events.append], concurrency=2)
    assert [(e.attempt, e.interval) for e in events if isinstance(e, ChunkRetried)] == [(1, 1)]


def test_reload_after_changes_that_bring_modules(host):
    @host.state("file.managed")
    async def managed(name):
        return row(name, changes={"diff": "New file"})

    plan = PlanBuilder().chunk("/x/m.py", "file.managed").chunk("/x/m.txt", "file.managed")
    plan.chunk("p", "test.nop", args={"reload_pillar": True, "reload_grains": True})
    run(plan.build(), host)
    assert host.reloads == 1
    assert host.services.calls == [("refresh", {"grains": True, "pillar": True})]
