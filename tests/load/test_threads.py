from __future__ import annotations

import asyncio
import contextlib
import gc
import subprocess
import threading
import time
from contextvars import ContextVar

import pytest
from messages import said

from asyncstate import dunders
from asyncstate.dunders.context import CallContext, CancelToken
from asyncstate.errors import LoaderError, RunCancelled
from asyncstate.load import threads
from asyncstate.load.threads import Strand, WorkerThreads, transferable

variable: ContextVar[str] = ContextVar("variable", default="unset")


def context(**overrides):
    return CallContext(opts={}, grains={}, pillar={}, context={}, salt={}, states={}, utils={}, **overrides)


async def until(condition):
    async with asyncio.timeout(40):
        while not condition():  # noqa: ASYNC110 - it becomes true in a thread
            await asyncio.sleep(0.002)


def begun():
    """The token of a chunk that begins here."""
    dunders.context.current.set(context(cancel=CancelToken()))
    return dunders.context.current.get().cancel


async def ended(task):
    """Cancel a task, and wait for its end."""
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


@contextlib.asynccontextmanager
async def occupied(workers, **options):
    """Keep a thread, or the turn of a strand, during the block."""
    release = threading.Event()
    first = asyncio.create_task(workers.run(release.wait, 40, **options))
    await asyncio.sleep(0)
    yield first
    release.set()
    assert await first


@pytest.fixture
def workers():
    return WorkerThreads()


async def test_returns_the_value_of_another_thread(workers):
    assert await workers.run(threading.get_ident) != threading.get_ident()
    assert await workers.run(max, 3, 7) == 7


async def test_raises_what_the_function_raises(workers):
    def fails():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await workers.run(fails)


@pytest.mark.parametrize(
    ("raised", "arrives", "text"),
    [
        (SystemExit(3), LoaderError, r"the function called sys\.exit\(3\)"),
        (KeyboardInterrupt(), RunCancelled, "KeyboardInterrupt"),
        (asyncio.CancelledError("gone"), RunCancelled, "gone"),
        (GeneratorExit(), RunCancelled, "GeneratorExit"),
        (StopIteration(), LoaderError, "StopIteration"),
    ],
)
async def test_what_would_end_the_process_arrives_as_an_error(workers, raised, arrives, text):
    def fails():
        raise raised

    with pytest.raises(arrives, match=text) as caught:
        await workers.run(fails)
    assert caught.value.__cause__ is raised


def test_ordinary_errors_are_delivered_as_they_are():
    error = ValueError()
    assert transferable(error) is error


async def test_the_context_is_copied(workers):
    variable.set("of the caller")

    def change():
        before = variable.get()
        variable.set("of the thread")
        return before

    assert await workers.run(change) == "of the caller"
    assert variable.get() == "of the caller"


async def test_sequential_calls_reuse_one_thread(workers):
    assert len({await workers.run(threading.get_ident) for _ in range(20)}) == 1
    assert workers.started == 1


async def test_the_thread_idle_last_is_used_first(workers):
    barrier = threading.Barrier(3)
    await asyncio.gather(*(workers.run(barrier.wait) for _ in range(3)))
    used = {await workers.run(threading.get_ident) for _ in range(10)}
    assert len(used) == 1


async def test_there_is_no_limit(workers):
    barrier = threading.Barrier(100)
    await asyncio.gather(*(workers.run(barrier.wait, 5) for _ in range(100)))
    assert workers.started == 100


async def test_threads_are_daemons_and_named(workers):
    thread = await workers.run(threading.current_thread)
    assert thread.daemon
    assert thread.name == "asyncstate-1"


async def test_idle_threads_end():
    workers = WorkerThreads(idle_seconds=0.02)
    thread = await workers.run(threading.current_thread)
    await until(lambda: not thread.is_alive())
    assert await workers.run(max, 1, 2) == 2
    assert workers.started == 2


async def test_work_given_at_the_moment_of_retirement_is_not_lost():
    workers = WorkerThreads(idle_seconds=0.0005)
    for _ in range(200):
        assert await asyncio.wait_for(workers.run(max, 1, 2), 40) == 2
        await asyncio.sleep(0.0005)


async def test_cancelling_the_task_cancels_the_token_and_does_not_wait(workers):
    seen, release = [], threading.Event()

    def stubborn():
        token = dunders.context.current.get().cancel
        token.on_cancel(lambda: seen.append(token.reason))
        started.set()
        release.wait(40)
        try:
            dunders.check_cancelled()
        except RunCancelled as error:
            seen.append(f"raised {error}")

    started = threading.Event()
    dunders.context.current.set(context())
    task = asyncio.create_task(workers.run(stubborn))
    await until(started.is_set)
    task.cancel("enough")
    began = time.monotonic()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - began < 30
    assert seen == ["enough"]
    release.set()
    await until(lambda: len(seen) == 2)
    assert seen[1] == "raised enough"


async def test_giving_up_on_one_call_leaves_the_rest_of_the_chunk_alone(workers):
    chunk = begun()
    release = threading.Event()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(workers.run(release.wait, 40), 0.01)
    release.set()
    assert not chunk.reason
    assert await workers.run(lambda: dunders.context.current.get().cancel.reason) == ""


async def test_cancelling_the_chunk_reaches_the_thread(workers):
    chunk = begun()

    def wait():
        reached = threading.Event()
        dunders.context.current.get().cancel.on_cancel(reached.set)
        waiting.set()
        return reached.wait(40) and dunders.context.current.get().cancel.reason

    waiting = threading.Event()
    task = asyncio.create_task(workers.run(wait))
    await until(waiting.is_set)
    chunk.cancel("timeout")
    assert await task == "timeout"


async def test_the_call_shares_options_and_retcode_with_its_caller(workers):
    call = context()
    dunders.context.current.set(call)

    def work():
        dunders.context.current.get().opts["x"] = 1
        dunders.context.current.get().retcode = 7

    await workers.run(work)
    assert call.opts["x"] == 1
    assert call.retcode == 7


async def test_a_function_may_have_parameters_of_any_name(workers):
    def told(**kwargs):
        return kwargs

    names = {"self": 1, "call": 2, "func": 3, "args": 4, "kwargs": 5}
    assert await workers.run_in(None, told, **names) == names


async def test_run_in_uses_the_context_it_is_given(workers):
    assert await workers.run_in(context(sls="a.b"), lambda *, end: str(dunders.__sls__) + end, end="!") == "a.b!"
    assert dunders.context.current.get(None) is None


def test_a_result_for_a_closed_loop_is_dropped(workers):
    started, release = threading.Event(), threading.Event()

    def work():
        started.set()
        release.wait(40)

    async def leave():
        task = asyncio.ensure_future(workers.run(work))
        await until(started.is_set)
        await ended(task)

    asyncio.run(leave())
    release.set()
    assert asyncio.run(workers.run(max, 1, 2)) == 2


def test_several_loops_one_after_the_other(workers):
    assert [asyncio.run(workers.run(max, 1, number)) for number in range(2, 5)] == [2, 3, 4]


async def test_a_failure_that_nobody_waits_for_is_in_the_debug_log(workers, caplog):
    caplog.set_level("DEBUG", logger="asyncstate.load.threads")
    begun, release = threading.Event(), threading.Event()

    def fails():
        begun.set()
        release.wait(40)
        raise ValueError("too late")

    call = asyncio.create_task(workers.run(fails))
    await until(begun.is_set)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    release.set()
    await until(lambda: "too late" in caplog.text)


async def test_many_calls_at_once_all_arrive(workers):
    results = await asyncio.gather(*(workers.run(max, number, 0) for number in range(500)))
    assert results == list(range(500))


async def test_whoever_gave_up_on_a_call_can_learn_when_its_thread_has_returned(workers):
    chunk = begun()
    release = threading.Event()

    async def nested():
        await workers.run(release.wait, 40)

    task = asyncio.create_task(nested())
    await asyncio.sleep(0)
    await ended(task)
    (overdue,) = chunk.overdue
    assert not overdue.done()
    release.set()
    await asyncio.wait_for(overdue, 40)


async def test_a_thread_that_returned_as_its_call_was_given_up_is_not_waited_for(workers):
    chunk = begun()
    release = threading.Event()
    task = asyncio.create_task(workers.run(release.wait, 40))
    await asyncio.sleep(0)
    release.set()
    while not workers.idle:  # the loop stands still: the thread has returned, and it learns that only later
        time.sleep(0.001)  # noqa: ASYNC251
    await ended(task)
    assert all(overdue.done() for overdue in chunk.overdue)


async def test_a_call_that_was_awaited_to_its_end_is_not_overdue(workers):
    chunk = begun()
    await workers.run(int)
    assert chunk.overdue == []


@pytest.mark.parametrize("times", [1, 2])
async def test_work_that_fails_after_its_task_was_cancelled_is_the_cause_and_asyncio_says_nothing(workers, times):
    told, release = [], threading.Event()
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: told.append(context["message"]))

    def fails():
        release.wait(40)
        raise ValueError("a full disk")

    for work in (workers.run_to_end(fails), threads.to_its_end(workers.run(fails))):
        release.clear()
        task = asyncio.create_task(work)
        for _ in range(times):
            await asyncio.sleep(0.01)
            task.cancel()
        asyncio.get_running_loop().call_later(0.01, release.set)
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
        assert str(caught.value.__cause__) == "a full disk"
        del task, work, caught
        gc.collect()
    assert told == []


async def test_the_loop_makes_a_call_that_must_be_made_where_no_thread_can_be_started(workers, monkeypatch):
    def refuse(_thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr(threads, "PATIENCE", 0.1)
    assert await workers.run_to_end(threading.current_thread) is threading.current_thread()


async def test_a_thread_that_cannot_be_started_is_an_error_with_words(workers, monkeypatch):
    def refuse(_thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr(threads, "PATIENCE", 0.1)
    with pytest.raises(LoaderError, match=said("no-thread")):
        await workers.run(int)
    monkeypatch.setattr(threads, "PATIENCE", 1e9)
    with pytest.raises(LoaderError, match="no further thread"):  # at once: nothing has changed
        await workers.run(int)
    monkeypatch.undo()
    assert await workers.run(int) == 0
    assert workers.started == 1


@pytest.fixture
def allowed(monkeypatch):
    """Set how many threads may start."""
    real, left = threading.Thread.start, []

    def start(thread):
        if not left:
            raise RuntimeError("can't start new thread")
        left.pop()
        real(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    return lambda number: left.extend([None] * number)


@pytest.mark.parametrize("number", [1, 2, 5])
async def test_calls_wait_for_the_threads_there_are(workers, allowed, monkeypatch, number):
    monkeypatch.setattr(threads, "PATIENCE", 0.0)  # as long as a thread lives, a call waits
    allowed(number)
    assert await asyncio.gather(*(workers.run(max, each, -1) for each in range(50))) == list(range(50))
    assert workers.started == number


async def test_functions_that_hold_all_threads_do_not_wait_for_ever(workers, allowed, monkeypatch):
    """Each of two functions, in the only threads, waits for a call that needs a thread, too."""
    monkeypatch.setattr(threads, "PATIENCE", 0.3)
    allowed(2)
    loop, both = asyncio.get_running_loop(), threading.Barrier(2)

    def outer():
        both.wait(40)
        inner = asyncio.run_coroutine_threadsafe(workers.run(int), loop)
        try:
            return inner.result(40)
        except LoaderError as error:
            return str(error)

    calls = [asyncio.create_task(workers.run(call)) for call in (outer, outer, str)]
    async with asyncio.timeout(60):
        first, second, last = await asyncio.gather(*calls)
    assert last == ""
    assert any(said("no-thread") in str(answer) for answer in (first, second))


async def test_a_call_that_waits_for_a_thread_can_be_cancelled(workers, allowed):
    allowed(1)
    called = []
    async with occupied(workers):
        chunk = begun()
        second = asyncio.create_task(workers.run(called.append, 1))
        await asyncio.sleep(0)
        await ended(second)
        assert chunk.overdue == []
    await until(lambda: workers.idle)
    assert called == []


async def test_threads_that_are_given_back_end(workers):
    await workers.run(int)
    await until(lambda: workers.idle)
    workers.give_back()
    await until(lambda: not workers.live)


async def test_what_nobody_waits_for_is_logged_in_the_context_of_its_call(workers, monkeypatch):
    began, go_on = threading.Event(), threading.Event()
    seen = []
    monkeypatch.setattr("asyncstate.load.threads.log.debug", lambda *_args, **_more: seen.append(variable.get()))

    def fails():
        began.set()
        go_on.wait(40)
        raise ValueError("no")

    async def call():
        variable.set("of the call")
        await workers.run(fails)

    task = asyncio.create_task(call())
    await until(began.is_set)
    await ended(task)
    go_on.set()
    await until(lambda: seen)
    assert seen == ["of the call"]


async def test_a_result_for_which_there_is_no_memory_now_arrives_later(workers, monkeypatch):
    loop = asyncio.get_running_loop()
    real, failures = loop.call_soon_threadsafe, [MemoryError(), MemoryError()]

    def full(*given, **options):
        if failures:
            raise failures.pop()
        return real(*given, **options)

    monkeypatch.setattr(threads, "LOOK", 0.0)
    monkeypatch.setattr(loop, "call_soon_threadsafe", full)
    async with asyncio.timeout(40):
        assert await workers.run(max, 3, 7) == 7
    assert not failures


@pytest.fixture
def patient(monkeypatch):
    """No call of a strand is long."""
    monkeypatch.setattr(threads, "SHORT", 1e9)


async def test_calls_of_a_strand_run_in_turn_in_one_thread(workers, patient):
    ran, strand = [], Strand()

    def call(number):
        assert not running.locked()
        with running:
            time.sleep(0.0005)
            ran.append(number)
        return number, threading.get_ident()

    running = threading.Lock()
    returned = await asyncio.gather(*(workers.run(call, number, strand=strand) for number in range(30)))
    assert [number for number, _ in returned] == ran == list(range(30))
    assert len({thread for _, thread in returned}) == workers.started == 1


async def test_other_calls_run_beside_a_strand(workers, patient):
    first, second = Strand(), Strand()
    both = threading.Barrier(3)
    calls = (workers.run(both.wait, 40, strand=strand) for strand in (first, second, None))
    assert sorted(await asyncio.gather(*calls)) == [0, 1, 2]


async def test_a_call_that_fails_does_not_end_its_strand(workers, patient):
    strand = Strand()

    def fails():
        raise SystemExit(3)

    calls = (workers.run(call, strand=strand) for call in (fails, int, fails, str))
    returned = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(each) for each in returned] == [LoaderError, int, LoaderError, str]


async def test_a_long_call_holds_up_neither_those_behind_it_nor_new_ones(workers):
    strand = Strand()
    async with occupied(workers, strand=strand) as first, asyncio.timeout(30):
        assert await asyncio.gather(*(workers.run(max, n, 0, strand=strand) for n in range(9))) == list(range(9))
        assert await workers.run(max, 3, 7, strand=strand) == 7
        assert not first.done()


async def test_after_a_long_call_a_strand_keeps_to_one_thread_again(workers):
    strand = Strand()
    strand.patience = 0.0
    both = threading.Barrier(2)
    await asyncio.gather(*(workers.run(both.wait, 40, strand=strand) for _ in range(2)))
    strand.patience = 1e9
    returned = await asyncio.gather(*(workers.run(threading.get_ident, strand=strand) for _ in range(20)))
    assert len(set(returned)) == 1


async def test_every_call_of_a_strand_runs_once_whatever_its_length(workers, monkeypatch):
    monkeypatch.setattr(threads, "SHORT", 0.0005)
    strand, ran = Strand(), []

    def call(number):
        time.sleep(number % 7 / 5000)
        ran.append(number)

    async with asyncio.timeout(60):
        await asyncio.gather(*(workers.run(call, number, strand=strand) for number in range(300)))
    assert sorted(ran) == list(range(300))


async def test_a_call_that_waits_for_its_turn_can_be_cancelled(workers, patient):
    strand, called, chunk = Strand(), [], begun()
    async with occupied(workers, strand=strand):
        second, third = (asyncio.create_task(workers.run(called.append, n, strand=strand)) for n in (2, 3))
        await asyncio.sleep(0)
        await ended(second)
        assert chunk.overdue == []
    await third
    assert called == [3]


async def test_a_call_that_was_kept_too_long_fails_where_no_thread_can_be_expected(workers, monkeypatch):
    def refuse(_job):
        raise LoaderError("no further thread")

    strand = Strand()
    async with occupied(workers, strand=strand):
        await until(lambda: workers.live)
        monkeypatch.setattr(workers, "_submit", refuse)
        with pytest.raises(LoaderError, match="no further thread"):
            await workers.run(int, strand=strand)


async def test_a_call_that_is_cancelled_while_it_gets_no_thread_is_just_cancelled(workers, patient):
    def refuse(_job):
        second.cancel()
        raise LoaderError("no further thread")

    strand = Strand()
    async with occupied(workers, strand=strand):
        second = asyncio.create_task(workers.run(int, strand=strand))
        await asyncio.sleep(0)
        strand.patience = 0.0
        strand._look(asyncio.get_running_loop(), refuse)
        with pytest.raises(asyncio.CancelledError):
            await second


async def test_the_end_of_a_call_spares_children_of_the_call_before_it(workers, patient):
    strand, begun, go_on = Strand(), threading.Event(), threading.Event()
    children = []

    def starts_a_child():
        go_on.wait(40)
        children.append(subprocess.Popen(["sleep", "60"]))
        time.sleep(0.05)  # more than a clock tick

    def waits():
        begun.set()
        children.append(subprocess.Popen(["sleep", "60"]))
        children[-1].wait()

    first = asyncio.create_task(workers.run(starts_a_child, strand=strand))
    second = asyncio.create_task(workers.run(waits, strand=strand))
    await asyncio.sleep(0)
    go_on.set()
    await first
    await until(lambda: begun.is_set() and len(children) == 2)
    await ended(second)
    before, own = children
    await until(lambda: own.poll() is not None)
    try:
        assert before.poll() is None
    finally:
        before.kill()
        before.wait()


@pytest.fixture
def quick(monkeypatch):
    """Every call of a function is quick, and calls wait for one another."""
    monkeypatch.setattr(threads, "QUICK", 1e9)
    monkeypatch.setattr(threads, "_PATIENCE", 1e9)


async def test_quick_calls_of_a_function_run_in_turn_in_one_thread(workers, quick):
    strand = Strand(of_function=True)
    for _ in range(3):
        returned = await asyncio.gather(*(workers.run(threading.get_ident, strand=strand) for _ in range(20)))
        assert len(set(returned)) == workers.started == 1


async def test_a_function_that_is_not_quick_runs_in_as_many_threads_as_it_has_calls(workers, monkeypatch):
    monkeypatch.setattr(threads, "QUICK", 0.0)
    strand, together = Strand(of_function=True), threading.Barrier(6)
    await workers.run(int, strand=strand)
    calls = (workers.run(together.wait, 40, strand=strand) for _ in range(6))
    assert sorted(await asyncio.gather(*calls)) == list(range(6))


async def test_the_first_call_of_a_function_holds_up_the_others_for_a_moment_only(workers):
    strand, together = Strand(of_function=True), threading.Barrier(6)
    calls = (workers.run(together.wait, 40, strand=strand) for _ in range(6))
    assert sorted(await asyncio.gather(*calls)) == list(range(6))


async def test_a_function_that_becomes_quick_shares_a_thread_again(workers, quick, monkeypatch):
    strand = Strand(of_function=True)
    monkeypatch.setattr(threads, "QUICK", 0.0)
    for _ in range(100):
        await workers.run(int, strand=strand)
    monkeypatch.setattr(threads, "QUICK", 1e9)
    for _ in range(20):
        await workers.run(int, strand=strand)
    returned = await asyncio.gather(*(workers.run(threading.get_ident, strand=strand) for _ in range(20)))
    assert len(set(returned)) == 1
