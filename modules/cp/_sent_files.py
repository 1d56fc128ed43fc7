"""Files that Salt sends: of ``salt-cp`` to this machine, and of this machine to a Salt master."""

from __future__ import annotations

import base64
import binascii
import gzip
import os
from typing import TYPE_CHECKING, Any

from asyncstate import dunders, filesystem
from asyncstate.errors import CommandExecutionError

if TYPE_CHECKING:
    from collections.abc import Mapping

_NO_MASTER = "There is no Salt master to push {path} to: copy it with a program such as rsync or scp"


def recv(files: Mapping[str, str], dest: str) -> Any:
    """Write small text files, path -> text, to ``dest``; return which were written, or an error text."""
    written = {}
    for path, text in files.items():
        name = os.path.basename(path)
        if filesystem.is_directory(dest):
            target = os.path.join(dest, name)
        elif name == os.path.basename(dest) or filesystem.is_directory(os.path.dirname(dest)):
            target = dest
        else:
            return "Destination unavailable"
        written[target] = _wrote(target, str(text).encode())
    return written


def recv_chunked(
    dest: str, chunk: str | None, append: bool = False, compressed: bool = True, mode: int | None = None
) -> Any:
    """Write or append a part of a file, in base64; None makes a directory. Returns True, or an error text.

    ``compressed`` parts are gzip data. The first part gives the file its ``mode``, and its folder if there is none.
    CommandExecutionError for a part that is not base64.
    """
    try:
        if chunk is None:
            if filesystem.is_file(dest):
                return "Path exists and is a file"
            filesystem.makedirs(dest, exist_ok=True)
            return True
        data = _decoded(chunk, compressed=compressed)
        filesystem.makedirs(os.path.dirname(dest), exist_ok=True)
        before = filesystem.read_bytes(dest) if append and filesystem.exists(dest) else b""
        access = filesystem.KEEP if append or mode is None else filesystem.Access(mode=int(mode))
        filesystem.replace_content(dest, before + data, access=access)
    except (OSError, EOFError) as error:
        dunders.context.current.get().retcode = 1
        return str(error)
    return True


def push(path: str, keep_symlinks: bool = False, upload_path: str | None = None, remove_source: bool = False) -> bool:
    """Return False for what is no file with an absolute path; raise CommandExecutionError for any other."""
    if "../" in path or not os.path.isabs(path) or not filesystem.is_file(path):
        return False
    raise CommandExecutionError(_NO_MASTER.format(path=path))


def push_dir(path: str, glob: str | None = None, upload_path: str | None = None) -> bool:
    """Return False for what is no directory or file with an absolute path; else raise CommandExecutionError."""
    if "../" in path or not os.path.isabs(path) or not filesystem.exists(path):
        return False
    raise CommandExecutionError(_NO_MASTER.format(path=path))


def _decoded(chunk: str, *, compressed: bool) -> bytes:
    try:
        data = base64.b64decode(chunk)
    except binascii.Error as error:
        raise CommandExecutionError(f"A part of a file is in base64: {error}") from error
    return gzip.decompress(data) if compressed else data


def _wrote(path: str, data: bytes) -> bool:
    try:
        filesystem.replace_content(path, data)
    except OSError:
        return False
    return True
