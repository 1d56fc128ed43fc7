"""The ``lowpkg`` execution module of Debian and its derivatives: dpkg without apt."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from asyncstate.dunders import __context__, __grains__, __salt__
from asyncstate.errors import CommandExecutionError
from asyncstate.interfaces.lowpkg import LowpkgInterface

from ._package_transactions import local_file

__virtualname__ = LowpkgInterface(__name__)()
__smi_grains__ = {"os": "Debian", "os_family": "Debian"}

_FIELDS = {
    "package": "${Package}",
    "revision": "${binary:Revision}",
    "architecture": "${Architecture}",
    "maintainer": "${Maintainer}",
    "summary": "${binary:Summary}",
    "source": "${source:Package}",
    "version": "${Version}",
    "section": "${Section}",
    "origin": "${Origin}",
    "homepage": "${Homepage}",
    "status": "${db:Status-Abbrev}",
    "install_date": "${db-fsys:Last-Modified}",
    "description": "${Description}",
}
_END_OF_FIELD, _END_OF_PACKAGE = "\x1f", "\x1e"


def __virtual__() -> Any:
    if __grains__.get("os_family") == "Debian":
        return __virtualname__
    return False, "The dpkg execution module cannot be loaded: only works on Debian family systems."


def bin_pkg_info(path: str, saltenv: str = "base") -> dict[str, str]:
    """Return ``name``, ``version`` and ``arch`` of a package file. CommandExecutionError if it is none."""
    path = local_file(path, saltenv)
    done = _dpkg(["dpkg-deb", "--field", path, "Package", "Version", "Architecture"])
    if done["retcode"]:
        raise CommandExecutionError(f"Unable to get info for {path}: {done['stderr']}".removesuffix(": "))
    fields = dict(line.split(": ", 1) for line in done["stdout"].splitlines() if ": " in line)
    missing = [key for key in ("Package", "Version", "Architecture") if key not in fields]
    if missing:
        raise CommandExecutionError(f"Unable to get {', '.join(missing).lower()} for {path}")
    name = fields["Package"]
    if fields["Architecture"] not in {"all", __grains__.get("osarch")}:
        name = f"{name}:{fields['Architecture']}"
    return {"name": name, "version": fields["Version"], "arch": fields["Architecture"]}


def unpurge(*packages: str) -> dict[str, dict[str, str]]:
    """Remove installed packages from the list of packages to purge; return what changed."""
    if not packages:
        return {}
    old = __salt__["pkg.list_pkgs"](purge_desired=True)
    lines = "\n".join(f"{name} install" for name in packages)
    done = _dpkg(["dpkg", "--set-selections"], stdin=lines)
    if done["retcode"]:
        raise CommandExecutionError(f"dpkg --set-selections failed: {done['stderr']}")
    __context__.pop("pkg.list_pkgs", None)
    new = __salt__["pkg.list_pkgs"](purge_desired=True)
    return {name: {"old": version, "new": ""} for name, version in old.items() if name not in new}


def list_pkgs(*packages: str, **kwargs: Any) -> dict[str, str]:
    """Return the installed packages and their versions, all or those named."""
    return {name: version for name, version, status in _installed(packages) if status == "installed"}


def file_list(*packages: str, **kwargs: Any) -> dict[str, list[str]]:
    """Return the files of the named packages, of all if none is named: ``{"errors": […], "files": […]}``."""
    files = {path for paths in file_dict(*packages)["packages"].values() for path in paths}
    return {"errors": [], "files": sorted(files)}


def file_dict(*packages: str, **kwargs: Any) -> dict[str, Any]:
    """Return the files of the named packages by package, ``{"errors": […], "packages": {…}}``."""
    names = [name for name, _, status in _installed(packages) if status == "installed"]
    return {"errors": [], "packages": {name: _dpkg(["dpkg", "-L", name])["stdout"].splitlines() for name in names}}


def info(*packages: str, failhard: bool = True, **kwargs: Any) -> dict[str, dict[str, Any]]:
    """Return the facts about packages in dpkg's database. CommandExecutionError for an unknown one if ``failhard``."""
    form = _END_OF_FIELD.join(f"{key}:{field}" for key, field in _FIELDS.items()) + _END_OF_PACKAGE
    done = _dpkg(["dpkg-query", "-W", f"-f={form}", "--", *packages])
    if done["retcode"] and failhard:
        raise CommandExecutionError(f"Error getting packages information: {done['stderr']}")
    found: dict[str, dict[str, Any]] = {}
    for stanza in filter(None, str(done["stdout"]).split(_END_OF_PACKAGE)):
        facts: dict[str, Any] = dict(field.split(":", 1) for field in stanza.split(_END_OF_FIELD))
        if facts["install_date"].isdigit():
            date = datetime.fromtimestamp(int(facts["install_date"]), UTC)
            facts["install_date"] = date.isoformat().replace("+00:00", "Z")
        found[facts["package"]] = {key: value for key, value in facts.items() if value}
    return found


def _installed(packages: tuple[str, ...]) -> list[tuple[str, str, str]]:
    form = "${db:Status-Status}\\t${binary:Package}\\t${Version}\\n"
    done = _dpkg(["dpkg-query", f"-f={form}", "-W", "--", *packages])
    if done["retcode"]:
        raise CommandExecutionError(f"Error:  {done['stderr']}")
    rows = [line.split("\t") for line in str(done["stdout"]).splitlines()]
    return [(name, version, status) for status, name, version in rows]


def _dpkg(command: list[str], **options: Any) -> dict[str, Any]:
    done: dict[str, Any] = __salt__["cmd.run_all"](command, python_shell=False, ignore_retcode=True, **options)
    return done
