"""A program that runs beside this one until `Service.stop`: a server of asyncstate, not a call of a state.

Its children are not followed. It has a session of its own, so that Ctrl-C in a terminal reaches this program
only, which then ends it in order.
"""

from __future__ import annotations

import signal
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio
from anyio.to_thread import run_sync

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Service:
    """A running program, with its standard streams on ``/dev/null``. Raises OSError if it cannot be started.

    ``held`` are descriptors that stay open in it, for example of a file that it locks while it lives. ``environ`` is
    its environment; None: the environment of this process.
    """

    def __init__(
        self, argv: Sequence[str], *, held: Sequence[int] = (), environ: Mapping[str, str] | None = None
    ) -> None:
        nowhere = subprocess.DEVNULL
        self._process = subprocess.Popen(
            argv,
            stdin=nowhere,
            stdout=nowhere,
            stderr=nowhere,
            pass_fds=tuple(held),
            env=environ,
            start_new_session=True,
        )

    @property
    def code(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""
        return self._process.poll()

    async def ended(self) -> int:
        """Wait for its end and return its code."""
        return await run_sync(self._process.wait, abandon_on_cancel=True)

    async def stop(self, patience: float) -> None:
        """End it with TERM, after ``patience`` seconds with KILL, and return when it is gone. Cannot be interrupted."""
        if self.code is not None:
            return
        with anyio.CancelScope(shield=True):
            self._send(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                await run_sync(self._process.wait, patience)
                return
            self._send(signal.SIGKILL)
            await run_sync(self._process.wait)

    def _send(self, number: int) -> None:
        with suppress(ProcessLookupError):
            self._process.send_signal(number)
