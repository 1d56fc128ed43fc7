"""This machine at the time of compilation: accounts and their homes, packages, links in paths, files of the system."""

from __future__ import annotations

import grp
import os
import pwd
from typing import TYPE_CHECKING, Final

from asyncstate.pattern import lazy_pattern

if TYPE_CHECKING:
    from asyncstate.sources.packages.known import KnownPackages

_PRINTABLE: Final = lazy_pattern(rb"[ -~]+")


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


def read_text(root: str, path: str) -> str:
    """Return the content of a file below ``root``, "" if it does not exist or cannot be read."""
    try:
        with open(os.path.join(root, path), "rb") as file:
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def list_names(root: str, path: str) -> list[str]:
    """Return the sorted names in a directory below ``root``, [] if it does not exist or cannot be read."""
    try:
        return sorted(os.listdir(os.path.join(root, path)))
    except OSError:
        return []


def which(program: str) -> str | None:
    """Return the executable that ``program`` names on the search path, or None.

    The system's own directories are searched even if they are not in PATH, as often in cron jobs.
    """
    if os.path.isabs(program):
        return program if os.access(program, os.X_OK) else None
    directories = [*os.environ.get("PATH", "").split(os.pathsep), "/usr/sbin", "/usr/bin", "/sbin", "/bin"]
    for directory in dict.fromkeys(directories):
        path = os.path.join(directory, program)
        if directory and os.access(path, os.X_OK) and not os.path.isdir(path):
            return path
    return None


def text_in_binary(root: str, path: str, *begins: bytes) -> str:
    """Return the printable text in a program or library that begins with one of ``begins``; "" if there is none."""
    try:
        with open(os.path.join(root, path), "rb") as file:
            content = file.read()
    except OSError:
        return ""
    # A search for plain bytes takes a twentieth of the time of a pattern, which was a seventh of a small run.
    places = (content.find(begin) for begin in begins)
    found = next((_PRINTABLE.match(content, place) for place in places if place >= 0), None)
    return found[0].decode() if found else ""
