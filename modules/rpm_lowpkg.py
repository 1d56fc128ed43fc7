"""The ``lowpkg`` execution module of systems with rpm: rpm without dnf or zypper."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from typing import Any

from asyncstate.dunders import __grains__, __salt__
from asyncstate.errors import CommandExecutionError
from asyncstate.interfaces.lowpkg import LowpkgInterface

from . import _rpm_versions
from ._package_transactions import checked_name, local_file
from ._rpm_database import QUERY_FORMAT, parsed

__virtualname__ = LowpkgInterface(__name__)()
__smi_grains__ = {"os": "Fedora", "os_family": "RedHat"}

__all__ = [
    "bin_pkg_info",
    "file_dict",
    "file_list",
    "info",
    "list_pkgs",
    "modified",
    "owner",
    "version_cmp",
]

_FAMILIES = ("RedHat", "Suse")
_TAGS = {
    "name": "NAME",
    "version": "VERSION",
    "release": "RELEASE",
    "epoch": "EPOCH",
    "arch": "ARCH",
    "vendor": "VENDOR",
    "group": "GROUP",
    "size": "SIZE",
    "license": "LICENSE",
    "packager": "PACKAGER",
    "url": "URL",
    "source_rpm": "SOURCERPM",
    "build_host": "BUILDHOST",
    "build_date_time_t": "BUILDTIME",
    "install_date_time_t": "INSTALLTIME",
    "summary": "SUMMARY",
    "description": "DESCRIPTION",
}
_END_OF_FIELD, _END_OF_PACKAGE = "\x1f", "\x1e"


def __virtual__() -> bool | tuple[bool, str]:
    """Load on systems that are made of rpm packages."""
    if not shutil.which("rpm"):
        return False, "The rpm execution module failed to load: rpm binary is not in the path."
    if __grains__.get("os_family") in _FAMILIES:
        return True
    return False, "The rpm execution module failed to load: only available on redhat/suse type systems."


def bin_pkg_info(path: str, saltenv: str = "base") -> dict[str, Any]:
    """Return ``name``, ``version`` and ``arch`` of a package file. CommandExecutionError if it is none."""
    path = local_file(path, saltenv)
    done = _rpm("-qp", "--nosignature", "--queryformat", QUERY_FORMAT, path)
    package = parsed(str(done["stdout"]))
    if done["retcode"] or package is None:
        raise CommandExecutionError(f"Unable to get info for {path}: {done['stderr']}".removesuffix(": "))
    return {"name": package.name, "version": package.version, "arch": package.arch}


def list_pkgs(*packages: str, **kwargs: Any) -> dict[str, str]:
    """Return the installed packages and their versions, all or those named."""
    done = _rpm(*_selection(packages), "--queryformat", "%{NAME}\t%{VERSION}\n")
    return dict(line.split("\t") for line in str(done["stdout"]).splitlines() if line.count("\t") == 1)


def file_list(*packages: str, **kwargs: Any) -> dict[str, list[str]]:
    """Return the files of the named packages, of all if none is named: ``{"errors": […], "files": […]}``."""
    found = file_dict(*packages)
    return {"errors": found["errors"], "files": sorted({path for each in found["packages"].values() for path in each})}


def file_dict(*packages: str, **kwargs: Any) -> dict[str, Any]:
    """Return the files of the named packages by package, ``{"errors": […], "packages": {…}}``."""
    lines = str(_rpm(*_selection(packages), "--queryformat", "\t%{NAME}\n[%{FILENAMES}\n]")["stdout"]).splitlines()
    found: dict[str, list[str]] = {}
    errors = []
    files: list[str] = []
    for line in lines:
        if line.startswith("/"):
            files.append(line)
        elif line.startswith("package ") and line.endswith(" is not installed"):
            errors.append(line)
        elif line.strip():
            files = found.setdefault(line.strip(), [])
    return {"errors": errors, "packages": found}


def owner(*paths: str, **kwargs: Any) -> Any:
    """Return the package each path belongs to, "" for none; of a single path the package itself."""
    if not paths:
        return ""
    found = {}
    for path in paths:
        done = _rpm("-qf", "--queryformat", "%{NAME}", f"./{path}" if path.startswith("-") else path)
        found[path] = "" if done["retcode"] else str(done["stdout"])
    return found[paths[0]] if len(paths) == 1 else found


def info(*packages: str, **kwargs: Any) -> dict[str, dict[str, Any]]:
    """Return rpm's facts about installed packages, all or those named.

    ``attr`` lists the wanted fields, separated by commas. CommandExecutionError if a package is not installed and
    ``failhard`` is set.
    """
    wanted = [word.strip() for word in str(kwargs.get("attr") or "").split(",") if word.strip()]
    form = _END_OF_FIELD.join(f"{key}:%{{{tag}}}" for key, tag in _TAGS.items()) + _END_OF_PACKAGE
    done = _rpm(*_selection(packages), "--queryformat", form)
    if done["retcode"] and kwargs.get("failhard"):
        raise CommandExecutionError(f"Error getting packages information: {done['stderr'] or done['stdout']}")
    found: dict[str, dict[str, Any]] = {}
    for stanza in str(done["stdout"]).split(_END_OF_PACKAGE):
        _, start, _ = stanza.partition("name:")
        if not start:
            continue
        stanza = stanza[stanza.index("name:") :]
        pairs = (field.split(":", 1) for field in stanza.split(_END_OF_FIELD))
        facts: dict[str, Any] = {key: value for key, value in pairs if value not in {"", "(none)"}}
        for key in ("build_date", "install_date"):
            seconds = facts.get(f"{key}_time_t", "")
            if str(seconds).isdigit():
                facts[f"{key}_time_t"] = int(seconds)
                facts[key] = datetime.fromtimestamp(int(seconds), UTC).isoformat().replace("+00:00", "Z")
        found[facts.pop("name")] = {key: value for key, value in facts.items() if not wanted or key in wanted}
    return found


def modified(*packages: str, **flags: Any) -> dict[str, list[str]]:
    """Return the files that have changed since they were installed, by package, with the differences of each."""
    found: dict[str, list[str]] = {}
    for package in packages or tuple(list_pkgs()):
        lines = str(_rpm("-V", "--nodeps", checked_name(package))["stdout"]).splitlines()
        found[package] = sorted({line[line.index(" /") + 1 :] for line in lines if " /" in line})
    return found


def version_cmp(ver1: Any, ver2: Any, ignore_epoch: bool = False) -> int:
    """Return -1, 0 or 1: whether the first version is older than, the same as or newer than the second."""
    return _rpm_versions.compare(str(ver1), str(ver2), ignore_epoch=ignore_epoch)


def _selection(packages: tuple[str, ...]) -> list[str]:
    return ["-q", *map(checked_name, packages)] if packages else ["-qa"]


def _rpm(*arguments: str) -> dict[str, Any]:
    done: dict[str, Any] = __salt__["cmd.run_all"](
        ["rpm", *arguments], python_shell=False, ignore_retcode=True, output_loglevel="trace"
    )
    return done
