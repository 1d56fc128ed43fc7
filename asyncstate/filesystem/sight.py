"""Tells the observer of the current call, if it has one, which paths were looked at. Changes are told by `journal`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from asyncstate.dunders.observer import observer

if TYPE_CHECKING:
    from asyncstate.dunders.observer import Look


def seen(path: str, how: Look = "looked") -> None:
    """Say that a path is about to be looked at; it may be relative, and need not exist."""
    watching = observer.get()
    if watching is not None:
        watching.saw(os.path.abspath(path), how)
