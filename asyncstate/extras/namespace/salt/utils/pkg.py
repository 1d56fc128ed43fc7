"""Functions shared by the modules of package managers: whether a refresh of the package lists is due, and versions.

In Salt a file in ``cachedir`` says that a refresh is due. Here it is ``__context__["pkg.refresh"]``, which lasts for
one run: the first ``pkg`` state sets it, and a module's ``refresh_db`` resets it. These functions do the same for
modules written for Salt. The file never exists.
"""

from __future__ import annotations

import fnmatch
import os
import re
from typing import TYPE_CHECKING, Any

from asyncstate.dunders import __context__
from asyncstate.extras.namespace.names import ModuleGetattr, nothing_else
from asyncstate.extras.namespace.salt.utils.data import is_true
from asyncstate.extras.namespace.salt.utils.versions import compare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_PENDING = "pkg.refresh"
_COMPARISON = re.compile(r"(<=>|!=|>=|<=|>>|<<|<>|>|<|=)([^<>=].*)", re.DOTALL)


def rtag(opts: Mapping[str, Any]) -> str:
    """Return the path of the file by which Salt records that a refresh is due."""
    return os.path.join(opts["cachedir"], "pkg_refresh")


def write_rtag(opts: Mapping[str, Any]) -> None:  # noqa: ARG001 - Salt's signature
    """Record that a refresh of the package lists is due in this run."""
    __context__[_PENDING] = True


def clear_rtag(opts: Mapping[str, Any]) -> None:  # noqa: ARG001 - Salt's signature
    """Record that the package lists are fresh: the next ``pkg`` state does not refresh them again."""
    __context__[_PENDING] = False


def check_refresh(opts: Mapping[str, Any], refresh: Any = None) -> bool:  # noqa: ARG001 - Salt's signature
    """Return whether to refresh: if ``refresh`` is true, or if it is not False and a refresh is due in this run."""
    return is_true(refresh) or (refresh is not False and bool(__context__.get(_PENDING)))


def split_comparison(version: str) -> tuple[str, str]:
    """Split ``>=1.2`` into operator and version; the operator is empty if there is none."""
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
    """Return ``pkg_params`` with names that contain ``*`` replaced by names of installed packages."""
    found: dict[str, Any] = {}
    for name, value in pkg_params.items():
        for each in fnmatch.filter(current_pkgs, name) if "*" in name else [name]:
            found[each] = value
    return found


def check_bundled() -> bool:
    """Return False: Salt's bundle of Python and libraries is not running."""
    return False


__getattr__: ModuleGetattr = nothing_else(__name__)
