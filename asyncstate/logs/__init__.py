"""Log lines: which state each is of, and what may not stand in it.

Every module of ours and every plugin logs through the standard library. `LineLogger` is the class of their loggers: it
puts the fields of the state under way on each record and takes secrets out, before any handler or filter sees it. The
fields are bound where a chunk starts (`RunFields`), and are context variables of structlog, too.

Nothing in here writes: handlers belong to the program. Those of the command line are in `asyncstate.cli.logs`.
"""

from __future__ import annotations

from asyncstate.logs.loggers import RimFilter
from asyncstate.logs.rim import hide_secrets

__all__ = ["RimFilter", "hide_secrets"]
