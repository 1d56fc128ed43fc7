"""Running dnf (or the older yum), without questions and without colours."""

from __future__ import annotations

import shutil
from typing import Any

from asyncstate.dunders import __salt__

from .. import _rpm_versions  # noqa: TID252 - as `modules` for type checkers
from .._rpm_database import resolved  # noqa: TID252 - as `modules` for type checkers
from .._version_conditions import newest_first  # noqa: TID252 - as `modules` for type checkers

_ENVIRONMENT = {"LC_ALL": "C.UTF-8", "LANG": "C.UTF-8", "LANGUAGE": "C"}
_FORMAT = "%{name}_|-%{epoch}_|-%{version}_|-%{release}_|-%{arch}_|-%{repoid}\n"

Repository = dict[str, list[str]]


def program() -> str | None:
    """Return which of dnf's programs is installed; None if none is."""
    return next((name for name in ("dnf5", "dnf", "tdnf", "yum") if shutil.which(name)), None)


def call(arguments: list[str], *, env: Any = None, **options: Any) -> dict[str, Any]:
    """Run dnf and return what ``cmd.run_all`` returns. dnf itself waits for another process that holds its lock."""
    environment = {**_ENVIRONMENT, **(env if isinstance(env, dict) else {})}
    done: dict[str, Any] = __salt__["cmd.run_all"](
        [program() or "dnf", *arguments], python_shell=False, env=environment, **options
    )
    return done


def choices(**kwargs: Any) -> list[str]:
    """Return dnf's options that choose repositories and how to use them.

    ``fromrepo`` (or ``repo``): only that one. ``enablerepo``, ``disablerepo``: these too, or not these, one or a list.
    ``disableexcludes``, ``branch`` and ``setopt`` (one, several separated by commas, or a list) are dnf's.
    """
    options: list[str] = []
    only = kwargs.get("fromrepo") or kwargs.get("repo")
    if only:
        options += ["--disablerepo=*", f"--enablerepo={only}"]
    else:
        options += [f"--disablerepo={each}" for each in _several(kwargs.get("disablerepo"))]
        options += [f"--enablerepo={each}" for each in _several(kwargs.get("enablerepo"))]
    options += [f"--{name}={kwargs[name]}" for name in ("disableexcludes", "branch") if kwargs.get(name)]
    settings = kwargs.get("setopt")
    split = settings.split(",") if isinstance(settings, str) else _several(settings)
    return [*options, *(f"--setopt={str(each).strip()}" for each in split)]


def on_offer(*selection: str) -> dict[str, Repository]:
    """Return the available versions by repository and package, newest first, of what a ``repoquery`` selects."""
    done = call(
        ["--quiet", "repoquery", "--queryformat", _FORMAT, *selection], ignore_retcode=True, output_loglevel="trace"
    )
    found: dict[str, Repository] = {}
    for line in str(done["stdout"]).splitlines():
        fields = line.split("_|-")
        if len(fields) == 6:
            name, epoch, version, release, architecture, repository = fields
            number = f"{epoch}:{version}-{release}" if epoch not in {"0", "(none)", ""} else f"{version}-{release}"
            found.setdefault(repository, {}).setdefault(resolved(name, architecture), []).append(number)
    return {
        repository: {name: newest_first(versions, _rpm_versions.compare) for name, versions in packages.items()}
        for repository, packages in found.items()
    }


def merged(repositories: dict[str, Repository]) -> Repository:
    """Return the versions of all repositories together, newest first."""
    found: Repository = {}
    for packages in repositories.values():
        for name, versions in packages.items():
            found.setdefault(name, []).extend(versions)
    return {name: newest_first(versions, _rpm_versions.compare) for name, versions in found.items()}


def _several(value: Any) -> list[Any]:
    if not value:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]
