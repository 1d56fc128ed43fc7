"""One chunk at a time: what `Invoker` makes of arguments, conditions, hooks and whatever a plugin does."""

import asyncio

import pytest
from fake_host import FakeHost, local_engine, row
from messages import said as said_of
from plans import PlanBuilder

from asyncstate.dunders.context import current
from asyncstate.run.engine import RunOptions
from asyncstate.run.rows import LowStateView, RunningView


@pytest.fixture
def host():
    fake = FakeHost()
    fake.salt["cmd.retcode"] = lambda command, **_options: int(command)
    fake.salt["test.echo"] = lambda text: text

    async def nop(name):
        return row(name)

    fake.state("test.nop", nop)
    fake.state("sync.change", lambda name: row(name, changes={"x": 1}))
    return fake


async def apply(plan, host, **options):
    report = await local_engine(plan, host, RunOptions(run_id="r", **options)).run()
    return {r.get("__id__") or tag: r for tag, r in report.rows.items()}


@pytest.mark.parametrize("function", ["test.nop", "sync.change"])
async def test_conditions_hold_plain_and_async_functions_back(host, function):
    plan = PlanBuilder().chunk("a", function, args={"unless": "0"}).chunk("b", function, args={"unless": "1"}).build()
    rows = await apply(plan, host)
    assert rows["a"]["comment"] == "unless condition is true"
    assert rows["b"]["comment"] == "done"


@pytest.mark.parametrize("function", ["test.nop", "sync.change"])
async def test_check_cmd_decides_after_the_function(host, function):
    rows = await apply(PlanBuilder().chunk("a", function, args={"check_cmd": "1"}).build(), host)
    assert (rows["a"]["result"], rows["a"]["comment"]) == (False, said_of("check-failed"))


async def test_a_module_that_checks_for_itself_is_left_to_it(host):
    host.state("own.mod_run_check", lambda **_kwargs: None)
    host.state("own.mod_run_check_cmd", lambda **_kwargs: None)
    host.state("own.go", lambda name, check_cmd=None: row(name, comment=str(check_cmd)))
    host.state("own.plain", lambda name: row(name))  # noqa: PLW0108 - has its own signature
    plan = PlanBuilder().chunk("a", "own.go", args={"unless": "0", "check_cmd": "1"})
    plan.chunk("b", "own.plain", args={"check_cmd": "1"})
    rows = await apply(plan.build(), host)
    assert rows["a"]["comment"] == "1"
    assert rows["b"]["result"] is False


async def test_slots_are_filled_just_before_the_call(host):
    host.state("own.go", lambda name, text: row(name, comment=text))
    plan = PlanBuilder().chunk("a", "own.go", args={"text": "__slot__:salt:test.echo(late)"}).build()
    assert (await apply(plan, host))["a"]["comment"] == "late"


async def test_a_watched_state_may_ask_to_be_skipped(host):
    host.state("own.quiet", lambda name: row(name, changes={"x": 1}, skip_req=True))
    host.state("test.mod_watch", lambda name, **_kwargs: row(name, comment="watched"))
    rows = await apply(PlanBuilder().chunk("a", "own.quiet").chunk("b", watch=["a"]).build(), host)
    assert rows["b"]["comment"] == "done " + said_of("watch-skipped")


async def test_a_module_that_lost_mod_watch_in_the_run_does_not_react(host):
    host.state("own.go", row)
    plan = PlanBuilder().chunk("a", "sync.change").chunk("b", "own.go", watch=["a"]).build()
    said = "done " + said_of("watch-gone")
    assert (await apply(plan, host))["b"]["comment"] == said


async def test_a_skipped_state_does_not_react(host):
    host.state("test.mod_watch", lambda name, **_kwargs: row(name, comment="watched"))
    plan = PlanBuilder().chunk("a", "sync.change").chunk("b", watch=["a"], args={"creates": "/"}).build()
    assert (await apply(plan, host))["b"]["comment"] == "/ exists"


async def test_odd_retry_settings_are_named_in_the_row(host):
    plan = PlanBuilder().chunk("a", args={"retry": {"attempts": "many"}}).build()
    assert (await apply(plan, host))["a"]["warnings"] == ["retry: attempts should be of type int: the default is used"]


@pytest.mark.parametrize(
    ("args", "lock", "env"),
    [
        ({}, False, "base"),
        ({"saltenv": "dev"}, False, "dev"),
        ({"env": "qa"}, False, "qa"),
        ({"saltenv": "dev"}, True, "base"),
    ],
)
async def test_the_environment_a_state_sees(host, args, lock, env):
    host.opts["lock_saltenv"] = lock
    host.state("own.go", lambda name, env=None: row(name, comment=current.get().env))
    assert (await apply(PlanBuilder().chunk("a", "own.go", args=args).build(), host))["a"]["comment"] == env


async def test_umask_and_runas_reach_what_the_state_calls(host):
    host.state("own.go", lambda name: row(name, comment=f"{current.get().umask} {current.get().runas}"))
    plan = PlanBuilder().chunk("a", "own.go", args={"umask": "027", "runas": "www"}).build()
    assert (await apply(plan, host))["a"]["comment"] == "23 www"


@pytest.mark.parametrize(("wrong", "what"), [([5], "a list with a number in it"), ("soon", "a text")])
async def test_a_timeout_that_is_no_number_is_a_mistake_where_nothing_takes_it(host, wrong, what):
    @host.state("own.go")
    def go(name):
        return row(name)

    found = (await apply(PlanBuilder().chunk("a", "own.go", args={"timeout": wrong}).build(), host))["a"]
    assert (found["result"], found["comment"]) == (False, said_of("timeout-no-number", what=what))


async def test_a_timeout_that_is_no_number_is_an_argument(host):
    host.state("own.go", lambda name, **kwargs: row(name, comment=kwargs["timeout"]))
    rows = await apply(PlanBuilder().chunk("a", "own.go", args={"timeout": "soon"}).build(), host)
    assert rows["a"]["comment"] == "soon"


async def test_misspelt_arguments_get_a_hint(host):
    host.state("own.go", lambda name, contents=None: row(name))
    rows = await apply(PlanBuilder().chunk("a", "own.go", args={"content": "x"}).build(), host)
    assert (
        rows["a"]["comment"]
        == f"{said_of('unknown-argument', name='content', function='own.go')}: did you mean 'contents'?"
    )


async def test_a_state_that_raises_a_cancellation_fails_alone(host):
    @host.state("own.go")
    async def go(name):
        raise asyncio.CancelledError

    rows = await apply(PlanBuilder().chunk("a", "own.go").chunk("b").build(), host, concurrency=2)
    assert (rows["a"]["result"], rows["b"]["result"]) == (False, True)


async def test_a_single_state_that_does_not_exist_says_so_without_an_sls(host):
    rows = await apply(PlanBuilder().chunk("a", "no.such", sls="").build(), host)
    assert next(iter(rows.values()))["comment"] == "Specified state 'no.such' was not found\n"


@pytest.mark.parametrize(
    ("function", "reloads"), [("pkg.installed", 1), ("file.recurse", 1), ("file.symlink", 1), ("file.touch", 0)]
)
async def test_changes_that_may_bring_modules(host, function, reloads):
    host.state(function, lambda name: row(name, changes={"x": 1}))
    await apply(PlanBuilder().chunk("/bin/x", function).build(), host)
    assert host.reloads == reloads


async def test_a_forced_reload_needs_no_changes(host):
    host.state("own.go", lambda name, **_kwargs: row(name))
    await apply(PlanBuilder().chunk("a", "own.go", args={"force_reload_modules": True}).build(), host)
    assert host.reloads == 1


async def test_members_whose_conditions_hold_them_back_are_not_aggregated(host):
    seen = []

    @host.state("m.mod_aggregate")
    async def mod_aggregate(low, chunks, running):
        seen.append([chunk["__id__"] for chunk in chunks])
        return low

    host.state("m.go", row)
    builder = PlanBuilder().chunk("one", "m.go", args={"unless": "0"}).chunk("two", "m.go").chunk("three", "m.go")
    builder.chunk("odd", "m.go", args={"unless": []}).group("one", "two", "three", "odd")
    rows = await apply(builder.build(), host)
    assert seen == [["two", "three"], ["three"]]
    assert rows["one"]["comment"] == "unless condition is true"
    assert rows["odd"]["result"] is False


async def test_a_group_nobody_of_which_may_run_is_not_aggregated(host):
    host.state("m.go", row)
    plan = PlanBuilder().chunk("a", "no.such").chunk("one", "m.go", require=["a"]).chunk("two", "m.go", require=["a"])
    report = await local_engine(plan.group("one", "two").build(), host, RunOptions(run_id="r")).run()
    assert report.notices == ()
    assert len(report.failed) == 3


def test_views_are_copies_of_what_there_is():
    rows = {"t": row("n", changes={"list": [1]})}
    running = RunningView(rows, {"t": row("n of another host"), "far": row("far", changes={"db1": "changed"})})
    running["t"]["changes"]["list"].append(2)
    assert rows["t"]["changes"] == {"list": [1]}
    assert (list(running), len(running), "t" in running, "u" in running) == (["t"], 1, True, False)
    assert (running["t"]["name"], "far" in running, running["far"]["changes"]) == ("n", True, {"db1": "changed"})
    chunks = PlanBuilder().chunk("a", args={"k": [1]}).chunk("b").build().chunks
    lows = LowStateView(chunks)
    lows[0]["k"].append(2)
    assert lows[0]["k"] == [1]
    assert [low["__id__"] for low in lows[:]] == ["a", "b"]
    assert len(lows) == 2


async def test_a_function_has_no_say_in_id_and_sls(host):
    host.state("own.go", lambda name: row(name, __id__="else", __sls__="where"))
    (only,) = (await apply(PlanBuilder().chunk("a", "own.go").build(), host)).values()
    assert (only["__id__"], only["__sls__"]) == ("a", "s")


async def test_a_name_that_is_no_string_is_a_failed_row(host):
    plan = PlanBuilder().chunk("a", name=5).build()
    (only,) = (await apply(plan, host)).values()
    assert only["comment"] == said_of("name-no-string", name=5, sls="s", type="int") + "\n"
    assert (only["name"], only["result"], only["__id__"], only["__sls__"]) == (5, False, None, None)
