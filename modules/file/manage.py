"""Putting a managed file in place, or in a dry run reporting what that would change."""

from __future__ import annotations

import logging
import os
import stat
from functools import partial
from typing import Any

from asyncstate import filesystem
from asyncstate.dunders import Row, is_dry_run, unchanged
from asyncstate.errors import PathRefused
from asyncstate.filesystem import KEEP, Access, Replacement, copy_attributes, merged

from .attributes import check_attributes, require_settable
from .backups import backup_if_asked
from .content import Content, read_bytes
from .diffs import Leniency, content_diff, diff_or_note
from .dry_run import NO_PARENT, REPLACES_LINK, check_file_meta
from .hashes import disproof, unsigned
from .modes import directory_mode, mode_text
from .paths import expand
from .perms import Wanted, check_perms, makedirs_
from .selinux import check_context, require_relabelled
from .sources import drop_rendered, local_copy, source_mode

log = logging.getLogger(__name__)

_CHUNK = 1 << 20


def _failed(ret: Row, comment: str) -> Row:
    ret["result"] = False
    ret["comment"] = comment
    return ret


def manage_file(
    name: str,
    sfn: str,
    ret: Row | None,
    source: Any,
    source_sum: dict[str, str] | None,
    user: Any,
    group: Any,
    mode: Any,
    attrs: Any,
    saltenv: str,
    backup: Any,
    makedirs: bool = False,
    template: str | None = None,
    show_changes: bool = True,
    contents: Any = None,
    dir_mode: Any = None,
    follow_symlinks: bool = True,
    skip_verify: bool = False,
    keep_mode: bool = False,
    encoding: str | None = None,
    encoding_errors: str = "strict",
    seuser: str | None = None,
    serole: str | None = None,
    setype: str | None = None,
    serange: str | None = None,
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
    ignore_comment_characters: Any = None,
    new_file_diff: bool = False,
    sig_backend: str = "gpg",
    **kwargs: Any,
) -> Row:
    """Put a file in place: content (``contents``, or that of the file ``sfn``), owner and mode in one atomic step.

    ``sfn`` and ``source_sum`` come from `get_managed`; if ``sfn`` is empty, ``source`` is fetched. Returns the row,
    with ``changes`` (``diff``, ``user``, ``group``, ``mode``, ``attrs``, ``selinux``, ``new``).
    """
    name = expand(name)
    require_settable(name, attrs)
    context = {"user": seuser, "role": serole, "type": setype, "range": serange}
    require_relabelled(name, context)
    ret = ret or unchanged(name)
    if source and not sfn:
        sfn = local_copy(source, saltenv, verify_ssl=verify_ssl, use_etag=use_etag)
        if not sfn:
            return _failed(ret, f"Source file '{source}' not found")
    if source and keep_mode:
        mode = source_mode(source, saltenv) or mode
    if is_dry_run():
        return _dry_run(
            name, ret, sfn, source, source_sum, user, group, mode, attrs, saltenv, contents, follow_symlinks
        )
    content = Content.of(contents, sfn, encoding, encoding_errors)
    wanted = Wanted(user, group, mode)
    must_match = (source_sum or {}) if source and not skip_verify and not use_etag else {}
    lenient = Leniency(ignore_ordering, ignore_whitespace, ignore_comment_characters)
    verify = {
        "signature": signature,
        "signed_by_any": signed_by_any,
        "signed_by_all": signed_by_all,
        "keyring": keyring,
        "gnupghome": gnupghome,
        "sig_backend": sig_backend,
        "saltenv": saltenv,
    }
    job = _Placement(name, ret, content, wanted, source, must_match, verify, backup, lenient)
    try:
        found = filesystem.lstat(name)
    except OSError:
        found = None
    try:
        if found is not None and (stat.S_ISREG(found.st_mode) or stat.S_ISLNK(found.st_mode)):
            job.update(found, follow_symlinks=follow_symlinks, show_changes=show_changes)
        else:
            job.create(makedirs=makedirs, dir_mode=dir_mode, full_diff=new_file_diff)
        if ret["result"] is not False:
            _extras(name, ret, attrs, context)
            job.conclude()
    except OSError as error:
        return _failed(ret, f"Failed to commit change: {error}")
    finally:
        drop_rendered(sfn)
    return ret


def _dry_run(
    name: str,
    ret: Row,
    sfn: str,
    source: Any,
    source_sum: Any,
    user: Any,
    group: Any,
    mode: Any,
    attrs: Any,
    saltenv: str,
    contents: Any,
    follow_symlinks: bool,
) -> Row:
    """Return the row of a dry run."""
    ret["changes"].update(
        check_file_meta(
            name,
            sfn,
            source,
            source_sum,
            user,
            group,
            mode,
            attrs,
            saltenv,
            contents,
            follow_symlinks=follow_symlinks,
        )
    )
    if ret["changes"]:
        ret["result"] = None
        ret["comment"] = f"File {name} not updated"
    else:
        ret["comment"] = f"File {name} is in the correct state"
    return ret


def _extras(name: str, ret: Row, attrs: Any, context: dict[str, str | None]) -> None:
    """Set extended attributes and SELinux context, if they are wanted."""
    notes: list[str] = []
    if attrs is not None:
        check_attributes(name, ret, attrs, notes)
    if any(context.values()):
        check_context(name, ret, notes, **context)
    if notes:
        ret["comment"] = "; ".join([ret["comment"], *notes] if ret["comment"] else notes)


def _behind(path: str, *, refusing: bool) -> os.stat_result | None:
    """Return the status of a link's target; None if there is none, or, unless ``refusing``, if it cannot be read."""
    try:
        found = filesystem.stat(path)
    except FileNotFoundError:
        return None
    except (OSError, PathRefused):  # a link to itself, for instance
        if refusing:
            raise
        return None
    return found if refusing or stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode) else None


class _Placement:
    """One file that `manage_file` puts in place."""

    def __init__(
        self,
        name: str,
        ret: Row,
        content: Content | None,
        wanted: Wanted,
        source: Any,
        must_match: dict[str, str],
        verify: dict[str, Any],
        backup: Any,
        lenient: Leniency,
    ) -> None:
        self.name = name
        self.ret = ret
        self.content = content
        self.wanted = wanted
        self.source = source
        self.must_match = must_match
        self.verify = verify
        self.backup = backup
        self.lenient = lenient
        self.significant = False

    def update(self, present: os.stat_result, *, follow_symlinks: bool, show_changes: bool) -> None:
        """Bring an existing file, or a link at its path, to the wanted state."""
        path = self.name
        found: os.stat_result | None = present
        replaces_link = False
        if stat.S_ISLNK(present.st_mode):
            replaces_link = not follow_symlinks and self.content is not None
            if follow_symlinks:
                path = filesystem.resolved(path)
            if follow_symlinks or replaces_link:
                found = _behind(path, refusing=not replaces_link)
        if self.content is not None and (replaces_link or found is None or not self.content.is_that_of(path, found)):
            if not self._is_genuine(updating=not replaces_link):
                return
            self._note_difference(path, found, show_changes=show_changes)
            if found is not None:
                backup_if_asked(path, self.backup)
            self._replace(path, found)
        elif found is None or self.wanted.differences(found):
            earlier = self.ret["comment"]
            check_perms(
                self.name,
                self.ret,
                self.wanted.user,
                self.wanted.group,
                self.wanted.mode,
                follow_symlinks=follow_symlinks,
            )
            if self.ret["result"] is not False:
                self.ret["comment"] = earlier

    def _note_difference(self, path: str, found: os.stat_result | None, *, show_changes: bool) -> None:
        content = self.content.read() if self.content is not None else b""
        old = read_bytes(path) if found is not None else b""
        difference = diff_or_note(old, content, show_changes=show_changes, template=True)
        self.ret["changes"]["diff"] = difference or REPLACES_LINK
        self.significant = not self.lenient or self.lenient.significant(old, content)

    def _replace(self, path: str, found: os.stat_result | None) -> None:
        """Write content, owner and mode in one atomic step; attributes that the state does not set are kept."""
        changes = self.wanted.differences(found) if found is not None else {}
        with Replacement(path, 0o600 if found is not None else 0o666) as new:
            if self.content is not None:
                self.content.write_to(new)
            if found is not None:
                new.give(merged(KEEP, found, os.fstat(new.fd)))
                copy_attributes(path, new.fd)
            else:
                changes = self.wanted.differences(os.fstat(new.fd))
            self._give(new, changes)
            new.commit(sync=found is not None)

    def _give(self, new: Replacement, changes: Row) -> None:
        """Set owner and mode of the new file as far as this process may, and add that to the changes."""
        access = self.wanted.access(changes)
        if changes.keys() & {"user", "group"} and access.mode == -1:
            access = access.replaced(mode=stat.S_IMODE(os.fstat(new.fd).st_mode))
        try:
            if access != KEEP:
                new.give(access)
        except PermissionError:
            if access.mode != -1:
                new.give(Access(mode=access.mode))
        left = self.wanted.differences(os.fstat(new.fd)) if changes else {}
        notes = [f"Failed to change {key} to {value}" for key, value in left.items()]
        if notes:
            self.ret["result"] = False
            self.ret["comment"] = "; ".join([self.ret["comment"], *notes] if self.ret["comment"] else notes)
        self.ret["changes"].update({key: value for key, value in changes.items() if key not in left})

    def create(self, *, makedirs: bool, dir_mode: Any, full_diff: bool) -> None:
        """Make a file that does not exist yet."""
        if not self._is_genuine(updating=False):
            return
        new = self._opened(dir_mode, makedirs=makedirs)
        if new is None:
            _failed(self.ret, NO_PARENT)
            return
        changes = self.ret["changes"]
        with new:
            if self.content is None:
                changes["new"] = f"file {self.name} created"
                self.ret["comment"] = "Empty file"
            else:
                changes["diff"] = content_diff(b"", self.content.read()) if full_diff else "New file"
                self.significant = True
                self.content.write_to(new)
            made = os.fstat(new.fd)
            differences = self.wanted.differences(made)
            if self.content is not None and self.content.data is None and self.wanted.mode is None:
                # Salt copies a source into a private file and then reports the mode that the umask leaves as a change
                default = mode_text(made.st_mode)
                if default != "0600":
                    changes["mode"] = default
            self._give(new, differences)
            new.commit(sync=False)

    def _opened(self, dir_mode: Any, *, makedirs: bool) -> Replacement | None:
        """Open the new file, after its folder was made if that is missing; None if it is, and stays so."""
        mode = 0o600 if self.wanted.mode is not None else 0o666
        try:
            return Replacement(self.name, mode)
        except OSError:
            if filesystem.is_directory(os.path.dirname(self.name)):
                raise
            make = partial(self._make_folders, dir_mode) if makedirs else None
            return Replacement(self.name, mode) if filesystem.room_for(self.name, make) else None

    def _make_folders(self, mode: Any) -> str | None:
        if mode is None and self.wanted.mode is not None:
            mode = directory_mode(self.wanted.mode)
        return makedirs_(self.name, self.wanted.user, self.wanted.group, mode)

    def _is_genuine(self, *, updating: bool) -> bool:
        """Compare a source with its expected hash and signature."""
        if self.content is None or self.content.data is not None:
            return True
        must_match = self.must_match
        problem = must_match and disproof(self.content.path, self.source, self.name, must_match, updating=updating)
        problem = problem or unsigned(self.content.path, **self.verify)
        if problem:
            _failed(self.ret, problem)
        return not problem

    def conclude(self) -> None:
        """Set the comment: the result in one sentence."""
        if self.ret["changes"]:
            if not self.ret["comment"]:
                self.ret["comment"] = f"File {self.name} updated"
            if self.lenient and not self.significant:
                self.ret["skip_req"] = True
        else:
            self.ret["comment"] = f"File {self.name} is in the correct state"
