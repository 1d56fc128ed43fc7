"""The ``pkgrepo`` states: package sources, with Salt 3008's arguments and rows.

On Debian the name is the line of sources.list, ``deb [signed-by=/etc/apt/keyrings/x.gpg] https://… stable main``;
elsewhere it is the name of the repository.
"""

from __future__ import annotations

import re
from typing import Any

from asyncstate import filesystem
from asyncstate.dunders import Row, __env__, __grains__, __salt__, changed, failed, is_dry_run, unchanged, would_change
from asyncstate.errors import AsyncStateError, CommandExecutionError, InvocationError, RunCancelled

from . import _package_sources, _resources

__lane__ = "pkgdb"

_KEYS = ("key_url", "key_text", "keyid")
_SIGNED_BY = re.compile(r"signed-by=([^\s\]]+)")

_ENGINE_KEYWORDS = {
    "onlyif",
    "unless",
    "creates",
    "check_cmd",
    "retry",
    "order",
    "require",
    "watch",
    "onchanges",
    "onfail",
    "prereq",
    "listen",
    "runas",
    "parallel",
    "reload_modules",
    "failhard",
    "aggregate",
    "saltenv",
}
_CAUTION = (
    "This may cause pkg states to behave differently than stated if this action is repeated without test=True, due to "
    "the differences in the configured repositories."
)


def __virtual__() -> Any:
    if "pkg.mod_repo" in __salt__:
        return True
    return False, "pkgrepo needs a package manager whose sources can be changed"


def managed(name: str, ppa: Any = None, copr: Any = None, aptkey: bool = True, **kwargs: Any) -> Row:
    """A package source is configured, in ``file`` if it is new, with its key (``key_url``, ``keyid``, ``key_text``).

    A source may be ``disabled`` (or ``enabled: False``). ``clean_file`` leaves nothing else in the file. ``refresh``
    says whether to fetch the lists of packages again. ``**kwargs`` are further properties, which depend on the package
    manager.
    """
    mistake = _mistake(kwargs)
    if mistake:
        return failed(name, mistake)
    repo, arguments = _definition(name, ppa, copr, kwargs)
    try:
        before = __salt__["pkg.get_repo"](repo=repo, **arguments)
    except (CommandExecutionError, InvocationError) as error:
        return failed(name, f"Failed to examine repo '{name}': {error}")
    try:
        wanted = _expected(repo, arguments)
    except (CommandExecutionError, InvocationError) as error:
        return failed(name, f"Failed to configure repo '{name}': {error}")
    others = _others_in_file(repo, kwargs) if before else []
    if before and not others and not _differs(before, wanted, arguments):
        return unchanged(name, f"Package repo '{name}' already configured")
    if _on_debian():
        arguments.update(saltenv=str(__env__), aptkey=aptkey, clean_file=bool(kwargs.get("clean_file")))
    if filesystem.foretells() and "pkg.repo_refusal" in __salt__:
        problem = __salt__["pkg.repo_refusal"](repo, **arguments)
        if problem:
            return failed(name, f"Failed to configure repo '{name}': {problem}")
    if is_dry_run():
        changes = _difference(before, wanted) if before else {"repo": name}
        return would_change(name, f"Package repo '{name}' would be configured. {_CAUTION}", changes)
    try:
        __salt__["pkg.mod_repo"](repo, **arguments)
        after = __salt__["pkg.get_repo"](repo=repo, **arguments)
    except RunCancelled:
        raise
    except (AsyncStateError, OSError) as error:
        return failed(name, f"Failed to configure repo '{name}': {error}")
    if not after:
        return failed(name, f"Failed to confirm config of repo '{name}': it is not there")
    changes = _difference(before, {key: after.get(key) for key in wanted}) if before else {"repo": repo}
    return changed(name, f"Configured package repo '{name}'", changes)


def absent(name: str, **kwargs: Any) -> Row:
    """A package source is not configured; with ``keyid`` its key is not trusted either.

    ``ppa`` and ``copr`` name it as in ``pkgrepo.managed``; ``**kwargs`` are its properties there.
    """
    if "ppa" in kwargs and __grains__.get("os") in {"Ubuntu", "Mint"}:
        name = f"ppa:{str(kwargs.pop('ppa')).removeprefix('ppa:')}"
    if "copr" in kwargs and __grains__.get("os_family") == "RedHat":
        name = f"copr:{str(kwargs.pop('copr')).removeprefix('copr:')}"
    with_key = kwargs.get("keyid") is not None or kwargs.get("keyid_ppa") is not None
    if with_key and "pkg.del_repo_key" not in __salt__:
        return failed(name, "Repo key management is not implemented for this platform")
    try:
        repo = _configured(name, kwargs)
    except (CommandExecutionError, InvocationError) as error:
        return failed(name, f"Failed to configure repo '{name}': {error}")
    if not repo:
        return unchanged(name, f"Package repo {name} is absent")
    if is_dry_run():
        return would_change(name, f"Package repo '{name}' will be removed. {_CAUTION}")
    try:
        __salt__["pkg.del_repo"](repo=name, **kwargs)
        if _configured(name, kwargs):
            return failed(name, f"Failed to remove repo {name}")
    except (CommandExecutionError, InvocationError) as error:
        return failed(name, str(error))
    removed = f"Removed repo {name}"
    if not with_key:
        return changed(name, removed, {"repo": name})
    try:
        keyid = __salt__["pkg.del_repo_key"](name, **kwargs)
    except (CommandExecutionError, InvocationError) as error:
        return failed(name, f"{removed}, but failed to remove key: {error}", {"repo": name})
    return changed(name, f"{removed}, and keyid {keyid}", {"repo": name, "keyid": keyid})


def mod_footprint(low: dict[str, Any]) -> dict[str, list[str]]:
    """Return the footprint of a source: the package database, its file, and the files of its key.

    Without ``file``, the source may be in any of the files.
    """
    name = str(low.get("name", ""))
    keys = [low.get(key) for key in ("key_url", "gpgkey")]
    signed = _resources.files(_SIGNED_BY.findall(name), low.get("signedby"))
    writes = ["pkgdb", "path:/etc/apt/sources.list", *_resources.files(low.get("file"))]
    reads = [*_resources.fetched(*keys), *(f"path:{path}" for path in _package_sources.FILES)]
    if any(low.get(key) for key in ("keyid", "keyserver", "ppa", "copr", "refresh_db", "refresh")) or any(keys):
        reads += _resources.NETWORK
    if any(low.get(key) for key in _KEYS):
        writes += signed  # the key is put into the place that the source names
    return {"reads": [*reads, *signed], "writes": writes}


def _mistake(kwargs: dict[str, Any]) -> str:
    by_id = "keyid" in kwargs or "keyserver" in kwargs
    if "key_url" in kwargs and by_id:
        return 'You may not use both "keyid"/"keyserver" and "key_url" argument.'
    if "key_text" in kwargs and by_id:
        return 'You may not use both "keyid"/"keyserver" and "key_text" argument.'
    if "key_text" in kwargs and "key_url" in kwargs:
        return 'You may not use both "key_url" and "key_text" argument.'
    if "repo" in kwargs:
        return "'repo' is not a supported argument for this state. The 'name' argument is probably what was intended."
    if kwargs.get("enabled") is not None and kwargs.get("disabled") is not None:
        return "Only one of enabled/disabled is allowed"
    if not kwargs.get("allow_insecure_key", True) and str(kwargs.get("key_url", "")).strip().startswith("http:"):
        return "Cannot have 'key_url' using http with 'allow_insecure_key' set to True"
    if kwargs.get("clean_file") and not kwargs.get("file"):
        return "clean_file needs the argument file: the file that must hold nothing else"
    return ""


def _definition(name: str, ppa: Any, copr: Any, kwargs: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the identifier of the source, and the arguments of the execution functions."""
    left_out = {*_ENGINE_KEYWORDS, "enabled", "disabled", "allow_insecure_key", "clean_file"}
    arguments = {key: value for key, value in kwargs.items() if key not in left_out and not key.startswith("__")}
    arguments["name"] = name
    repo = name
    disabled = kwargs.get("disabled")
    enabled = _is_true(kwargs.get("enabled", True)) if disabled is None else not _is_true(disabled)
    if _on_debian():
        arguments["disabled"] = not enabled
        return f"ppa:{ppa}" if ppa else repo, arguments
    if copr is not None and __grains__.get("os_family") == "RedHat":
        repo = f"copr:{copr}"
    if "humanname" in arguments:
        arguments["name"] = arguments.pop("humanname")
    arguments["enabled"] = enabled
    return repo, arguments


def _expected(repo: str, arguments: dict[str, Any]) -> dict[str, Any]:
    if not _on_debian():
        return dict(arguments)
    found: dict[str, Any] = __salt__["pkg.expand_repo_def"](repo=repo, **arguments)
    return found


def _configured(name: str, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the source that is to be removed, {} if there is none. As in Salt, one for other machines is another."""
    given = {**kwargs, "any_architecture": False} if _on_debian() else kwargs
    found: dict[str, Any] = __salt__["pkg.get_repo"](name, **given)
    return found


def _differs(before: dict[str, Any], wanted: dict[str, Any], arguments: dict[str, Any]) -> bool:
    """Whether a wanted property differs. The file does not count: an existing source stays in its file."""
    if "comments" in arguments and _on_debian():
        comments = arguments["comments"]
        text = " ".join(comments) if isinstance(comments, list) else str(comments)
        if before.get("line", "").partition("#")[2].strip() not in {text.strip(), text.strip().lstrip("#").strip()}:
            return True
    if _on_debian():
        same_parts: tuple[str, ...] = ("type", "disabled", "architectures", "signedby", "dist", "comps", "trusted")
        if not wanted["comps"]:
            same_parts = tuple(part for part in same_parts if part != "comps")
        return any(_plain(before.get(part)) != _plain(wanted.get(part)) for part in same_parts) or (
            before["uri"].rstrip("/") != wanted["uri"].rstrip("/")
        )
    return any(_plain(before[key]) != _plain(value) for key, value in wanted.items() if key in before)


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return sorted(map(str, value))
    if isinstance(value, bool):
        return str(int(value))
    return {"true": "1", "yes": "1", "false": "0", "no": "0"}.get(str(value).lower(), str(value))


def _difference(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    return {
        key: {"new": value, "old": before.get(key)}
        for key, value in after.items()
        if key != "file" and _plain(before.get(key)) != _plain(value)
    }


def _others_in_file(repo: str, kwargs: dict[str, Any]) -> list[str]:
    """Return the lines to be removed by ``clean_file``."""
    path = kwargs.get("file")
    if not kwargs.get("clean_file") or not path or path.endswith(".sources") or not filesystem.is_file(path):
        return []
    with filesystem.open_text(path, errors="replace") as file:
        lines = [line.strip() for line in file]
    return [line for line in lines if line and not line.startswith("#") and line.split() != repo.split()]


def _on_debian() -> bool:
    return __grains__.get("os_family") == "Debian"


def _is_true(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip().lower() in {"true", "yes", "on", "1"}
    return bool(value)
