"""Phase: a piece of the work of making a plan, and how long it took."""

from __future__ import annotations

import msgspec


class Phase(msgspec.Struct, frozen=True):
    """One piece of work. ``what`` is compile or render; ``name`` is the SLS that was rendered, "" of a compilation.

    ``wall`` is when it began, in seconds since the epoch, ``seconds`` how long it took. Renderings lie in compilations.
    """

    what: str
    name: str
    wall: float
    seconds: float
