"""Running apt and dpkg: without questions, and waiting for processes that hold their locks."""

from __future__ import annotations

import logging
import os
import shlex
import time
from collections.abc import Mapping
from typing import Any

from asyncstate import prefetch as ahead
from asyncstate.dunders import __context__, __opts__, __salt__, check_cancelled

log = logging.getLogger(__name__)

_ENVIRONMENT = {
    "APT_LISTBUGS_FRONTEND": "none",
    "APT_LISTCHANGES_FRONTEND": "none",
    "DEBIAN_FRONTEND": "noninteractive",
    "UCF_FORCE_CONFFOLD": "1",
}
_LOCKED = ("Could not get lock", "lock was locked by another process", "Unable to acquire the dpkg frontend lock")
_LOCK_TIMEOUT = 600
_LOCK_PAUSE = 2.0
_CACHE = "pkg.cache"
"""The key of ``__context__`` for the options that give apt a cache."""


def call(command: list[str], *, env: Any = None, **options: Any) -> dict[str, Any]:
    """Run a program of apt or dpkg and return what ``cmd.run_all`` returns.

    If another process has locked the package database, this waits, ``apt_lock_timeout`` (an option, 600) seconds at
    most; apt-get waits by itself if it can. ``env`` adds to the environment that prevents questions.
    """
    patience = float(__opts__.get("apt_lock_timeout", _LOCK_TIMEOUT))
    if command[0] == "apt-get":
        command = [command[0], "-o", f"DPkg::Lock::Timeout={int(patience)}", *_cache(), *command[1:]]
    environment = {**_ENVIRONMENT, **_variables(env)}
    deadline = time.monotonic() + patience
    while True:
        check_cancelled()
        done: dict[str, Any] = __salt__["cmd.run_all"](command, python_shell=False, env=environment, **options)
        if not done["retcode"] or not any(text in done["stderr"] for text in _LOCKED):
            return done
        if time.monotonic() + _LOCK_PAUSE > deadline:
            return done
        log.warning("waiting for the process that holds the package database: %s", done["stderr"].splitlines()[0])
        time.sleep(_LOCK_PAUSE)


def output(command: list[str]) -> str:
    """Run a program that only reads; return its standard output, regardless of its exit status."""
    if command[0] == "apt-cache":
        command = [command[0], *_cache(), *command[1:]]
    done = __salt__["cmd.run_all"](command, python_shell=False, output_loglevel="trace", ignore_retcode=True)
    return str(done["stdout"])


def configured(option: str) -> str | None:
    """Return the value of an option of apt's configuration, None if it is not set.

    A type may follow the name: ``/d`` for a folder, ``/b`` for "true" or "false".
    """
    words = shlex.split(output(["apt-config", "shell", "value", option]))
    return words[0].partition("=")[2] if words else None


def _cache() -> list[str]:
    """Return options that give apt a cache in this run if it is configured to keep none, as in images of containers.

    Without one, each call parses all lists for half a second. apt uses a cache only if it fits the lists.
    """
    known: list[str] | None = __context__.get(_CACHE)
    if known is None:
        folder = ahead.folder("lists")
        has_none = folder and configured("Dir::Cache::pkgcache") == ""
        known = ["-o", f"Dir::Cache::pkgcache={os.path.join(folder, 'pkgcache.bin')}"] if has_none else []
        __context__[_CACHE] = known
    return known


def _variables(env: Any) -> dict[str, str]:
    if isinstance(env, Mapping):
        return {str(name): str(value) for name, value in env.items()}
    found: dict[str, str] = {}
    for item in env if isinstance(env, list) else []:
        if isinstance(item, Mapping):
            found.update(_variables(item))
    return found
