"""Report files: complete or not there at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def replace_file(path: Path | str, data: bytes) -> None:
    """Write ``data`` to ``path`` through a private file in the same directory and a rename; a symlink is replaced.

    An existing file keeps its mode, a new one is readable by its owner only: reports carry diffs. Raises OSError.
    """
    target = Path(path)
    mode = target.lstat().st_mode & 0o777 if target.is_file() and not target.is_symlink() else 0o600
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    scratch = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            os.fchmod(stream.fileno(), mode)
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        scratch.replace(target)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
