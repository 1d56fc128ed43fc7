import asyncio
import inspect
import re
import time
from contextlib import suppress

import anyio
import pytest
from tables import beside

from asyncstate import CompileError, Run, Settings, StateRuntime, load_settings
from asyncstate.errors import ArgumentError, FunctionNotFound, PillarError
from asyncstate.guard.lock import RunLock
from asyncstate.model.event import ChunkFinished, ChunkStarted, RunFinished, RunStarted

TABLES = beside(__file__)


@pytest.fixture
def tree(tmp_path):
    """Write a tree; return Settings for it."""

    def write(files, pillar=None, **options):
        for root, content in (("salt", files), ("pillar", pillar or {})):
            (tmp_path / root).mkdir(exist_ok=True)
            for path, text in content.items():
                target = tmp_path / root / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text)
        return Settings(
            file_roots={"base": [str(tmp_path / "salt")]},
            pillar_roots={"base": [str(tmp_path / "pillar")]},
            cachedir=str(tmp_path / "cache"),
            **options,
        )

    return write


@pytest.fixture
async def rt(tree):
    """A runtime of a tree with one state."""
    async with StateRuntime(tree({"web.sls": "a: test.nop\n"})) as runtime:
        yield runtime


def results(report):
    return {row["__id__"]: row["result"] for row in report.rows.values()}


async def test_apply_compiles_and_runs(tree):
    async with StateRuntime(
        tree({"web.sls": "a: test.nop\nb:\n  test.fail_without_changes:\n  - require: [test: a]\n"})
    ) as rt:
        report = await rt.apply(["web"], concurrency=4)
    assert results(report) == {"a": True, "b": False}
    assert (report.exit_code, report.concurrency) == (2, 4)


async def test_events_of_a_run_can_be_iterated(tree):
    async with StateRuntime(tree({"web.sls": "a: test.nop\n"})) as rt:
        plan = await rt.compile(["web"])
        async with rt.run(plan) as run:
            events = [event async for event in run]
            assert run.report.ok
    assert isinstance(events[0], RunStarted)
    assert isinstance(events[-1], RunFinished)
    assert sum(isinstance(event, ChunkFinished) for event in events) == 1


async def test_a_run_ends_with_its_block_even_if_nobody_listens(rt):
    async with rt.run(await rt.compile(["web"])) as run:
        with pytest.raises(RuntimeError, match="not over"):
            _ = run.report
    assert results(run.report) == {"a": True}


async def test_a_run_without_events_cannot_be_iterated(rt):
    run = rt.run(await rt.compile(["web"]), events=False)
    with pytest.raises(RuntimeError, match="without events"):
        aiter(run)


async def test_leaving_the_block_by_an_exception_cancels_the_run(tree):
    async with StateRuntime(tree({"web.sls": "a:\n  cmd.run:\n  - name: sleep 30\n"})) as rt:
        plan = await rt.compile(["web"])

        async def give_up():
            async with asyncio.timeout(40), rt.run(plan) as run:
                async for event in run:
                    assert isinstance(event, RunStarted), "enough"

        with pytest.raises(AssertionError, match="enough"):
            await give_up()


async def test_a_run_whose_tasks_a_state_cancels_has_its_report_all_the_same(tree):
    program = asyncio.current_task()

    async def cancels(name):
        for task in asyncio.all_tasks() - {program}:
            task.cancel()
        await asyncio.Event().wait()

    settings = tree({"web.sls": "a:\n  app.cancels: []\n"})
    async with (
        asyncio.timeout(40),
        StateRuntime(settings, states={"app.cancels": cancels}) as rt,
        rt.run(await rt.compile(["web"])) as run,
    ):
        events = [event async for event in run]
    assert results(run.report) == {"a": False}
    assert run.report.exit_code == 125
    assert isinstance(events[-1], RunFinished)


async def test_a_run_is_started_once(rt):
    run = rt.run(await rt.compile(["web"]))
    async with run:
        pass
    with pytest.raises(RuntimeError, match="started once"):
        await run.__aenter__()
    assert (await rt.apply(["web"])).ok


async def test_a_run_that_two_tasks_enter_at_once_is_started_once(tree):
    async with StateRuntime(tree({"web.sls": "a: test.nop\n"})) as rt:
        run = rt.run(await rt.compile(["web"]), wait=30)

        async def enter():
            async with run:
                pass

        first, *others = await asyncio.gather(enter(), enter(), enter(), return_exceptions=True)
    assert first is None
    assert all(isinstance(error, RuntimeError) and "started once" in str(error) for error in others)


async def test_a_run_whose_block_is_left_at_once_by_an_exception_has_a_report(rt):
    async with asyncio.timeout(40):
        with pytest.raises(ZeroDivisionError):
            async with rt.run(await rt.compile(["web"])) as run:
                _ = 1 / 0
    assert (run.report.exit_code, run.report.rows, len(run.report.not_started)) == (125, {}, 1)


async def test_a_run_that_an_observer_cancels_at_its_first_event_has_a_report(tree):
    def observe(event):
        if isinstance(event, RunStarted):
            asyncio.current_task().cancel()

    async with StateRuntime(tree({"web.sls": "a: test.nop\n"})) as rt:
        async with asyncio.timeout(40), rt.run(await rt.compile(["web"]), observers=[observe]) as run:
            pass
        assert (run.report.exit_code, results(run.report)) == (125, {"a": False})


@pytest.mark.parametrize("by", ["asyncio", "asyncio, again and again", "anyio"])
async def test_a_run_that_is_cancelled_anywhere_ends_with_its_event_and_frees_all_before_its_task_ends(tree, by):
    events = []

    def pace():
        """Count turns of the loop, and cancel the task at the one that was asked for."""
        nonlocal turns
        turns -= 1
        if turns <= 0:
            scope.cancel() if by == "anyio" else task.cancel()
        if turns > (0 if "again" not in by else -5):
            loop.call_soon(pace)

    async def run(run):
        with scope:
            async with run:
                pass

    settings = tree({"web.sls": "a: test.nop\n/:\n  file.exists\n"})
    async with StateRuntime(settings) as rt, asyncio.timeout(60):
        loop, plan = asyncio.get_running_loop(), await rt.compile(["web"])
        for number in range(60):
            events.clear()
            turns, scope = int(1.2**number), anyio.CancelScope()
            task = asyncio.create_task(run(rt.run(plan, observers=[events.append])))
            loop.call_soon(pace)
            with suppress(asyncio.CancelledError):
                await task
            working = [str(worker.current.call) for worker in list(rt.host.workers.live) if worker.current is not None]
            assert [each for each in working if "Engine" in each or "sync" in each or "cut_off" in each] == []
            with RunLock(settings.cachedir):
                pass
            kinds = [type(event) for event in events if isinstance(event, (RunStarted, RunFinished))]
            assert kinds in ([], [RunStarted, RunFinished])


async def test_a_cancelled_task_leaves_a_plugin_that_hangs_in_its_import(tree):
    own = 'import time\n\ntime.sleep(0)\n\n\ndef done(name):\n    return {"name": name, "result": True, "changes": {}, "comment": ""}\n'
    settings = tree({"web.sls": "a: hanging.done\n", "_states/hanging.py": own})
    async with StateRuntime(settings) as rt:
        plan = await rt.compile(["web"])
    tree({"_states/hanging.py": own.replace("sleep(0)", "sleep(3)")})
    async with StateRuntime(settings) as rt:
        began = time.monotonic()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5), rt.run(plan):
                pass
        assert time.monotonic() - began < 2


async def test_leaving_the_runtime_ends_a_run_of_another_task(tree):
    sls = "a:\n  cmd.run:\n  - name: sleep 300\nb:\n  test.nop:\n  - require: [cmd: a]\n"
    started = asyncio.Event()

    def notice(event):
        if isinstance(event, ChunkStarted):
            started.set()

    async with asyncio.timeout(40):
        async with StateRuntime(tree({"web.sls": sls})) as rt:
            other = asyncio.create_task(rt.apply(["web"], observers=[notice]))
            await started.wait()
        report = await other
    assert report.exit_code == 125
    assert report.cancelled == "its runtime was closed"
    assert len(report.not_started) == 1


async def test_stop_and_cancel_come_through(tree):
    sls = "a:\n  cmd.run:\n  - name: sleep 30\nb:\n  test.nop:\n  - require: [cmd: a]\n"
    async with StateRuntime(tree({"web.sls": sls})) as rt, rt.run(await rt.compile(["web"])) as run:
        async for event in run:
            if isinstance(event, ChunkStarted):
                break
        run.stop("SIGINT")
        run.cancel("SIGINT")
    assert run.report.exit_code == 130
    assert len(run.report.not_started) == 1


async def test_application_functions_are_states(tree):
    async def deployed(name, version):
        await asyncio.sleep(0)
        return {"name": name, "result": True, "changes": {"version": version}, "comment": ""}

    settings = tree({"web.sls": "shop:\n  app.deployed:\n  - version: 3\n"})
    async with StateRuntime(settings, states={"app.deployed": deployed}) as rt:
        rt.register_state("app.also", lambda name: {"name": name, "result": True, "changes": {}, "comment": ""})
        report = await rt.apply(["web"])
        assert next(iter(report.rows.values()))["changes"] == {"version": 3}
        assert (await rt.single("app.also", {"name": "x"})).ok


@pytest.mark.feature("F132")
async def test_two_runtimes_in_one_loop_see_only_their_own(tree, tmp_path):
    module = (
        "def show(name):\n"
        "    return {'name': name, 'result': True, 'comment': '',\n"
        "            'changes': {'test': __opts__['test'], 'p': __pillar__.get('who')}}\n"
    )
    first = tree({"web.sls": "a: mine.show\n", "_states/mine.py": module})
    first = Settings(file_roots=first.file_roots, pillar={"who": "one"}, test=True, cachedir=first.cachedir)
    second = Settings(file_roots=first.file_roots, pillar={"who": "two"}, cachedir=first.cachedir)
    async with StateRuntime(first) as one, StateRuntime(second) as two:
        reports = await asyncio.gather(one.apply(["web"]), two.apply(["web"]))
    assert [next(iter(report.rows.values()))["changes"] for report in reports] == [
        {"test": True, "p": "one"},
        {"test": False, "p": "two"},
    ]


async def test_top_file_pillar_and_grains_meet(tree):
    settings = tree(
        {"top.sls": "base:\n  'role:web':\n  - match: grain\n  - web\n", "web.sls": "{{ pillar.site }}: test.nop\n"},
        pillar={"top.sls": "base:\n  '*': [site]\n", "site.sls": "site: shop\n"},
        grains={"role": "web"},
    )
    async with StateRuntime(settings) as rt:
        assert results(await rt.apply()) == {"shop": True}


async def test_every_mistake_is_in_the_compile_error(tree):
    async with StateRuntime(tree({"web.sls": "a:\n  test.nop: text\nb: []\n"})) as rt:
        with pytest.raises(CompileError) as caught:
            await rt.compile(["web", "nowhere"])
    messages = [issue.message for issue in caught.value.issues]
    assert any("'a'" in message and "list" in message for message in messages)
    assert any("nowhere" in message for message in messages)


async def test_a_pillar_that_does_not_render_is_an_error_before_anything_runs(tree):
    settings = tree({}, pillar={"top.sls": "base:\n  '*': [bad]\n", "bad.sls": "{{ nothing.here }}\n"})
    with pytest.raises(PillarError):
        async with StateRuntime(settings):
            pass


def test_compiling_needs_no_event_loop(tree):
    sls = {"web.sls": "a: test.nop\n", "odd.sls": "a:\n  test.nopp: []\n"}
    settings = tree({"top.sls": "base:\n  '*': [web]\n", **sls})
    with StateRuntime(settings).open_sync() as rt:
        assert [chunk.id for chunk in rt.compile_sync().chunks] == ["a"]
        assert rt.planner.check() == ()
        assert [(each.line, each.rule) for each in rt.planner.check(["odd"])] == [(2, "unknown-function")]
        assert rt.top_sync() == {"base": ["web"]}
        assert list(rt.planner.high(["web"]).data) == ["a"]
        assert rt.call_sync("test.echo", "hello") == "hello"


async def test_single_and_call(tree):
    async with StateRuntime(tree({})) as rt:
        report = await rt.single("test.configurable_test_state", {"name": "x", "changes": False, "result": True})
        assert next(iter(report.rows)) == "test_|-x_|-x_|-configurable_test_state"
        assert await rt.call("test.echo", "hi") == "hi"
        with pytest.raises(FunctionNotFound):
            await rt.call("no.such")
        with pytest.raises(CompileError, match=r"Specified state 'no\.such' was not found"):
            await rt.single("no.such", {"name": "x"})
        with pytest.raises(CompileError, match="Invalid function passed") as caught:
            await rt.single("nodots", {"name": "x"})
        assert caught.value.issues[0].code == "E121"


async def test_templates_of_managed_files_see_salt_and_pillar(tree, tmp_path):
    target = tmp_path / "out"
    sls = f"{target}:\n  file.managed:\n  - source: salt://t.j2\n  - template: jinja\n  - context: {{who: you}}\n"
    async with StateRuntime(tree({"web.sls": sls, "t.j2": "{{ who }} {{ salt['test.echo']('x') }}\n"})) as rt:
        report = await rt.apply(["web"])
    assert report.ok, report.rows
    assert target.read_text() == "you x\n"


async def test_reload_pillar_is_seen_by_later_states(tree, tmp_path):
    module = (
        "def show(name):\n    return {'name': name, 'result': True, 'changes': {'v': __pillar__['v']}, 'comment': ''}\n"
    )
    pillar = tmp_path / "pillar" / "v.sls"
    sls = (
        f"write:\n  cmd.run:\n  - name: 'echo v: 2 > {pillar}'\n  - reload_pillar: true\n"
        "show:\n  mine.show:\n  - require: [cmd: write]\n"
    )
    settings = tree(
        {"web.sls": sls, "_states/mine.py": module}, pillar={"top.sls": "base: {'*': [v]}\n", "v.sls": "v: 1\n"}
    )
    async with StateRuntime(settings) as rt:
        report = await rt.apply(["web"])
    assert report.rows["mine_|-show_|-show_|-show"]["changes"] == {"v": 2}


METHODS = [
    each for name, each in inspect.getmembers(StateRuntime, inspect.isfunction) if name == "__init__" or name[0] != "_"
]
PARAMETERS = [
    (function, parameter.name)
    for function in (*METHODS, Run.stop, Run.cancel, load_settings)
    for parameter in inspect.signature(function).parameters.values()
    if parameter.name != "self" and parameter.kind not in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}
]


@pytest.mark.parametrize("wrong", [b"x", [b"x"]])
@pytest.mark.parametrize(("function", "name"), PARAMETERS)
async def test_a_value_of_a_wrong_type_is_refused_by_the_name_of_its_parameter(function, name, wrong):
    call = function.__qualname__.removesuffix(".__init__")
    with pytest.raises(ArgumentError, match=rf"^{call}: '{name}' must be .*, not (bytes|list of bytes)$"):
        inspect.isawaitable(given := function(**{name: wrong})) and await given


@pytest.mark.parametrize(
    ("function", "given", "said"),
    [
        (StateRuntime.compile_sync, {"sls": "web"}, "'sls' must be Sequence[str] | None, not str"),
        (
            StateRuntime.compile_sync,
            {"exclude": ["a", {"id": 5}]},
            "'exclude' must be Sequence[str | Mapping[str, str]], not list of dict, str",
        ),
        (StateRuntime.run, {"concurrency": True}, "'concurrency' must be int | None, not bool"),
        *(
            (StateRuntime.run, {name: sign * 10**400}, f"{name!r} must be ")
            for name, parameter in inspect.signature(StateRuntime.run).parameters.items()
            if "float" in str(parameter.annotation)
            for sign in (1, -1)
        ),
        (StateRuntime.run, {"about": {5: "x"}, "plan": Settings()}, "'plan' must be Plan, not Settings"),
        (
            StateRuntime,
            {"states": {"a.b": 5}},
            "'states' must be Mapping[str, Callable[..., Any]] | None, not dict of int",
        ),
        (load_settings, {"files": ["a", 5]}, "'files' must be Sequence[Path | str] | None, not list of int, str"),
    ],
)
def test_a_text_is_no_list_and_true_is_no_number(function, given, said):
    with pytest.raises(ArgumentError, match=re.escape(said)):
        function(**given)


KEEPS_SOMETHING = TABLES["keeps something"]
WORDS = """
    def __virtual__():
        __context__["as loaded"] = "once"
        return True

    def counted(name):
        __context__["calls"] = __context__.get("calls", 0) + 1
        comment = f"{__context__['as loaded']}: {__context__['calls']}"
        return {"name": name, "result": True, "changes": {}, "comment": comment}
"""


@pytest.mark.parametrize("name", KEEPS_SOMETHING)
async def test_later_runs_of_a_runtime_give_the_rows_of_a_runtime_of_their_own(tmp_path, name):
    def settings(root):
        texts = {
            "s.sls": inspect.cleandoc(KEEPS_SOMETHING[name]).replace("ROOT", str(root)),
            "t": "{{ accumulator }}",
            "_states/words.py": inspect.cleandoc(WORDS),
        }
        (root / "salt" / "_states").mkdir(parents=True)
        for path, text in texts.items():
            (root / "salt" / path).write_text(text + "\n")
        return Settings(
            file_roots={"base": [str(root / "salt")]},
            pillar_roots={"base": []},
            cachedir=str(root / "cache"),
            conf_file=str(root / "minion"),
        )

    async def rows(runtime, root, test):
        found = (await runtime.apply(["s"], test=test)).rows.values()
        kept = ("result", "comment", "changes")
        return {
            row["__id__"]: str([row[each] for each in kept]).replace(str(root), "").partition("pid")[0] for row in found
        }

    one, other = tmp_path / "one", tmp_path / "other"
    alone = settings(other)
    async with StateRuntime(settings(one)) as runtime:
        for test in (True, True, False, False):
            async with StateRuntime(alone) as fresh:
                assert await rows(runtime, one, test) == await rows(fresh, other, test)
