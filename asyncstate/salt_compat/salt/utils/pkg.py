"""What package managers' modules share: whether the lists of packages are still to be refreshed, and versions.

In Salt a file in ``cachedir`` says that a refresh is due. Here it is ``__context__["pkg.refresh"]``, which is of one
run: ``pkg`` states set it when the first of them comes up, and a module's ``refresh_db`` takes it back. These functions
do the same for modules written for Salt. The file is never there.
"""

from __future__ import annotations

import fnmatch
import os
import re
from typing import TYPE_CHECKING, Any

from asyncstate.dunders import __context__
from asyncstate.salt_compat.namespace import ModuleGetattr, nothing_else
from asyncstate.salt_compat.salt.utils.data import is_true
from asyncstate.salt_compat.salt.utils.versions import compare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_PENDING = "pkg.refresh"
_COMPARISON = re.compile(r"(<=>|!=|>=|<=|>>|<<|<>|>|<|=)([^<>=].*)", re.DOTALL)


def rtag(opts: Mapping[str, Any]) -> str:
    """Return where Salt keeps its note that a refresh is due."""
    return os.path.join(opts["cachedir"], "pkg_refresh")


def write_rtag(opts: Mapping[str, Any]) -> None:  # noqa: ARG001 - Salt's signature
    """Note that the lists of packages are to be refreshed in this run."""
    __context__[_PENDING] = True


def clear_rtag(opts: Mapping[str, Any]) -> None:  # noqa: ARG001 - Salt's signature
    """Note that they have been refreshed: the next ``pkg`` state does not ask for it again."""
    __context__[_PENDING] = False


def check_refresh(opts: Mapping[str, Any], refresh: Any = None) -> bool:  # noqa: ARG001 - Salt's signature
    """Return whether to refresh: as ``refresh`` says, or if that is not False, whether it is due in this run."""
    return is_true(refresh) or (refresh is not False and bool(__context__.get(_PENDING)))


def split_comparison(version: str) -> tuple[str, str]:
    """Split ``>=1.2`` into operator and version; the operator is empty where there is none."""
    found = _COMPARISON.fullmatch(version)
    return (found[1], found[2]) if found is not None else ("", version)


def match_version(
    desired: str, available: Iterable[str], cmp_func: Callable[..., Any] | None = None, ignore_epoch: bool = False
) -> str | None:
    """Return the first of the available versions for which the comparison ``desired`` holds, None if there is none."""
    oper, version = split_comparison(desired)
    for candidate in available:
        if compare(candidate, oper or "==", version, cmp_func=cmp_func, ignore_epoch=ignore_epoch):
            return candidate
    return None


def match_wildcard(current_pkgs: Mapping[str, Any], pkg_params: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``pkg_params`` with names that hold a ``*`` replaced by those of installed packages."""
    found: dict[str, Any] = {}
    for name, value in pkg_params.items():
        for each in fnmatch.filter(current_pkgs, name) if "*" in name else [name]:
            found[each] = value
    return found


def check_bundled() -> bool:
    """Return whether Salt's own bundle of Python and libraries is running: it is not."""
    return False


__getattr__: ModuleGetattr = nothing_else(__name__)
