"""``file.managed``: content, owner and mode of one file."""

from __future__ import annotations

import logging
import os
import shlex
import stat
from pathlib import Path
from typing import Any

from asyncstate import filesystem, residue
from asyncstate.dunders import Row, __env__, __grains__, __opts__, __salt__, failed, is_dry_run, unchanged, would_change
from asyncstate.errors import AsyncStateError, PathRefused, RunCancelled

from .accumulators import accumulated_for
from .arguments import (
    expand,
    impossible_mode,
    is_remote,
    missing_accounts,
    misspelt,
    normalize_mode,
    owner_of,
    warn_needless_hash,
)
from .contents import ContentsError, requested_contents

log = logging.getLogger(__name__)

_NOTE = "\nNote: No changes made, actual changes may\nbe different due to other states."


def managed(
    name: str,
    source: str | list[Any] | None = None,
    source_hash: Any = "",
    source_hash_name: str | None = None,
    keep_source: bool = True,
    user: str | int | None = None,
    group: str | int | None = None,
    mode: Any = None,
    attrs: str | None = None,
    template: str | None = None,
    makedirs: bool = False,
    dir_mode: Any = None,
    context: dict[str, Any] | None = None,
    replace: bool = True,
    defaults: dict[str, Any] | None = None,
    backup: Any = "",
    show_changes: bool = True,
    create: bool = True,
    contents: Any = None,
    tmp_dir: str | None = None,
    tmp_ext: str = "",
    contents_pillar: Any = None,
    contents_grains: Any = None,
    contents_newline: bool = True,
    contents_delimiter: str = ":",
    encoding: str | None = None,
    encoding_errors: str = "strict",
    allow_empty: bool = True,
    follow_symlinks: bool = True,
    check_cmd: str | None = None,
    skip_verify: bool = False,
    selinux: dict[str, Any] | None = None,
    win_owner: Any = None,
    win_perms: Any = None,
    win_deny_perms: Any = None,
    win_inheritance: bool = True,
    win_perms_reset: bool = False,
    verify_ssl: bool = True,
    use_etag: bool = False,
    signature: Any = None,
    source_hash_sig: Any = None,
    signed_by_any: Any = None,
    signed_by_all: Any = None,
    keyring: str | None = None,
    gnupghome: str | None = None,
    ignore_ordering: bool = False,
    ignore_whitespace: bool = False,
    ignore_comment_characters: str | list[str] | None = None,
    new_file_diff: bool = False,
    sig_backend: str = "gpg",
    **kwargs: Any,
) -> Row:
    """Give a file this content, owner, group and mode; what is not given stays as it is.

    The content comes from ``source`` (``salt://``, a path, a URL, or a list: the first that exists is used),
    ``contents``, ``contents_pillar`` or ``contents_grains``. ``template`` renders it; the variables are ``context``,
    which overrides ``defaults``, and further arguments. ``mode: keep`` uses the mode of the source. ``check_cmd`` runs
    on a private copy of the new file, which is put in place only if the command succeeds. ``replace: False`` leaves
    existing content alone, ``create: False`` makes no new file. ``show_diff`` is an old name of ``show_changes``.
    """
    kwargs.pop("env", None)
    show_changes = kwargs.pop("show_diff", show_changes)
    name = expand(name)
    if not name:
        return failed(name, "Destination file name is required")
    keep_mode = isinstance(mode, str) and mode.lower() == "keep"
    mode = None if keep_mode else normalize_mode(mode)
    problem = _conflict(source, contents, contents_pillar, contents_grains, keep_mode=keep_mode)
    if problem:
        return failed(name, problem)
    warn_needless_hash(source, source_hash)
    notes: Row = {}
    if "file_mode" in kwargs:
        notes["warnings"] = [
            "The 'file_mode' argument will be ignored.  Please use 'mode' instead to set file permissions."
        ]
    replace = replace and bool(source or any(text is not None for text in (contents, contents_pillar, contents_grains)))
    try:
        contents = requested_contents(
            contents,
            contents_pillar,
            contents_grains,
            delimiter=contents_delimiter,
            newline=contents_newline,
            allow_empty=allow_empty,
            template=template,
            context=context,
            defaults=defaults,
        )
    except ContentsError as error:
        return failed(name, str(error)) | notes
    user = owner_of(kwargs, user)
    if not create and stat.S_IFMT(_mode_at(name, follow_symlinks=follow_symlinks)) not in {stat.S_IFREG, stat.S_IFLNK}:
        return unchanged(name, f"File {name} is not present and is not set for creation") | notes
    problem = (missing_accounts(user, group) if user or group else "") or misspelt(name)
    if problem:
        return failed(name, problem) | notes
    found = _mode_at(name, follow_symlinks=follow_symlinks)
    if stat.S_ISDIR(found) and (follow_symlinks or not filesystem.is_link(name)):
        return failed(name, f"Specified target {name} is a directory") | notes
    problem = _malformed(context, defaults) or impossible_mode(mode)
    if problem:
        return failed(name, problem) | notes
    context = dict(context or {})
    labels = _selinux_labels(selinux)
    trust = {
        "source_hash_sig": source_hash_sig,
        "signed_by_any": signed_by_any,
        "signed_by_all": signed_by_all,
        "keyring": keyring,
        "gnupghome": gnupghome,
        "sig_backend": sig_backend,
    }
    lenient = {
        "ignore_ordering": ignore_ordering,
        "ignore_whitespace": ignore_whitespace,
        "ignore_comment_characters": ignore_comment_characters,
    }
    exists = bool(found)
    try:
        if isinstance(source, list) and (replace or not exists):
            source, source_hash = __salt__["file.source_list"](source, source_hash, str(__env__))
        if replace and exists and contents is None and not template and not skip_verify and source_hash:
            replace = not _has_hash(name, source, source_hash, source_hash_name, verify_ssl=verify_ssl, **trust)
        if not replace and exists:
            return _permissions_only(name, notes, user, group, mode, attrs, follow_symlinks, labels)
        collected = accumulated_for(name)
        if collected:
            context["accumulator"] = collected
        if is_dry_run():
            changes = __salt__["file.check_managed_changes"](
                name,
                source,
                source_hash,
                source_hash_name,
                user,
                group,
                mode,
                attrs,
                template,
                context,
                defaults,
                str(__env__),
                contents,
                skip_verify,
                verify_ssl=verify_ssl,
                follow_symlinks=follow_symlinks,
                new_file_diff=new_file_diff or bool(__opts__.get("new_file_diff")),
                encoding=encoding,
                encoding_errors=encoding_errors,
                makedirs=makedirs,
                use_etag=use_etag and filesystem.foretells(),
                signature=signature,
                **labels,
                **trust,
                **lenient,
                **{**kwargs, "keep_mode": keep_mode},  # a variable of a template may be named so
            )
            row = _dry_run(name, changes, show_changes=show_changes, lenient=any(lenient.values()))
            return (check_refused(name, check_cmd, tmp_dir, tmp_ext, row) if check_cmd else row) | notes
        sfn, source_sum, problem = "", {}, ""
        if source and contents is None:
            sfn, source_sum, problem = __salt__["file.get_managed"](
                name,
                template,
                source,
                source_hash,
                source_hash_name,
                user,
                group,
                mode,
                attrs,
                str(__env__),
                context,
                defaults,
                skip_verify,
                verify_ssl=verify_ssl,
                use_etag=use_etag,
                **trust,
                **kwargs,
            )
        if problem:
            return failed(name, f"Unable to manage file: {problem}") | notes
        placement: dict[str, Any] = {
            "sfn": sfn,
            "source": source,
            "source_sum": source_sum,
            "user": user,
            "group": group,
            "mode": mode,
            "attrs": attrs,
            "saltenv": str(__env__),
            "template": template,
            "show_changes": show_changes,
            "contents": contents,
            "skip_verify": skip_verify,
            "keep_mode": keep_mode,
            "encoding": encoding,
            "encoding_errors": encoding_errors,
            "use_etag": use_etag,
            "signature": signature,
            "new_file_diff": new_file_diff,
            **labels,
            **trust,
            **lenient,
        }
        if check_cmd:
            refusal = check_copy(name, check_cmd, tmp_dir, tmp_ext, placement)
            if refusal is not None:
                return unchanged(name) | notes | refusal
        placed: Row = __salt__["file.manage_file"](
            name,
            ret=unchanged(name) | notes,
            backup=backup,
            makedirs=makedirs,
            dir_mode=dir_mode,
            follow_symlinks=follow_symlinks,
            **placement,
        )
        if not keep_source:
            _forget(source)
        return placed
    except RunCancelled:
        raise
    except (AsyncStateError, OSError, UnicodeError, LookupError) as error:
        return failed(name, f"Unable to manage file: {error}") | notes


def _mode_at(name: str, *, follow_symlinks: bool) -> int:
    """Return the type and mode of what a path leads to, 0 if that is nothing.

    A link that may not be followed, and which will be replaced, counts as itself.
    """
    try:
        return filesystem.stat(name).st_mode
    except (OSError, ValueError):
        return 0
    except PathRefused:
        if follow_symlinks or not filesystem.is_link(name):
            raise
        return stat.S_IFLNK


def _conflict(source: Any, contents: Any, pillar: Any, grains: Any, *, keep_mode: bool) -> str:
    """Return an error that names mutually exclusive arguments, "" if there are none."""
    count = (contents is not None) + (pillar is not None) + (grains is not None)
    if source and count:
        return "'source' cannot be used in combination with 'contents', 'contents_pillar', or 'contents_grains'"
    if keep_mode and count:
        return (
            "Mode preservation cannot be used in combination with 'contents', 'contents_pillar', or 'contents_grains'"
        )
    if count > 1:
        return "Only one of 'contents', 'contents_pillar', and 'contents_grains' is permitted"
    return ""


def _malformed(context: Any, defaults: Any) -> str:
    """Return the reason why these are no values for a template, "" if they are."""
    if context is not None and not isinstance(context, dict):
        return "Context must be formed as a dict"
    if defaults and not isinstance(defaults, dict):
        return "Defaults must be formed as a dict"
    return ""


def _selinux_labels(selinux: Any) -> dict[str, Any]:
    return {key: selinux[key] for key in ("seuser", "serole", "setype", "serange") if key in selinux} if selinux else {}


def _has_hash(name: str, source: Any, source_hash: Any, source_hash_name: str | None, **options: Any) -> bool:
    """Return whether a file already has the hash of its remote source, which then need not be fetched."""
    if not source or not is_remote(source):
        return False
    try:
        wanted = __salt__["file.get_source_sum"](name, source, source_hash, source_hash_name, str(__env__), **options)
        return bool(__salt__["file.get_hash"](name, wanted["hash_type"]) == wanted["hsum"])
    except (AsyncStateError, OSError) as error:
        log.warning("Failed checking existing file's hash against specified source_hash: %s", error)
        return False


def _permissions_only(
    name: str, notes: Row, user: Any, group: Any, mode: Any, attrs: Any, follow_symlinks: bool, labels: dict[str, Any]
) -> Row:
    row: Row = unchanged(name) | notes
    row, before = __salt__["file.check_perms"](name, row, user, group, mode, attrs, follow_symlinks, **labels)
    if is_dry_run():
        if mode and mode != before["lmode"]:
            row["comment"] = (
                f"File {name} will be updated with permissions {mode} from its current state of {before['lmode']}"
            )
        else:
            row["comment"] = f"File {name} not updated"
    elif not row["changes"] and row["result"]:
        row["comment"] = f"File {name} exists with proper permissions. No changes made."
    return row


def _dry_run(name: str, changes: Any, *, show_changes: bool, lenient: bool) -> Row:
    """Return the row of a dry run from the changes, or from ``(False, reason of the failure)``."""
    significant = True
    if isinstance(changes, tuple):
        if not isinstance(changes[1], dict):
            return failed(name, changes[1])
        significant, changes = changes
    if not changes:
        return unchanged(name, f"The file {name} is in the correct state")
    hidden = {"diff": "<show_changes=False>"} if "diff" in changes and not show_changes else {}
    row = would_change(name, f"The file {name} is set to be changed{_NOTE}", {**changes, **hidden})
    return row | {"skip_req": True} if lenient and not significant else row


def check_refused(name: str, check_cmd: str, tmp_dir: str | None, tmp_ext: str, row: Row) -> Row:
    """Return the row of a dry run; it fails if ``check_cmd`` could not run on the new file."""
    problem = _uncheckable(check_cmd, tmp_dir, tmp_ext) if row["result"] is None and filesystem.foretells() else ""
    return failed(name, problem) | {"skip_watch": True} if problem else row


def _uncheckable(check_cmd: str, tmp_dir: str | None, tmp_ext: str) -> str:
    """Return the reason why ``check_cmd`` cannot run on a copy in ``tmp_dir``, "" if it can."""
    try:
        copy = residue.temporary_path(suffix=tmp_ext, directory=tmp_dir)
        if not filesystem.room_for(copy):
            return f"check_cmd execution failed\nThere is no folder {os.path.dirname(copy)} for the copy that it checks"
    except (OSError, ValueError) as error:
        return f"check_cmd execution failed\nThe copy that it checks cannot be made: {error}"
    problem = __salt__["cmd.refusal"](check_cmd, shell=__grains__.get("shell"))
    return f"check_cmd execution failed\n{problem}" if problem else ""


def check_copy(name: str, check_cmd: str, tmp_dir: str | None, tmp_ext: str, placement: dict[str, Any]) -> Row | None:
    """Run ``check_cmd`` on a private copy of the new file, if it would change. Return the comment of a failure."""
    changes = __salt__["file.check_file_meta"](
        name,
        placement["sfn"],
        placement["source"],
        placement["source_sum"],
        placement["user"],
        placement["group"],
        placement["mode"],
        placement["attrs"],
        placement["saltenv"],
        placement["contents"],
        follow_symlinks=True,
    )
    if not changes:
        return None
    if problem := _uncheckable(check_cmd, tmp_dir, tmp_ext):
        return {"comment": problem, "skip_watch": True, "result": False}
    descriptor, copy = residue.temporary_file(suffix=tmp_ext, directory=tmp_dir)
    os.close(descriptor)
    try:
        # the trial must not consume the copy of a rendered template, so it gets the text as contents
        trial = {**placement, "signature": None}
        if placement["contents"] is None and placement["sfn"]:
            trial |= {"contents": filesystem.read_bytes(placement["sfn"]), "sfn": ""}
            trial |= {"source": None, "source_sum": {}, "keep_mode": False}
        __salt__["file.manage_file"](copy, ret=None, backup="", **trial)
        verdict = mod_run_check_cmd(check_cmd, copy)
        return verdict if isinstance(verdict, dict) else None
    finally:
        Path(copy).unlink(missing_ok=True)


def mod_run_check_cmd(cmd: str, filename: str, **check_cmd_opts: Any) -> Row | bool:
    """Run ``cmd filename``; return True if it succeeds, else ``result``, ``comment`` and ``skip_watch`` for the row.

    A state function with its own ``check_cmd`` argument calls this; the run does not check again.
    """
    shell = __grains__.get("shell")
    if shell:
        check_cmd_opts.setdefault("shell", shell)
    answer = __salt__["cmd.run_all"](f"{cmd} {shlex.quote(filename)}", **check_cmd_opts)
    if answer["retcode"] == 0:
        return True
    output = [answer[stream] for stream in ("stdout", "stderr") if answer.get(stream)]
    return {"comment": "\n".join(["check_cmd execution failed", *output]), "skip_watch": True, "result": False}


def _forget(source: Any) -> None:
    """Drop the downloaded copy of a source."""
    if source and is_remote(source):
        cached = __salt__["cp.is_cached"](source, str(__env__))
        if cached:
            Path(cached).unlink(missing_ok=True)
