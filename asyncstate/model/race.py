"""Races: two unordered states that touched the same paths in a traced run, at least one of them changing it."""

from __future__ import annotations

import msgspec


class RacingState(msgspec.Struct, frozen=True):
    """One of two states: its tag, ID and state function, and where it is declared."""

    tag: str
    id: str
    function: str
    file: str = ""
    line: int = 0


class Contact(msgspec.Struct, frozen=True):
    """A path that both touched: how each touched it, in a word or two, and whether that changed it."""

    path: str
    earlier: str
    later: str
    earlier_writes: bool
    later_writes: bool


class Race(msgspec.Struct, frozen=True):
    """Two states, the ``earlier`` one first in the serial order, and all paths that both touched.

    ``require`` is the requisite of the later one that would settle it, such as ``{"cmd": "build"}``.
    """

    earlier: RacingState
    later: RacingState
    contacts: tuple[Contact, ...]
    require: dict[str, str]
