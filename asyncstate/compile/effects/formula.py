"""The formula rule: within a formula, packages, then what was written after them, then the daemon, keep their places.

A formula is the first part of an SLS name: ``nginx`` for ``nginx``, ``nginx.config`` and ``nginx.sites.www``. Nobody
can list in advance all that a package installs and a daemon reads. So their states hold the formula, which the other
states of it share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from asyncstate.model.chunk import LowChunk

_HOLDERS = frozenset({"pkg", "service"})
_COMMANDS = frozenset({"cmd", "module"})


class Held(NamedTuple):
    """The resources of a formula that a state reads and writes, beside its own."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


class FormulaRule:
    """What states hold of their formulas. ``strict``: states with unknown effects, and commands, hold it too."""

    def __init__(self, *, strict: bool) -> None:
        self._strict = strict

    def holds(self, chunk: LowChunk, *, unknown: bool) -> bool:
        """Whether a state keeps its place among all states of its formula."""
        return chunk.state in _HOLDERS or (self._strict and (unknown or chunk.state in _COMMANDS))

    def of(self, chunk: LowChunk, *, unknown: bool) -> Held:
        """Return what a state holds of its formula."""
        formula = (f"formula:{chunk.sls.replace('/', '.').split('.', 1)[0]}",)
        return Held(writes=formula) if self.holds(chunk, unknown=unknown) else Held(formula)
