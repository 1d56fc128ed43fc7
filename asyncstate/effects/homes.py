"""Homes: ``path:~user/x`` in a footprint is a path below the home of that user, ``path:~/x`` below the home of ours."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from asyncstate.effects.resources import PATH, TREE, folders_above
from asyncstate.pattern import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from asyncstate.model.chunk import LowChunk

_BELOW_HOME = lazy_pattern(r"path:~([^/?]*)(.*)", re.DOTALL)


class Homes:
    """Finds the homes of users: those of the ``user.present`` states of a tree, and those of this machine.

    A user whose home moves has two, and both count. An unknown user has the usual place.
    ``home_of(user)`` returns the home that a user has on this machine, "" if there is no such user; the user "" is who
    runs us.
    """

    def __init__(self, chunks: Iterable[LowChunk] = (), home_of: Callable[[str], str] | None = None) -> None:
        self._home_of = home_of
        self._known: dict[str, tuple[str, ...]] = {}
        self._given: dict[str, list[str]] = {}
        for chunk in chunks:
            if chunk.state == "user" and chunk.fun == "present":
                home = chunk.args.get("home")
                if isinstance(home, str) and home.startswith("/"):
                    self._given.setdefault(chunk.name, []).append(home)

    def resolved(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names, those below a home with its path."""
        if "path:~" not in "\n".join(names):
            return names
        found: list[str] = []
        for name in names:
            match = _BELOW_HOME.fullmatch(name)
            found += [name] if match is None else (f"{PATH}{home}{match[2]}" for home in self._of(match[1]))
        return tuple(dict.fromkeys(found))

    def link(self, path: str, target: str) -> Iterator[tuple[str, str]]:
        """Yield a link and what it says, once for each home that either is in."""
        for name in self.resolved((f"{PATH}{path}",)):
            for said in self.resolved((f"{PATH}{target}",)):
                yield name.removeprefix(PATH), said.removeprefix(PATH)

    def ours(self) -> frozenset[str]:
        """Return the names of resources with which our home goes: the folder itself, and folders with all below."""
        homes = self._of("")
        folders = {folder for home in homes for folder in (home, *folders_above(home), "")}
        return frozenset([*(f"{PATH}{home}" for home in homes), *(f"{PATH}{folder}{TREE}" for folder in folders)])

    def _of(self, user: str) -> tuple[str, ...]:
        """Return the homes of a user, "" for the root."""
        known = self._known.get(user)
        if known is None:
            homes = list(self._given.get(user, ()))
            if self._home_of is not None and (here := self._home_of(user)).startswith("/"):
                homes.append(here)
            known = self._known[user] = tuple(home.rstrip("/") for home in homes) or (_usual(user),)
        return known


def _usual(user: str) -> str:
    return "/root" if user in {"", "root"} else f"/home/{user}"
