"""The pulse of a run: the sign of its controller, and the time for which hosts go on without it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio

from asyncstate.extras.fleet import subjects
from asyncstate.extras.fleet.protocol import Pulse, encode

if TYPE_CHECKING:
    from collections.abc import Callable

    from asyncstate.extras.fleet.board import Board

PULSE: Final = 5.0
"""The longest time between two signs of the controller, in seconds: hosts with little patience get them more often."""
_PATIENT: Final = 3.0
"""The least number of signs within the patience of hosts."""
_LOOK: Final = 60.0
"""The longest time between two looks for the controller's sign, in seconds: a reader of it would cost more."""


async def beat(board: Board, run: str, patience: float, heard: Callable[[float], None]) -> None:
    """Send signs of a run's controller. Calls ``heard(interval)`` when the board answers. Does not end."""
    number, interval = 0, min(PULSE, patience / _PATIENT)
    while True:
        await board.put(subjects.pulse(run), encode(Pulse(run=run, beat=number)))
        heard(interval)
        number += 1
        await anyio.sleep(interval)


async def silence(board: Board, run: str, patience: float, clock: Callable[[], float] = anyio.current_time) -> None:
    """Wait until a run's controller has been silent for ``patience`` seconds."""
    seen, last = clock(), b""
    look = min(patience / 4, _LOOK)
    while True:
        asked = clock()
        pulse = await board.get(subjects.pulse(run))
        if pulse not in {None, last} or clock() - asked > look:  # no sign could be received meanwhile
            last, seen = pulse or last, clock()
        left = seen + patience - clock()
        if left <= 0:
            return
        await anyio.sleep(max(min(look, left), 0.05))
