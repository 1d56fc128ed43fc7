"""The compiler's process, as the server sees it: started once, given a job at every change, replaced if stuck."""

from __future__ import annotations

import subprocess
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from asyncstate.extras.editor.messages import Reply
from asyncstate.model.encode import encoded
from asyncstate.process.ending import reaper
from asyncstate.process.lineage import start

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from asyncstate.extras.editor.messages import Job

_ENCODER = msgspec.json.Encoder(enc_hook=str)
_decode = msgspec.json.Decoder(Reply).decode
_MOMENT = 0.1
"""Seconds in which a program without a job ends at the end of its input: waiting for a line, it hears no signal."""
_PATIENCE = 30.0
"""Seconds without an answer after which a new job is given to a new process."""


class Compiler:
    """A program that reads jobs, one a line, and writes replies. ``take`` is called for each, in another thread.

    If the program breaks, the last job gets a reply that says so, and the next one starts the program again.
    """

    def __init__(self, argv: Sequence[str], take: Callable[[Reply], None]) -> None:
        self._argv = argv
        self._take = take
        self._lock = threading.Lock()
        self._program: _ProgramTree | None = None
        self._ended: list[_ProgramTree] = []
        self._asked = 0
        self._waits_since = 0.0

    def prepare(self) -> None:
        """Start the program, so that the first job need not wait for that. Blocks a little."""
        with self._lock:
            self._start()

    def ask(self, job: Job) -> None:
        """Give a job to the program. Blocks a little."""
        with self._lock:
            if self._waits_since and time.monotonic() - self._waits_since > _PATIENCE:
                self._stop()
            process = self._start()
            self._asked = job.number
            self._waits_since = self._waits_since or time.monotonic()
            if process is None or process.stdin is None:
                return
            try:
                process.stdin.write(encoded(job, _ENCODER) + b"\n")
                process.stdin.flush()
            except OSError:
                return  # it has ended: the thread that reads says so

    def stop(self) -> None:
        """End the program with all that it started. Waits only if it may end by itself."""
        with self._lock:
            self._stop()

    def wait(self) -> None:
        """Block until the programs that were stopped are gone."""
        for program in self._ended:
            program.wait()

    def _start(self) -> subprocess.Popen[bytes] | None:
        if self._program is None:
            try:
                self._program = _ProgramTree(self._argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            except OSError as error:
                self._take(Reply(self._asked, done=True, problem=f"the compiler cannot be started: {error}"))
                return None
            listening = (self._program,)
            threading.Thread(target=self._listen, args=listening, name="asyncstate-compiler", daemon=True).start()
        return self._program.process

    def _stop(self) -> None:
        self._waits_since = 0.0
        if self._program is not None:
            _close(self._program.process)
            self._program.end()
            self._ended.append(self._program)
            self._program = None

    def _listen(self, program: _ProgramTree) -> None:
        process, problem = program.process, ""
        with process:
            try:
                for line in process.stdout or ():
                    self._answer(_decode(line))
            except msgspec.MsgspecError as error:
                problem = f"the compiler says what is no answer: {error}"
                process.kill()
        with self._lock:
            if self._program is not program:
                return  # it was stopped
            self._stop()
            code = process.returncode
            problem = problem or f"the compiler ended with code {code}: the log of the server has the reason"
            self._take(Reply(self._asked, done=True, problem=problem))

    def _answer(self, reply: Reply) -> None:
        if reply.number == self._asked:
            self._waits_since = 0.0
            self._take(reply)


class _ProgramTree:
    """A program with all that it starts, to be ended as a whole. ``options`` are those of ``Popen``. Raises OSError."""

    def __init__(self, argv: Sequence[str], **options: Any) -> None:
        self.process: subprocess.Popen[bytes]
        self.process, self._lineage = start(argv, **options)

    def end(self) -> None:
        """Start to end it, and return at once."""
        reaper.end([self._lineage])

    def wait(self) -> None:
        """Block until it is gone after `end`."""
        reaper.wait([self._lineage])


def _close(process: subprocess.Popen[bytes]) -> None:
    """Tell the program that there are no more jobs."""
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_MOMENT)
