from __future__ import annotations

import asyncio
import gc
import threading
import warnings

import pytest
from plugin_trees import PluginTree

from asyncstate import dunders
from asyncstate.errors import LoaderError, RunCancelled
from asyncstate.load.bridge import ForgottenAwait

MODULES = """
import asyncio, threading

def plain(x=1):
    '''Say it.'''
    return x * 2

async def later(x=1):
    await asyncio.sleep(0)
    return x * 3

def where():
    return threading.get_ident()

async def loop_of():
    return asyncio.get_running_loop()

def fails():
    raise ValueError("inside")

async def fails_later():
    raise ValueError("inside")

async def leaves():
    raise SystemExit(4)

def gives_coroutine():
    return later(5)

def env():
    return str(__env__)

async def env_later():
    return str(__env__)

def level(n):
    return n if n == 0 else __salt__["mod.level_later"](n - 1)

async def level_later(n):
    return n if n == 0 else await __salt__["mod.level"](n - 1)

def thread_of_async():
    return __salt__["mod.loop_of"]()
"""


@pytest.fixture
def tree(tmp_path):
    tree = PluginTree(tmp_path / "salt")
    tree.add("_modules/mod.py", MODULES)
    return tree


@pytest.fixture
async def host(tree):
    async with tree.attached() as host:
        yield host


async def in_thread(host, func, *args):
    return await host.workers.run_in(host.context(), func, *args)


# in a thread


async def test_a_thread_gets_values_of_plain_and_async_functions(host):
    assert await in_thread(host, lambda: (host.salt["mod.plain"](2), host.salt["mod.later"](x=2))) == (4, 6)


async def test_a_plain_function_runs_in_the_callers_thread(host):
    assert await in_thread(host, lambda: host.salt["mod.where"]() == threading.get_ident())


async def test_an_async_function_runs_on_the_hosts_loop(host):
    assert await in_thread(host, host.salt["mod.loop_of"]) is asyncio.get_running_loop()
    assert await in_thread(host, host.salt["mod.thread_of_async"]) is asyncio.get_running_loop()


@pytest.mark.parametrize("name", ["mod.fails", "mod.fails_later"])
async def test_exceptions_arrive(host, name):
    with pytest.raises(ValueError, match="inside"):
        await in_thread(host, host.salt[name])
    with pytest.raises(ValueError, match="inside"):
        await host.salt[name]()


async def test_sys_exit_in_an_async_function_does_not_end_the_loop(host):
    for call in (host.salt["mod.leaves"](), in_thread(host, host.salt["mod.leaves"])):
        with pytest.raises(LoaderError, match=r"sys\.exit\(4\)"):
            await call


async def test_a_plain_function_that_returns_a_coroutine_counts_as_async(host):
    assert await in_thread(host, host.salt["mod.gives_coroutine"]) == 15
    assert await host.salt["mod.gives_coroutine"]() == 15


async def test_the_context_of_the_call_is_the_callers(host):
    def work():
        return [host.salt[f"mod.{name}"]() for name in ("env", "env_later")]

    assert await host.workers.run_in(host.context(env="dev"), work) == ["dev", "dev"]


async def test_a_cancelled_call_ends_at_its_next_call(host):
    reached, went_on, ended = threading.Event(), threading.Event(), threading.Event()
    outcome = []

    def work():
        reached.set()
        went_on.wait(40)
        try:
            outcome.append(host.salt["mod.plain"]())
        except RunCancelled as error:
            outcome.append(error)
        ended.set()

    task = asyncio.create_task(in_thread(host, work))
    while not reached.is_set():  # noqa: ASYNC110 - set in a thread
        await asyncio.sleep(0.001)
    task.cancel("stop")
    with pytest.raises(asyncio.CancelledError):
        await task
    went_on.set()
    assert ended.wait(40)
    assert isinstance(outcome[0], RunCancelled)
    assert str(outcome[0]) == "stop"


async def test_an_async_function_that_was_cancelled_cancels_who_waits_for_it(tree):
    tree.add(
        "_modules/gone.py", "import asyncio\nasync def f(): asyncio.current_task().cancel(); await asyncio.sleep(1)\n"
    )
    async with tree.attached() as host:
        with pytest.raises(RunCancelled, match="cancelled"):
            await in_thread(host, host.salt["gone.f"])


async def test_cancelling_a_thread_that_waits_for_the_loop_cancels_what_it_waits_for(tree):
    tree.add(
        "_modules/wait.py",
        """
        import asyncio
        seen = []
        async def forever():
            try:
                seen.append("waits")
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                seen.append("cancelled")
                raise
        def plain():
            try:
                __salt__["wait.forever"]()
            finally:
                seen.append("thread ended")
        def what(): return seen
        """,
    )
    async with tree.attached() as host:
        seen = await host.salt["wait.what"]()
        task = asyncio.create_task(in_thread(host, host.salt["wait.plain"]))
        while not seen:  # noqa: ASYNC110 - filled in a thread
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        while len(seen) < 3:  # noqa: ASYNC110 - filled in a thread
            await asyncio.sleep(0.005)
        assert set(seen) == {"waits", "cancelled", "thread ended"}


async def test_chains_across_the_two_sides_never_deadlock(host):
    chains = [in_thread(host, host.salt["mod.level"], 4) for _ in range(64)]
    chains += [host.salt["mod.level_later"](5) for _ in range(64)]
    async with asyncio.timeout(40):
        assert await asyncio.gather(*chains) == [0] * 128


# on the loop


async def test_on_the_loop_every_call_is_awaited(host):
    with host.enter():
        assert await host.salt["mod.plain"](2) == 4
        assert await host.salt["mod.later"](2) == 6
        assert await asyncio.gather(host.salt["mod.plain"](1), host.salt["mod.later"](1)) == [2, 3]
        assert await asyncio.create_task(host.salt["mod.plain"](4)) == 8


async def test_a_plain_function_leaves_the_loops_thread(host):
    assert await host.salt["mod.where"]() != threading.get_ident()


USES = [
    bool, list, len, str, int, lambda call: call["x"], lambda call: "x" in call, lambda call: f"{call}", lambda call: call == 1,
    lambda call: call > 1, lambda call: call + "x", lambda call: call.startswith("x"), lambda call: call(), lambda call: call or 1,
]  # fmt: skip


@pytest.mark.parametrize("use", USES)
async def test_using_a_pending_call_says_that_await_is_missing(host, use):
    call = host.salt["mod.plain"]()
    line = test_using_a_pending_call_says_that_await_is_missing.__code__.co_firstlineno + 2
    with pytest.raises(ForgottenAwait) as caught:
        use(call)
    assert str(caught.value) == f"you forgot to await __salt__['mod.plain'] in {__file__}, line {line}"
    assert await call == 2


async def test_a_task_of_a_pending_call_can_be_shown(host):
    task = asyncio.create_task(host.salt["mod.plain"]())
    assert "PendingCall" in repr(task)
    assert await task == 2


async def test_a_call_that_is_never_awaited_is_reported(host):
    warned = r"__salt__\['mod.plain'\] from .*test_bridge.py:\d+> was never awaited"
    with pytest.warns(RuntimeWarning, match=warned):
        host.salt["mod.plain"]()


async def test_a_forgotten_await_is_reported_once(host):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with pytest.raises(ForgottenAwait):
            int(host.salt["mod.plain"]())
        gc.collect()
    assert said == []


async def test_closing_a_pending_call_is_quiet(host):
    host.salt["mod.later"]().close()


# without a loop


def test_without_a_loop_calls_block(tree):
    host = tree.host()
    assert host.salt["mod.plain"](2) == 4
    assert host.salt["mod.later"](2) == 6
    assert host.salt["mod.level"](4) == 0


def test_outside_any_call_the_hosts_own_context_serves(tree):
    host = tree.host({"saltenv": "prod"})
    assert host.salt["mod.env"]() == "prod"
    assert dunders.context.current.get(None) is None


def test_an_async_function_may_use_salt_on_a_loop_of_its_own(tree):
    host = tree.host()
    assert host.salt["mod.level_later"](5) == 0


async def test_a_call_outside_any_call_on_the_loop(tree):
    async with tree.attached({"saltenv": "prod"}) as host:
        assert await host.salt["mod.env"]() == "prod"
        assert await host.salt["mod.env_later"]() == "prod"


def test_a_loop_that_is_closed_is_an_error_and_no_hang(tree):
    host = tree.host()
    loop = asyncio.new_event_loop()
    host.attach(loop)
    loop.close()
    with pytest.raises(RunCancelled, match="event loop is closed"):
        host.salt["mod.later"]()
