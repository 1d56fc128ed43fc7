"""A program that applies a tree through the library, and ends the run in the way that it is told.

``python ending_program.py WAY SALT CACHE CONCURRENCY FOLDER``: acts when there is something in the named pipe
``FOLDER/act``, and writes what it knows of the end to ``FOLDER/told``.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import anyio

from asyncstate import Settings, StateRuntime

way, salt, cache, concurrency, place = sys.argv[1:]
OUTLIVED = ("program ends", "loop never closed")
"""Ways in which the run ends after the program has told of it."""
folder = Path(place)
told = {"ended": "", "code": None, "cancelled": "", "notices": [], "applied": 0}


async def moment():
    """Wait until all states are under way."""
    pipe = os.open(folder / "act", os.O_RDWR | os.O_NONBLOCK)
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(pipe, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(pipe)
        os.close(pipe)


def wait():
    pipe = os.open(folder / "act", os.O_RDONLY)
    os.read(pipe, 1)
    os.close(pipe)


def note(report):
    told.update(
        code=report.exit_code, cancelled=report.cancelled, notices=list(report.notices), applied=len(report.rows)
    )


class Observer:
    """Raises an exception at the first state that ends."""

    def __init__(self, error):
        self.error = error

    def __call__(self, event):
        if type(event).__name__ == "ChunkStarted":
            raise self.error


class Hanging:
    """Holds up the loop when a state ends, until the program is told to act."""

    waited = False

    def __call__(self, event):
        if type(event).__name__ == "ChunkFinished" and "first" not in event.tag and not self.waited:
            self.waited = True
            news = os.open(folder / "news", os.O_RDWR)
            os.write(news, b"hanging\n")
            os.close(news)
            wait()


OBSERVERS = {
    "observer fails": ValueError("no"),
    "observer exits": SystemExit(3),
    "observer interrupts": KeyboardInterrupt(),
    "observer out of memory": MemoryError(),
}


async def plain(runtime):
    async with asyncio.TaskGroup() as group:
        if way in OBSERVERS:
            group.create_task(moment())
        observers = [Observer(OBSERVERS[way])] if way in OBSERVERS else []
        if way == "observer hangs for a while":
            observers = [Hanging()]
        note(await runtime.apply(["all"], observers=observers))


async def ordered(runtime):
    async with runtime.run(await runtime.compile(["all"])) as run:
        await moment()
        (run.stop if way == "stop" else run.cancel)("enough")
    note(run.report)


async def block_raises(runtime):
    run = runtime.run(await runtime.compile(["all"]))
    try:
        async with run:
            await moment()
            raise ValueError("enough")
    finally:
        note(run.report)


async def reader_hangs(runtime):
    run = runtime.run(await runtime.compile(["all"]))

    async def read():
        async for _ in run:
            await asyncio.Event().wait()

    async with asyncio.TaskGroup() as group:
        async with run:
            reader = group.create_task(read())
            await moment()
        note(run.report)
        reader.cancel()


async def timeout_around(runtime):
    async with asyncio.timeout(None) as limit:
        async with asyncio.TaskGroup() as group:

            async def cut():
                await moment()
                limit.reschedule(asyncio.get_running_loop().time())

            group.create_task(cut())
            await runtime.apply(["all"])


async def task_cancelled(runtime):
    task = asyncio.create_task(runtime.apply(["all"]))
    await moment()
    task.cancel()
    await task


async def twice_cancelled(runtime):
    task = asyncio.create_task(runtime.apply(["all"]))
    await moment()
    task.cancel()
    await asyncio.sleep(0.05)
    task.cancel()
    await task


async def sibling_fails(runtime):
    async def fail():
        await moment()
        raise ValueError("enough")

    async with anyio.create_task_group() as group:
        group.start_soon(fail)
        group.start_soon(runtime.apply, ["all"])


async def sibling_exits(runtime):
    async def leave():
        await moment()
        asyncio.get_running_loop().call_soon(sys.exit, 3)

    async with asyncio.TaskGroup() as group:
        group.create_task(leave())
        await runtime.apply(["all"])


async def generator_closed(runtime):
    async def events():
        async with runtime.run(await runtime.compile(["all"])) as run:
            async for event in run:
                yield event

    source = events()
    async for event in source:
        if event.seq > 2:
            break
    await moment()
    await source.aclose()


async def runtime_closed(runtime):
    run = runtime.run(await runtime.compile(["all"]))

    async def hold():
        async with run:
            pass

    task = asyncio.create_task(hold())
    await moment()
    await runtime.__aexit__(None, None, None)
    await task
    note(run.report)
    await runtime.__aenter__()


WAYS = {
    "stop": ordered,
    "cancel": ordered,
    "exception in the block": block_raises,
    "asyncio.timeout": timeout_around,
    "task cancelled": task_cancelled,
    "task cancelled twice": twice_cancelled,
    "sibling fails": sibling_fails,
    "sibling exits": sibling_exits,
    "generator closed": generator_closed,
    "reader hangs": reader_hangs,
    "runtime closed": runtime_closed,
}


def settings():
    """Return the settings of the run."""
    return Settings(
        file_roots={"base": [salt]},
        cachedir=cache,
        state_dir=os.environ["ASYNCSTATE_STATE_DIR"],
        concurrency=int(concurrency),
        timeout=6 if way == "time-out" else None,
    )


async def main():
    async with StateRuntime(settings()) as runtime:
        await WAYS.get(way, plain)(runtime)


def leave_run(loop):
    """Stop the loop under the running run."""
    runtime = StateRuntime(settings())
    loop.run_until_complete(runtime.__aenter__())
    if "under" in way:
        begin = runtime.apply if way.endswith("apply") else runtime.compile
        task = loop.create_task(begin(["all"]))
        task._log_destroy_pending = False
        loop.run_until_complete(moment())
        return task
    run = runtime.run(loop.run_until_complete(runtime.compile(["all"])))
    loop.run_until_complete(run.__aenter__())
    loop.run_until_complete(moment())
    return run


def leave_loop():
    """End the program while the loop runs in another thread."""
    threading.Thread(target=run_until_cut_off, daemon=True).start()
    wait()


def run_until_cut_off():
    """Run; what was cut off may tell its caller so while the interpreter still lives, and Python would print that."""
    with suppress(Exception):
        asyncio.run(main())


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def zombies():
    children = [int(pid) for task in os.listdir("/proc/self/task") for pid in _children(task)]
    return [pid for pid in children if ") Z " in Path(f"/proc/{pid}/stat").read_text()]


def _children(task):
    try:
        return Path(f"/proc/self/task/{task}/children").read_text().split()
    except OSError:
        return []


before = descriptors()
try:
    if way.startswith("loop "):
        loop = asyncio.new_event_loop()
        run = leave_run(loop)
        if way != "loop never closed":
            loop.close()
        if way == "loop closed":
            note(run.report)
    elif way == "program ends":
        leave_loop()
    else:
        asyncio.run(main())
    told["ended"] = "returned"
except BaseException as error:  # noqa: BLE001 - it is told
    told["ended"] = type(error).__name__
end = time.monotonic() + 20
while (zombies() or descriptors() > before) and way not in OUTLIVED and time.monotonic() < end:
    time.sleep(0.05)
told.update(zombies=zombies(), descriptors=descriptors() - before)
(folder / "told.new").write_text(json.dumps(told))
(folder / "told.new").rename(folder / "told")
