"""The ``config`` execution module: options, looked for in configuration, grains and pillar.

Salt's order: the configuration first, then grains, the pillar, ``master`` in the pillar, and a few built-in defaults.
"""

from __future__ import annotations

import fnmatch
from typing import Any, NoReturn
from urllib.parse import urlsplit

from asyncstate.data import merging, paths
from asyncstate.dunders import __grains__, __opts__, __pillar__, __salt__
from asyncstate.errors import CommandExecutionError

DEFAULTS: dict[str, Any] = {
    "aliases.file": "/etc/aliases",
    "ca.cert_base_path": "/etc/pki",
    "docker.exec_driver": "docker-exec",
    "hosts.file": "/etc/hosts",
    "ldap.anonymous": True,
    "ldap.port": "389",
    "ldap.scope": 2,
    "ldap.server": "localhost",
    "ldap.tls": False,
    "ldap.uri": "",
    "mongo.db": "salt",
    "mongo.password": "",
    "mongo.port": 27017,
    "mongo.user": "",
    "poudriere.config": "/usr/local/etc/poudriere.conf",
    "poudriere.config_dir": "/usr/local/etc/poudriere.d",
    "redis.db": "0",
    "redis.host": "salt",
    "redis.port": 6379,
    "test.foo": "unconfigured",
    "virt": {"tunnel": False, "images": "/srv/salt-images"},
}
"""The defaults of Salt's modules."""

_OURS = frozenset({"concurrency", "duplicate_ids", "event_loop", "implicit_order", "lanes", "state_dir", "timeout"})
"""Options that Salt does not have. A tree may use such a name itself, so the pillar and grains come first."""

_PROTOCOLS = frozenset({"salt", "file", "http", "https", "ftp", "s3", "swift"})


def get(
    key: str,
    default: Any = "",
    delimiter: str = ":",
    merge: str | None = None,
    omit_opts: bool = False,
    omit_pillar: bool = False,
    omit_master: bool = False,
    omit_grains: bool = False,
) -> Any:
    """Return the first value under a colon path, or ``default``; a value ``sdb://…`` is looked up there.

    With ``merge`` (``recurse`` or ``overwrite``) all sources are merged first, the configuration the strongest; the
    ``omit_…`` have no effect then, as in Salt.
    """
    if merge is None:
        sources = (
            ({} if omit_opts else __opts__),
            ({} if omit_grains else __grains__),
            ({} if omit_pillar else __pillar__),
            ({} if omit_master else _master()),
            DEFAULTS,
        )
        if str(key).split(delimiter)[0] in _OURS:
            sources = (*sources[1:], {name: value for name, value in sources[0].items() if value is not None})
        for source in sources:
            found = paths.traverse(source, key, paths.MISSING, delimiter)
            if found is not paths.MISSING:
                return _resolved(found)
        return default
    first = str(key).split(delimiter)[0]
    merged: dict[Any, Any] = {}
    for source in (DEFAULTS, _master(), __pillar__, __grains__, __opts__):
        if first in source:
            strategy = "overwrite" if merge == "overwrite" else "recurse"
            merged = merging.merge(merged, {first: merging.fresh(source[first])}, strategy)
    found = paths.traverse(merged, key, paths.MISSING, delimiter)
    return default if found is paths.MISSING else _resolved(found)


def option(
    value: str,
    default: Any = None,
    omit_opts: bool = False,
    omit_grains: bool = False,
    omit_pillar: bool = False,
    omit_master: bool = False,
    omit_all: bool = False,
    wildcard: bool = False,
) -> Any:
    """Return the option named ``value``, no path; with ``wildcard``, all whose names match that shell pattern."""
    sources = [
        source
        for omit, source in (
            (omit_opts, __opts__),
            (omit_grains, __grains__),
            (omit_pillar, __pillar__),
            (omit_master, _master()),
        )
        if not (omit or omit_all)
    ]
    sources.append(DEFAULTS)
    if wildcard:
        found = {name: source[name] for source in reversed(sources) for name in fnmatch.filter(source, value)}
        return found or ({} if default is None else default)
    for source in sources:
        if value in source:
            return merging.fresh(source[value])
    return "" if default is None else default


def merge(
    value: str, default: Any = "", omit_opts: bool = False, omit_master: bool = False, omit_pillar: bool = False
) -> Any:
    """Return the option ``value`` of configuration, ``master`` and pillar together.

    A string is taken from the first that has one, mappings are merged (the configuration the strongest), lists joined.
    """
    merged: Any = None
    for omit, source in ((omit_opts, __opts__), (omit_master, _master()), (omit_pillar, __pillar__)):
        if omit or value not in source:
            continue
        found = merging.fresh(source[value])
        if merged is None:
            merged = found
            if isinstance(merged, str):
                return merged
        elif isinstance(merged, dict) and isinstance(found, dict):
            merged = {**found, **merged}
        elif isinstance(merged, (list, tuple)) and isinstance(found, (list, tuple)):
            merged = [*merged, *found]
    return DEFAULTS.get(value, default) if merged is None else merged


def dot_vals(value: str) -> dict[str, Any]:
    """Return all options whose names begin with ``value`` and a dot."""
    found = {name: entry for name, entry in _master().items() if name.startswith(f"{value}.")}
    return found | {name: entry for name, entry in __opts__.items() if name.startswith(f"{value}.")}


def items() -> dict[str, Any]:
    """Return the whole configuration."""
    return dict(__opts__)


def backup_mode(backup: str = "") -> Any:
    """Return ``backup``, or else the configured backup mode."""
    return backup or option("backup_mode")


def manage_mode(mode: Any) -> str | None:
    """Return a file mode as four octal digits."""
    if mode is None:
        return None
    return str(mode).replace("0o", "0").strip("\"'").lstrip("0").zfill(4)


def gather_bootstrap_script(bootstrap: str | None = None) -> NoReturn:
    """Raise CommandExecutionError: the script installs a Salt minion, which asyncstate does not need."""
    raise CommandExecutionError(
        "The bootstrap script installs a minion of Salt, which is not needed here. cp.cache_file downloads any URL"
    )


def valid_fileproto(uri: str) -> bool:
    """Return whether a file can be fetched from ``uri``."""
    return urlsplit(uri).scheme in _PROTOCOLS


def _master() -> Any:
    return __pillar__.get("master") or {}


def _resolved(value: Any) -> Any:
    if isinstance(value, str) and value.startswith("sdb://"):
        return __salt__["sdb.get"](value)
    return merging.fresh(value)
