"""Installing and removing Python packages."""

from __future__ import annotations

import os
import re
from typing import Any
from urllib.parse import unquote, urlsplit

from asyncstate import filesystem
from asyncstate.dunders import __opts__
from asyncstate.errors import CommandExecutionError, InvocationError

from .programs import redacted, run_pip
from .requirements import requirement_files

_SWITCHES = {
    "no_index": "--no-index",
    "upgrade": "--upgrade",
    "force_reinstall": "--force-reinstall",
    "ignore_installed": "--ignore-installed",
    "no_deps": "--no-deps",
    "no_cache_dir": "--no-cache-dir",
    "pre_releases": "--pre",
    "disable_version_check": "--disable-pip-version-check",
    # Newer versions of pip no longer have the following options; pip itself reports that.
    "use_wheel": "--use-wheel",
    "no_use_wheel": "--no-use-wheel",
    "no_install": "--no-install",
    "no_download": "--no-download",
    "allow_all_external": "--allow-all-external",
    "process_dependency_links": "--process-dependency-links",
}
_VALUES = {
    "index_url": "--index-url",
    "extra_index_url": "--extra-index-url",
    "target": "--target",
    "cache_dir": "--cache-dir",
    "download_cache": "--cache-dir",
    "source": "--source",
    "cert": "--cert",
    "trusted_host": "--trusted-host",
    "log": "--log",
    "timeout": "--timeout",
    "build": "--build",
    "download": "--download",
}
_LISTS = {
    "find_links": "--find-links",
    "global_options": "--global-option",
    "install_options": "--install-option",
    "allow_external": "--allow-external",
    "allow_unverified": "--allow-unverified",
}
_IGNORED = {"use_vt", "mirrors", "repo"}
_WRITTEN = ("target", "source", "build", "download", "download_cache", "cache_dir", "log")
"""Options that name a path that pip writes to."""
_URL = re.compile(r"(https?|ftp|file)://.+", re.IGNORECASE)
_ON_EXISTING = "siwb"
"""The possible values of pip's option ``--exists-action``."""


def install(
    pkgs: Any = None,
    requirements: Any = None,
    bin_env: str | None = None,
    editable: Any = None,
    proxy: Any = None,
    no_binary: Any = None,
    exists_action: str | None = None,
    user: str | None = None,
    cwd: str | None = None,
    saltenv: str = "base",
    env_vars: Any = None,
    extra_args: Any = None,
    **options: Any,
) -> dict[str, Any]:
    """Install packages with the pip of ``bin_env``; return what ``cmd.run_all`` does.

    ``options`` are those of pip, by Salt's names: ``upgrade``, ``force_reinstall``, ``ignore_installed``, ``no_deps``,
    ``pre_releases``, ``no_index``, ``index_url``, ``extra_index_url``, ``find_links``, ``target``, ``cache_dir``,
    ``no_cache_dir``, ``trusted_host``, ``cert``, ``timeout``, ``log`` … Others are in ``extra_args``.

    CLI Example::

        asyncstate call pip.install 'django>=4' bin_env=/srv/app/venv
    """
    arguments = ["install", *_named(options), *_proxy(proxy)]
    for name in _WRITTEN:
        if options.get(name):
            filesystem.require_unshared(within(cwd, str(options[name])), "pip", user)
    if no_binary:
        arguments += ["--no-binary", ",".join(no_binary) if isinstance(no_binary, list) else str(no_binary)]
    if exists_action:
        if exists_action.lower() not in _ON_EXISTING:
            raise CommandExecutionError(
                f"The exists_action pip option only supports the values s, i, w, and b. '{exists_action}' is not valid."
            )
        arguments += ["--exists-action", exists_action]
    # A comma separates packages here, a semicolon the versions of one.
    wanted = [package.replace(";", ",") for package in _listed(pkgs)]
    if not wanted and not requirements and not editable:
        return {"retcode": 0, "stdout": "No packages to install.", "stderr": ""}
    arguments += wanted
    for entry in _listed(editable):
        arguments += ["--editable", _checked_editable(entry)]
    for source in [*wanted, *_listed(editable), *_listed(options.get("find_links"))]:
        _require_own_source(source, cwd, user)
    arguments += _extra(extra_args)
    with requirement_files(requirements or [], user, saltenv) as paths:
        for path in paths:
            _require_own_source(path, cwd, user)
            arguments += ["--requirement", path]
        return run_pip(arguments, bin_env, user=user, cwd=cwd, env_vars=env_vars)


def uninstall(
    pkgs: Any = None,
    requirements: Any = None,
    bin_env: str | None = None,
    log: str | None = None,
    proxy: Any = None,
    timeout: Any = None,
    user: str | None = None,
    cwd: str | None = None,
    saltenv: str = "base",
    use_vt: bool = False,
    extra_args: Any = None,
) -> dict[str, Any]:
    """Remove packages, and those that a requirements file lists; return what ``cmd.run_all`` does."""
    arguments = ["uninstall", "-y", *_named({"log": log, "timeout": timeout}), *_proxy(proxy)]
    arguments += [*_listed(pkgs), *_extra(extra_args)]
    with requirement_files(requirements or [], user, saltenv) as paths:
        for path in paths:
            arguments += ["--requirement", path]
        return run_pip(arguments, bin_env, user=user, cwd=cwd)


def index_arguments(
    index_url: str | None = None,
    extra_index_url: str | None = None,
    find_links: Any = None,
    no_index: bool = False,
) -> list[str]:
    """Return pip's options for the sources of packages. CommandExecutionError for an invalid URL."""
    return _named(
        {"index_url": index_url, "extra_index_url": extra_index_url, "find_links": find_links, "no_index": no_index}
    )


def _named(options: dict[str, Any]) -> list[str]:
    _check(options)
    arguments: list[str] = []
    for name, value in options.items():
        if name in _IGNORED or name.startswith("__") or not value:
            continue
        if name in _SWITCHES:
            arguments.append(_SWITCHES[name])
        elif name in _VALUES:
            arguments += [_VALUES[name], str(value)]
        elif name in _LISTS:
            for item in _listed(value):
                arguments += [_LISTS[name], item]
        else:
            raise InvocationError(f"pip.install has no argument {name!r}; an option of pip's can stand in extra_args")
    return arguments


def _check(options: dict[str, Any]) -> None:
    if options.get("no_index") and (options.get("index_url") or options.get("extra_index_url")):
        raise CommandExecutionError("'no_index' and ('index_url' or 'extra_index_url') are mutually exclusive.")
    for name in ("index_url", "extra_index_url"):
        if options.get(name) and not _URL.match(str(options[name])):
            raise CommandExecutionError(f"'{redacted(str(options[name]))}' is not a valid URL")
    for link in _listed(options.get("find_links")):
        if not (_URL.match(link) or filesystem.exists(link)):
            raise CommandExecutionError(f"'{redacted(link)}' is not a valid URL or path")
    timeout = options.get("timeout")
    if timeout and (isinstance(timeout, float) or not str(timeout).isdigit()):
        raise CommandExecutionError(f"'{timeout}' is not a valid timeout, must be an integer")
    if options.get("log") and filesystem.is_directory(options["log"]):
        raise CommandExecutionError(f"'{options['log']}' is a directory. Use --log path_to_file")


def _proxy(proxy: Any) -> list[str]:
    if proxy:
        return ["--proxy", str(proxy)]
    host, port = __opts__.get("proxy_host"), __opts__.get("proxy_port")
    if proxy is False or not host or not port:
        return []
    user, password = __opts__.get("proxy_username"), __opts__.get("proxy_password")
    login = f"{user}:{password}@" if user and password else ""
    return ["--proxy", f"http://{login}{host}:{port}"]


def _listed(value: Any) -> list[str]:
    if not value:
        return []
    items = value if isinstance(value, (list, tuple)) else str(value).split(",")
    return [str(item).strip() for item in items]


def _extra(extra_args: Any) -> list[str]:
    arguments: list[str] = []
    for argument in extra_args or []:
        if not isinstance(argument, dict):
            arguments.append(str(argument))
            continue
        for name, value in argument.items():
            if isinstance(value, (dict, list)):
                raise InvocationError(f"Too many levels in: {name}")
            arguments += [str(name), str(value)]
    return arguments


def within(cwd: str | None, path: str) -> str:
    """Return the absolute form of a path that pip resolves against its working directory."""
    return os.path.join(cwd or os.path.expanduser("~"), path)


def _require_own_source(source: str, cwd: str | None, user: str | None) -> None:
    """Refuse as root a source that a user can change: pip runs code of packages, which requirements files name."""
    path = unquote(urlsplit(source).path) if source.startswith("file:") else re.sub(r"\[[^\]]*\]$", "", source)
    if path.startswith((".", "/")) or (os.sep in path and "://" not in path):
        filesystem.require_unshared(within(cwd, path), "pip", user)


def _checked_editable(entry: str) -> str:
    named = re.search(r"(?:#|#.*?&)egg=([^&]+)", entry)
    if entry != "." and not entry.startswith(("file://", "/")) and not named:
        raise CommandExecutionError("You must specify an egg for this editable")
    return entry
