"""Reports the paths that the current call looks at to its observer, if it has one. `journal` reports changes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from asyncstate.dunders.observer import observer

if TYPE_CHECKING:
    from asyncstate.dunders.observer import Look


def seen(path: str, how: Look = "looked") -> None:
    """Report that a path is about to be looked at; it may be relative, and need not exist."""
    watching = observer.get()
    if watching is not None:
        watching.saw(os.path.abspath(path), how)
