"""The compiler's process, as the server sees it: started for one look at the tree, stopped when that is out of date."""

from __future__ import annotations

import subprocess
import threading
from typing import TYPE_CHECKING

import msgspec

from asyncstate.lsp.messages import Answer
from asyncstate.process.lineage import start

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from asyncstate.lsp.messages import Job
    from asyncstate.process.ending import Reaper

_encode = msgspec.json.Encoder(enc_hook=str).encode
_decode = msgspec.json.Decoder(Answer).decode


class Look:
    """One look at the tree by a program that reads a `Job` and writes answers. `run` blocks, `stop` does not."""

    def __init__(self, argv: Sequence[str], reaper: Reaper) -> None:
        self._argv = argv
        self._reaper = reaper
        self._lock = threading.Lock()
        self._stop: Callable[[], None] | None = None
        self._stopped = False

    def run(self, job: Job, take: Callable[[Answer], None]) -> str:
        """Give each answer to ``take``. Return why there were no more, "" if all is said or `stop` was called."""
        with self._lock:
            if self._stopped:
                return ""
            try:
                process, lineage = start(self._argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            except OSError as error:
                return f"the compiler cannot be started: {error}"
            self._stop = lambda: self._reaper.end([lineage])
        with process:
            said = self._talk(process, job, take)
        if self._stopped or not process.returncode:
            return "" if self._stopped else said
        return said or f"the compiler ended with code {process.returncode}: the log of the server has the reason"

    def _talk(self, process: subprocess.Popen[bytes], job: Job, take: Callable[[Answer], None]) -> str:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the compiler was started without pipes")
        try:
            process.stdin.write(_encode(job))
            process.stdin.close()
            for line in process.stdout:
                take(_decode(line))
        except BrokenPipeError:
            return ""  # its exit code says more
        except msgspec.MsgspecError as error:
            process.kill()
            return f"the compiler says what is no answer: {error}"
        return ""

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called: what is said since is out of date."""
        return self._stopped

    def stop(self) -> None:
        """Stop the program with all that it started. Nothing more is taken."""
        with self._lock:
            self._stopped = True
            if self._stop is not None:
                self._stop()
