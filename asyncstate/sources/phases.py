"""What making a plan takes: the compilation, and the rendering of each SLS in it."""

from __future__ import annotations

import time
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from asyncstate.model.phase import Phase

if TYPE_CHECKING:
    from collections.abc import Iterator

_noted: ContextVar[list[Phase] | None] = ContextVar("asyncstate_phases", default=None)


@contextmanager
def noted_phases() -> Iterator[list[Phase]]:
    """Note what this thread, and those that work for it, do in the block. The list is complete after the block.

    The block itself is the compilation, the first of the list.
    """
    noted: list[Phase] = []
    token = _noted.set(noted)
    wall, began = time.time(), time.perf_counter()
    try:
        yield noted
    finally:
        _noted.reset(token)
        noted.insert(0, Phase("compile", "", wall, time.perf_counter() - began))


@contextmanager
def rendering(sls: str) -> Iterator[None]:
    """Note this block as the rendering of an SLS, if anybody notes phases."""
    noted = _noted.get()
    if noted is None:
        yield
        return
    wall, began = time.time(), time.perf_counter()
    try:
        yield
    finally:
        noted.append(Phase("render", sls, wall, time.perf_counter() - began))
