"""The interface of ``pkg``: the package manager of the system."""

from __future__ import annotations

from typing import Any

from asyncstate.interfaces import Interface

_APT = {"os_family": ["Debian"]}
_LOCKING = {"os_family": ["Debian", "RedHat", "Suse"]}
_MULTI_ARCH = {"os_family": ["Debian", "RedHat", "Suse"]}
_REPOSITORIES = {"os_family": ["Debian", "RedHat", "Suse"]}


class PkgInterface(Interface):
    """Packages of the system: installed, available, selected, held.

    A list of packages, ``pkgs``, holds names and ``{name: version}``. A function that changes packages returns
    ``{name: {"old": version, "new": version}}``; ``""`` means not installed.
    """

    __modulename__ = "pkg"

    def install(
        self,
        name: str | None = None,
        refresh: bool = False,
        *,
        fromrepo: str | None = None,
        skip_verify: bool = False,
        pkgs: Any = None,
        sources: Any = None,
        reinstall: bool = False,
        downloadonly: bool = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Install packages and return what changed."""
        return {}

    @Interface.supported(**_APT)
    def foresee(self, orders: list[list[Any]], refresh: bool = False, **kwargs: Any) -> list[dict[str, Any]]:
        """Return what installing each of several lists of packages, one after the other, would change.

        The answer ends before the first list whose changes are not certain.
        """
        return []

    @Interface.supported(**_APT)
    def install_foreseen(self, expected: dict[str, Any], pkgs: Any, **kwargs: Any) -> dict[str, Any] | None:
        """Do what ``install`` does if that changes exactly what is ``expected``; else change nothing, return None."""
        return {}

    @Interface.supported(**_APT)
    def refusal(self, pkgs: Any, **kwargs: Any) -> str:
        """Return why ``install`` with these arguments would fail; "" if it would not, or if nothing is certain."""
        return ""

    @Interface.supported(**_APT)
    def prefetch(self, orders: list[dict[str, Any]]) -> bool:
        """Download packages ahead of the states that will install them; return whether any was downloaded."""
        return False

    def remove(self, name: str | None = None, pkgs: Any = None, **kwargs: Any) -> dict[str, Any]:
        """Remove packages and return what changed."""
        return {}

    def purge(self, name: str | None = None, pkgs: Any = None, **kwargs: Any) -> dict[str, Any]:
        """Remove packages and their configuration and return what changed."""
        return {}

    def upgrade(self, *, refresh: bool = True, **kwargs: Any) -> dict[str, Any]:
        """Upgrade all packages, or those of the list ``pkgs``, and return what changed."""
        return {}

    @Interface.not_applicable(os_family=["Alpine"])
    def autoremove(self, list_only: bool = False, purge: bool = False) -> Any:
        """Remove packages that no other needs any more and return what changed; with ``list_only``, their names."""
        return [] if list_only else {}

    def refresh_db(self, **kwargs: Any) -> Any:
        """Fetch the lists of packages of all sources."""
        return {}

    def list_pkgs(self, versions_as_list: bool = False, removed: bool = False, **kwargs: Any) -> dict[str, Any]:
        """Return the installed packages and their versions."""
        return {}

    def list_upgrades(self, refresh: bool = True, **kwargs: Any) -> dict[str, Any]:
        """Return the packages an upgrade would change, and their new versions."""
        return {}

    def list_repo_pkgs(self, *names: str, **kwargs: Any) -> dict[str, Any]:
        """Return the versions the sources have of each package, best first."""
        return {}

    @Interface.supported(os_family=["Debian", "RedHat", "Suse", "Arch"])
    def list_downloaded(self, root: str | None = None, **kwargs: Any) -> dict[str, Any]:
        """Return the package files in the cache by package and version."""
        return {}

    def version(self, *names: str, **kwargs: Any) -> Any:
        """Return the installed version of each package by name, ``""`` for none; for a single name only its version."""
        return "" if len(names) == 1 else {}

    def latest_version(self, *names: str, **kwargs: Any) -> Any:
        """Return the version each package could be upgraded to, ``""`` for none; for a single name only its version."""
        return "" if len(names) == 1 else {}

    def available_version(self, *names: str, **kwargs: Any) -> Any:
        """The same as ``latest_version``."""
        return "" if len(names) == 1 else {}

    def upgrade_available(self, name: str, **kwargs: Any) -> bool:
        """Return whether there is a newer version of a package."""
        return False

    def version_cmp(self, pkg1: Any, pkg2: Any, ignore_epoch: bool = False, **kwargs: Any) -> int:
        """Return -1, 0 or 1: whether the first version is older than, the same as or newer than the second."""
        return 0

    @Interface.supported(**_MULTI_ARCH)
    def normalize_name(self, name: str) -> str:
        """Return the name without an architecture that is the machine's own."""
        return name

    @Interface.supported(**_MULTI_ARCH)
    def parse_arch(self, name: str) -> dict[str, Any]:
        """Return ``name`` and ``arch`` of a package name that may carry an architecture."""
        return {}

    def owner(self, *paths: str, **kwargs: Any) -> Any:
        """Return the package of each path by path, ``""`` for none; for a single path only its package."""
        return "" if len(paths) == 1 else {}

    def file_list(self, *packages: str, **kwargs: Any) -> Any:
        """Return the files of packages."""
        return {}

    def file_dict(self, *packages: str, **kwargs: Any) -> Any:
        """Return the files of packages by package."""
        return {}

    def info_installed(self, *names: str, **kwargs: Any) -> dict[str, Any]:
        """Return the package manager's data on installed packages."""
        return {}

    @Interface.supported(**_LOCKING)
    def hold(
        self, name: str | None = None, pkgs: Any = None, sources: Any = None, **kwargs: Any
    ) -> dict[str, dict[str, Any]]:
        """Hold packages at their version and return a row (name, result, changes, comment) for each."""
        return {}

    @Interface.supported(**_LOCKING)
    def unhold(
        self, name: str | None = None, pkgs: Any = None, sources: Any = None, **kwargs: Any
    ) -> dict[str, dict[str, Any]]:
        """Let packages be upgraded again and return a row (name, result, changes, comment) for each."""
        return {}

    @Interface.supported(os_family=["RedHat", "Suse"])
    def list_holds(self, pattern: str | None = None, full: bool = True) -> list[str]:
        """Return the held packages: names, or with ``full`` names and versions."""
        return []

    @Interface.supported(os_family=["Suse"])
    def list_locks(self, root: str | None = None) -> dict[str, Any]:
        """Return the packages locked at a version, by name."""
        return {}

    @Interface.supported(os_family=["Suse"])
    def resolve_capabilities(self, pkgs: Any, refresh: bool = False, **kwargs: Any) -> list[Any]:
        """Return a ``pkgs`` list in which capabilities are replaced by the packages that provide them."""
        return []

    @Interface.supported(**_REPOSITORIES)
    def list_repos(self, **kwargs: Any) -> dict[str, Any]:
        """Return the package sources."""
        return {}

    @Interface.supported(**_REPOSITORIES)
    def get_repo(self, repo: str, **kwargs: Any) -> dict[str, Any]:
        """Return one package source, ``{}`` if there is none."""
        return {}

    @Interface.supported(**_REPOSITORIES)
    def mod_repo(self, repo: str, **kwargs: Any) -> Any:
        """Add or change a package source and return it."""
        return {}

    @Interface.supported(**_REPOSITORIES)
    def del_repo(self, repo: str, **kwargs: Any) -> Any:
        """Remove a package source."""
        return ""

    @Interface.supported(**_APT)
    def expand_repo_def(self, repo: str, **kwargs: Any) -> dict[str, Any]:
        """Return what ``get_repo`` would return after ``mod_repo`` with the same arguments."""
        return {}

    @Interface.supported(**_APT)
    def repo_refusal(self, repo: str, **kwargs: Any) -> str:
        """Return why ``mod_repo`` with these arguments would fail; "" if it would not, or if nothing is certain."""
        return ""

    @Interface.supported(**_APT)
    def add_repo_key(
        self,
        path: str | None = None,
        text: str | None = None,
        keyserver: str | None = None,
        keyid: Any = None,
        saltenv: str = "base",
        aptkey: bool = True,
        keydir: str | None = None,
        keyfile: str | None = None,
    ) -> bool:
        """Trust a key that package sources are signed with."""
        return True

    @Interface.supported(**_APT)
    def get_repo_keys(self, aptkey: bool = True, keydir: str | None = None) -> dict[str, Any]:
        """Return the keys that are trusted for package sources."""
        return {}

    @Interface.supported(**_APT)
    def del_repo_key(self, name: str | None = None, **kwargs: Any) -> Any:
        """Remove a key that package sources are signed with."""
        return ""

    @Interface.supported(**_APT)
    def get_selections(self, pattern: str | None = None, state: str | None = None) -> dict[str, list[str]]:
        """Return the packages by their selection state, such as ``install`` or ``hold``."""
        return {}

    @Interface.supported(**_APT)
    def show(self, *names: str, **kwargs: Any) -> dict[str, Any]:
        """Return the sources' data on packages, by name and version."""
        return {}
