"""The functions of ``pkg`` that query rpm, the same for every package manager on top of rpm."""

from __future__ import annotations

from typing import Any

from asyncstate.dunders import __salt__

from ._rpm_database import LISTING as _LISTING
from ._rpm_database import normalised as _normalised
from ._rpm_database import split_arch as _split_arch
from ._rpm_versions import compare as _compare


def list_pkgs(versions_as_list: bool = False, removed: bool = False, **kwargs: Any) -> dict[str, Any]:
    """Return the installed packages and their versions.

    The name of a package of another architecture contains it. rpm is queried again only after a change
    (``use_context: False`` always queries).
    """
    return _LISTING.get(versions_as_list, removed=removed, **kwargs)


def version(*names: str, **kwargs: Any) -> Any:
    """Return the installed version of each name, "" for none; of a single name the version itself."""
    return __salt__["pkg_resource.version"](*names, **kwargs)


def version_cmp(pkg1: Any, pkg2: Any, ignore_epoch: bool = False, **kwargs: Any) -> int:
    """Return -1, 0 or 1: whether the first version is older than, the same as or newer than the second."""
    return _compare(str(pkg1), str(pkg2), ignore_epoch=ignore_epoch)


def normalize_name(name: str) -> str:
    """Return ``name`` without an architecture that is the machine's own."""
    return _normalised(name)


def parse_arch(name: str) -> dict[str, str | None]:
    """Return the name and the architecture of ``name.architecture``."""
    package, architecture = _split_arch(name)
    return {"name": package, "arch": architecture}


def owner(*paths: str, **kwargs: Any) -> Any:
    """Return the package each path belongs to, "" for none; of a single path the package itself."""
    return __salt__["lowpkg.owner"](*paths)


def file_list(*packages: str, **kwargs: Any) -> Any:
    """Return the files of packages, ``{"errors": […], "files": […]}``."""
    return __salt__["lowpkg.file_list"](*packages)


def file_dict(*packages: str, **kwargs: Any) -> Any:
    """Return the files of packages by package, ``{"errors": […], "packages": {…}}``."""
    return __salt__["lowpkg.file_dict"](*packages)


def info_installed(*names: str, **kwargs: Any) -> dict[str, dict[str, Any]]:
    """Return facts about installed packages. ``attr`` lists the wanted fields, separated by commas."""
    about: dict[str, dict[str, Any]] = __salt__["lowpkg.info"](
        *names, attr=kwargs.get("attr"), failhard=kwargs.get("failhard", False)
    )
    return {
        name: {"source" if key == "source_rpm" else key: value for key, value in facts.items()}
        for name, facts in about.items()
    }
