"""Programs that use the library, for cases of `fuzz_process`."""

from __future__ import annotations

import asyncio
import sys

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


def observe(concurrency: str, *deeds: str) -> int:
    """Apply the tree of the case with observers; all states must have a row, whatever these do."""
    from asyncstate import Settings, StateRuntime

    settings = Settings(file_roots={"base": ["salt"]}, pillar_roots={"base": ["pillar"]})

    async def apply():
        async with StateRuntime(settings) as runtime:
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
