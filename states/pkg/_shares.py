"""The shares of package states in the common call of their transaction.

The first state of a transaction that has to install something installs the packages of all. Each later state sees the
system as if nothing of its own and of the states after it were installed yet, and finds its share when it installs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from asyncstate.dunders import __low__, __salt__

Low = dict[str, Any]
Changes = dict[str, dict[str, str]]
Installed = dict[str, list[str]]

_TOLD = "__transaction__"
"""The key of low data under which the engine tells a state of the later states of its transaction."""


class Shares:
    """The progress of one transaction. ``changes`` has the changes of its call for each state, by state tag.

    It is stored in ``kept``, plain data that the engine keeps for resumed runs.

    ``apart``: states install separately, because a common call would have made unforeseen changes. ``broken``: the
    call failed. Then only the ``whole`` states are complete; the others install by themselves.
    """

    changes: dict[str, Changes]
    wanted: dict[str, dict[str, str | None]]
    apart: bool = False
    broken: bool = False
    whole: Sequence[str] = ()

    def __init__(self, kept: dict[str, Any]) -> None:
        kept.setdefault("changes", {})
        kept.setdefault("wanted", {})
        self.__dict__ = kept


class Member:
    """The current state as a member of its transaction; ``later`` is the low data of the later members."""

    def __init__(self, shares: Shares, later: list[Low]) -> None:
        self.tag = tag(__low__)
        self.shares = shares
        self.later = later

    def undone(self, installed: Mapping[str, list[str]], *, own: bool = True) -> Installed:
        """Return ``installed`` without the shares of later states and, with ``own``, that of this state."""
        tags = [tag(low) for low in reversed(self.later)] + ([self.tag] if own else [])
        found = dict(installed)
        for each in tags:
            for name, change in self.shares.changes.get(each, {}).items():
                found.pop(name, None)
                if change["old"]:
                    found[name] = change["old"].split(",")
        return found

    def take(self, wanted: Mapping[str, str | None]) -> Changes | None:
        """Return the changes already made for this state; None if it must install ``wanted`` itself."""
        shares = self.shares
        if self.tag not in shares.changes or shares.wanted[self.tag] != wanted:
            return None
        return None if shares.broken and self.tag not in shares.whole else shares.changes.pop(self.tag)


def member() -> Member | None:
    """Return the current state as a member of its transaction, None if it is in none."""
    told = __low__.get(_TOLD) if __low__ else None
    if not isinstance(told, Mapping) or not isinstance(told.get("later"), list):
        return None
    return Member(Shares(told["kept"]), told["later"])


def list_pkgs(**kwargs: Any) -> Installed:
    """Return the installed packages and their versions, as visible to the current state."""
    installed: Installed = __salt__["pkg.list_pkgs"](versions_as_list=True, **kwargs)
    own = member()
    return installed if own is None else own.undone(installed)


def tag(low: Mapping[str, Any]) -> str:
    """Return the tag of a state."""
    return f"{low['state']}_|-{low['__id__']}_|-{low['name']}_|-{low['fun']}"
