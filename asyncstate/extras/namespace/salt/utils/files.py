"""Files: opening, locking, copying, removing, and finding out their type."""

from __future__ import annotations

import errno
import fcntl
import importlib
import os
import re
import shutil
import stat
import tempfile
import urllib.parse
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any

from asyncstate.data.host import is_bin_file as is_binary
from asyncstate.data.host import is_empty, list_files
from asyncstate.data.host import is_text_file as is_text
from asyncstate.extras.namespace.names import ModuleGetattr, nothing_else
from asyncstate.extras.namespace.salt.exceptions import CommandExecutionError
from asyncstate.extras.namespace.salt.utils.path import os_walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = [
    "HASHES",
    "HASHES_REVMAP",
    "LOCAL_PROTOS",
    "REMOTE_PROTOS",
    "TEMPFILE_PREFIX",
    "VALID_PROTOS",
    "copyfile",
    "flopen",
    "fopen",
    "fpopen",
    "guess_archive_type",
    "human_size_to_bytes",
    "is_binary",
    "is_empty",
    "is_fcntl_available",
    "is_text",
    "list_files",
    "mkstemp",
    "normalize_mode",
    "process_read_exception",
    "recursive_copy",
    "remove",
    "rename",
    "rm_rf",
    "safe_filename_leaf",
    "safe_rm",
    "safe_walk",
    "st_mode_to_octal",
]

LOCAL_PROTOS = ("", "file")
REMOTE_PROTOS = ("http", "https", "ftp", "swift", "s3")
VALID_PROTOS = ("salt", "file", *REMOTE_PROTOS)
TEMPFILE_PREFIX = "__salt.tmp."
HASHES = {"sha512": 128, "sha384": 96, "sha256": 64, "sha224": 56, "sha1": 40, "md5": 32}
HASHES_REVMAP = {length: name for name, length in HASHES.items()}

_TAR_ENDINGS = tuple(f".{end}" for end in "tar tar.gz tgz tar.bz2 tbz2 tbz tar.xz txz tar.lzma tlz".split())


def fopen(*args: Any, **kwargs: Any) -> IO[Any]:
    """Open a file as ``open`` does: text is UTF-8 with unchanged line ends; ``binary=True`` is the mode ``b``.

    Raises TypeError for the standard streams, which a ``False`` or ``True`` as path would open.
    """
    path, *rest = args or (kwargs.pop("file"),)
    if path in (0, 1, 2):  # a boolean is 0 or 1 to open()
        raise TypeError(f"{path} is not a permitted file descriptor")
    mode = rest.pop(0) if rest else kwargs.pop("mode", "r")
    if kwargs.pop("binary", None) and "b" not in mode:
        mode = f"{mode.replace('t', '')}b"
    if "b" not in mode:
        kwargs.setdefault("encoding", "utf-8")
        kwargs["newline"] = kwargs.get("newline") or ""
    elif kwargs.get("buffering") == 1:
        kwargs["buffering"] = -1
    opened: IO[Any] = open(path, mode, *rest, **kwargs)  # noqa: SIM115 - the caller closes it
    return opened


@contextmanager
def flopen(*args: Any, **kwargs: Any) -> Iterator[IO[Any]]:
    """Open a file and hold its advisory lock: shared to read, exclusive to write."""
    mode = args[1] if len(args) > 1 else kwargs.get("mode", "r")
    with fopen(*args, **kwargs) as file:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX if set("wa") & set(mode) else fcntl.LOCK_SH)
        try:
            yield file
        finally:
            fcntl.flock(file.fileno(), fcntl.LOCK_UN)


@contextmanager
def fpopen(*args: Any, **kwargs: Any) -> Iterator[IO[Any]]:
    """Open a file and set its owner (-1 or None: unchanged) and its mode before anything is written to it."""
    uid, gid = (-1 if number is None else number for number in (kwargs.pop("uid", -1), kwargs.pop("gid", -1)))
    permissions = kwargs.pop("mode", None)
    with fopen(*args, **kwargs) as file:
        if (uid, gid) != (-1, -1):
            os.fchown(file.fileno(), uid, gid)
        if permissions is not None:
            os.fchmod(file.fileno(), permissions)
        yield file


def mkstemp(*args: Any, **kwargs: Any) -> Any:
    """Make a temporary file and return its path; with ``close_fd=False`` an open descriptor and the path."""
    kwargs.setdefault("prefix", TEMPFILE_PREFIX)
    close = kwargs.pop("close_fd", True)
    descriptor, path = tempfile.mkstemp(*args, **kwargs)
    if close is False:
        return descriptor, path
    os.close(descriptor)
    return path


def copyfile(source: str, dest: str, backup_mode: str = "", cachedir: str = "") -> None:
    """Replace a file by a copy of another, atomically; an existing file keeps its owner and mode.

    With ``backup_mode`` ``minion`` the old file is first copied to where ``file.list_backups`` finds it. Raises OSError
    if the source or the directory does not exist.
    """
    if not os.path.isfile(source):
        raise OSError(f"[Errno 2] No such file or directory: {source}")
    if not os.path.isdir(os.path.dirname(dest)):
        raise OSError(f"[Errno 2] No such file or directory: {dest}")
    if backup_mode in {"minion", "both"} and (backup_mode == "minion" or cachedir) and os.path.exists(dest):
        importlib.import_module("asyncstate.modules.file.backups").backup_minion(dest)
    try:
        before = os.stat(dest)
    except OSError:
        before = None
    copy = mkstemp(prefix=os.path.basename(dest), dir=os.path.dirname(os.path.abspath(dest)))
    try:
        with open(source, "rb") as original, open(copy, "wb") as file:
            shutil.copyfileobj(original, file)
            file.flush()
            if before is not None:
                os.fchown(file.fileno(), before.st_uid, before.st_gid)
                os.fchmod(file.fileno(), stat.S_IMODE(before.st_mode))
            os.fsync(file.fileno())
        os.replace(copy, dest)
    except BaseException:
        safe_rm(copy)
        raise


def recursive_copy(source: str, dest: str) -> None:
    """Copy the files of a directory tree into another; other files there stay."""
    for folder, _, names in os_walk(source):
        target = os.path.join(dest, os.path.relpath(folder, source))
        os.makedirs(target, exist_ok=True)
        for name in names:
            shutil.copyfile(os.path.join(folder, name), os.path.join(target, name))


def rename(src: str, dst: str) -> None:
    """Rename a file over another."""
    os.replace(src, dst)


def remove(path: str) -> None:
    """Remove a file if it exists."""
    with suppress(FileNotFoundError):
        os.remove(path)


def safe_rm(tgt: str) -> None:
    """Remove a file if possible."""
    with suppress(OSError):
        os.remove(tgt)


def rm_rf(path: str) -> None:
    """Remove a file, a link or a whole tree. Raises OSError, also if it does not exist."""
    if os.path.islink(path) or not os.path.isdir(path):
        os.remove(path)
    else:
        shutil.rmtree(path)


def safe_walk(
    top: str,
    topdown: bool = True,
    onerror: Callable[[OSError], object] | None = None,
    followlinks: bool = True,
    _seen: set[tuple[int, int]] | None = None,
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Walk a tree as ``os.walk`` does, following links, but visiting no directory twice."""
    seen = set() if _seen is None else _seen
    try:
        status = os.stat(top)
    except OSError as error:
        if onerror is not None:
            onerror(error)
        return
    if followlinks and (status.st_dev, status.st_ino) in seen:
        return
    seen.add((status.st_dev, status.st_ino))
    try:
        entries = list(os.scandir(top))
    except OSError as error:
        if onerror is not None:
            onerror(error)
        return
    folders = [entry.name for entry in entries if entry.is_dir()]
    files = [entry.name for entry in entries if not entry.is_dir()]
    if topdown:
        yield top, folders, files
    for name in folders:
        path = os.path.join(top, name)
        if followlinks or not os.path.islink(path):
            yield from safe_walk(path, topdown, onerror, followlinks, seen)
    if not topdown:
        yield top, folders, files


def process_read_exception(exc: OSError, path: str, ignore: int | Iterable[int] | None = None) -> None:
    """Raise CommandExecutionError that says why a file cannot be read, unless the errno is in ``ignore``."""
    if exc.errno in ((ignore,) if isinstance(ignore, int) else tuple(ignore or ())):
        return
    if exc.errno == errno.ENOENT:
        raise CommandExecutionError(f"{path} does not exist")
    if exc.errno == errno.EACCES:
        raise CommandExecutionError(f"Permission denied reading from {path}")
    raise CommandExecutionError(f"Error {exc.errno} encountered reading from {path}: {exc.strerror}")


def normalize_mode(mode: str | int | None) -> str | None:
    """Return a mode as text of four octal digits; ``keep`` stays."""
    if mode is None:
        return None
    return str(mode).replace("0o", "0").strip("\"'").lstrip("0").zfill(4)


def st_mode_to_octal(mode: int) -> str:
    """Return the last four octal digits of ``st_mode``."""
    return oct(mode)[-4:] if isinstance(mode, int) else ""


def human_size_to_bytes(human_size: Any) -> int:
    """Return the bytes in ``2G``. Raises ValueError for anything but digits and one of K, M, G, T, P."""
    found = re.match(r"(\d+)([KMGTP]?)$", str(human_size))
    if found is None:
        raise ValueError("Size must be all digits, with an optional unit type (K, M, G, T, or P)")
    return int(found[1]) << 10 * " KMGTP".index(found[2] or " ")


def guess_archive_type(name: str) -> str | None:
    """Return ``tar``, ``zip`` or ``rar`` by the ending of a name."""
    name = name.lower()
    if name.endswith(_TAR_ENDINGS):
        return "tar"
    return next((kind for kind in ("zip", "rar") if name.endswith(f".{kind}")), None)


def safe_filename_leaf(file_basename: str) -> str:
    """Quote, as in a URL, the characters that some system forbids in a file name."""
    return re.sub(r'[\\:/*?"<>|]', lambda found: urllib.parse.quote(found[0], safe=""), file_basename)


def is_fcntl_available(check_sunos: bool = False) -> bool:  # noqa: ARG001 - for Salt's callers
    """Return whether files can be locked."""
    return True


__getattr__: ModuleGetattr = nothing_else(__name__)
