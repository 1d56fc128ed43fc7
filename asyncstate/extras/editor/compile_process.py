"""The main loop of the compiler's process: jobs come one after the other, and only the newest counts.

Rendering and the early answers happen here, so that renderings are kept for the next job. The rest happens in a
fork, which is killed when a new job comes.
"""

from __future__ import annotations

import os
import select
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from asyncstate.errors import AsyncStateError
from asyncstate.extras.editor.compiling import early, whole
from asyncstate.extras.editor.fork import Fork
from asyncstate.extras.editor.messages import Job, Reply
from asyncstate.extras.editor.render_cache import Renderings
from asyncstate.model.encode import encoded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import BinaryIO

    from asyncstate.config import Settings

_decode = msgspec.json.Decoder(Job).decode
_BLOCK = 1 << 16
_PAUSE = 0.2
"""Seconds without a new job after which the fork starts: fast typing would stop it at every letter."""
_BROKEN = "the compiler failed: the log of the server has the reason"


def serve(source: int, say: Callable[[bytes], None], settings_of: Callable[[Mapping[str, Any]], Settings]) -> None:
    """Read jobs from a file descriptor, one a line, and write replies, until it is closed.

    ``settings_of`` makes settings of the options of a job, and raises the mistakes in them.
    """
    _Standby(source, say, settings_of).serve()


class _Standby:
    def __init__(
        self, source: int, say: Callable[[bytes], None], settings_of: Callable[[Mapping[str, Any]], Settings]
    ) -> None:
        self._source = source
        self._say = say
        self._settings_of = settings_of
        self._kept = Renderings()
        self._read = b""
        self._fork: Fork | None = None
        self._due: Callable[[BinaryIO], None] | None = None
        self._number = 0
        self._heard = b""

    def serve(self) -> None:
        try:
            while (job := self._next()) is not None:
                self._take(job)
        finally:
            self._end_fork()

    def _next(self) -> Job | None:
        """Wait for the newest job, and forward the fork's output meanwhile. Return None once there are no more."""
        while b"\n" not in self._read:
            waiting = [self._source] if self._fork is None else [self._source, self._fork.stream]
            ready, _, _ = select.select(waiting, [], [], None if self._due is None else _PAUSE)
            if not ready and self._due is not None:
                self._fork, self._due = Fork(self._due), None
            elif self._source in ready:
                block = os.read(self._source, _BLOCK)
                if not block:
                    return None
                self._read += block
            elif self._fork is not None:
                self._listen(self._fork)
        *lines, self._read = self._read.split(b"\n")
        jobs = [_decode(line) for line in lines]
        return structs.replace(jobs[-1], changed=any(job.changed for job in jobs))

    def _listen(self, fork: Fork) -> None:
        """Forward the fork's output by whole lines, and its end."""
        block = fork.listen()
        lines, end, self._heard = (self._heard + block).rpartition(b"\n")
        if lines:
            self._say(lines + end)
        if not block:
            self._fork = None
            problem = "" if fork.wait() else _BROKEN
            self._say(_line(Reply(self._number, done=True, problem=problem)))

    def _is_out_of_date(self) -> bool:
        return bool(select.select([self._source], [], [], 0)[0])

    def _take(self, job: Job) -> None:
        self._end_fork()
        if job.changed:
            self._kept.forget()
        try:
            settings = self._settings_of(job.options)
            answers = early(job, settings, self._kept, self._is_out_of_date)
            said = b"".join(_line(Reply(job.number, answer)) for answer in answers)
        except (AsyncStateError, OSError) as error:
            self._say(_line(Reply(job.number, done=True, problem=str(error))))
            return
        if self._is_out_of_date():
            return
        self._say(said)
        self._number, self._heard = job.number, b""
        self._due = lambda out: _write(out, (Reply(job.number, each) for each in whole(job, settings, self._kept)))

    def _end_fork(self) -> None:
        self._due = None
        if self._fork is not None:
            self._fork.kill()
            self._fork = None


def _write(out: BinaryIO, replies: Iterable[Reply]) -> None:
    for reply in replies:
        out.write(_line(reply))
        out.flush()


def _line(reply: Reply) -> bytes:
    return encoded(reply) + b"\n"
