"""Files, programs and users of this host."""

from __future__ import annotations

import errno
import hashlib
import os
import posixpath
import pwd
import stat
from pathlib import Path
from typing import Any, BinaryIO, Final

_ALSO_SEARCHED: Final = ("/sbin", "/bin", "/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin")
_TEXT: Final = bytes(range(32, 127)) + b"\n\r\t\f\b"
_HIGH: Final = bytes(range(128, 255))
_NULL_DEVICE: Final = os.makedev(1, 3)


def path_join(*parts: str | bytes, use_posixpath: bool = False) -> str:
    """Join paths; later ones count as relative even if they begin with a slash."""
    library: Any = posixpath if use_posixpath else os.path
    first, *others = [library.normpath(os.fsdecode(part)) for part in parts] or [""]
    if not parts:
        return ""
    return str(library.normpath(library.join(first, *(other.lstrip(os.sep) for other in others))))


def which(exe: str | None = None) -> str | None:
    """Return the path of a program, None if there is none; system directories are searched in addition to ``PATH``."""
    if not exe:
        return None
    if _is_program(exe):
        return exe
    searched = os.environ.get("PATH", "").split(os.pathsep)
    searched += [directory for directory in _ALSO_SEARCHED if directory not in searched]
    for directory in searched:
        path = path_join(os.path.expandvars(directory), exe)
        if _is_program(path):
            return path
    return None


def _is_program(path: str) -> bool:
    return Path(path).is_file() and os.access(path, os.X_OK)


def is_empty(filename: str) -> bool:
    """Return whether the file exists and is empty."""
    try:
        return Path(filename).stat().st_size == 0
    except OSError:
        return False


def _looks_binary(data: bytes) -> bool:
    """Return whether bytes are not text: they contain a NUL, or more than 30 % are no text characters."""
    if not data:
        return False
    if b"\0" in data:
        return True
    readable = _TEXT
    try:
        data.decode()
        readable += _HIGH
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":
            readable += _HIGH
    return len(data.translate(None, readable)) / len(data) > 0.3


def _opened(path: str) -> BinaryIO:
    """Open a regular file, or /dev/null. Raises OSError for any other device and for a pipe: reading may never end."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) and found.st_rdev != _NULL_DEVICE:
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file", path)
    return os.fdopen(descriptor, "rb")


def is_text_file(fp_: Any, blocksize: int = 512) -> bool:
    """Return whether the first block of a file, given by path or open, is text."""
    try:
        if hasattr(fp_, "read"):
            block = fp_.read(blocksize)
        else:
            with _opened(fp_) as file:
                block = file.read(blocksize)
    except OSError:
        return False
    return not _looks_binary(block.encode() if isinstance(block, str) else block)


def is_bin_file(path: str) -> bool:
    """Return whether the file exists and its first block is not text."""
    if not Path(path).is_file():
        return False
    try:
        with _opened(path) as file:
            return _looks_binary(file.read(2048))
    except OSError:
        return False


def list_files(directory: str) -> list[str]:
    """Return the directory and everything below it, links followed, sorted."""
    found = {directory}
    seen: set[tuple[int, int]] = set()
    waiting = [directory]
    while waiting:
        here = waiting.pop()
        try:
            status = os.stat(here)
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            names = os.listdir(here)
        except OSError:
            continue
        for name in names:
            path = os.path.join(here, name)
            found.add(path)
            if os.path.isdir(path):
                waiting.append(path)
    return sorted(found)


def file_hashsum(path: str, form: str = "sha256", chunk_size: int = 65536) -> str:
    """Return the hex digest of a file."""
    if form not in hashlib.algorithms_available:
        raise ValueError(f"Invalid hash type: {form}")
    digest = hashlib.new(form)
    with _opened(path) as file:
        while block := file.read(chunk_size):
            digest.update(block)
    return digest.hexdigest()


def get_uid(user: str | None = None) -> int | None:
    """Return the UID of a user, None if there is no such user; without a name, that of this process."""
    if user is None:
        return os.geteuid()
    try:
        return pwd.getpwnam(user).pw_uid
    except KeyError:
        return None
