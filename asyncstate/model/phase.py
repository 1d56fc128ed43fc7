"""Phase: a piece of the work of making a plan, and how long it took."""

from __future__ import annotations

import msgspec


class Phase(msgspec.Struct, frozen=True):
    """One piece of work. ``what`` is grains, pillar, compile or render; ``name`` is the SLS that was rendered, else "".

    ``wall`` is when it began, in seconds since the epoch, ``seconds`` how long it took. Renderings lie in the
    pillar or the compilation that stands before them.
    """

    what: str
    name: str
    wall: float
    seconds: float
