"""Commits, branches and tags of a local or remote repository. These functions change nothing."""

from __future__ import annotations

import os
from typing import Any

from asyncstate import filesystem
from asyncstate.errors import CommandExecutionError, InvocationError, PathRefused

from .programs import comma_separated, expanded, run, split_options, with_credentials

_LINK_LIMIT = 1 << 16
"""Number of bytes read from the file that names a worktree's repository."""

_STATUS_WORDS = {"M": "modified", "A": "new", "D": "deleted", "??": "untracked"}


def revision(cwd: str, rev: str = "HEAD", short: bool = False, user: str | None = None, **options: Any) -> str:
    """Return the full (or ``short``) name of the commit ``rev``. CommandExecutionError if there is none.

    CLI Example::

        asyncstate call git.revision /srv/app
    """
    arguments = ["rev-parse", "--short", rev] if short else ["rev-parse", rev]
    return str(run(arguments, expanded(cwd, user), user=user, **options)["stdout"])


def rev_parse(cwd: str, rev: str | None = None, opts: Any = "", user: str | None = None, **options: Any) -> str:
    """Return the output of ``git rev-parse`` for ``rev``. CommandExecutionError if it names nothing."""
    arguments = ["rev-parse", *split_options(opts), *([] if rev is None else [rev])]
    return str(run(arguments, expanded(cwd, user), user=user, **options)["stdout"])


def current_branch(cwd: str, user: str | None = None, **options: Any) -> str:
    """Return the branch that is checked out at ``cwd``, ``HEAD`` if there is none. Raises CommandExecutionError."""
    return str(run(["rev-parse", "--abbrev-ref", "HEAD"], expanded(cwd, user), user=user, **options)["stdout"])


def describe(cwd: str, rev: str = "HEAD", user: str | None = None, **options: Any) -> str:
    """Return the name that ``git describe`` gives a commit: by the latest tag before it, else its short hash."""
    return str(run(["describe", "--always", rev], expanded(cwd, user), user=user, **options)["stdout"])


def symbolic_ref(
    cwd: str, ref: str, value: str | None = None, opts: Any = "", user: str | None = None, **options: Any
) -> str:
    """Return, set (``value``) or delete (``opts: -d``) a symbolic reference such as HEAD."""
    wanted = split_options(opts)
    if value is not None and {"-d", "--delete"} & set(wanted):
        raise InvocationError("Value cannot be set for symbolic ref if -d/--delete is included in opts")
    arguments = ["symbolic-ref", *wanted, ref, *([value] if value else [])]
    return str(run(arguments, expanded(cwd, user), user=user, **options)["stdout"])


def list_branches(cwd: str, remote: bool = False, user: str | None = None, **options: Any) -> list[str]:
    """Return the local branches, or with ``remote`` the remote-tracking branches."""
    return _references(cwd, "refs/remotes/" if remote else "refs/heads/", user, options)


def list_tags(cwd: str, user: str | None = None, **options: Any) -> list[str]:
    """Return the tags of the repository at ``cwd``."""
    return _references(cwd, "refs/tags/", user, options)


def remote_refs(
    url: str,
    heads: bool = False,
    tags: bool = False,
    user: str | None = None,
    https_user: str | None = None,
    https_pass: str | None = None,
    **options: Any,
) -> dict[str, str]:
    """Return the references of the repository at ``url`` and the commits they name: ``{"refs/heads/main": sha, …}``.

    ``filter`` is a pattern that the references must match. CommandExecutionError if the repository cannot be reached.
    """
    pattern = options.pop("filter", None)
    kinds = [option for option, wanted in (("--heads", heads), ("--tags", tags)) if wanted]
    address = with_credentials(url, https_user, https_pass)
    arguments = ["ls-remote", *kinds, "--", address, *([pattern] if pattern else [])]
    return _by_name(run(arguments, user=user, **options)["stdout"])


def ls_remote(
    cwd: str | None = None,
    remote: str = "origin",
    ref: str | None = None,
    opts: Any = "",
    user: str | None = None,
    https_user: str | None = None,
    https_pass: str | None = None,
    **options: Any,
) -> dict[str, str]:
    """Return the references of a remote repository of the one at ``cwd`` and the commits they name."""
    address = with_credentials(remote, https_user, https_pass)
    arguments = ["ls-remote", *split_options(opts), "--", address, *([ref] if ref else [])]
    return _by_name(run(arguments, expanded(cwd, user) if cwd else None, user=user, **options)["stdout"])


def merge_base(
    cwd: str,
    refs: Any = None,
    octopus: bool = False,
    is_ancestor: bool = False,
    independent: bool = False,
    fork_point: str | None = None,
    opts: Any = "",
    user: str | None = None,
    **options: Any,
) -> Any:
    """Return the best common ancestor of commits; with ``all: True`` the list of all of them.

    With ``is_ancestor``, returns instead whether the first of two commits is an ancestor of the second.
    """
    everything = options.pop("all", False)
    commits = [] if refs is None else [ref.strip() for ref in comma_separated(refs)]
    if everything and (independent or is_ancestor or fork_point):
        raise InvocationError("The 'all' argument is not compatible with 'independent', 'is_ancestor', or 'fork_point'")
    if sum(map(bool, (octopus, independent, is_ancestor, fork_point))) > 1:
        raise InvocationError("Only one of 'octopus', 'independent', 'is_ancestor', and 'fork_point' is permitted")
    if is_ancestor and len(commits) != 2:
        raise InvocationError("Two refs/commits are required if 'is_ancestor' is True")
    if fork_point and len(commits) > 1:
        raise InvocationError("At most one ref/commit can be passed if 'fork_point' is specified")
    ways = [
        ("--all", everything),
        ("--octopus", octopus),
        ("--is-ancestor", is_ancestor),
        ("--independent", independent),
    ]
    chosen = [option for option, wanted in ways if wanted]
    if fork_point:
        chosen, commits = ["--fork-point", str(fork_point)], commits or ["HEAD"]
    arguments = ["merge-base", *split_options(opts), *chosen, *commits]
    result = run(arguments, expanded(cwd, user), user=user, failhard=not is_ancestor, **options)
    if is_ancestor:
        return result["retcode"] == 0
    found = result["stdout"].splitlines()
    return found if everything else found[0]


def diff(
    cwd: str,
    item1: str | None = None,
    item2: str | None = None,
    opts: Any = "",
    user: str | None = None,
    no_index: bool = False,
    cached: bool = False,
    paths: Any = None,
    **options: Any,
) -> str:
    """Return the differences between commits, the working tree and, with ``cached``, the index."""
    if no_index and cached:
        raise CommandExecutionError("The 'no_index' and 'cached' options cannot be used together")
    arguments = ["diff", *split_options(opts)]
    if no_index:
        arguments.append("--no-index")
    elif cached:
        arguments += ["--cached", *([item1] if item1 else [])]
    else:
        arguments += [item for item in (item1, item2) if item]
    if paths:
        arguments += ["--", *comma_separated(paths)]
    if no_index:
        # Exit status 1 means that they differ.
        options.update(ignore_retcode=True, failhard=False)
    return str(run(arguments, cwd, user=user, redirect_stderr=True, **options)["stdout"])


def status(cwd: str, user: str | None = None, **options: Any) -> dict[str, list[str]]:
    """Return the files that differ from the last commit, by the kind of change: ``{"modified": […], …}``."""
    output = run(["status", "-z", "--porcelain"], expanded(cwd, user), user=user, **options)["stdout"]
    found: dict[str, list[str]] = {}
    for entry in output.split("\0"):
        state, _, name = entry.strip().partition(" ")
        if name:
            found.setdefault(_STATUS_WORDS.get(state, state), []).append(name.strip())
    return found


def is_worktree(cwd: str, user: str | None = None, **options: Any) -> bool:
    """Return whether ``cwd`` is in a worktree that was added to a repository at another path."""
    where = expanded(cwd, user)
    if not filesystem.is_directory(where):
        return False
    try:
        top = run(["rev-parse", "--show-toplevel"], where, user=user, ignore_retcode=True, **options)["stdout"]
        label, _, path = filesystem.read_bytes(os.path.join(top, ".git"), _LINK_LIMIT).decode().partition(" ")
    except (CommandExecutionError, OSError, PathRefused, UnicodeDecodeError):
        return False
    return label == "gitdir:" and os.path.isabs(path.strip())


def _references(cwd: str, below: str, user: str | None, options: dict[str, Any]) -> list[str]:
    arguments = ["for-each-ref", "--format", "%(refname:short)", below]
    names: list[str] = run(arguments, expanded(cwd, user), user=user, **options)["stdout"].splitlines()
    return names


def _by_name(output: str) -> dict[str, str]:
    pairs = (line.split(None, 1) for line in output.splitlines())
    return {pair[1]: pair[0] for pair in pairs if len(pair) == 2}
