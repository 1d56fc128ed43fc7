"""A runtime and its runs belong to the event loop of asyncio that the runtime was entered on."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import pytest
from messages import match

from asyncstate import Run, Settings, StateRuntime
from asyncstate.errors import EventLoopError
from asyncstate.guard.event_loop import LoopAffinity, running_loop


@pytest.fixture
def settings(tmp_path):
    (tmp_path / "salt").mkdir()
    (tmp_path / "salt" / "web.sls").write_text("a: test.nop\n")
    return Settings(file_roots={"base": [str(tmp_path / "salt")]}, cachedir=str(tmp_path / "cache"))


def in_thread(function):
    """Call a function in a thread that runs no event loop; return its value, or raise what it raised."""
    return asyncio.to_thread(function)


AWAITED = {
    "compile": lambda runtime: runtime.compile(["web"]),
    "compile_data": lambda runtime: runtime.compile_data({"a": "test.nop"}),
    "apply": lambda runtime: runtime.apply(["web"]),
    "single": lambda runtime: runtime.single("test.nop", {"name": "x"}),
    "call": lambda runtime: runtime.call("test.ping"),
}
CALLS = dict.fromkeys(["apply", "single"], "StateRuntime.apply or single")
BLOCKING = {
    "compile_sync": lambda runtime: runtime.compile_sync(["web"]),
    "compile_data_sync": lambda runtime: runtime.compile_data_sync({"a": "test.nop"}),
    "compile_file_sync": lambda runtime: runtime.compile_file_sync(runtime.settings.file_roots["base"][0] + "/web.sls"),
    "single_plan": lambda runtime: runtime.single_plan("test.nop", {"name": "x"}),
    "call_sync": lambda runtime: runtime.call_sync("test.ping"),
}


# --- trio, and no loop at all


def under_trio(function, *arguments):
    with pytest.raises(EventLoopError, match=match("trio")):
        anyio.run(function, *arguments, backend="trio")


def test_entering_under_trio_says_that_it_is_for_asyncio(settings):
    async def main():
        async with StateRuntime(settings):
            pytest.fail("it was entered")

    under_trio(main)


@pytest.mark.parametrize("name", AWAITED)
def test_whatever_is_awaited_says_so_under_trio(settings, name):
    under_trio(AWAITED[name], StateRuntime(settings))


async def _iterated(run):
    aiter(run)


@pytest.mark.parametrize("use", [Run.__aenter__, Run.wait, _iterated])
def test_a_run_says_so_under_trio(settings, use):
    with StateRuntime(settings).open_sync() as runtime:
        run = runtime.run(runtime.compile_sync(["web"]))
    under_trio(use, run)


def test_the_way_the_text_shows_works_inside_a_trio_program(settings):
    import trio

    async def apply():
        async with StateRuntime(settings) as runtime:
            return await runtime.apply(["web"])

    async def main():
        return await trio.to_thread.run_sync(asyncio.run, apply())

    assert trio.run(main).ok


def test_without_any_loop_the_text_says_how_to_start_one(settings):
    with pytest.raises(EventLoopError, match=match("no-loop")):
        StateRuntime(settings).compile(["web"]).send(None)
    with pytest.raises(EventLoopError):
        running_loop()


# --- the loop of the runtime


@pytest.mark.parametrize("name", AWAITED)
async def test_what_is_awaited_needs_a_runtime_that_was_entered(settings, name):
    runtime = StateRuntime(settings)
    with pytest.raises(EventLoopError, match=match("not-entered", call=CALLS.get(name, f"StateRuntime.{name}"))):
        await AWAITED[name](runtime)
    async with runtime:
        await AWAITED[name](runtime)
    with pytest.raises(EventLoopError):
        await AWAITED[name](runtime)


@pytest.mark.parametrize("name", AWAITED)
async def test_what_is_awaited_on_another_loop_says_where_it_belongs(settings, name):
    async with StateRuntime(settings) as runtime:
        with pytest.raises(EventLoopError, match="run_coroutine_threadsafe"):
            await in_thread(lambda: asyncio.run(AWAITED[name](runtime)))


async def test_another_thread_hands_its_call_over_as_the_text_says(settings):
    loop = asyncio.get_running_loop()
    async with StateRuntime(settings) as runtime:
        report = await in_thread(
            lambda: asyncio.run_coroutine_threadsafe(runtime.apply(["web"]), loop).result(timeout=40)
        )
    assert report.ok


@pytest.mark.parametrize("name", BLOCKING)
async def test_what_blocks_is_for_threads_and_not_for_a_loop(settings, name):
    async with StateRuntime(settings) as runtime:
        with pytest.raises(EventLoopError, match=r" Use `await "):
            BLOCKING[name](runtime)
        await in_thread(lambda: BLOCKING[name](runtime))
    with pytest.raises(EventLoopError):
        BLOCKING[name](StateRuntime(settings))


async def test_a_runtime_without_a_loop_is_not_for_programs_that_have_one(settings):
    with pytest.raises(EventLoopError, match="Use `async with StateRuntime"), StateRuntime(settings).open_sync():
        pytest.fail("it was opened")


def test_the_same_works_without_a_loop(settings):
    with StateRuntime(settings).open_sync() as runtime:
        for call in BLOCKING.values():
            call(runtime)


async def test_a_run_is_entered_waited_for_and_read_on_its_loop_only(settings):
    async def uses(run):
        with pytest.raises(EventLoopError, match="another one runs here"):
            await run.__aenter__()
        with pytest.raises(EventLoopError, match="another one runs here"):
            await run.wait()
        with pytest.raises(EventLoopError, match="another one runs here"):
            aiter(run)

    looked = Path(settings.file_roots["base"][0]) / "looked"
    high = {"a": {"cmd.run": [{"name": f"until [ -e {looked} ]; do sleep 0.01; done"}]}}
    async with StateRuntime(settings) as runtime:
        run = runtime.run(await runtime.compile_data(high))
        await in_thread(lambda: asyncio.run(uses(run)))
        async with run:
            for look in (lambda: run.rows, lambda: run.running):
                with pytest.raises(EventLoopError, match="on the event loop only"):
                    await in_thread(look)
            looked.touch()
        assert await in_thread(lambda: run.report) == run.report
        assert await in_thread(lambda: list(run.rows)) == list(run.report.rows)


async def test_a_runtime_is_entered_once_at_a_time(settings):
    runtime = StateRuntime(settings)
    async with runtime:
        with pytest.raises(RuntimeError, match="entered already"):
            await runtime.__aenter__()
        assert (await runtime.apply(["web"])).ok
    async with runtime:
        assert (await runtime.apply(["web"])).ok


def test_a_runtime_can_be_entered_on_one_loop_after_the_other(settings):
    runtime = StateRuntime(settings)

    async def main():
        async with runtime:
            return await runtime.apply(["web"])

    assert asyncio.run(main()).ok
    assert asyncio.run(main()).ok


def test_runtimes_in_threads_of_one_process_each_have_a_loop(settings, tmp_path):
    async def main(number):
        (tmp_path / f"{number}").mkdir()
        own = Settings(file_roots=settings.file_roots, cachedir=str(tmp_path / f"{number}"), pillar={"number": number})
        async with StateRuntime(own) as runtime:
            plan = await runtime.compile_data({"a": {"test.nop": []}})
            async with runtime.run(plan) as run:
                pass
            return run.report.ok, await runtime.call("pillar.get", "number")

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(lambda number: asyncio.run(main(number)), range(3))) == [(True, 0), (True, 1), (True, 2)]


# --- orders


async def test_an_order_is_carried_out_at_once_on_the_loop_and_soon_from_a_thread():
    affinity = LoopAffinity()
    affinity.bind()
    heard = []
    affinity.deliver(heard.append, "here")
    assert heard == ["here"]
    await in_thread(lambda: affinity.deliver(heard.append, "there"))
    await asyncio.sleep(0)
    assert heard == ["here", "there"]
    affinity.release()
    affinity.deliver(heard.append, "unbound")
    assert heard == ["here", "there", "unbound"]


def test_an_order_for_a_loop_that_is_closed_is_dropped():
    affinity = LoopAffinity()

    async def main():
        affinity.bind()

    asyncio.run(main())
    affinity.deliver(pytest.fail, "too late")
