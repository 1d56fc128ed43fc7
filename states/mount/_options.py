"""Options of a mount that are not active and require a remount."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from asyncstate.dunders import __salt__

_INVISIBLE = (
    "_netdev", "actimeo", "bg", "comment", "defaults", "delay_connect", "direct-io-mode", "intr", "loop", "nointr",
    "nobootwait", "nofail", "password", "reconnect", "retry", "soft", "auto", "users", "bind", "nonempty",
    "transform_symlinks", "port", "backup-volfile-servers",
)  # fmt: skip
"""Options that /proc/self/mountinfo does not show."""

_INVISIBLE_KEYS = (
    "actimeo", "comment", "credentials", "direct-io-mode", "password", "port", "retry", "secretfile",
)  # fmt: skip
_IGNORED = {"ramfs": ["size"]}
_TRANSLATED = {"tcp": "proto=tcp", "udp": "proto=udp"}
_SIZE = re.compile(r"size=([0-9]+)(k|m|g)")
_KIB = {"k": 1, "m": 1024, "g": 1024**2}


class Tolerance(NamedTuple):
    """Additions to the lists above from the arguments ``extra_mount_…`` and ``hidden_opts``."""

    options: Any = None
    keys: Any = None
    ignored_by_type: Any = None
    translations: Any = None
    hidden: Any = None


def outdated(opts: list[str], active: dict[str, Any], fstype: str, extra: Tolerance) -> list[str]:
    """Return the options that an active mount lacks, as the kernel would show them."""
    superopts = active.get("superopts", [])
    if any(_SIZE.match(each) for each in superopts):
        return []  # as in Salt, where an active size hides every difference; the mount cache shows a change
    keys = {*_INVISIBLE_KEYS, *(extra.keys or ())}
    ignored = {**_IGNORED, **(extra.ignored_by_type or {})}.get(fstype, [])
    tolerated = {*_INVISIBLE, *(extra.options or ()), *(extra.hidden or ()), *keys, *ignored}
    shown = {*active["opts"], *superopts, *tolerated}
    translations = {**_TRANSLATED, **(extra.translations or {})}
    as_shown = (_as_shown(translations.get(opt, opt), fstype, keys, ignored) for opt in opts)
    return [opt for opt in as_shown if opt not in shown]


def _as_shown(opt: str, fstype: str, keys: set[str], ignored: list[str]) -> str:
    """Return an option as the kernel would show it."""
    key, equals, value = opt.partition("=")
    if key in keys or key in ignored:
        return key
    size = _SIZE.match(opt)
    if size:
        return f"size={int(size[1]) * _KIB[size[2]]}k"
    if fstype == "cifs" and key == "user":
        return f"username={value}"
    if equals and key in {"uid", "gid"} and not value.isdigit():
        account = __salt__["user.info" if key == "uid" else "group.info"](value)
        return f"{key}={(account or {}).get(key, value)}"
    return opt
