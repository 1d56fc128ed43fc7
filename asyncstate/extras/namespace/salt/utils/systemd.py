"""systemd on this host: its presence, version and state. Results are cached in ``__context__`` if it is passed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, MutableMapping
from typing import Any, Final

from asyncstate.extras.namespace.names import ModuleGetattr, nothing_else
from asyncstate.extras.namespace.salt.exceptions import SaltInvocationError
from asyncstate.extras.namespace.salt.utils.path import which
from asyncstate.logs import get_logger
from asyncstate.process.child import run_child

log: Final = get_logger(__name__)

_Context = MutableMapping[str, Any] | None


def _kept(context: _Context, name: str, find: Callable[[], Any]) -> Any:
    if context is None:
        return find()
    if not isinstance(context, MutableMapping):
        raise SaltInvocationError("context must be a dictionary if passed")
    key = f"salt.utils.systemd.{name}"
    if key not in context:
        found = find()
        if found is None:
            return None
        context[key] = found
    return context[key]


def booted(context: _Context = None) -> bool:
    """Return whether the system was booted with systemd."""
    return bool(_kept(context, "booted", lambda: os.path.exists("/run/systemd/system")))


def offline(context: _Context = None) -> bool:
    """Return whether systemd is installed but does not run the system: in a chroot, or while a container is built."""
    return bool(_kept(context, "offline", lambda: not booted(context) and which("systemctl") is not None))


def version(context: _Context = None) -> int | None:
    """Return the version of systemd, None without one."""
    found: int | None = _kept(context, "version", _version)
    return found


def _version() -> int | None:
    try:
        output = run_child(["systemctl", "--version"]).stdout.decode(errors="replace")
    except OSError:
        return None
    found = re.match(r"\w+ (\d+)", output)
    if found is None:
        log.error("Unable to determine systemd version from systemctl --version, output follows:\n%s", output)
        return None
    return int(found[1])


def status(context: _Context = None) -> bool:
    """Return whether systemd responds."""
    return bool(_kept(context, "status", _answers))


def _answers() -> bool:
    try:
        done = run_child(["systemctl", "status"])
    except OSError:
        return False
    return b"Failed to get D-Bus connection: No such file or directory" not in done.stderr


def has_scope(context: _Context = None) -> bool:
    """Return whether ``systemd-run --scope`` works."""
    release = version(context) if booted(context) else None
    return release is not None and release >= 205 and status(context)


__getattr__: ModuleGetattr = nothing_else(__name__)
