"""The interface of ``lowpkg``: the database of installed packages, without any repository."""

from __future__ import annotations

from typing import Any

from asyncstate.interfaces import Interface

_RPM = {"os_family": ["RedHat", "Suse"]}


class LowpkgInterface(Interface):
    """Installed packages and package files, as dpkg or rpm knows them."""

    __modulename__ = "lowpkg"

    def bin_pkg_info(self, path: str, saltenv: str = "base") -> dict[str, Any]:
        """Return ``name``, ``version`` and ``arch`` of a package file."""
        return {"name": "", "version": "", "arch": ""}

    def list_pkgs(self, *packages: str, **kwargs: Any) -> dict[str, str]:
        """Return the installed packages and their versions, all or those named."""
        return {}

    def file_list(self, *packages: str, **kwargs: Any) -> dict[str, Any]:
        """Return the files of the named packages, of all if none is named."""
        return {"errors": [], "files": []}

    def file_dict(self, *packages: str, **kwargs: Any) -> dict[str, Any]:
        """Return the files of the named packages by package."""
        return {"errors": [], "packages": {}}

    def info(self, *packages: str, **kwargs: Any) -> dict[str, Any]:
        """Return the database's data on packages."""
        return {}

    @Interface.supported(os_family=["Debian"])
    def unpurge(self, *packages: str) -> dict[str, Any]:
        """Take installed packages off the list of what will be purged; returns what changed."""
        return {}

    @Interface.supported(**_RPM)
    def owner(self, *paths: str, **kwargs: Any) -> Any:
        """Return the package of each path by path, ``""`` for none; for a single path only its package."""
        return "" if len(paths) == 1 else {}

    @Interface.supported(**_RPM)
    def modified(self, *packages: str, **flags: Any) -> dict[str, Any]:
        """Return the files of packages that have changed since the installation, by package."""
        return {}

    @Interface.supported(**_RPM)
    def version_cmp(self, ver1: Any, ver2: Any, ignore_epoch: bool = False) -> int:
        """Return -1, 0 or 1: whether the first version is older than, the same as or newer than the second."""
        return 0
