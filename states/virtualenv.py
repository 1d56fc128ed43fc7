"""The ``virtualenv`` state: a Python virtual environment and the packages in it."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from asyncstate import filesystem
from asyncstate.dunders import Row, __env__, __salt__, is_dry_run, unchanged, would_change
from asyncstate.errors import AsyncStateError, CommandExecutionError, RunCancelled

from . import _resources

_CONFIGURATION = (".config/pip/pip.conf", ".pip/pip.conf", ".netrc")
_SOURCES = ("pip_pkgs", "find_links", "index_url", "extra_index_url")
_WRITTEN = ("pip_download", "pip_download_cache", "pip_cache_dir")


class _Failed(Exception):
    """Ends the state; the message is the comment."""


def managed(
    name: str,
    venv_bin: str | None = None,
    requirements: Any = None,
    system_site_packages: bool = False,
    distribute: bool = False,
    use_wheel: bool = False,
    clear: bool = False,
    python: str | None = None,
    extra_search_dir: str | list[str] | None = None,
    never_download: bool | None = None,
    prompt: str | None = None,
    user: str | None = None,
    cwd: str | None = None,
    index_url: str | None = None,
    extra_index_url: str | None = None,
    pre_releases: bool = False,
    no_deps: bool = False,
    pip_download: str | None = None,
    pip_download_cache: str | None = None,
    pip_exists_action: str | None = None,
    pip_ignore_installed: bool = False,
    proxy: Any = None,
    use_vt: bool = False,
    env_vars: dict[str, Any] | None = None,
    no_use_wheel: bool = False,
    pip_upgrade: bool = False,
    pip_pkgs: Any = None,
    pip_no_cache_dir: bool = False,
    pip_cache_dir: str | None = None,
    process_dependency_links: bool = False,
    no_binary: Any = None,
    **kwargs: Any,
) -> Row:
    """Make sure that there is a virtual environment at ``name``, with ``pip_pkgs`` and ``requirements`` in it.

    ``venv_bin`` and ``python`` are the programs that make it; ``clear`` makes it anew every time. ``requirements`` is a
    path or a ``salt://`` URL. Other arguments of ``pip.install`` (``find_links``, ``no_index`` …) may be given too, and
    ``symlinks``, ``upgrade`` and ``pip`` of ``virtualenv.create``.

    Example::

        /srv/app/venv:
          virtualenv.managed:
            - python: python3
            - requirements: salt://app/requirements.txt
            - user: www
    """
    row = unchanged(name)
    making = {
        "venv_bin": venv_bin,
        "system_site_packages": system_site_packages,
        "distribute": distribute,
        "clear": clear,
        "python": python,
        "extra_search_dir": extra_search_dir,
        "never_download": never_download,
        "prompt": prompt,
        "user": user,
    }
    making |= {key: kwargs.pop(key) for key in ("symlinks", "upgrade", "pip") if key in kwargs}
    installing = {
        "process_dependency_links": process_dependency_links,
        "use_wheel": use_wheel,
        "no_use_wheel": no_use_wheel,
        "no_binary": no_binary,
        "user": user,
        "cwd": cwd,
        "index_url": index_url,
        "extra_index_url": extra_index_url,
        "download": pip_download,
        "download_cache": pip_download_cache,
        "pre_releases": pre_releases,
        "exists_action": pip_exists_action,
        "ignore_installed": pip_ignore_installed,
        "upgrade": pip_upgrade,
        "no_deps": no_deps,
        "proxy": proxy,
        "env_vars": env_vars,
        "no_cache_dir": pip_no_cache_dir,
        "cache_dir": pip_cache_dir,
        **{key: value for key, value in kwargs.items() if not key.startswith("__")},
    }
    try:
        filesystem.require_unshared(name, "virtualenv", user)
        files = _cached(requirements)
        if is_dry_run():
            return _dry_run_row(name, files, pip_pkgs, making)
        _make(row, making)
        if files or pip_pkgs:
            _install(row, files, pip_pkgs, installing)
    except RunCancelled:
        raise
    except (_Failed, AsyncStateError, OSError) as error:
        row["result"], row["comment"] = False, str(error)
    return row


def mod_footprint(low: dict[str, Any]) -> dict[str, list[str]]:
    """Return the footprint of the state: the tree of the environment, and the sources of pip."""
    path = os.path.normpath(str(low.get("name", "")))
    reads = ["pip", *_resources.accounts(low)]
    reads += _resources.files(low.get("venv_bin"), low.get("python"), _listed(low.get("extra_search_dir")))
    cwd = os.path.normpath(str(low.get("cwd") or "/"))
    reads += [f"path:{cwd}/**"] if cwd.strip("/") else []
    if low.get("requirements") or low.get("pip_pkgs"):
        reads += ["path:/etc/pip.conf", *_resources.NETWORK]
        reads += [_resources.home(low.get("user"), each) for each in _CONFIGURATION]
        reads += _resources.files(_listed(low.get("requirements")))
        given = [_listed(low.get(key)) for key in _SOURCES]
        reads += _resources.files(*given, _resources.named_for_pip(low), below="/**")
    writes = [f"path:{path}", f"path:{path}/**"]
    writes += _resources.files(*(low.get(key) for key in _WRITTEN), below="/**")
    return {"reads": reads, "writes": writes, "makes": [_resources.folder(path, user=low.get("user"))]}


def _listed(value: Any) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else str(value or "").split(",")


def _python(name: str) -> str:
    return os.path.join(name, "bin", "python")


def _version(name: str, user: str | None) -> str:
    """Return the version that the Python of an environment prints; it runs as the user that owns it.

    Old versions of Python print it on stderr, and Salt's row shows only that.
    """
    return str(__salt__["cmd.run_stderr"]([_python(name), "-V"], runas=user, python_shell=False)).strip("\n")


def _cached(requirements: Any) -> Any:
    for path in _listed(requirements) if filesystem.judges() else ():  # before the environment is made
        if path.startswith("/") and not os.path.exists(path):
            raise _Failed(f"pip requirements file '{path}' not found")
    if not isinstance(requirements, str) or not requirements.startswith("salt://"):
        return requirements
    path = __salt__["cp.cache_file"](requirements, str(__env__))
    if not path:
        raise _Failed(f"pip requirements file '{requirements}' not found")
    return path


def _dry_run_row(name: str, files: Any, packages: Any, making: dict[str, Any]) -> Row:
    user, clear = making["user"], making["clear"]
    exists = os.path.exists(_python(name))
    if filesystem.foretells() and (clear or not exists):
        if not exists:
            _require_room(name, user, follows=__salt__["virtualenv.follows_links"](making["venv_bin"]))
        try:
            __salt__["virtualenv.command"](name, **making)
        except CommandExecutionError as error:
            raise _Failed(f"Failed to create virtualenv: {error}") from error
    if not exists:
        return would_change(name, f"Virtualenv {name} is set to be created")
    if clear:
        packages = __salt__["pip.freeze"](bin_env=name, user=user)
        changes = {"cleared_packages": packages, "old": _version(name, user)}
        return would_change(name, f"Virtualenv {name} is set to be cleared", changes)
    unmet = __salt__["pip.unmet"](packages, files, bin_env=name, user=user) if files or packages else []
    comment = f"Virtualenv {name} is already created"
    if not unmet:
        return unchanged(name, comment)
    return would_change(name, f"{comment}, packages are set to be installed: {', '.join(unmet)}")


def _require_room(name: str, user: str | None, *, follows: bool) -> None:
    """Raise the error with which no environment could be made: no such user, something else in its place."""
    if user and __salt__["file.user_to_uid"](user) == "":
        raise _Failed(f"User '{user}' is not available")
    place = os.path.realpath(name) if follows else name
    in_the_way = filesystem.lexists(place) and not filesystem.is_plain_directory(place)
    if in_the_way or not filesystem.room_for(place, partial(filesystem.makedirs, os.path.dirname(place))):
        raise _Failed(f"Error: Unable to create directory '{name}'")


def _make(row: Row, making: dict[str, Any]) -> None:
    name, changes = row["name"], row["changes"]
    if os.path.exists(_python(name)):
        if not making["clear"]:
            row["comment"] = "virtualenv exists"
            return
        changes["cleared_packages"] = __salt__["pip.freeze"](bin_env=name, user=making["user"])
        changes["old"] = _version(name, making["user"])
    try:
        done = __salt__["virtualenv.create"](name, **making)
    except CommandExecutionError as error:
        changes.clear()
        raise _Failed(f"Failed to create virtualenv: {error}") from error
    if done["retcode"]:
        raise _Failed(done["stdout"] + done["stderr"])
    changes["new"] = _version(name, making["user"])
    row["comment"] = "Cleared existing virtualenv" if making["clear"] else "Created new virtualenv"


def _install(row: Row, files: Any, packages: Any, installing: dict[str, Any]) -> None:
    name = row["name"]
    before = set(__salt__["pip.freeze"](bin_env=name, user=installing["user"]))
    done = __salt__["pip.install"](pkgs=packages, requirements=files, bin_env=name, saltenv=str(__env__), **installing)
    if done["retcode"]:
        row["result"] = False
        row["comment"] = f"{row['comment']}\n{done['stdout']}\n{done['stderr']}"
    after = set(__salt__["pip.freeze"](bin_env=name, user=installing["user"]))
    if before != after:
        row["changes"]["packages"] = {"new": sorted(after - before) or "", "old": sorted(before - after) or ""}
