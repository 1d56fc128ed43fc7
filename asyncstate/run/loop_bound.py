"""Ends work outside a run, such as compiling a tree, together with its event loop or its program."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from asyncstate.run.cleanup import clear_cut_off
from asyncstate.run.loop_end import LOOP_CLOSED, PROGRAM_ENDED, LoopEnd, in_background

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from asyncstate.load.threads import WorkerThreads
    from asyncstate.run.lock import RunLock


@contextmanager
def loop_bound(workers: WorkerThreads, held: RunLock | None = None) -> Iterator[None]:
    """Cancel the work of ``workers`` in the block if its loop is closed, or if the program ends.

    A closed loop never leaves the block, so the lock ``held`` is then released in the background, after the last
    process has ended.
    """

    def closed() -> None:
        release = held.hand_over() if held is not None else None
        workers.cut_off(LOOP_CLOSED)
        in_background(partial(_clear, release))

    end = LoopEnd(closed, lambda: workers.cut_off(PROGRAM_ENDED))
    end.start()
    try:
        yield
    finally:
        end.stop()


def _clear(release: Callable[[], None] | None) -> None:
    try:
        clear_cut_off()
    finally:
        if release is not None:
            release()
