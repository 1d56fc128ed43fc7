"""Iterating over large text, and picking from lists."""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING, Any

from asyncstate.extras.namespace.names import ModuleGetattr, nothing_else

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def split(orig: str, sep: str | None = None) -> Iterator[str]:
    """Yield the parts of ``orig.split(sep)`` one by one; an empty last part is left out."""
    at = 0
    for found in re.finditer(r"\s+" if sep is None else re.escape(sep), orig):
        if sep is not None or found.start() > at:
            yield orig[at : found.start()]
        at = found.end()
    if at < len(orig):
        yield orig[at:]


def fnmatch_multiple(candidates: Iterable[Any], pattern: str) -> Any:
    """Return the first name that fits a shell pattern, None if none does."""
    try:
        return next((each for each in candidates if isinstance(each, str) and fnmatch.fnmatch(each, pattern)), None)
    except TypeError:
        return None


__getattr__: ModuleGetattr = nothing_else(__name__)
