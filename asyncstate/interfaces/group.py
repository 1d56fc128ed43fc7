"""The interface of ``group``: the groups of this machine."""

from __future__ import annotations

from typing import Any

from asyncstate.interfaces import Interface


class GroupInterface(Interface):
    """Groups. ``root`` is the root directory of another system whose groups are used."""

    __modulename__ = "group"

    def add(
        self,
        name: str,
        gid: Any = None,
        system: bool = False,
        root: str | None = None,
        non_unique: bool = False,
        local: bool = False,
    ) -> bool:
        """Create a group; True if that worked."""
        return True

    def delete(self, name: str, root: str | None = None, local: bool = False) -> bool:
        """Remove a group; True if that worked."""
        return True

    def info(self, name: str, root: str | None = None) -> dict[str, Any]:
        """Return name, passwd, gid and members of a group, {} if there is none."""
        return {}

    def getent(self, refresh: bool = False, root: str | None = None) -> list[dict[str, Any]]:
        """Return what ``info`` returns, for every group."""
        return [{"name": "", "passwd": "", "gid": 0, "members": [""]}]

    def list_groups(self) -> list[str]:
        """Return the names of all groups, sorted."""
        return [""]

    def chgid(self, name: str, gid: Any, root: str | None = None, non_unique: bool = False) -> bool:
        """Change the number of a group."""
        return True

    def adduser(self, name: str, username: str, root: str | None = None) -> bool:
        """Put an account into a group."""
        return True

    def deluser(self, name: str, username: str, root: str | None = None) -> bool:
        """Take an account out of a group; True also if it was not in it."""
        return True

    def members(self, name: str, members_list: str, root: str | None = None) -> bool:
        """Make the accounts of a comma-separated list the only members of a group."""
        return True
