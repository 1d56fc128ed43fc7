"""The changes that managing a file would make."""

from __future__ import annotations

import errno
import os
import stat
from functools import partial
from typing import Any

from asyncstate import filesystem
from asyncstate.errors import CommandExecutionError, PathRefused

from .attributes import attribute_difference, require_settable
from .content import Content, read_bytes
from .diffs import Leniency, diff_or_note
from .hashes import disproof, unsigned
from .modes import normalize_mode
from .perms import Wanted, makedirs_, status
from .selinux import context_difference, require_relabelled
from .sources import drop_rendered, get_managed, local_copy, source_list, source_mode

NO_PARENT = "Parent directory not present"
REPLACES_LINK = "Replace symbolic link with regular file"
_TRUST = ("signed_by_any", "signed_by_all", "keyring", "gnupghome", "sig_backend")


def check_file_meta(
    name: str,
    sfn: str,
    source: Any,
    source_sum: dict[str, str] | None,
    user: Any,
    group: Any,
    mode: Any,
    attrs: Any,
    saltenv: str,
    contents: Any = None,
    seuser: str | None = None,
    serole: str | None = None,
    setype: str | None = None,
    serange: str | None = None,
    verify_ssl: bool = True,
    follow_symlinks: bool = False,
    ignore_ordering: bool = False,
    ignore_whitespace: bool = False,
    ignore_comment_characters: Any = None,
    new_file_diff: bool = False,
    encoding: str | None = None,
    encoding_errors: str = "strict",
) -> Any:
    """Return the changes `manage_file` would make: ``newfile``, or ``diff``, ``user``, ``group``, ``mode`` and so on.

    With one of the arguments ``ignore_…``, returns whether anything significant differs, and those changes.
    """
    require_settable(name, attrs)
    context: dict[str, str | None] = {"user": seuser, "role": serole, "type": setype, "range": serange}
    require_relabelled(name, context)
    lenient = Leniency(ignore_ordering, ignore_whitespace, ignore_comment_characters)
    changes: dict[str, Any] = {}
    significant = False
    try:
        found: os.stat_result | None = status(name, follow_symlinks)
    except CommandExecutionError:
        found = None
    if found is None and not new_file_diff:
        return (True, {"newfile": name}) if lenient else {"newfile": name}
    if contents is None and source and not sfn:
        sfn = local_copy(source, saltenv, verify_ssl=verify_ssl)
    content = Content.of(contents, sfn, encoding, encoding_errors)
    if content is not None:
        readable = _is_readable(name, follow_symlinks=follow_symlinks)
        if found is None or not readable or not content.is_that_of(name, filesystem.stat(name)):
            old, new = read_bytes(name) if readable else b"", content.read()
            shown = diff_or_note(old, new, show_changes=True, template=True)
            significant = not lenient or lenient.significant(old, new)
            if not shown and found is not None and not stat.S_ISREG(found.st_mode):
                shown = REPLACES_LINK if stat.S_ISLNK(found.st_mode) else "New file"
            if shown:
                changes["diff"] = shown
    if found is not None:
        keeps_link = content is None and not follow_symlinks and stat.S_ISLNK(found.st_mode)
        changes.update(Wanted(user, group, None if keeps_link else mode).differences(found))
        if attrs and any(attribute_difference(name, attrs) or ()):
            changes["attrs"] = attrs
        if any(context.values()):
            difference = context_difference(name, context)
            if difference and difference[1]:
                changes["selinux"] = difference[1]
    if found is None and not changes and filesystem.foretells():  # an empty file has no diff
        significant, changes = True, {"newfile": name}
    return (significant, changes) if lenient else changes


def _is_readable(name: str, *, follow_symlinks: bool) -> bool:
    """Return whether there is content to compare with; False for a link that may not be followed and is replaced."""
    try:
        return filesystem.is_file(name)
    except PathRefused:
        if follow_symlinks:
            raise
        return False


def check_managed_changes(
    name: str,
    source: Any,
    source_hash: Any,
    source_hash_name: str | None,
    user: Any,
    group: Any,
    mode: Any,
    attrs: Any,
    template: str | None,
    context: Any,
    defaults: Any,
    saltenv: str,
    contents: Any = None,
    skip_verify: bool = False,
    keep_mode: bool = False,
    seuser: str | None = None,
    serole: str | None = None,
    setype: str | None = None,
    serange: str | None = None,
    verify_ssl: bool = True,
    follow_symlinks: bool = False,
    ignore_ordering: bool = False,
    ignore_whitespace: bool = False,
    ignore_comment_characters: Any = None,
    new_file_diff: bool = False,
    encoding: str | None = None,
    encoding_errors: str = "strict",
    makedirs: bool | None = None,
    use_etag: bool = False,
    signature: Any = None,
    **kwargs: Any,
) -> Any:
    """Return the changes that ``file.managed`` would make, or ``(False, why it would fail)``.

    With ``makedirs``, True or False, the place of the file is also checked: folder, existing path, accounts; and the
    content against its hash, signature and encoding.
    """
    source, source_hash = source_list(source, source_hash, saltenv)
    sfn = ""
    source_sum: dict[str, str] = {}
    try:
        if contents is None:
            sfn, source_sum, problem = get_managed(
                name,
                template,
                source,
                source_hash,
                source_hash_name,
                user,
                group,
                mode,
                attrs,
                saltenv,
                context,
                defaults,
                skip_verify,
                verify_ssl=verify_ssl,
                use_etag=use_etag,
                **kwargs,
            )
            if problem:
                return False, problem
            if source and keep_mode:
                mode = source_mode(source, saltenv) or mode
        changes = check_file_meta(
            name,
            sfn,
            source,
            source_sum,
            user,
            group,
            normalize_mode(mode),
            attrs,
            saltenv,
            contents,
            seuser=seuser,
            serole=serole,
            setype=setype,
            serange=serange,
            follow_symlinks=follow_symlinks,
            ignore_ordering=ignore_ordering,
            ignore_whitespace=ignore_whitespace,
            ignore_comment_characters=ignore_comment_characters,
            new_file_diff=new_file_diff,
            encoding=encoding,
            encoding_errors=encoding_errors,
        )
        if makedirs is None or not filesystem.foretells():
            return changes
        made = changes[1] if isinstance(changes, tuple) else changes
        content = Content.of(contents, sfn, encoding, encoding_errors)
        if content is not None and not follow_symlinks and filesystem.is_link(name):
            made.setdefault("diff", REPLACES_LINK)
        if made:
            wanted = Wanted(user, group, mode)
            problem = _problem(name, content, wanted, made, follow_symlinks=follow_symlinks, makedirs=makedirs)
            if not problem and content is not None and content.data is None and made.keys() & {"newfile", "diff"}:
                must_match = {} if use_etag else source_sum
                problem = disproof(sfn, source, name, must_match, updating=filesystem.lexists(name))
                trust = {key: kwargs[key] for key in _TRUST if key in kwargs}
                problem = problem or unsigned(sfn, signature, saltenv=saltenv, **trust)
            if problem:
                return False, problem
        return changes
    finally:
        drop_rendered(sfn)


def _problem(
    name: str, content: Content | None, wanted: Wanted, changes: Any, *, follow_symlinks: bool, makedirs: bool
) -> str:
    """Return the error of `manage_file` if it could not make these changes, "" if it could."""
    try:
        found = status(name, follow_symlinks) if filesystem.lexists(name) else None
        dangling = follow_symlinks and found is not None and stat.S_ISLNK(found.st_mode)
        if dangling and content is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
        if dangling or changes.keys() & {"newfile", "diff"}:
            if content is not None and content.data is None:
                filesystem.open_read(content.path).close()
            if not filesystem.room_for(name, partial(makedirs_, name) if makedirs else None, follow=follow_symlinks):
                return NO_PARENT
            special = found is not None and not dangling and not stat.S_ISREG(found.st_mode)
            if special and follow_symlinks and filesystem.is_link(name):
                filesystem.open_read(name).close()  # a link to a pipe is refused, a pipe itself is replaced
            if filesystem.is_directory(name):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
        elif changes.keys() & {"user", "group", "mode"} and "attrs" not in changes:
            filesystem.require_changeable(name, follow=follow_symlinks)
    except OSError as error:
        return f"Failed to commit change: {error}"
    return "; ".join(wanted.refused(found))


def check_managed(
    name: str,
    source: Any,
    source_hash: Any,
    source_hash_name: str | None,
    user: Any,
    group: Any,
    mode: Any,
    attrs: Any,
    template: str | None,
    context: Any,
    defaults: Any,
    saltenv: str,
    contents: Any = None,
    skip_verify: bool = False,
    **kwargs: Any,
) -> tuple[bool | None, str]:
    """Return True for a file that is as wanted, None if it would change, False for an error; and a comment."""
    changes = check_managed_changes(
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
        saltenv,
        contents,
        skip_verify,
        **kwargs,
    )
    if isinstance(changes, tuple):
        return False, str(changes[1])
    if changes:
        listed = "".join(f"{key}: {value}\n" for key, value in changes.items())
        return None, f"The following values are set to be changed:\n{listed}"
    return True, f"The file {name} is in the correct state"
