"""The ``pkg`` execution module on Debian and its kin: what is installed, read from dpkg and APT's own files."""

from __future__ import annotations

from typing import Any

from asyncstate.dunders import __grains__, __salt__

from . import _apt_sources, _debian_version

__virtualname__ = "pkg"

_QUERY = ["dpkg-query", "--showformat", "${Status} ${Package} ${Version} ${Architecture}\\n", "-W"]
_FIELDS = 6


def __virtual__() -> str | tuple[bool, str]:
    """Load on Debian and what descends from it."""
    if __grains__.get("os_family") == "Debian":
        return __virtualname__
    return False, "The pkg module could not be loaded: unsupported OS family"


def list_pkgs(versions_as_list: bool = False, removed: bool = False, **_: Any) -> dict[str, Any]:
    """Return the version of each installed package, or of each removed one whose configuration is still there.

    Packages of a foreign architecture are ``name:arch``. ``versions_as_list`` gives lists instead of strings.
    """
    found: dict[str, list[str]] = {}
    output = __salt__["cmd.run_stdout"](_QUERY, python_shell=False, output_loglevel="quiet")
    for line in output.splitlines():
        columns = line.split()
        if len(columns) != _FIELDS:
            continue
        wanted, _ok, status, name, version_number, arch = columns
        gone = wanted == "deinstall"
        if gone is removed and (removed or (wanted in ("install", "hold") and status == "installed")):
            found.setdefault(_qualified(name, arch), []).append(version_number)
    if versions_as_list:
        return dict(sorted(found.items()))
    return {name: ",".join(sorted(versions)) for name, versions in sorted(found.items())}


def version(*names: str, **kwargs: Any) -> Any:
    """Return the installed version of a package, "" if there is none; of several a dict."""
    if not names:
        return {}
    installed = list_pkgs(versions_as_list=bool(kwargs.get("versions_as_list")))
    nothing: Any = [] if kwargs.get("versions_as_list") else ""
    if len(names) == 1:
        return installed.get(names[0], nothing)
    return {name: installed.get(name, nothing) for name in names}


def version_cmp(pkg1: Any, pkg2: Any, ignore_epoch: bool = False, **_: Any) -> int:
    """Compare two version numbers as dpkg does: -1, 0 or 1."""
    one, two = (str(value).partition(":")[2] or str(value) if ignore_epoch else str(value) for value in (pkg1, pkg2))
    return _debian_version.compare(one, two)


def list_repos(**_: Any) -> dict[str, list[dict[str, Any]]]:
    """Return APT's package sources by URI."""
    repos: dict[str, list[dict[str, Any]]] = {}
    for entry in _apt_sources.entries():
        repos.setdefault(entry["uri"], []).append(entry)
    return repos


def _qualified(name: str, arch: str) -> str:
    native = __grains__.get("osarch", "")
    foreign = __grains__.get("cpuarch") == "x86_64" and native == "amd64" and arch not in ("all", native)
    return f"{name}:{arch}" if foreign else name
