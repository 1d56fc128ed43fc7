"""Why a plugin does not load, in words: the exception, and its file and line if they are not obvious."""

from __future__ import annotations

import linecache
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from asyncstate.load.origins import EXTERNAL
from asyncstate.model.encode import plain
from asyncstate.nearest import nearest
from asyncstate.value import Value

if TYPE_CHECKING:
    from types import FrameType

_DATA = ("__grains__", "__pillar__", "__opts__")
_DUNDER = re.compile(r"__[a-z]+__")


class _Place(Value):
    file: str
    line: int
    frame: FrameType


def told(error: BaseException, source: str) -> str:
    """Return in words the ``error`` that the plugin ``source`` raised while it was loaded.

    The text has file and line if the error came from another file of the tree. For a key that grains, pillar or options
    lack, it names the nearest key that exists.
    """
    if isinstance(error, SystemExit):
        return f"the module called sys.exit({plain(error.code)!r})"
    text = str(plain(error)) or type(error).__name__
    place = _innermost(error, source)
    if place is None:
        return text
    absent = _absent_key(error, place) if isinstance(error, KeyError) else ""
    if absent:
        return f"{text} ({place.file}, line {place.line}: {absent})"
    return f"{text} ({place.file}, line {place.line})" if place.file != source else text


def _innermost(error: BaseException, source: str) -> _Place | None:
    """Return the last step of the traceback that is in a plugin of a tree, or in ``source``."""
    found = None
    trace = error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        file = frame.f_code.co_filename
        if file == source or str(frame.f_globals.get("__name__")).startswith(EXTERNAL):
            found = _Place(file, trace.tb_lineno, frame)
        trace = trace.tb_next
    return found


def _absent_key(error: KeyError, place: _Place) -> str:
    """Return which of the dunders in the line lacks the key; "" if none does."""
    key = error.args[0] if error.args else None
    for dunder in _DUNDER.findall(linecache.getline(place.file, place.line)):
        data = place.frame.f_globals.get(dunder)
        if dunder in _DATA and isinstance(data, Mapping) and isinstance(key, str) and key not in data:
            near = nearest(key, map(str, data))
            return f"{dunder} has no {key!r}" + (f"; did you mean {near!r}?" if near else "")
    return ""
