"""One child process: starts it with a mark of its own, reads its output, and ends it with all its descendants.

Promises: it takes argument lists only (a caller that wants a shell names one); working directory, environment, umask
and account are set in the child, never in this process; the child inherits only the three standard descriptors; on a
time-out or a cancelled call the child and its descendants get TERM and then KILL, and the call returns only when they
are gone; a daemon that keeps the output pipe open does not make the caller wait.
"""

from __future__ import annotations

import logging
import os
import select
import signal
import subprocess
import threading
import time
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from asyncstate import dunders
from asyncstate.dunders.context import observer
from asyncstate.errors import CommandExecutionError
from asyncstate.process.descriptors import Thread, room
from asyncstate.process.ending import GRACE, PATIENCE, belong, reaper
from asyncstate.process.lineage import start
from asyncstate.process.output import Output
from asyncstate.residue import note_ended

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from asyncstate.process.lineage import Lineage

log: logging.Logger = logging.getLogger(__name__)

SILENCE = 0.1
"""Seconds without output after which reading stops, when the child has ended but another process holds the pipe."""
DRAIN = 1.0
"""Seconds after which reading stops, when the child has ended but another process keeps writing."""
_TICK = 60.0
_TICK_WITHOUT_PIDFD = 0.02
_CHUNK = 65536


class Finished(NamedTuple):
    """The end of a child. ``returncode`` is negative for a signal; ``timed_out``: the time-out ended it."""

    pid: int
    returncode: int
    stdout: bytes
    stderr: bytes
    timed_out: bool


def run_child(
    argv: Sequence[str],
    *,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes | None = None,
    merge_stderr: bool = False,
    umask: int = -1,
    account: Mapping[str, Any] | None = None,
    executable: str | None = None,
    timeout: float | None = None,
    limit: int | None = None,
) -> Finished:
    """Run ``argv`` to its end and return its output.

    ``timeout`` is in seconds. ``executable`` is the path of the program, if ``argv[0]`` is only its name; an observer
    cannot follow it then. ``account`` are the arguments of ``Popen`` that run the child as another user. ``cwd``
    and ``env`` default to those of this process. Raises OSError if the program cannot be started, RunCancelled if the
    call is cancelled, and CommandExecutionError if the program writes more than ``limit`` bytes (default: the limit of
    `asyncstate.process.output`); then it is ended. If descriptors or processes are lacking, the program starts when
    others have ended.
    """
    call = dunders.context.current.get(None)
    cancel = call.cancel if call is not None else None
    if cancel is not None:
        cancel.check()
    output = Output(limit)
    with room.place(cancel) as place, _followed(argv, cwd, env, account) as command:
        options = {"cwd": cwd, "env": env, "umask": umask, "executable": executable, **(account or {})}
        begin = partial(_Pipes.start, command, merged=merge_stderr, fed=stdin is not None, **options)
        process, lineage, pipes = place.start(begin)
        belong(lineage, cancel)
        child = _Child(process, pipes, stdin, output, watched=place.ample)
        try:
            timed_out = not child.listen(None if timeout is None else time.monotonic() + timeout)
            if (timed_out or output.exceeded) and reaper.end([lineage]):
                child.listen(time.monotonic() + GRACE + PATIENCE)
            reaper.wait([lineage])
            child.drain()
        except BaseException:
            child.kill()
            reaper.end([lineage])
            raise
        finally:
            child.close()
            output.close()
    if cancel is not None:
        cancel.check()
    if process.returncode is None:
        raise CommandExecutionError(
            f"{argv[0]} was ended, but its process {process.pid} is still there after {PATIENCE:g} s: "
            "it waits in the kernel, or another program traces it"
        )
    if cancel is None:
        note_ended([lineage.mark])
    if output.exceeded:
        raise CommandExecutionError(f"{argv[0]} was ended: it wrote more than {output.limit} bytes")
    return Finished(process.pid, process.returncode, output.text("out"), output.text("err"), timed_out)


@contextmanager
def _followed(
    argv: Sequence[str], cwd: str | None, env: Mapping[str, str] | None, account: Mapping[str, Any] | None
) -> Iterator[Sequence[str]]:
    """Yield the command to start in place of a program, so that the observer of the call can follow it."""
    watching = observer.get()
    followed = None if watching is None else watching.follow(argv, cwd, env, account)
    if followed is None:
        yield argv
        return
    try:
        yield followed.argv
    finally:
        followed.ended()


def start_detached(
    argv: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    umask: int = -1,
    account: Mapping[str, Any] | None = None,
) -> int:
    """Start ``argv`` in the background, with its standard streams on ``/dev/null``, and return its pid at once.

    It outlives the call that started it, unless that call is cut off.
    """
    nowhere = subprocess.DEVNULL
    call = dunders.context.current.get(None)
    cancel = call.cancel if call is not None else None
    streams = {"stdin": nowhere, "stdout": nowhere, "stderr": nowhere}
    with room.place(cancel) as place:
        begin = partial(start, argv, cwd=cwd, env=env, umask=umask, **streams, **(account or {}))
        process, lineage = place.start(begin)
    belong(lineage, cancel)
    _reap_later(process)
    return process.pid


def _reap_later(process: subprocess.Popen[bytes]) -> None:
    """Reap a process when it ends, however late. The end of this program does not wait for that."""
    with suppress(RuntimeError):  # without the thread, it is reaped when the next program starts
        Thread(target=process.wait, name=f"reap-{process.pid}", daemon=True).start()


class _Pipes(NamedTuple):
    """This side of a child's pipes: descriptors, -1 for one that it has not."""

    stdin: int
    stdout: int
    stderr: int

    @classmethod
    def start(
        cls, argv: Sequence[str], *, merged: bool, fed: bool, **options: Any
    ) -> tuple[subprocess.Popen[bytes], Lineage, _Pipes]:
        """Start a program with pipes. Raises OSError; then no descriptor is left open.

        ``Popen`` could make them, with a file object each and at several times the price.
        """
        ours: list[int] = []
        theirs: list[int] = []
        try:
            for _ in range(1 if merged else 2):
                read, write = os.pipe()
                ours.append(read)
                theirs.append(write)
            if fed:
                read, write = os.pipe()
                ours.append(write)
                theirs.append(read)
            else:
                theirs.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
            process, lineage = start(argv, stdin=theirs[-1], stdout=theirs[0], stderr=theirs[-2], **options)
        except BaseException:
            for descriptor in ours:
                os.close(descriptor)
            raise
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        return process, lineage, cls(ours[-1] if fed else -1, ours[0], -1 if merged else ours[1])


class _Child:
    """A running child and its pipes. ``watched``: a descriptor reports its end; else it is polled."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        pipes: _Pipes,
        stdin: bytes | None,
        output: Output,
        *,
        watched: bool,
    ) -> None:
        self._process = process
        self._output = output
        self._lock = threading.Lock()
        self._gone = False
        self._open: dict[int, str] = {pipes.stdout: "out"}
        if pipes.stderr >= 0:
            self._open[pipes.stderr] = "err"
        self._outputs = tuple(self._open)
        self._poll = select.poll()
        for descriptor in self._open:
            self._poll.register(descriptor, select.POLLIN)
        self._unsent = memoryview(stdin or b"")
        self._stdin = pipes.stdin
        if self._stdin >= 0:
            self._poll.register(self._stdin, select.POLLOUT)
        self._pidfd = _open_pidfd(process.pid) if watched else -1
        if self._pidfd >= 0:
            self._poll.register(self._pidfd, select.POLLIN)

    def kill(self) -> None:
        """End the group at once."""
        with self._lock:
            if not self._gone:
                with suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGKILL)

    def listen(self, deadline: float | None) -> bool:
        """Read output until the child ends or exceeds its limit. Returns False if ``deadline`` (monotonic) passes."""
        flooded = self._output.exceeded
        while not self._look(self._patience(deadline)):
            if self._output.exceeded and not flooded:
                return True
            if deadline is not None and time.monotonic() >= deadline:
                return False
        return True

    def close(self) -> None:
        """Close the pipes and reap the child; after that nothing signals its pid, which may be used again.

        The child has ended or was killed. If it cannot be reaped, a thread does so later.
        """
        for descriptor in (self._stdin, *self._outputs, self._pidfd):
            if descriptor >= 0:
                os.close(descriptor)
        if not self._reap():
            log.warning("process %d was killed, but has not ended: it is left behind", self._process.pid)
            _reap_later(self._process)

    def _reap(self) -> bool:
        """Reap the child, within `PATIENCE`. A child that waits in the kernel or is traced may take longer."""
        latest = time.monotonic() + PATIENCE
        while os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
            if time.monotonic() >= latest:
                return False
            time.sleep(_TICK_WITHOUT_PIDFD)
        with self._lock:
            self._gone = True
            self._process.wait()
        return True

    def _patience(self, until: float | None) -> float:
        tick = _TICK if self._pidfd >= 0 else _TICK_WITHOUT_PIDFD
        return tick if until is None else min(tick, max(0.0, until - time.monotonic()))

    def _look(self, seconds: float) -> bool:
        """Wait for the pipes for up to ``seconds``, read and write, and return whether the child has ended."""
        exited = False
        for descriptor, _ in self._poll.poll(seconds * 1000):
            if descriptor == self._pidfd:
                exited = True
            elif descriptor == self._stdin:
                self._feed()
            else:
                self._receive(descriptor)
        if self._pidfd < 0:
            exited = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        return exited

    def drain(self) -> None:
        """Read the rest of the pipes, without waiting for other processes that hold them open."""
        until = time.monotonic() + DRAIN
        if self._pidfd >= 0:
            self._poll.unregister(self._pidfd)
        self._shut_stdin()
        while self._open and time.monotonic() < until:
            ready = self._poll.poll(SILENCE * 1000)
            if not ready:
                return
            for descriptor, _ in ready:
                self._receive(descriptor)

    def _receive(self, descriptor: int) -> None:
        data = os.read(descriptor, _CHUNK)
        if data:
            self._output.add(self._open[descriptor], data)
        else:
            self._poll.unregister(descriptor)
            del self._open[descriptor]

    def _feed(self) -> None:
        try:
            sent = os.write(self._stdin, self._unsent[: select.PIPE_BUF])
        except BrokenPipeError:
            self._shut_stdin()
            return
        self._unsent = self._unsent[sent:]
        if not self._unsent:
            self._shut_stdin()

    def _shut_stdin(self) -> None:
        if self._stdin >= 0:
            self._poll.unregister(self._stdin)
            os.close(self._stdin)
            self._stdin = -1


def _open_pidfd(pid: int) -> int:
    """Return a descriptor that becomes readable when the process ends, or -1 where the system has none."""
    if not hasattr(os, "pidfd_open"):
        return -1
    try:
        return os.pidfd_open(pid)
    except OSError:
        # ENOSYS on old kernels, EPERM in some sandboxes, EMFILE: the caller polls at intervals instead.
        return -1
