"""Copying, moving, removing and touching."""

from __future__ import annotations

import errno
import logging
import os
import time
from typing import Any

from asyncstate import filesystem, residue
from asyncstate.errors import CommandExecutionError, InvocationError

from .paths import absolute, expand

log = logging.getLogger(__name__)


def touch(name: str, atime: Any = None, mtime: Any = None) -> bool:
    """Make an empty file if there is none, and set its times (seconds since the epoch; now if not given)."""
    name = expand(name)
    now = time.time()
    try:
        times = None
        if atime is not None or mtime is not None:
            times = (_seconds(atime, now), _seconds(mtime, now))
        if not filesystem.exists(name):
            with filesystem.Replacement(filesystem.resolved(name), 0o666) as new:
                if times:
                    os.utime(new.fd, times)
                new.commit(sync=False)
        else:
            filesystem.set_times(name, times)
    except (TypeError, ValueError) as error:
        raise InvocationError("atime and mtime must be integers") from error
    except OSError as error:
        raise CommandExecutionError(error.strerror) from error
    return filesystem.exists(name)


def _seconds(value: Any, default: float) -> float:
    return default if value is None else float(value)


def remove(path: str, **kwargs: Any) -> bool:
    """Remove a file, a link (never what it points to) or a whole directory. False if there was nothing."""
    path = expand(path)
    if not os.path.isabs(path):
        raise InvocationError(f"File path must be absolute: {path}")
    try:
        if filesystem.is_plain_directory(path):
            filesystem.remove_tree(path)
        elif filesystem.lexists(path.rstrip("/")):
            filesystem.remove(path)
        else:
            return False
    except OSError as error:
        raise CommandExecutionError(f"Could not remove '{path}': {error}") from error
    return True


def rmdir(path: str, recurse: bool = False, verbose: bool = False, older_than: Any = None) -> Any:
    """Remove an empty directory; with ``recurse`` also all empty ones below; only those over ``older_than`` days old.

    Returns whether everything worked; with ``verbose``: ``{"deleted", "errors", "result"}``.
    """
    path = absolute(path)
    if not filesystem.is_directory(path):
        raise InvocationError(f"A valid directory was not specified: {path}")
    limit = _age_limit(older_than)
    deleted: list[str] = []
    errors: list[list[str]] = []
    candidates = []
    if recurse:
        for folder, folders, _ in filesystem.walk(path, topdown=False):
            candidates += [os.path.join(folder, name) for name in folders]
    for candidate in [*candidates, path]:
        if limit is not None and filesystem.stat(candidate).st_mtime >= limit:
            continue
        try:
            filesystem.rmdir(candidate)
            deleted.append(candidate)
        except OSError as error:
            errors.append([candidate, str(error)])
            log.warning("Could not remove '%s': %s", candidate, error)
    result = not errors and (recurse or bool(deleted))  # a directory that is too young has not been removed
    return {"deleted": deleted, "errors": errors, "result": result} if verbose else result


def _age_limit(older_than: Any) -> float | None:
    if not older_than:
        return None
    try:
        return time.time() - int(older_than) * 86400
    except (TypeError, ValueError):
        log.warning("Unable to set 'older_than' to %r. Defaulting to 0 days.", older_than)
        return None


def rename(src: str, dst: str) -> bool:
    """Rename within a file system; an existing ``dst`` is replaced."""
    src, dst = absolute(src), expand(dst)
    try:
        filesystem.rename(src, dst)
    except OSError as error:
        raise CommandExecutionError(f"Could not rename '{src}' to '{dst}'") from error
    return True


def move(src: str, dst: str, disallow_copy_and_unlink: bool = False) -> Any:
    """Move a path, also across file systems unless that is disallowed."""
    if disallow_copy_and_unlink:
        return rename(src, dst)
    src = absolute(src, "Source path must be absolute.")
    dst = absolute(dst, "Destination path must be absolute.")
    try:
        filesystem.move(src, dst)
    except OSError as error:
        raise CommandExecutionError(f"Unable to move '{src}' to '{dst}': {error}") from error
    return {"result": True, "comment": f"'{src}' moved to '{dst}'"}


def copy(src: str, dst: str, recurse: bool = False, remove_existing: bool = False) -> bool:
    """Copy a file with owner and mode, or with ``recurse`` a directory; ``remove_existing`` clears the destination."""
    src, dst = absolute(src), expand(dst)
    if not filesystem.exists(src):
        raise CommandExecutionError(f"No such file or directory '{src}'")
    found = filesystem.stat(src)
    access = filesystem.Access(found.st_uid, found.st_gid, found.st_mode & 0o7777)
    try:
        if filesystem.is_directory(dst) or filesystem.is_directory(src):
            if not recurse:
                raise InvocationError("Cannot copy overwriting a directory without recurse flag set to true!")
            if remove_existing and filesystem.exists(dst):
                if f"{os.path.realpath(src)}/".startswith(f"{os.path.realpath(dst)}/"):
                    raise InvocationError(f"'{src}' would be lost with what is at '{dst}' now")
                filesystem.remove_tree(dst)
            filesystem.copy_tree(src, dst)
            filesystem.give(dst, access, follow=False)
        else:
            filesystem.copy_file(src, filesystem.resolved(dst))
    except OSError as error:
        raise CommandExecutionError(f"Could not copy '{src}' to '{dst}'") from error
    return True


def link(src: str, path: str) -> bool:
    """Make ``path`` a hard link to the file ``src``."""
    src = absolute(src)
    try:
        filesystem.link(src, path)
    except OSError as error:
        raise CommandExecutionError(f"Could not create '{path}': {error}") from error
    return True


def symlink(src: str, path: str, force: bool = False, atomic: bool = False, follow_symlinks: bool = True) -> bool:
    """Make ``path`` a link to ``src``. An existing file is replaced with ``force`` or ``atomic``, a directory never."""
    path = expand(path)
    if not os.path.isabs(path):
        raise InvocationError(f"Link path must be absolute: {path}")
    if filesystem.is_link(path):
        if os.path.normpath(filesystem.readlink(path)) == os.path.normpath(src):
            return True
        if not force and not atomic:
            raise CommandExecutionError(f"Found existing symlink: {path}")
    elif filesystem.lexists(path) and not force and not atomic:
        raise CommandExecutionError(f"Existing path is not a symlink: {path}")
    if filesystem.is_plain_directory(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, residue.name_beside(name))
    try:
        if not filesystem.lexists(path):
            filesystem.symlink(src, path)
            return True
        residue.note_temporary(temporary)
        filesystem.symlink(src, temporary)
        try:
            filesystem.rename(temporary, path)
        except OSError:
            filesystem.remove(temporary)
            raise
    except OSError as error:
        raise CommandExecutionError(f"Could not create '{path}'") from error
    return True
