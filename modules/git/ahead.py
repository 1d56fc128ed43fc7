"""Prefetching a repository for the state that will clone it: its objects, which git verifies while fetching.

The clone queries the real repository for its branches and takes only the objects that it needs from the copy.
"""

from __future__ import annotations

import hashlib
import os
from typing import Any

from asyncstate import filesystem
from asyncstate import prefetch as ahead
from asyncstate.errors import CommandExecutionError

from .programs import run, with_credentials

_WHOLE = ["-c", "repack.updateServerInfo=false"]
"""Without it, a clone with borrowed objects has additional files."""


def prefetch(
    url: str, target: str, https_user: str | None = None, https_pass: str | None = None, **options: Any
) -> bool:
    """Fetch the objects of the repository at ``url`` ahead for a clone at ``target``; return whether it did.

    Only runs use it. Nothing is done if anything is at ``target``. CommandExecutionError if git fails.
    """
    if filesystem.lexists(target) and (not filesystem.is_directory(target) or filesystem.listdir(target)):
        return False
    address = with_credentials(url, https_user, https_pass)
    with ahead.fetching(_name(address)):
        path = _place(address)
        if not path or filesystem.exists(path):
            return False
        part = f"{path}.part"
        arguments = ["clone", "--bare", "--quiet", "--template=", "--", address, part]
        run(arguments, "/", ignore_retcode=True, **options)
        os.rename(part, path)
    return True


def clone_from_prefetched(address: str, where: str, opts: list[str], *, user: str | None, **options: Any) -> bool:
    """Clone with prefetched objects; return False if there are none, or they cannot be used."""
    if user is not None or any(option.startswith("--depth") for option in opts):
        return False
    ahead.wait(_name(address))
    path = _place(address)
    if not path or not filesystem.exists(path):
        return False
    arguments = ["clone", "--reference", path, "--dissociate", *opts, "--", address, where]
    try:
        run(arguments, "/", **{**options, "git_opts": _WHOLE, "ignore_retcode": True})
    except CommandExecutionError:
        return False
    return True


def _name(address: str) -> str:
    return f"git {hashlib.sha256(address.encode()).hexdigest()}"


def _place(address: str) -> str:
    """Return the place of a repository's copy, existing or not; "" in a run without prefetches."""
    folder = ahead.folder("git")
    return folder and os.path.join(folder, f"{_name(address).split()[1]}.git")
