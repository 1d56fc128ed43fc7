"""Fork: a copy of this process that works on the same memory, writes its results to a stream, and can be killed."""

from __future__ import annotations

import gc
import os
import signal
import sys
import traceback
from typing import TYPE_CHECKING, BinaryIO, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable

_BLOCK = 1 << 16


class Fork:
    """A forked process that calls ``work`` with a stream. This process must have no other thread that holds a lock.

    It is a member of the lineage of this process. ``stream`` is the descriptor of its output, to wait for with
    ``select``. An exception that leaves ``work`` is written to standard error.
    """

    def __init__(self, work: Callable[[BinaryIO], None]) -> None:
        reading, writing = os.pipe()
        self.stream: int = reading
        self._pid = os.fork()
        if not self._pid:
            os.close(reading)
            _work(work, writing)
        os.close(writing)

    def listen(self) -> bytes:
        """Wait for more of its output and return it; b"" at its end."""
        return os.read(self.stream, _BLOCK)

    def wait(self) -> bool:
        """Wait for its end, and return whether ``work`` returned."""
        os.close(self.stream)
        return os.waitpid(self._pid, 0)[1] == 0

    def kill(self) -> None:
        """End it at once."""
        os.kill(self._pid, signal.SIGKILL)
        self.wait()


def _work(work: Callable[[BinaryIO], None], writing: int) -> NoReturn:
    try:
        gc.freeze()  # a collection would copy the memory that the two share
        with os.fdopen(writing, "wb") as stream:
            work(stream)
        os._exit(0)
    except BaseException:  # noqa: BLE001 - a forked process must never return into its parent's code
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(1)
