"""What holds up the event loop: a plugin function on the loop that computes or waits where it should await.

While such a function runs nothing else does: no other async state, no event, no signal handler. `LoopWatch` is a
thread that looks at the stack of the loop's thread now and then. Where a plugin is on it, the loop is asked for a sign
of life; a plugin that is still in the same call some looks later, without such a sign, is what holds it up. Nothing is
paid for a chunk, and a loop that runs freely never notices.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import threading
import time
from typing import TYPE_CHECKING, Self

from asyncstate.errors import Issue

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from types import FrameType

LIMIT = 0.05
"""Seconds from which on a function is named."""
_INTERVAL = 0.0125
"""Seconds between two looks. Looks are counted, not seconds: where the whole machine is late nobody is to blame."""

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_PLUGINS = (f"{_PACKAGE}states{os.sep}", f"{_PACKAGE}modules{os.sep}")
_ENTRANCES = (f"{_PACKAGE}run{os.sep}invoke.py", f"{_PACKAGE}run{os.sep}aggregation.py")
"""Where the engine calls plugins; what is on the stack before that belongs to the program around it."""
_LIBRARIES = (
    *sorted({os.path.join(path, "") for name, path in sysconfig.get_paths().items() if name.endswith("lib")}),
    "<",  # frozen modules, compiled templates
)
_HINT = "make it a plain def, which runs in a thread, or await what takes long: asyncio.sleep, asyncio.to_thread"


class LoopWatch:
    """Names plugin functions that hold up ``loop``; use it as a context, in the thread of the loop.

    ``issues`` are the findings so far: one for each function, with the file and the line it was seen at.
    """

    def __init__(self, loop: AbstractEventLoop, *, interval: float = _INTERVAL, limit: float = LIMIT) -> None:
        self._loop = loop
        self._interval = interval
        self._looks = max(2, round(limit / interval))
        self._thread = threading.get_ident()
        self._over = False
        self._found: dict[tuple[str, str], tuple[int, float]] = {}

    def __enter__(self) -> Self:
        """Begin to watch."""
        threading.Thread(target=self._watch, name="asyncstate-loop-watch", daemon=True).start()
        return self

    def __exit__(self, *_error: object) -> None:
        """Stop watching. The thread ends at its next look; nobody waits for it."""
        self._over = True

    @property
    def issues(self) -> tuple[Issue, ...]:
        """What held up the loop, by file and line."""
        return tuple(
            sorted(
                Issue(f"{function} held up the event loop for {seconds:.2f} seconds or more", file, line, _HINT)
                for (file, function), (line, seconds) in list(self._found.items())
            )
        )

    def _watch(self) -> None:
        suspect: _Suspect | None = None
        while not self._over:
            time.sleep(self._interval)
            frame = plugin_frame(sys._current_frames().get(self._thread))  # noqa: SLF001 - there is no public way
            if frame is None:
                suspect = None
            elif suspect is None or suspect.frame is not frame or suspect.loop_turned:
                suspect = _Suspect(frame)
                try:
                    self._loop.call_soon_threadsafe(suspect.clear)
                except RuntimeError:  # the loop was closed meanwhile
                    return
            else:
                suspect.looks += 1
                if suspect.looks >= self._looks:
                    self._note(frame, suspect.looks * self._interval)

    def _note(self, frame: FrameType, seconds: float) -> None:
        key = (frame.f_code.co_filename, frame.f_code.co_qualname)
        line, longest = self._found.get(key, (frame.f_lineno or 0, 0.0))
        self._found[key] = (line, max(longest, seconds))


class _Suspect:
    """A call seen on the stack. The frame is held, so that no other can be taken for it."""

    def __init__(self, frame: FrameType) -> None:
        self.frame = frame
        self.looks = 0
        self.loop_turned = False

    def clear(self) -> None:
        """Take the sign of life: whatever is on the stack, the loop has turned since."""
        self.loop_turned = True


def plugin_frame(frame: FrameType | None) -> FrameType | None:
    """Return the innermost plugin function of a stack, given its innermost frame; None if the engine calls no plugin.

    What libraries do is done by the plugin that calls them, unless there are only libraries: a plugin may be installed
    among them.
    """
    plugin = library = None
    while frame is not None:
        file = frame.f_code.co_filename
        if file in _ENTRANCES:
            return plugin or library
        if file.startswith(_PLUGINS) or not file.startswith((_PACKAGE, *_LIBRARIES)):
            plugin = plugin or frame
        elif not file.startswith(_PACKAGE):
            library = frame
        frame = frame.f_back
    return None
