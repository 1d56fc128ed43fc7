"""The inputs of a tree: files, pillar, grains, top files.

The times that they take before a run are noted as phases: grains, pillar, compilation, and each rendered SLS.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from asyncstate.model.event import RENDER, Phase

if TYPE_CHECKING:
    from collections.abc import Iterator

_noted: ContextVar[list[Phase] | None] = ContextVar("asyncstate_phases", default=None)
_all: ContextVar[list[Phase] | None] = ContextVar("asyncstate_all_phases", default=None)


@contextmanager
def noted_phases(what: str) -> Iterator[list[Phase]]:
    """Record the phases of this thread and its worker threads in the block. The list is complete after the block.

    The block itself is the first phase, named ``what``.
    """
    noted: list[Phase] = []
    token = _noted.set(noted)
    wall, began = time.time(), time.perf_counter()
    try:
        yield noted
    finally:
        _noted.reset(token)
        noted.insert(0, Phase(what, "", wall, time.perf_counter() - began))
        everything = _all.get()
        if everything is not None:
            everything += noted


@contextmanager
def all_phases() -> Iterator[list[Phase]]:
    """Collect all phases that blocks of `noted_phases` record in this block, also those that end with an error."""
    everything: list[Phase] = []
    token = _all.set(everything)
    try:
        yield everything
    finally:
        _all.reset(token)


@contextmanager
def rendering(sls: str) -> Iterator[None]:
    """Record this block as the rendering of an SLS, if phases are being recorded."""
    noted = _noted.get()
    if noted is None:
        yield
        return
    wall, began = time.time(), time.perf_counter()
    try:
        yield
    finally:
        noted.append(Phase(RENDER, sls, wall, time.perf_counter() - began))
