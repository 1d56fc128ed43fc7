"""Replacing a small text file of our own in one step."""

from __future__ import annotations

import errno
import os
import stat
import tempfile

_NEW_FILE_MODE = 0o644


def replace_text(path: str, text: str) -> None:
    """Write ``text`` to ``path`` through a private file beside it; mode and owner of the old file are kept.

    A link is not followed but replaced. What is a mount point (/etc/hosts in a container) is written in place.
    OSError if it cannot be done.
    """
    try:
        old = os.lstat(path)
    except FileNotFoundError:
        old = None
    descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(path) or ".", prefix=".asyncstate-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
            file.flush()
            if old is not None and stat.S_ISREG(old.st_mode):
                os.fchown(file.fileno(), old.st_uid, old.st_gid)
                os.fchmod(file.fileno(), stat.S_IMODE(old.st_mode))
            else:
                os.fchmod(file.fileno(), _NEW_FILE_MODE)
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        os.unlink(temporary)
        if error.errno != errno.EBUSY:
            raise
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
    except BaseException:
        os.unlink(temporary)
        raise
