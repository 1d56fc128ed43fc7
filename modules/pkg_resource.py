"""The ``pkg_resource`` execution module: the common functions of the package managers' modules."""

from __future__ import annotations

import fnmatch
import logging
import os
from collections.abc import Callable, Mapping
from typing import Any

from asyncstate.data import formats
from asyncstate.dunders import __salt__
from asyncstate.errors import CommandExecutionError, InvocationError

from ._package_transactions import checked_name

log = logging.getLogger(__name__)

Versions = dict[str, Any]


def pack_pkgs(pkgs: Any, normalize: bool = True) -> dict[str, str | None]:
    """Return the wanted version of each package of a ``pkgs`` list, None for any.

    The list has names and one-element mappings of a name to its version; it may be YAML text. Returns {} for any other
    value. InvocationError if a package is named twice, CommandExecutionError for a name that package managers would
    read as an option.
    """
    entries = _from_text(pkgs)
    packed: dict[str, str | None] = {}
    named = _normaliser(normalize)
    if not isinstance(entries, (list, tuple)):
        log.error("Invalid input: %r is no list of packages", pkgs)
        return {}
    for entry in entries:
        if isinstance(entry, Mapping):
            if len(entry) != 1:
                log.error("Invalid input: %r must be a name and its version", entry)
                return {}
            ((name, version),) = entry.items()
        else:
            name, version = entry, None
        if not isinstance(name, (str, int, float)) or isinstance(version, (list, dict)):
            log.error("Invalid input: %r is no package", entry)
            return {}
        packed[checked_name(named(str(name)))] = None if version is None else str(version)
    if len(packed) != len(entries):
        raise InvocationError(
            f"You are passing a list of packages that contains duplicated packages names: {entries}. This cannot be "
            "processed. In case you are targeting different versions of the same package, please target them "
            "individually"
        )
    return packed


def pack_sources(sources: Any, normalize: bool = True) -> dict[str, str]:
    """Return the file or URL of each package of a ``sources`` list of one-element mappings; {} for any other value."""
    entries = _from_text(sources)
    named = _normaliser(normalize)
    packed: dict[str, str] = {}
    for entry in entries if isinstance(entries, (list, tuple)) else [entries]:
        if not isinstance(entry, Mapping) or len(entry) != 1:
            log.error("Invalid input: %r must be a list of 1-element dicts", sources)
            return {}
        ((name, source),) = entry.items()
        packed[named(str(name))] = str(source)
    return packed


def parse_targets(
    name: str | None = None,
    pkgs: Any = None,
    sources: Any = None,
    saltenv: str = "base",
    normalize: bool = True,
    **kwargs: Any,
) -> tuple[Any, str | None]:
    """Return the packages to install, and their kind.

    ``({name: version}, "repository")``, or ``([path …], "file")`` for ``sources``, which are fetched;
    ``(None, None)`` if no package is given, or the arguments are invalid. ``name`` may be a comma-separated list.
    CommandExecutionError for a name that package managers would read as an option.
    """
    version = kwargs.get("version")
    if pkgs and sources:
        log.error('Only one of "pkgs" and "sources" can be used.')
        return None, None
    if pkgs:
        packed = pack_pkgs(pkgs, normalize)
        return (packed, "repository") if packed else (None, None)
    if sources:
        files = [_local(package, source, saltenv) for package, source in pack_sources(sources, normalize).items()]
        return (files, "file") if files else (None, None)
    if name:
        named = _normaliser(normalize)
        names = [checked_name(named(each)) for each in str(name).split(",")]
        return dict.fromkeys(names, None if version is None else str(version)), "repository"
    log.error("No package sources provided")
    return None, None


def version(*names: str, **kwargs: Any) -> Any:
    """Return the installed version of each name, "" for none; of a single name the version itself.

    A ``*`` in a name matches any characters; then the answer is always a mapping.
    """
    as_list = bool(kwargs.pop("versions_as_list", False))
    installed = __salt__["pkg.list_pkgs"](versions_as_list=True, **kwargs) if names else {}
    found: Versions = {}
    globbed = False
    for name in names:
        if "*" in name:
            globbed = True
            found.update({match: installed[match] for match in fnmatch.filter(installed, name)})
        else:
            found[name] = installed.get(name, [])
    if not as_list:
        stringify(found)
    if len(found) == 1 and not globbed:
        return next(iter(found.values()))
    return found


def add_pkg(pkgs: Versions, name: str, pkgver: str) -> None:
    """Add a version of a package to ``pkgs``."""
    pkgs.setdefault(name, []).append(pkgver)


def sort_pkglist(pkgs: Versions) -> None:
    """Sort the versions of each package in ``pkgs``, without duplicates."""
    for name, versions in pkgs.items():
        pkgs[name] = sorted(set(versions))


def stringify(pkgs: Versions) -> None:
    """Join the versions of each package in ``pkgs`` with commas."""
    for name, versions in pkgs.items():
        pkgs[name] = ",".join(versions)


def version_clean(verstr: Any) -> Any:
    """Return a version without the parts that the package manager does not compare."""
    if verstr and "pkg.version_clean" in __salt__:
        return __salt__["pkg.version_clean"](verstr)
    return verstr


def _from_text(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return formats.yaml_data(value)
    except ValueError:
        log.exception("%r is not YAML", value)
        return {}


def _normaliser(normalize: bool) -> Callable[[str], str]:
    if not normalize or "pkg.normalize_name" not in __salt__:
        return lambda name: name
    function: Callable[[str], str] = __salt__["pkg.normalize_name"]
    return function


def _local(package: str, source: str, saltenv: str) -> str:
    if __salt__["config.valid_fileproto"](source):
        cached = __salt__["cp.cache_file"](source, saltenv)
        if not cached:
            raise CommandExecutionError(f"Unable to cache source {source} for package {package}")
        return str(cached)
    if not os.path.isabs(source):
        raise InvocationError(f"Path {source} for package {package} is either not absolute or an invalid protocol")
    return source
