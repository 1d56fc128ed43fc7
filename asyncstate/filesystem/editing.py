"""Edits files that have several names: a hard link stays one, so every name shows the new content.

A rename would give only one name the new content. So the file is written in place, and meanwhile a copy of the old
content lies beside it, synced. If the write fails (a full disk), the old content is written back; if that fails too, or
the process is killed, the copy stays: it is no temporary file that a later run may remove.
"""

from __future__ import annotations

import os
import stat

from . import place
from .journal import note
from .replacement import Replacement, replace_content

_CHUNK = 1 << 20


def edit_content(path: str, data: bytes) -> None:
    """Replace the content of a file by ``data``: in place if the file has several names, else in one step.

    Owner, mode and extended attributes stay. Readers of a file with several names may see half of it meanwhile. Raises
    PathRefused for a name that another user could have given the file, and OSError, whose text names the copy if the
    old content could not be written back.
    """
    try:
        with place.pinned(path, follow=False) as pinned:
            found = os.fstat(pinned)
            if stat.S_ISREG(found.st_mode) and found.st_nlink > 1:
                descriptor = place.reopened(pinned, path, os.O_RDWR)
                try:
                    _overwrite(path, descriptor, data)
                finally:
                    os.close(descriptor)
                return
    except FileNotFoundError:
        pass
    replace_content(path, data)


def _overwrite(path: str, descriptor: int, data: bytes) -> None:
    with Replacement(path, is_temporary=False) as copy:
        _copy(descriptor, copy.fd)
        os.fsync(copy.fd)
        note(path, "changed")
        try:
            _write(descriptor, data)
        except BaseException as error:
            try:
                os.lseek(copy.fd, 0, os.SEEK_SET)
                os.lseek(descriptor, 0, os.SEEK_SET)
                _copy(copy.fd, descriptor)
                os.ftruncate(descriptor, os.lseek(descriptor, 0, os.SEEK_CUR))
                os.fsync(descriptor)
            except OSError as worse:
                raise OSError(worse.errno, f"{worse.strerror}; the old content is in {copy.keep()}", path) from error
            raise


def _write(descriptor: int, data: bytes) -> None:
    view, offset = memoryview(data), 0
    while offset < len(view):
        offset += os.pwrite(descriptor, view[offset : offset + _CHUNK], offset)
    os.ftruncate(descriptor, len(data))
    os.fsync(descriptor)


def _copy(source: int, target: int) -> None:
    while chunk := os.read(source, _CHUNK):
        view = memoryview(chunk)
        while view:
            view = view[os.write(target, view) :]
