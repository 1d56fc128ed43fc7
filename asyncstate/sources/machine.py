"""What names mean on this machine at the time of compilation: accounts, their homes, packages, and links in paths."""

from __future__ import annotations

import grp
import os
import pwd
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncstate.sources.packages.known import KnownPackages


def has_account(account: str) -> bool:
    """Whether this machine has an account: ``user:www`` or ``group:www``."""
    kind, _, name = account.partition(":")
    try:
        if kind == "user":
            pwd.getpwnam(name)
        else:
            grp.getgrnam(name)
    except (KeyError, ValueError):  # ValueError: no name can be like that
        return False
    return True


def home_of(user: str) -> str:
    """Return the home of a user, "" if there is no such user. The name "" means the user of this process."""
    if not user:
        return os.path.expanduser("~")
    try:
        return pwd.getpwnam(user).pw_dir
    except (KeyError, ValueError):  # ValueError: no name can be like that
        return ""


def known_packages(os_family: str) -> KnownPackages | None:
    """Return what is known of the packages of a family of systems, None if nothing is."""
    from asyncstate.sources.packages import known  # noqa: PLC0415 - not every tree has packages

    return known.known_packages(os_family)


class RealPaths:
    """Resolves symbolic links. Each path is resolved once; later calls return the same result."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {"": "/", "/": "/"}
        self._targets: dict[str, str] = {}

    def __call__(self, path: str) -> str:
        """Return an absolute path with its links resolved; a part that does not exist stays unchanged."""
        unknown = []
        above = path
        while above not in self._known:
            unknown.append(above)
            above = above.rpartition("/")[0]
        for below in reversed(unknown):
            folder, _, name = below.rpartition("/")
            real = f"{self._known[folder].rstrip('/')}/{name}" if name else self._known[folder]
            self._known[below] = os.path.realpath(real) if os.path.islink(real) else real
        return self._known[path]

    def target(self, path: str) -> str:
        """Return the text of a link, relative or absolute; "" for anything else."""
        known = self._targets.get(path)
        if known is None:
            try:
                known = os.readlink(path)
            except (OSError, ValueError):
                known = ""
            self._targets[path] = known
        return known
