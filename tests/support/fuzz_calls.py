"""Programs that use the library, for cases of `fuzz_process`."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress

from odd_values import ERRORS, odd, odd_names


def _raise(name):
    def deed(_event):
        error = ERRORS[name]()
        raise error

    return deed


def _give(name):
    return lambda _event: odd(name)


async def _later(_event):
    raise ValueError("later")


DEEDS = {f"raise {name}": _raise(name) for name in ERRORS if name != "KeyboardInterrupt"}
DEEDS |= {f"return {name}": _give(name) for name in odd_names}
DEEDS |= {
    "a coroutine function": _later,
    "stop the loop": lambda _event: asyncio.get_running_loop().stop(),
    "cancel the task": lambda _event: asyncio.current_task() and asyncio.current_task().cancel(),
    "change the event": lambda event: setattr(event, "tag", "x"),
    "print": lambda event: sys.stdout.write(f"{event}\n"),
}
"""What an observer may do with an event, by name."""


def _settings():
    """Settings for the tree of a case, which touch nothing outside of its folder."""
    from asyncstate import Settings

    return Settings(
        file_roots={"base": ["salt"]},
        pillar_roots={"base": ["pillar"]},
        cachedir=os.environ["ASYNCSTATE_CACHEDIR"],
        state_dir=os.environ["ASYNCSTATE_STATE_DIR"],
        journal="off",  # its record would gather all grains, which takes a second
    )


def observe(concurrency: str, *deeds: str) -> int:
    """Apply the tree of the case with observers; all states must have a row, whatever these do."""
    from asyncstate import StateRuntime

    async def apply():
        async with StateRuntime(_settings()) as runtime:
            plan = await runtime.compile(["main"])
            observers = [DEEDS[deed] for deed in deeds]
            async with runtime.run(plan, observers=observers, events=False, concurrency=int(concurrency)) as run:
                pass
            return run.report

    try:
        report = asyncio.run(apply())
    except (asyncio.CancelledError, RuntimeError):
        return 125 if {"cancel the task", "stop the loop"} & set(deeds) else 1
    if len(report.rows) + len(report.not_started) != 2:
        raise AssertionError(report)
    return report.exit_code


class Left(Exception):
    """A consumer left the block of its run."""


async def _read(run, most=10**6):
    seen = 0
    async for _event in run:
        seen += 1
        if seen >= most:
            return


async def _read_twice(run):
    await asyncio.gather(_read(run), _read(run), return_exceptions=True)  # a run has one reader at a time


async def _close_the_iterator(run):
    events = aiter(run)
    await anext(events, None)  # another use may have read them all
    await events.aclose()


async def _throw_into_the_iterator(run):
    events = aiter(run)
    await anext(events)
    with suppress(Left):
        await events.athrow(Left())


async def _enter_again(run):
    with suppress(RuntimeError):
        async with run:
            pass


async def _ask_too_early(run):
    with suppress(RuntimeError):
        _ = run.report
    _ = (run.rows, run.running)


async def _from_a_thread(run):
    with suppress(Exception):
        await asyncio.to_thread(lambda: aiter(run))
    await asyncio.to_thread(run.stop, "a thread")


async def _time_out(run):
    with suppress(TimeoutError):
        async with asyncio.timeout(0.01):
            await _read(run)


async def _cancel_own_task(run):
    task = asyncio.current_task()
    asyncio.get_running_loop().call_later(0.005, task.cancel)
    await _read(run)


async def _change_events(run):
    async for event in run:
        with suppress(AttributeError, TypeError):
            event.row.clear()
            event.tag = "x"


async def _wait(run):
    await run.wait()


async def _nothing(run):
    await asyncio.sleep(0)


async def _leave(run):
    raise Left


def _raise_in_block(name):
    async def deed(run):
        await _read(run, 2)
        error = ERRORS[name]()
        raise error

    return deed


def _end(how, reason):
    async def deed(run):
        await _read(run, 2)
        getattr(run, how)(odd(reason) if reason in odd_names else reason)

    return deed


USES = {
    "read": _read,
    "read one": lambda run: _read(run, 1),
    "read twice": _read_twice,
    "close the iterator": _close_the_iterator,
    "throw into the iterator": _throw_into_the_iterator,
    "enter again": _enter_again,
    "ask too early": _ask_too_early,
    "from a thread": _from_a_thread,
    "time out": _time_out,
    "cancel the task": _cancel_own_task,
    "change events": _change_events,
    "wait": _wait,
    "nothing": _nothing,
    "leave": _leave,
    "stop": _end("stop", "enough"),
    "cancel": _end("cancel", "\x1b[31m\u202e"),
    **{f"raise {name}": _raise_in_block(name) for name in ERRORS if name not in {"KeyboardInterrupt", "SystemExit"}},
}
"""What the reader of the events of a run may do, by name."""


def consume(concurrency: str, *uses: str) -> int:
    """Apply the tree of the case and do odd things with the events; all states must be accounted for."""
    from asyncstate import StateRuntime

    runs = []

    async def apply():
        async with StateRuntime(_settings()) as runtime:
            plan = await runtime.compile(["main"])
            runs.append(runtime.run(plan, concurrency=int(concurrency)))
            async with runs[0] as run:
                for use in uses:
                    await USES[use](run)

    try:
        asyncio.run(apply())
    except BaseException as error:
        if not isinstance(error, (Left, asyncio.CancelledError)) and not any(use.startswith("raise ") for use in uses):
            raise
    try:
        report = runs[0].report
    except RuntimeError:  # it was cancelled before it could start anything
        return 125
    if len(report.rows) + len(report.not_started) != 2:
        raise AssertionError(report)
    return report.exit_code
