"""``python signalled_program.py POINT GAP SIGNALS COUNT ARGUMENTS…``: asyncstate, which gets signals at one of its steps.

A step is a call or a return in the main thread, of Python code or of C: a lock that is taken, an import, a system call.
The first signal arrives at step POINT, the next ones GAP steps later each. The number of all steps is written to the
file COUNT, where nothing has arrived.
"""

from __future__ import annotations

import os
import sys
from typing import Any

point, gap = int(sys.argv[1]), int(sys.argv[2])
numbers = [int(number) for number in sys.argv[3].split(",") if number]
counted = sys.argv[4]
sys.argv[:5] = ["asyncstate"]
step = 0


def count(_frame: Any, _event: str, _argument: Any) -> None:
    """Take note of a step."""
    global step, point  # noqa: PLW0603 - there is one program
    step += 1
    if step == point:
        if len(numbers) == 1 or not gap:
            sys.setprofile(None)
        point += gap
        for number in numbers[: 1 if gap else None]:
            os.kill(os.getpid(), number)
        del numbers[: 1 if gap else None]


from asyncstate.cli import main  # noqa: E402 - what comes before `main` is not the program's

sys.setprofile(count)
try:
    code = main()
finally:
    sys.setprofile(None)
if step < point or not point:
    with open(counted, "w", encoding="ascii") as file:
        file.write(str(step))
sys.exit(code)
