"""The interface of ``user``: the accounts of this machine."""

from __future__ import annotations

from typing import Any

from asyncstate.interfaces import Interface


class UserInterface(Interface):
    """Accounts. ``root`` is the root directory of another system whose accounts are used."""

    __modulename__ = "user"

    def add(
        self,
        name: str,
        uid: Any = None,
        gid: Any = None,
        groups: Any = None,
        home: str | None = None,
        shell: str | None = None,
        unique: bool = True,
        system: bool = False,
        fullname: str = "",
        roomnumber: str = "",
        workphone: str = "",
        homephone: str = "",
        other: str = "",
        createhome: bool = True,
        loginclass: str | None = None,
        nologinit: bool = False,
        root: str | None = None,
        usergroup: bool | None = None,
        local: bool = False,
    ) -> bool:
        """Create an account; True if that worked."""
        return True

    def delete(
        self, name: str, remove: bool = False, force: bool = False, root: str | None = None, local: bool = False
    ) -> bool:
        """Remove an account, with ``remove`` its files too; True if that worked."""
        return True

    def info(self, name: str, root: str | None = None) -> dict[str, Any]:
        """Return the data of an account, {} if there is none."""
        return {}

    def getent(self, refresh: bool = False, root: str | None = None) -> list[dict[str, Any]]:
        """Return what ``info`` returns, for every account."""
        return [{"name": "", "uid": 0, "gid": 0, "home": "", "shell": "", "groups": [""], "fullname": ""}]

    def list_users(self, root: str | None = None) -> list[str]:
        """Return the names of all accounts, sorted."""
        return [""]

    def list_groups(self, name: str) -> list[str]:
        """Return the names of the groups an account is in, sorted."""
        return [""]

    def primary_group(self, name: str) -> str:
        """Return the name of an account's primary group."""
        return ""

    def current(self) -> str:
        """Return the name of the account this process runs as."""
        return ""

    def rename(self, name: str, new_name: str, root: str | None = None) -> bool:
        """Rename an account."""
        return True

    def chuid(self, name: str, uid: Any, root: str | None = None) -> bool:
        """Change the number of an account."""
        return True

    def chgid(self, name: str, gid: Any, root: str | None = None) -> bool:
        """Change the primary group of an account."""
        return True

    def chshell(self, name: str, shell: str, root: str | None = None) -> bool:
        """Change the login shell of an account."""
        return True

    def chhome(self, name: str, home: str, persist: bool = False, root: str | None = None) -> bool:
        """Change the home directory of an account, and with ``persist`` move what is there."""
        return True

    def chgroups(self, name: str, groups: Any, append: bool = False, root: str | None = None) -> bool:
        """Put an account into these groups; without ``append`` also remove it from all others."""
        return True

    def chfullname(self, name: str, fullname: Any, root: str | None = None) -> bool:
        """Change the full name of an account."""
        return True

    def chroomnumber(self, name: str, roomnumber: Any, root: str | None = None) -> bool:
        """Change the room number of an account."""
        return True

    def chworkphone(self, name: str, workphone: Any, root: str | None = None) -> bool:
        """Change the work phone number of an account."""
        return True

    def chhomephone(self, name: str, homephone: Any, root: str | None = None) -> bool:
        """Change the home phone number of an account."""
        return True

    def chother(self, name: str, other: Any, root: str | None = None) -> bool:
        """Change the field for other data in the description (GECOS) of an account."""
        return True

    @Interface.supported(kernel=["OpenBSD", "FreeBSD"])
    def get_loginclass(self, name: str) -> str:
        """Return the login class of an account."""
        return ""

    @Interface.supported(kernel=["OpenBSD", "FreeBSD"])
    def chloginclass(self, name: str, loginclass: str, root: str | None = None) -> bool:
        """Change the login class of an account."""
        return True
