"""Runs one state whole while another stands at one of its doors to the machine.

A door is a call that Python audits, of a file, a folder or a link of the world, and the begin of a program: before it,
where no other program can begin, and after it. A look at a file that opens nothing is no door, and what a program does
between its begin and its end is not cut.
"""

from __future__ import annotations

import asyncio
import re
import sys
import threading
from functools import cache
from typing import Self

import pytest

from asyncstate.dunders import context
from asyncstate.process import child
from asyncstate.run.chunk.local import LocalDispatch

_AUDITED = frozenset(
    """open os.listdir os.scandir os.rename os.remove os.mkdir os.rmdir os.link os.symlink os.chmod os.chown os.utime
    os.truncate os.setxattr os.removexattr subprocess.Popen""".split()
)
_PLUGINS = re.compile(r"/salt/_[a-z]+\Z")
"""Folders of a tree's own plugins: the loader reads them under a lock."""
_PATIENCE = 1.0
"""Seconds after which a state that waits for what the other one holds, such as a lock, is no longer waited for."""


class Doors:
    """Lets the state ``inner`` run whole when the state ``outer`` comes to its door number ``at``.

    If it never comes there, ``inner`` runs after it. ``passed`` counts the doors of ``outer``.
    """

    active: Doors | None = None

    def __init__(self, root: str, outer: str, inner: str, at: int) -> None:
        self.passed = 0
        self.overlapped = False
        self._root, self._outer, self._inner, self._at = root, outer, inner, at
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()
        self._reached = asyncio.Event()
        self._ended = False
        self._go_on = threading.Event()
        self._stands_at = ""
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        _listen()
        self._patch = pytest.MonkeyPatch()
        original = LocalDispatch.run_chunk
        self._patch.setattr(LocalDispatch, "run_chunk", lambda host, *given: self._run(original(host, *given), *given))
        start = child.start

        def begin(*given, **options):
            self._release_starter()
            return self._begun(start(*given, **options))

        self._patch.setattr(child, "start", begin)
        Doors.active = self
        return self

    def __exit__(self, *_error: object) -> None:
        Doors.active = None
        self._patch.undo()

    async def _run(self, running, _work, chunk):
        if chunk.id == self._inner:
            await self._reached.wait()
        try:
            return await running
        finally:
            if chunk.id == self._inner:
                self._ended = True
                self._go_on.set()
            else:
                self._reached.set()

    def _release_starter(self):
        """Let ``outer`` go on if it holds the lock in which programs start, and ``inner`` is about to start one."""
        call = context.current.get(None)
        if call is not None and call.low.get("__id__") == self._inner and self._stands_at == "subprocess.Popen":
            self._go_on.set()

    def _begun(self, program):
        call = context.current.get(None)
        if call is not None:
            self.come(call, "begun", ())
        return program

    def come(self, call, event, arguments) -> None:
        if call.low.get("__id__") != self._outer or not self._leads_into_the_world(event, arguments):
            return
        with self._lock:
            number, self.passed = self.passed, self.passed + 1
        if number == self._at and threading.get_ident() != self._loop_thread:
            self._stands_at = event
            self._loop.call_soon_threadsafe(self._reached.set)
            self._go_on.wait(_PATIENCE)
            self._stands_at = ""
            self.overlapped = self._ended

    def _leads_into_the_world(self, event, arguments) -> bool:
        path = arguments[0] if arguments else ""
        if event == "subprocess.Popen" or not isinstance(path, (str, bytes)):
            return event != "open"  # a file made of a descriptor touches nothing
        text = path if isinstance(path, str) else path.decode(errors="replace")
        return not text.startswith("/") or (text.startswith(self._root) and not _PLUGINS.search(text))


@cache
def _listen() -> None:
    """Begin to listen, once in a process: an audit hook stays."""

    def heard(event, arguments):
        doors = Doors.active
        if doors is not None and event in _AUDITED:
            call = context.current.get(None)
            if call is not None:
                doors.come(call, event, arguments)

    sys.addaudithook(heard)
