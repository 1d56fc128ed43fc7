"""Prefetching packages for the states that will install them: apt verifies them and puts them into a folder of the run.

apt trusts files in its cache by their size alone, so nothing is put there before its installation, and unused files
are removed afterwards.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from asyncstate import filesystem
from asyncstate import prefetch as ahead
from asyncstate.dunders import __context__, __salt__
from asyncstate.errors import CommandExecutionError, NotYet

from ._candidates import LISTS, REFRESH_PENDING, age_of_lists
from ._installed import normalize_name, now_installed
from ._programs import call, configured

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_FOLDERS = "pkg.prefetch"
"""The key of ``__context__`` for the folder of prefetched packages, and for apt's cache."""
_FRESH = 86400.0
"""Age in seconds up to which package lists are probably the same as fresh ones."""


def prefetch(orders: list[dict[str, Any]]) -> bool:
    """Download ahead what states will install that install together; return whether anything was downloaded.

    Each order has the ``name``, ``pkgs`` and ``version`` of ``pkg.installed``, and its ``refresh``, ``fromrepo``,
    ``skip_verify`` and ``install_recommends``. Only a run has use for it. Raises NotYet if the lists of packages are
    old and still to be refreshed, CommandExecutionError if apt fails.
    """
    due = __context__.get(REFRESH_PENDING) is not False and any(each.get("refresh") is not False for each in orders)
    if due and age_of_lists() > _FRESH:
        raise NotYet(LISTS)
    here = now_installed()
    wanted = {
        name: version
        for each in orders
        for name, version in (_named(each) or {}).items()
        if name not in here or (version and version not in here[name])
    }
    if not wanted:
        return False
    with ahead.fetching(*map(_name, wanted)):
        folder = _folder()
        if not folder:
            return False
        before = set(os.listdir(folder))
        done = _download(folder, wanted, orders[0])
        if done["retcode"] and due:
            raise NotYet(LISTS)
        if done["retcode"]:
            raise CommandExecutionError(str(done["stderr"] or done["stdout"]).strip())
        return any(name.endswith(".deb") for name in set(os.listdir(folder)) - before)


def _named(order: dict[str, Any]) -> dict[str, str | None] | None:
    given = order.get("pkgs") or [{order["name"]: order.get("version")}]
    packed: dict[str, str | None] | None = __salt__["pkg_resource.pack_pkgs"](given)
    return packed


def _download(folder: str, wanted: dict[str, str | None], order: dict[str, Any]) -> dict[str, Any]:
    options = ["--allow-unauthenticated"] if order.get("skip_verify") else []
    if order.get("install_recommends") is not None:
        options.append("--install-recommends" if order["install_recommends"] else "--no-install-recommends")
    if order.get("fromrepo"):
        options += ["-t", str(order["fromrepo"])]
    # It changes nothing protected by the locks of apt and dpkg, so neither it nor states need to wait.
    apart = {
        "Dir::Cache::archives": folder,
        "Dir::State::extended_states": os.path.join(folder, "extended_states"),
        "Debug::NoLocking": "true",
    }
    for name, value in apart.items():
        options += ["-o", f"{name}={value}"]
    arguments = [f"{name}={version}" if version else name for name, version in wanted.items()]
    return call(["apt-get", "-q", "-y", *options, "--download-only", "install", "--", *arguments], ignore_retcode=True)


def _folder() -> str:
    """Return the folder of the run for packages, on the file system of apt's cache, into which they move; "" for none.

    apt's download account must be able to enter it, but not to list or change it.
    """
    place = configured("Dir::Cache::archives/d") or ""
    if not os.path.isabs(place):
        raise CommandExecutionError("apt-config does not say where apt keeps packages")
    archives = os.path.normpath(place)
    beside = os.path.dirname(os.path.dirname(archives))
    folder = ahead.folder("apt", directory=beside, mode=0o711)
    if folder:
        __context__[_FOLDERS] = (folder, archives)
    return folder


def _name(package: str) -> str:
    return f"package {package}"


@contextmanager
def prefetched(packages: Iterable[str]) -> Iterator[set[tuple[str, str]]]:
    """Put prefetched packages into apt's cache for the block, if ``packages`` will be installed.

    The block adds to the yielded set the names and versions of the packages that were installed.
    """
    names = list(packages)
    ahead.wait(*map(_name, names))
    folder, archives = (names and __context__.get(_FOLDERS)) or ("", "")
    moved = _moved(folder, archives) if folder and filesystem.is_directory(folder) else {}
    used: set[tuple[str, str]] = set()
    try:
        yield used
    finally:
        for file, package in moved.items():
            if package not in used:
                with suppress(OSError):  # apt may be configured to keep nothing
                    os.replace(os.path.join(archives, file), os.path.join(folder, file))


def _moved(folder: str, archives: str) -> dict[str, tuple[str, str]]:
    """Move the prefetched packages into apt's cache; return the files with their packages and versions."""
    moved = {}
    for file in os.listdir(folder):
        parts = unquote(file.removesuffix(".deb")).split("_")
        if file.endswith(".deb") and len(parts) == 3 and not filesystem.lexists(os.path.join(archives, file)):
            with suppress(OSError):  # another file system: apt downloads again
                os.replace(os.path.join(folder, file), os.path.join(archives, file))
                moved[file] = (normalize_name(f"{parts[0]}:{parts[2]}"), parts[1])
    return moved
