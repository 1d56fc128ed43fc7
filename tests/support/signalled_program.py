"""``python signalled_program.py POINT WAY GAP SIGNALS COUNT ARGUMENTS…``: asyncstate, signalled at one of its steps.

A step is a call or a return in the main thread, of Python code or of C: a lock that is taken, an import, a system call.
The first step is the import of the program, the last one the last function that Python calls at exit. The first signal
arrives at step POINT, the next ones GAP steps later each. WAY 0: at the step; a positive WAY: so many bytecodes later;
-1: a moment later, from another thread, when the main thread may wait for something.

Where nothing has arrived, the file COUNT has the number of the first step of `main`, of its last one, and of all.
"""

from __future__ import annotations

import _thread
import atexit
import os
import signal
import sys
import time
from typing import Any

MOMENT = 0.002
"""Seconds until a signal arrives from another thread."""

point, way, gap = (int(word) for word in sys.argv[1:4])
numbers = [int(number) for number in sys.argv[4].split(",") if number]
counted = sys.argv[5]
sys.argv[:6] = ["asyncstate"]
step, first, last, left = 0, 0, 0, way

for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)  # a shell may ignore them for what it starts in the background
signal.signal(signal.SIGINT, signal.default_int_handler)


def count(frame: Any, _event: str, _argument: Any) -> None:
    """Take note of a step."""
    global step, point  # noqa: PLW0603 - there is one program
    step += 1
    if step == point:
        if len(numbers) == 1 or not gap:
            sys.setprofile(None)
        point += gap
        arriving = numbers[: 1 if gap else None]
        del numbers[: 1 if gap else None]
        if way > 0:
            follow(frame, arriving)
        elif way:
            _thread.start_new_thread(arrive, (arriving, MOMENT))
        else:
            arrive(arriving)


def follow(frame: Any, arriving: list[int]) -> None:
    """Have signals arrive some bytecodes later."""

    def trace(frame: Any, event: str, _argument: Any) -> Any:
        global left  # noqa: PLW0603 - as above
        frame.f_trace_opcodes = True
        if event == "opcode" and left > 0:
            left -= 1
            if not left:
                sys.settrace(None)
                arrive(arriving)
        return trace

    while frame is not None:
        frame.f_trace, frame.f_trace_opcodes = trace, True
        frame = frame.f_back
    sys.settrace(trace)


def arrive(arriving: list[int], after: float = 0.0) -> None:
    """Send signals to this process."""
    if after:
        time.sleep(after)
    for number in arriving:
        os.kill(os.getpid(), number)


def tell() -> None:
    """Write the steps, where nothing has arrived."""
    sys.setprofile(None)
    if step < point or not point:
        with open(counted, "w", encoding="ascii") as file:
            file.write(f"{first} {last} {step}")


atexit.register(tell)
sys.setprofile(count)
from asyncstate.cli import leave, main  # noqa: E402 - it is the program

first = step
code = main()
last = step
leave(code)
sys.exit(code)
