"""The ``git`` execution module: repositories and their configuration.

Arguments and results are Salt's. Every function takes ``user`` (the account git runs as) and, as ``options``,
``ignore_retcode`` (a failure is no error in the log), ``git_opts`` (before the subcommand), ``output_encoding``, and,
if it contacts a remote, ``identity`` and ``saltenv``. A command that fails raises CommandExecutionError; no message
shows a password.
"""

from __future__ import annotations

import shutil

from .ahead import prefetch
from .checkouts import (
    add,
    branch,
    checkout,
    clone,
    commit,
    discard_local_changes,
    init,
    merge,
    pull,
    push,
    reset,
    submodule,
    tag,
)
from .configuration import config_get, config_get_regexp, config_set, config_unset
from .programs import run as _run
from .remotes import fetch, remote_get, remote_set, remotes
from .revisions import (
    current_branch,
    describe,
    diff,
    is_worktree,
    list_branches,
    list_tags,
    ls_remote,
    merge_base,
    remote_refs,
    rev_parse,
    revision,
    status,
    symbolic_ref,
)

__all__ = [
    "add",
    "branch",
    "checkout",
    "clone",
    "commit",
    "config_get",
    "config_get_regexp",
    "config_set",
    "config_unset",
    "current_branch",
    "describe",
    "diff",
    "discard_local_changes",
    "fetch",
    "init",
    "is_worktree",
    "list_branches",
    "list_tags",
    "ls_remote",
    "merge",
    "merge_base",
    "prefetch",
    "pull",
    "push",
    "remote_get",
    "remote_refs",
    "remote_set",
    "remotes",
    "reset",
    "rev_parse",
    "revision",
    "status",
    "submodule",
    "symbolic_ref",
    "tag",
    "version",
]


def __virtual__() -> bool | tuple[bool, str]:
    """Load if git is installed."""
    if shutil.which("git"):
        return True
    return False, "The git execution module cannot be loaded: git unavailable."


def version(versioninfo: bool = False) -> str | list[int]:
    """Return the version of git: text, or with ``versioninfo`` a list of numbers."""
    text = str(_run(["--version"])["stdout"]).rsplit(None, 1)[-1]
    return [int(part) for part in text.split(".") if part.isdigit()] if versioninfo else text
