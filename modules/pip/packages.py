"""Installed and available Python packages."""

from __future__ import annotations

import json
import re
from typing import Any

from asyncstate.errors import CommandExecutionError, InvocationError

from .installing import index_arguments, within
from .programs import answer_of, run_pip
from .requirements import lines_of, normalize, requirement, requirement_files
from .versions import parsed, satisfies

_QUIET = "--disable-pip-version-check"
_MARKS = {"include_alpha": "a", "include_beta": "b", "include_rc": "rc"}


def list_(
    prefix: str | None = None,
    bin_env: str | None = None,
    user: str | None = None,
    cwd: str | None = None,
    env_vars: Any = None,
    **kwargs: Any,
) -> dict[str, str]:
    """Return the installed packages, with ``prefix`` only those whose name begins with it: ``{name: version}``.

    CLI Example::

        asyncstate call pip.list bin_env=/srv/app/venv
    """
    found = _entries(["list"], bin_env, user=user, cwd=cwd, env_vars=env_vars)
    packages = {normalize(entry["name"]): str(entry["version"]) for entry in found}
    wanted = normalize(prefix or "")
    return {name: version for name, version in packages.items() if name.startswith(wanted)}


def freeze(
    bin_env: str | None = None,
    user: str | None = None,
    cwd: str | None = None,
    use_vt: bool = False,
    env_vars: Any = None,
    **kwargs: Any,
) -> list[str]:
    """Return the installed packages as lines of a requirements file."""
    arguments = ["freeze", "--all", _QUIET]
    return answer_of(arguments, bin_env, user=user, cwd=cwd, env_vars=env_vars).splitlines()


def list_upgrades(bin_env: str | None = None, user: str | None = None, cwd: str | None = None) -> dict[str, str]:
    """Return the packages that have a newer version: ``{name: "2.0 [wheel]"}``."""
    found = _entries(["list", "--outdated"], bin_env, user=user, cwd=cwd)
    return {entry["name"]: f"{entry['latest_version']} [{entry['latest_filetype']}]" for entry in found}


def is_installed(pkgname: str, bin_env: str | None = None, user: str | None = None, cwd: str | None = None) -> bool:
    """Return whether a package is installed."""
    return normalize(pkgname) in list_(pkgname, bin_env=bin_env, user=user, cwd=cwd)


def upgrade_available(pkg: str, bin_env: str | None = None, user: str | None = None, cwd: str | None = None) -> bool:
    """Return whether there is a newer version of a package."""
    return pkg in list_upgrades(bin_env=bin_env, user=user, cwd=cwd)


def upgrade(
    bin_env: str | None = None, user: str | None = None, cwd: str | None = None, use_vt: bool = False
) -> dict[str, Any]:
    """Upgrade every package; return ``changes`` (``{name: {"old": …, "new": …}}``), ``result`` and ``comment``."""
    old = list_(bin_env=bin_env, user=user, cwd=cwd)
    done = [
        run_pip(["install", "-U", _QUIET, name], bin_env, user=user, cwd=cwd)
        for name in list_upgrades(bin_env=bin_env, user=user, cwd=cwd)
    ]
    new = list_(bin_env=bin_env, user=user, cwd=cwd)
    changes = {
        name: {"old": old.get(name, ""), "new": new.get(name, "")}
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    }
    errors = "".join(result["stderr"] for result in done)
    return {"changes": changes, "result": not any(result["retcode"] for result in done), "comment": errors}


def list_all_versions(
    pkg: str,
    bin_env: str | None = None,
    include_alpha: bool = False,
    include_beta: bool = False,
    include_rc: bool = False,
    user: str | None = None,
    cwd: str | None = None,
    index_url: str | None = None,
    extra_index_url: str | None = None,
    find_links: Any = None,
    no_index: bool = False,
    env_vars: Any = None,
) -> list[str] | None:
    """Return the available versions of a package, newest last; None if there are none."""
    where = index_arguments(index_url, extra_index_url, find_links, no_index)
    unfinished = include_alpha or include_beta or include_rc
    arguments = [_QUIET, "index", "versions", pkg, *where, *(["--pre"] if unfinished else [])]
    result = run_pip(arguments, bin_env, user=user, cwd=cwd, env_vars=env_vars, redirect_stderr=True)
    match = re.search(r"Available versions: (.*)", result["stdout"])
    if result["retcode"] or match is None:
        return None
    left_out = [
        mark
        for mark, wanted in zip(_MARKS.values(), (include_alpha, include_beta, include_rc), strict=True)
        if not wanted
    ]
    known = {text: parsed(text) for text in match[1].split(", ") if not any(mark in text for mark in left_out)}
    ordered = sorted((version.key, text) for text, version in known.items() if version is not None)
    return [text for _, text in ordered] or None


def unmet(
    pkgs: Any = None,
    requirements: Any = None,
    bin_env: str | None = None,
    user: str | None = None,
    saltenv: str = "base",
    cwd: str | None = None,
) -> list[str]:
    """Return the requirements, given or in files, that the installed packages do not meet.

    A requirement that only fetching could decide (a path, a repository) counts as not met. If all others are met, pip
    22.2 or newer decides about markers, extras, constraints and the requirements of installed packages.
    """
    wanted = [str(package).strip() for package in (pkgs.split(",") if isinstance(pkgs, str) else pkgs or [])]
    with requirement_files(requirements or [], user, saltenv) as names:
        paths = [within(cwd, name) for name in names]
        listed = [line for path in paths for line in lines_of(path)]
        installed = list_(bin_env=bin_env, user=user)
        missing = [text for text in wanted if not _is_met(text, installed)]
        missing += [line for line in listed if ";" not in line and not _line_is_met(line, installed)]
        if missing:
            return missing
        plain = [text for text in wanted if "/" not in text]  # nothing is fetched
        by_pip = _unmet_by_pip(plain, paths, bin_env, user=user, cwd=cwd)
        return [line for line in listed if ";" in line] if by_pip is None else by_pip


def _is_met(text: str, installed: dict[str, str]) -> bool:
    name, specs = requirement(text)
    return name in installed and satisfies(installed[name], specs)


def _line_is_met(line: str, installed: dict[str, str]) -> bool:
    if "/" in line:
        return False
    try:
        return _is_met(line, installed)
    except InvocationError:  # pip may know a form that this module does not
        return False


def _unmet_by_pip(wanted: list[str], paths: list[str], bin_env: str | None, **options: Any) -> list[str] | None:
    """Return what pip would install, or lacks; None if it is too old to tell."""
    arguments = ["install", "--dry-run", "--no-index", "--only-binary", ":all:", _QUIET, *wanted]
    for path in paths:
        arguments += ["--requirement", path]
    done = run_pip(arguments, bin_env, ignore_retcode=True, **options)
    if "no such option: --dry-run" in done["stderr"]:
        return None
    would = re.search(r"^Would install (.+)", done["stdout"], re.MULTILINE)
    lacking = re.findall(r"No matching distribution found for (\S+)", done["stderr"])
    return would[1].split() if would else lacking or (paths if done["retcode"] else [])


def _entries(arguments: list[str], bin_env: str | None, **options: Any) -> list[dict[str, Any]]:
    answer = answer_of([*arguments, "--format=json", _QUIET], bin_env, **options)
    try:
        found: list[dict[str, Any]] = json.loads(answer)
    except ValueError as error:
        raise CommandExecutionError("Invalid JSON") from error
    return found
