"""The ``git`` states: repositories and their settings, with Salt's arguments and rows.

Neither rows nor the log show ``https_pass`` or a password in a URL.
"""

from __future__ import annotations

import errno
import os
import re
from functools import partial
from typing import Any

from asyncstate import filesystem
from asyncstate.dunders import Row, __salt__, failed, is_dry_run, unchanged

from .. import _resources  # noqa: TID252 - as `states` for type checkers
from .._paths import plain as _plain  # noqa: TID252 - as `states` for type checkers
from .cloning import clone_latest as _clone_latest
from .cloning import clone_once as _clone_once
from .detached import Detachment as _Detachment
from .repository import WITHOUT_SSH as _WITHOUT_SSH
from .repository import Repository as _Repository
from .request import Request as _Request
from .request import address as _address
from .request import resolve as _resolve
from .rows import Outcome as _Outcome
from .rows import fail as _fail
from .rows import finished as _finished
from .rows import key_paths as _key_paths
from .rows import redacted as _redacted
from .rows import sentences as _sentences
from .rows import text_or_none as _text_or_none
from .rows import unknown_arguments as _unknown_arguments
from .rows import would_do as _would_do
from .settings import config_set, config_unset
from .update import bring_up_to_date as _bring_up_to_date

_CONFIGURATION = ("path:/etc/gitconfig",)
_SHARED = re.compile(r"umask|group|all|world|everybody|0*[012]?|[0-7]*[67][0-7]{2}|(?i:true|false|yes|no|on|off)")
"""The values of ``git init --shared``: a word, octal permissions with access for the owner, or a truth value."""
_CLONING = frozenset({"latest", "cloned", "detached"})

__all__ = ["cloned", "config_set", "config_unset", "detached", "latest", "mod_footprint", "mod_prefetch", "present"]


def __virtual__() -> bool | tuple[bool, str]:
    """Load if the execution module is available."""
    return "git.version" in __salt__ or (False, "git module could not be loaded")


def latest(
    name: str,
    target: str,
    rev: Any = "HEAD",
    branch: Any = None,
    user: str | None = None,
    password: str | None = None,
    update_head: bool = True,
    force_checkout: bool = False,
    force_clone: bool = False,
    force_fetch: bool = False,
    force_reset: bool | str = False,
    submodules: bool = False,
    bare: bool = False,
    mirror: bool = False,
    remote: str = "origin",
    fetch_tags: bool = True,
    sync_tags: bool = True,
    depth: int | None = None,
    identity: Any = None,
    https_user: str | None = None,
    https_pass: str | None = None,
    refspec_branch: str = "*",
    refspec_tag: str = "*",
    output_encoding: str | None = None,
    **kwargs: Any,
) -> Row:
    """Make sure that ``target`` is a clone of the repository at ``name``, and at its commit ``rev``.

    ``rev`` is a branch, tag or commit there; ``branch`` is the local branch to check out, by default that of the clone.
    An update that is no fast-forward, or would lose local changes, needs ``force_reset`` (``remote-changes``: only if
    the remote has something new) or, for another branch, ``force_checkout``. ``force_clone`` empties a target that is
    no repository. With ``update_head`` False the commit is fetched and HEAD stays. ``sync_tags`` deletes tags that the
    remote does not have. ``identity`` is a private key for ssh, or a list of them; ``user`` is the account git runs as.

    Example::

        the application:
          git.latest:
            - name: https://example.com/app.git
            - target: /srv/app
            - rev: v1.2
            - user: www
    """
    row = unchanged(_redacted(name))
    request = _Request(
        name=name,
        target=target,
        rev=rev,
        branch=branch,
        user=user,
        password=password,
        update_head=update_head,
        force_checkout=force_checkout,
        force_clone=force_clone,
        force_fetch=force_fetch,
        force_reset=force_reset,
        submodules=submodules,
        bare=bare,
        mirror=mirror,
        remote=remote,
        fetch_tags=fetch_tags,
        sync_tags=sync_tags,
        depth=depth,
        identity=identity,
        https_user=https_user,
        https_pass=https_pass,
        refspec_branch=refspec_branch,
        refspec_tag=refspec_tag,
        output_encoding=output_encoding,
    )

    def work() -> None:
        _unknown_arguments(kwargs)
        request.check()
        wanted = _resolve(request)
        known = request.repository.exists("refs" if request.bare else ".git")
        (_bring_up_to_date if known else _clone_latest)(request, wanted, row)

    return _finished(row, work)


def cloned(
    name: str,
    target: str | None = None,
    branch: Any = None,
    user: str | None = None,
    password: str | None = None,
    identity: Any = None,
    https_user: str | None = None,
    https_pass: str | None = None,
    output_encoding: str | None = None,
) -> Row:
    """Make sure that ``target`` is a repository: clone it from ``name`` if nothing is there, and never fetch again.

    ``branch`` is then checked out, if the repository has it.
    """
    row = failed(_redacted(name), "")

    def work() -> None:
        if target is None:
            raise _fail("'target' argument is required")
        if not os.path.isabs(str(target)):
            raise _fail("'target' path must be absolute")
        if branch is not None and not str(branch):
            raise _fail("Invalid 'branch' argument")
        repository = _Repository(str(target), user, password, _key_paths(identity, "identity"), output_encoding)
        credentials = {"https_user": https_user, "https_pass": https_pass}
        _address(name, https_user, https_pass)
        _clone_once(row, repository, name, _text_or_none(branch), credentials)

    return _finished(row, work)


def detached(
    name: str,
    rev: Any,
    target: str,
    remote: str = "origin",
    user: str | None = None,
    password: str | None = None,
    force_clone: bool = False,
    force_checkout: bool = False,
    fetch_remote: bool = True,
    hard_reset: bool = False,
    submodules: bool = False,
    identity: Any = None,
    https_user: str | None = None,
    https_pass: str | None = None,
    output_encoding: str | None = None,
    **kwargs: Any,
) -> Row:
    """Make sure that ``target`` is a clone of ``name`` with the commit ``rev`` checked out, on no branch.

    ``fetch_remote`` False uses only commits that are here already. ``hard_reset`` discards local changes first,
    ``force_checkout`` during the checkout; ``force_clone`` empties a target that is no repository.
    """
    row = unchanged(_redacted(name))

    def work() -> None:
        _unknown_arguments(kwargs)
        if not rev:
            raise _fail(f"'{rev}' is not a valid value for the 'rev' argument")
        if not target:
            raise _fail(f"'{target}' is not a valid value for the 'target' argument")
        if not os.path.isabs(str(target)):
            raise _fail(f"Target '{target}' is not an absolute path")
        keys = _key_paths(identity, "Identity")
        credentials = {"https_user": _text_or_none(https_user), "https_pass": _text_or_none(https_pass)}
        _address(name, credentials["https_user"], credentials["https_pass"])
        _Detachment(
            row=row,
            name=name,
            rev=str(rev),
            remote=str(remote),
            repository=_Repository(str(target), _text_or_none(user), password, keys, output_encoding),
            credentials=credentials,
            force_clone=force_clone,
            force_checkout=force_checkout,
            fetch_remote=fetch_remote,
            hard_reset=hard_reset,
            submodules=submodules,
        ).make()

    return _finished(row, work)


def present(
    name: str,
    force: bool = False,
    bare: bool = True,
    template: str | None = None,
    separate_git_dir: str | None = None,
    shared: Any = None,
    user: str | None = None,
    password: str | None = None,
    output_encoding: str | None = None,
) -> Row:
    """Make sure that there is a repository at ``name``, an empty one if none is there.

    The repository is ``bare`` unless that is False. ``force`` removes existing content. ``template``,
    ``separate_git_dir`` and ``shared`` are options of ``git init``.
    """
    row = unchanged(name)
    kind = "bare repository" if bare else "repository"

    def work() -> None:
        if not os.path.isabs(name):
            raise _fail(f"Target '{name}' is not an absolute path")
        path = _plain(name)
        repository = _Repository(path, user, password, None, output_encoding)
        is_folder = filesystem.is_directory(path)
        if is_folder and _is_repository(path, bare, repository):
            return
        if filesystem.judges() and (problem := _unfit(bare, separate_git_dir, shared)):
            raise _fail(problem)
        if is_folder:
            _clear_for_init(row, path, kind, force=force)
        if is_dry_run():
            if filesystem.foretells():
                _require_room(path)
            row["changes"]["new"] = name
            raise _would_do(f"New {kind} would be created")
        __salt__["git.init"](
            cwd=path,
            bare=bare,
            template=template,
            separate_git_dir=separate_git_dir,
            shared=shared,
            user=user,
            password=password,
            output_encoding=output_encoding,
        )
        done = [f"Initialized {kind} in {name}"]
        if template:
            done.append(f"Template directory set to {template}")
        if separate_git_dir:
            done.append(f"Gitdir set to {separate_git_dir}")
        row["changes"]["new"] = name
        row["comment"] = _sentences(done)

    return _finished(row, work)


def mod_footprint(low: dict[str, Any]) -> dict[str, list[str]]:
    """Return the footprint of a git state: its tree; the repository and the access to it, the settings."""
    reads = [
        *_resources.accounts(low),
        *_CONFIGURATION,
        _resources.home(low.get("user"), ".gitconfig"),
    ]
    user, home = low.get("user"), f"path:~{low.get('user') or ''}"
    if low.get("fun") in {"config_set", "config_unset"}:
        path = os.path.normpath(str(low.get("repo", "")))
        written = f"{home}/.gitconfig" if low.get("global") else f"path:{path}/.git/config"
        own = [] if low.get("global") else [f"path:{path}"]
        return {
            "reads": [*reads, *own],
            "writes": [written, *([f"git-config:{user or ''}"] if low.get("global") else [])],
        }
    name = str(low.get("name", ""))
    path = os.path.normpath(name if low.get("fun") == "present" else str(low.get("target", "")))
    reads.append(f"git-config:{user or ''}")
    apart = _resources.files(low.get("separate_git_dir"))
    if low.get("fun") == "present":
        reads += _resources.files(low.get("template"), below="/**")
    else:
        reads += _reached(name, user, home)
    reads += _resources.files(low.get("identity"))
    writes = [f"path:{path}", f"path:{path}/**", *apart, *(f"{each}/**" for each in apart)]
    return {"reads": reads, "writes": writes, "makes": [_resources.folder(path, user=user)]}


def mod_prefetch(low: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the objects of the repository that a state will clone.

    None for another user, who could not read them; for ssh, where the first contact is stored; with ``depth``, because
    only a complete repository can lend objects.
    """
    name, target = str(low.get("name", "")), low.get("target")
    if low.get("fun") not in _CLONING or not name.startswith(_WITHOUT_SSH) or not isinstance(target, str):
        return []
    if any(low.get(key) is not None for key in ("user", "depth", "identity")) or not os.path.isabs(target):
        return []
    arguments = {key: low[key] for key in ("https_user", "https_pass") if low.get(key) is not None}
    home = f"path:{os.path.expanduser('~')}"
    reads = [*_CONFIGURATION, f"{home}/.gitconfig", f"{home}/.netrc", f"{home}/.git-credentials", *_local_tree(name)]
    what = f"git {name.partition('?')[0]}"
    fetch = {"function": "git.prefetch", "arguments": {"url": name, "target": target, **arguments}}
    return [{**fetch, "reads": reads, "what": what}]


def _local_tree(name: str) -> list[str]:
    return _resources.files(name, below="/**")


def _reached(name: str, user: Any, home: str) -> list[str]:
    """Return the resources read to reach a repository: a folder, or a host, its key and the user's credentials."""
    local = _local_tree(name)
    if local:
        return local
    reads = [*_resources.NETWORK]
    if name.startswith(("http://", "https://")):
        return [*reads, f"{home}/.netrc", f"{home}/.git-credentials"]
    if name.startswith("git://"):
        return reads
    return [
        *reads,
        f"{home}/.ssh/**",
        f"ssh_known_hosts:{user or 'root'}",
        "path:/etc/ssh/ssh_known_hosts",
        "path:/etc/ssh/ssh_config",
    ]


def _unfit(bare: bool, separate_git_dir: str | None, shared: Any) -> str:
    """Return the error of ``git init`` for invalid options."""
    if bare and separate_git_dir is not None:
        return "fatal: options '--separate-git-dir' and '--bare' cannot be used together"
    folder = os.path.dirname(separate_git_dir or "")
    if os.path.isabs(folder) and not filesystem.is_directory(folder):
        return f"fatal: Invalid path '{folder}': No such file or directory"
    if shared is None or _SHARED.fullmatch(str(shared)):
        return ""
    return f"fatal: bad boolean config value '{shared}' for 'arg'"


def _is_repository(path: str, bare: bool, repository: _Repository) -> bool:
    return filesystem.is_file(os.path.join(path, "HEAD")) if bare else repository.exists()


def _require_room(path: str) -> None:
    """Raise the error of git if it could not make a repository."""
    if filesystem.lexists(path) and not filesystem.is_directory(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
    if not filesystem.room_for(path, partial(filesystem.makedirs, os.path.dirname(path))):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)


def _clear_for_init(row: Row, path: str, kind: str, *, force: bool) -> None:
    if force:
        try:
            if filesystem.foretells():
                filesystem.require_removable(path)
        except OSError as error:
            raise _Outcome(f"Unable to remove {path}: {error}", result=False) from error
        if is_dry_run():
            row["changes"] = {"new": path, "forced init": True}
            raise _would_do(
                f"Target directory {path} exists. Since force=True, the contents of {path} would be deleted, and a "
                f"{kind} would be initialized in its place."
            )
        try:
            filesystem.remove(path) if filesystem.is_link(path) else filesystem.remove_tree(path)
        except OSError as error:
            raise _Outcome(f"Unable to remove {path}: {error}", result=False) from error
        row["changes"]["forced init"] = True
    elif filesystem.listdir(path):
        raise _fail(
            f"Target '{path}' exists, is non-empty, and is not a git repository. Set the 'force' option to True to "
            "remove this directory's contents and proceed with initializing a repository"
        )
