"""The reason why a plugin does not load, as text: the exception, and its file and line if they are not obvious."""

from __future__ import annotations

import linecache
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from asyncstate.errors import step_in_plugin
from asyncstate.model.encode import plain
from asyncstate.nearest import nearest

if TYPE_CHECKING:
    from types import TracebackType

_DATA = ("__grains__", "__pillar__", "__opts__")
_DUNDER = re.compile(r"__[a-z]+__")


def told(error: BaseException, source: str) -> str:
    """Return as text the ``error`` that the plugin ``source`` raised while it was loaded.

    The text has file and line if the error came from another file of the tree. For a key missing in grains, pillar or
    options, it names the nearest existing key.
    """
    if isinstance(error, SystemExit):
        return f"the module called sys.exit({plain(error.code)!r})"
    text = str(plain(error)) or type(error).__name__
    step = step_in_plugin(error, source)
    if step is None:
        return text
    file, line = step.tb_frame.f_code.co_filename, step.tb_lineno
    absent = _absent_key(error, step) if isinstance(error, KeyError) else ""
    if absent:
        return f"{text} ({file}, line {line}: {absent})"
    return f"{text} ({file}, line {line})" if file != source else text


def _absent_key(error: KeyError, step: TracebackType) -> str:
    """Return the dunder in the line that lacks the key; "" if none does."""
    key = error.args[0] if error.args else None
    for dunder in _DUNDER.findall(linecache.getline(step.tb_frame.f_code.co_filename, step.tb_lineno)):
        data = step.tb_frame.f_globals.get(dunder)
        if dunder in _DATA and isinstance(data, Mapping) and isinstance(key, str) and key not in data:
            near = nearest(key, map(str, data))
            return f"{dunder} has no {key!r}" + (f"; did you mean {near!r}?" if near else "")
    return ""
