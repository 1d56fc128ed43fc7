"""The packages in the sources: refreshing and querying their lists."""

from __future__ import annotations

import os
import re
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from asyncstate import prefetch as ahead
from asyncstate.dunders import __context__, __salt__
from asyncstate.errors import CommandExecutionError, InvocationError

from ._foresight import Offer, Shop, System, facts, foreseen, names_of, reverse_provides
from ._installed import list_pkgs
from ._programs import call, configured, output
from ._versions import compare

if TYPE_CHECKING:
    from collections.abc import Sequence

REFRESH_PENDING = "pkg.refresh"
"""The key of ``__context__`` that tells the states whether the lists were refreshed in this run."""

LISTS = "pkg.lists"
"""The announcement after a refresh of the lists."""

_LISTS = "/var/lib/apt/lists"
_SOURCES = (
    _LISTS,
    "/etc/apt",
    *(f"/etc/apt/{name}{more}" for name in ("apt.conf", "preferences", "sources.list") for more in ("", ".d")),
)
"""Paths that change with the offer of the sources."""
_OFFERED = "pkg.offered"
"""The key of ``__context__`` for the cached offer of the sources."""
_FOLLOWED = ["--no-suggests", "--no-conflicts", "--no-breaks", "--no-replaces", "--no-enhances"]
"""Options that make ``apt-cache depends`` follow only dependencies that are installed with a package."""
_SIZE = re.compile(r" \[.+B\]$")
_UPGRADE = re.compile(r"^Conf ([^ ]+) \(([^ ]+)", re.MULTILINE)


def refresh_db(cache_valid_time: float = 0, failhard: bool = False, **kwargs: Any) -> dict[str, bool | None]:
    """Fetch the lists of packages. Returns for each source: True (new), None (unchanged) or False (failed).

    Nothing is done if the lists are younger than ``cache_valid_time`` seconds. CommandExecutionError if apt fails, or
    with ``failhard`` if a source does.
    """
    __context__[REFRESH_PENDING] = False
    __context__.pop(_OFFERED, None)
    if cache_valid_time and age_of_lists() < float(cache_valid_time):
        return {}
    done = call(["apt-get", "-q", "update"], timeout=kwargs.get("timeout"))
    if done["retcode"]:
        raise CommandExecutionError(done["stderr"])
    found: dict[str, bool | None] = {}
    failed = []
    for line in str(done["stdout"]).splitlines():
        kind, _, source = line.strip().partition(" ")
        source = source.strip()
        if kind.startswith("Get"):
            found[_SIZE.sub("", source)] = True
        elif kind.startswith("Hit"):
            found[source] = None
        elif kind.startswith(("Ign", "Err")):
            found[source] = False
            if kind.startswith("Err"):
                failed.append(source)
    ahead.announce(LISTS)
    if failhard and failed:
        raise CommandExecutionError(f"Error getting repos: {', '.join(failed)}")
    return found


def candidates(names: list[str], fromrepo: str | None = None) -> dict[str, str]:
    """Return the version of each package that apt would install, "" for none."""
    release = ["-o", f"APT::Default-Release={fromrepo}"] if fromrepo else []
    found: dict[str, str] = {}
    package = ""
    for line in output(["apt-cache", "-q", *release, "policy", "--", *names]).splitlines():
        if line.endswith(":") and not line.startswith(" "):
            package = line[:-1]
        elif line.strip().startswith("Candidate:"):
            version = line.split()[-1]
            found[package] = "" if version in {"(none)", "Candidate:"} else version
    return found


def latest_version(*names: str, **kwargs: Any) -> Any:
    """Return the version each package could be upgraded to, "" if it is up to date; of a single name the version.

    The lists are refreshed first unless ``refresh`` is False. ``show_installed`` returns the newest version even if it
    is installed; ``fromrepo`` queries one release only.
    """
    if "repo" in kwargs:
        raise InvocationError("The 'repo' argument is invalid, use 'fromrepo' instead")
    if not names:
        return ""
    if kwargs.get("refresh", True):
        refresh_db(kwargs.get("cache_valid_time", 0))
    installed = list_pkgs(versions_as_list=True)
    offered = candidates(list(names), kwargs.get("fromrepo"))
    found = {}
    for name in names:
        candidate = offered.get(name) or next(
            (version for package, version in offered.items() if package.startswith(f"{name}:")), ""
        )
        outdated = all(compare(version, candidate) < 0 for version in installed.get(name, []))
        found[name] = candidate if outdated or kwargs.get("show_installed") else ""
    return found[names[0]] if len(names) == 1 else found


def upgrade_available(name: str, **kwargs: Any) -> bool:
    """Return whether there is a newer version of a package."""
    return bool(latest_version(name, **kwargs))


def list_upgrades(refresh: bool = True, dist_upgrade: bool = True, **kwargs: Any) -> dict[str, str]:
    """Return the packages an upgrade would change, and their new versions."""
    if refresh:
        refresh_db(kwargs.get("cache_valid_time", 0))
    release = ["-o", f"APT::Default-Release={kwargs['fromrepo']}"] if kwargs.get("fromrepo") else []
    done = call(["apt-get", "--just-print", *release, "dist-upgrade" if dist_upgrade else "upgrade"])
    if done["retcode"]:
        detail = done["stderr"] or done["stdout"]
        raise CommandExecutionError("Failed to get upgrades" + (f": {detail}" if detail else ""))
    return dict(_UPGRADE.findall(done["stdout"]))


def list_repo_pkgs(*names: str, **kwargs: Any) -> dict[str, list[str]]:
    """Return the versions of each package in the sources, best first; of all packages if none is named."""
    command = ["apt-cache", "show", "--", *names] if names else ["apt-cache", "dump"]
    found: dict[str, list[str]] = {}
    package = ""
    for line in output(command).splitlines():
        key, _, value = line.strip().partition(": ")
        if key == "Package":
            package = value.strip()
        elif key == "Version" and package:
            found.setdefault(package, []).append(value.strip())
    return found


def foresee(orders: list[list[Any]], refresh: bool = False, **kwargs: Any) -> list[dict[str, Any]]:
    """Return what installing each of several lists of packages, one after the other, would change.

    Each list has names and ``{name: version}``. The answer ends before the first list that is in doubt, or that cannot
    be installed. The lists of packages are refreshed first if ``refresh`` is True and fresh ones can matter.
    """
    wanted = [__salt__["pkg_resource.pack_pkgs"](order) or {} for order in orders]
    every = {name: version for order in wanted for name, version in order.items()}
    if refresh and refresh_needed(every):
        refresh_db(kwargs.get("cache_valid_time", 0))
    provided = output(["dpkg-query", "--showformat", "${db:Status-Abbrev} ${Provides}\\n", "-W"]).splitlines()
    recommends = configured("APT::Install-Recommends/b") == "true"
    system = System(
        installed=list_pkgs(),
        provided=[line[3:] for line in provided if line[1:2] == "i"],
        recommends=recommends,
        shop=_shop(recommends=recommends),
    )
    return foreseen(wanted, system)


def _shop(*, recommends: bool) -> Shop:
    """Return the offer of the sources, cached in this run until the sources or their lists change."""
    stamp = (recommends, *map(_changed, _SOURCES))
    known = __context__.get(_OFFERED)
    if known is None or known[0] != stamp:
        known = __context__[_OFFERED] = (stamp, Shop(partial(_offer, recommends=recommends)))
    shop: Shop = known[1]
    return shop


def _offer(names: Sequence[str], *, recommends: bool) -> Offer:
    """Return the offer of packages and of all their transitive dependencies, in three calls of apt-cache.

    Each call takes half a second if apt keeps no cache of its lists, as in a container. The versions are the ones that
    apt would install.
    """
    followed = _FOLLOWED if recommends else [*_FOLLOWED, "--no-recommends"]
    below = names_of(output(["apt-cache", "depends", "--recurse", *followed, "--", *names]))
    every = [name for name in dict.fromkeys([*names, *below]) if ":" not in name]
    packages = facts(output(["apt-cache", "show", "--no-all-versions", "--", *every])) if every else {}
    others = [name for name in every if name not in packages]
    provided = reverse_provides(output(["apt-cache", "showpkg", "--", *others])) if others else {}
    return Offer(packages, {name: provided.get(name, ()) for name in others})


def refresh_needed(targets: dict[str, str | None]) -> bool:
    """Whether fresh lists can matter: not if every wanted version is the newest known one."""
    if any(version is None for version in targets.values()):
        return True
    known = latest_version(*targets, refresh=False, show_installed=True)
    known = {next(iter(targets)): known} if isinstance(known, str) else known
    return bool(known != targets)


def age_of_lists() -> float:
    """Return the age of the package lists in seconds; infinity if there are none."""
    try:
        return time.time() - os.stat(_LISTS).st_mtime
    except OSError:
        return float("inf")


def _changed(path: str) -> int:
    """Return the modification time of a file or folder, 0 if there is none."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
