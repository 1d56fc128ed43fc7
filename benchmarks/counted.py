"""Runs the command line of its arguments, and writes what it imported and called into the file of the first one.

The file gets JSON: ``modules``, the names of what is imported; ``calls``, the calls of Python functions by the file of
the function; ``hops``, by its caller, how often a thread handed something to the event loop; ``patterns``, by its
caller, how often a regular expression was compiled; ``texts``, by its caller, how often Python code was compiled from a
text, such as an annotation. All threads count.
For `budget`; it imports nothing that the command line would not import itself.
"""

from __future__ import annotations

import atexit
import itertools
import re
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import FrameType

_COMPILE = re._compiler.compile.__code__  # type: ignore[attr-defined]  # noqa: SLF001 - what `re` does not cache
_HAND_OVER = "call_soon_threadsafe"
_MAKERS = frozenset({"collections", "dataclasses", "msgspec", "typing"})
"""Packages that compile texts of others when they make a class."""

calls: dict[str, int] = {}
hops: dict[str, int] = {}
patterns: dict[str, int] = {}
texts: dict[str, int] = {}


def count(frame: FrameType, event: str, argument: Any) -> None:
    """Count one event of `sys.setprofile`."""
    if event == "call":
        code = frame.f_code
        calls[code.co_filename] = calls.get(code.co_filename, 0) + 1
        if code is _COMPILE:
            place = _outside(frame, frozenset({"re"}))
            patterns[place] = patterns.get(place, 0) + 1
        caller = frame.f_back if code.co_name == _HAND_OVER else None
    else:
        caller = frame if event == "c_call" and argument.__name__ == _HAND_OVER else None
    if caller is not None:
        place = f"{caller.f_code.co_filename}:{caller.f_code.co_qualname}"
        hops[place] = hops.get(place, 0) + 1


def count_text(event: str, arguments: tuple[Any, ...]) -> None:
    """Count one event of `sys.addaudithook`."""
    if event == "compile" and arguments[1] == "<string>":
        place = _outside(sys._getframe(1), _MAKERS)  # noqa: SLF001 - the hook gets no frame
        texts[place] = texts.get(place, 0) + 1


def _outside(frame: FrameType | None, packages: frozenset[str]) -> str:
    """Return the file and the line that called these packages."""
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in packages:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else ""


def write(path: str) -> None:
    """Write the counts, and count no more."""
    sys.setprofile(None)
    modules = sorted(sys.modules)
    import json  # noqa: PLC0415 - it must not be among the modules that were counted

    with open(path, "w", encoding="utf-8") as file:
        json.dump({"modules": modules, "calls": calls, "hops": hops, "patterns": patterns, "texts": texts}, file)


if __name__ == "__main__":
    atexit.register(write, sys.argv.pop(1))
    # Workers give the loop to others after some time. Here no time passes, so they do that as often on any machine.
    setattr(time, "perf_counter", itertools.repeat(0.0).__next__)  # noqa: B010 - not a type that mypy lets it have
    from asyncstate.cli import main

    sys.addaudithook(count_text)
    threading.setprofile(count)
    sys.setprofile(count)
    sys.exit(main())
