"""The ``pip`` states: Python packages, with Salt's arguments and rows."""

from __future__ import annotations

import os
from typing import Any

from asyncstate.dunders import Row, __salt__, changed, failed, is_dry_run, unchanged, would_change
from asyncstate.errors import AsyncStateError, RunCancelled

from .. import _resources  # noqa: TID252 - as `states` for type checkers
from .installation import Installation as _Installation

_CONFIGURATION = (".config/pip/pip.conf", ".pip/pip.conf", ".netrc")
_SOURCES = ("requirements", "find_links", "editable", "repo", "index_url", "extra_index_url", "mirrors")
_WRITTEN = ("source", "build", "download", "download_cache", "cache_dir")

__all__ = ["installed", "mod_footprint", "removed", "uptodate"]


def installed(
    name: str,
    pkgs: list[Any] | None = None,
    pip_bin: str | None = None,
    requirements: Any = None,
    bin_env: str | None = None,
    use_wheel: bool = False,
    no_use_wheel: bool = False,
    log: str | None = None,
    proxy: Any = None,
    timeout: Any = None,
    repo: str | None = None,
    editable: Any = None,
    find_links: Any = None,
    index_url: str | None = None,
    extra_index_url: str | None = None,
    no_index: bool = False,
    mirrors: Any = None,
    build: str | None = None,
    target: str | None = None,
    download: str | None = None,
    download_cache: str | None = None,
    source: str | None = None,
    upgrade: bool = False,
    force_reinstall: bool = False,
    ignore_installed: bool = False,
    exists_action: str | None = None,
    no_deps: bool = False,
    no_install: bool = False,
    no_download: bool = False,
    install_options: Any = None,
    global_options: Any = None,
    user: str | int | None = None,
    cwd: str | None = None,
    pre_releases: bool = False,
    cert: str | None = None,
    allow_all_external: bool = False,
    allow_external: Any = None,
    allow_unverified: Any = None,
    process_dependency_links: bool = False,
    env_vars: dict[str, Any] | None = None,
    use_vt: bool = False,
    trusted_host: str | None = None,
    no_cache_dir: bool = False,
    cache_dir: str | None = None,
    no_binary: Any = None,
    extra_args: list[Any] | None = None,
    **kwargs: Any,
) -> Row:
    """Make sure that the package ``name`` (``name >= 1.2``), or those in ``pkgs``, is installed.

    ``bin_env`` is a virtual environment or the path of a pip; the default is the Python that runs asyncstate.
    ``requirements`` (files, also ``salt://``) and ``editable`` (source folders) are passed to pip every time; a dry run
    asks pip whether ``requirements`` are met (pip 22.2).
    ``upgrade`` installs the newest allowed version. The other arguments are options of pip.

    Example::

        packages of the application:
          pip.installed:
            - pkgs:
              - django >= 4, < 5
              - gunicorn
            - bin_env: /srv/app/venv
    """
    options = {
        "use_wheel": use_wheel,
        "no_use_wheel": no_use_wheel,
        "log": log,
        "proxy": proxy,
        "timeout": timeout,
        "find_links": find_links,
        "index_url": index_url,
        "extra_index_url": extra_index_url,
        "no_index": no_index,
        "build": build,
        "target": target,
        "download": download,
        "download_cache": download_cache,
        "source": source,
        "upgrade": upgrade,
        "force_reinstall": force_reinstall,
        "ignore_installed": ignore_installed,
        "exists_action": exists_action,
        "no_deps": no_deps,
        "no_install": no_install,
        "no_download": no_download,
        "install_options": install_options,
        "global_options": global_options,
        "pre_releases": pre_releases,
        "cert": cert,
        "allow_all_external": allow_all_external,
        "allow_external": allow_external,
        "allow_unverified": allow_unverified,
        "process_dependency_links": process_dependency_links,
        "trusted_host": trusted_host,
        "no_cache_dir": no_cache_dir,
        "cache_dir": cache_dir,
        "no_binary": no_binary,
        "extra_args": extra_args,
    }
    if pkgs and not isinstance(pkgs, list):
        return failed(name, "pkgs argument must be formatted as a list")
    wanted = [_as_text(package) for package in pkgs or [name]]
    shown = ";".join(wanted)
    where = {"bin_env": bin_env or pip_bin, "user": user, "cwd": cwd, "env_vars": env_vars}
    installation = _Installation(shown, wanted, requirements, editable, where, options)
    try:
        return installation.run(name)
    except RunCancelled:
        raise
    except (AsyncStateError, OSError) as error:
        return failed(shown, str(error))


def removed(
    name: str,
    requirements: Any = None,
    bin_env: str | None = None,
    log: str | None = None,
    proxy: Any = None,
    timeout: Any = None,
    user: str | int | None = None,
    cwd: str | None = None,
    use_vt: bool = False,
) -> Row:
    """Make sure that the package ``name`` is not installed in the environment ``bin_env``."""
    key = __salt__["pip.normalize"](name)
    try:
        if key not in __salt__["pip.list"](bin_env=bin_env, user=user, cwd=cwd):
            return unchanged(name, "Package is not installed.")
        if is_dry_run():
            return would_change(name, f"Package {name} is set to be removed")
        done = __salt__["pip.uninstall"](
            pkgs=name,
            requirements=requirements,
            bin_env=bin_env,
            log=log,
            proxy=proxy,
            timeout=timeout,
            user=user,
            cwd=cwd,
        )
        gone = key not in __salt__["pip.list"](bin_env=bin_env, user=user, cwd=cwd)
    except RunCancelled:
        raise
    except (AsyncStateError, OSError) as error:
        return failed(name, f"Error uninstalling '{name}': {error}")
    if done["retcode"] or not gone:
        return failed(name, "Could not remove package.")
    return changed(name, "Package was successfully removed.", {name: "Removed"})


def uptodate(
    name: str, bin_env: str | None = None, user: str | None = None, cwd: str | None = None, use_vt: bool = False
) -> Row:
    """Make sure that every package of the environment ``bin_env`` has its newest version. ``name`` has no effect."""
    where = {"bin_env": bin_env, "user": user, "cwd": cwd}
    try:
        if not __salt__["pip.list_upgrades"](**where):
            return unchanged(name, "System is already up-to-date.")
        if is_dry_run():
            return would_change(name, "System update will be performed")
        done = __salt__["pip.upgrade"](**where)
    except RunCancelled:
        raise
    except (AsyncStateError, OSError) as error:
        return failed(name, str(error))
    if not done["result"]:
        return failed(name, "Failed to update.") | dict(done)
    return changed(name, "Upgrade successful.", done)


def mod_footprint(low: dict[str, Any]) -> dict[str, list[str]]:
    """Return the footprint of a pip state: the whole environment, or the packages of this Python.

    Packages, requirements and sources may be local; pip itself is configured by the machine and by the user.
    """
    reads = ["path:/etc/pip.conf", *_resources.accounts(low), *_resources.NETWORK]
    reads += [_resources.home(low.get("user"), each) for each in _CONFIGURATION]
    given = [low.get("pkgs") or low.get("name"), *(low.get(key) for key in _SOURCES)]
    reads += _resources.files(*map(_paths, given), *_resources.named_for_pip(low), below="/**")
    reads += _resources.files(low.get("cert"))
    cwd = os.path.normpath(str(low.get("cwd") or "/"))
    reads += [f"path:{cwd}/**"] if cwd.strip("/") else []
    environment = low.get("bin_env") or low.get("pip_bin")
    writes = [f"path:{_tree(str(path))}/**" for path in (environment, low.get("target")) if path] or ["pip"]
    writes += _resources.files(*(low.get(key) for key in _WRITTEN), below="/**")
    return {"reads": reads, "writes": [*writes, *_resources.files(low.get("log"))]}


def _paths(value: Any) -> list[str]:
    """Return the paths among texts with commas, ``name @ file:///path`` and ``/path[extra]``."""
    items = value if isinstance(value, list) else str(value or "").split(",")
    return [str(item).rpartition(" @ ")[2].strip().partition("[")[0].removeprefix("git+") for item in items]


def _tree(path: str) -> str:
    """Return the environment of a path: the directory itself, or the one with the program in its ``bin``."""
    path = os.path.normpath(path)
    folder, program = os.path.split(path)
    return os.path.dirname(folder) if program.startswith(("pip", "python")) else path


def _as_text(package: Any) -> str:
    return " ".join(map(str, next(iter(package.items())))) if isinstance(package, dict) and package else str(package)
