"""Compiled templates and parsed YAML of a tree, kept by content from one process to the next.

Both depend on a text and on the program alone, and take a fifth of the time of a host that needs no change. They lie in
one file of the cache directory. It is believed only if no other user can have written it, and each part of it only if
it is whole: Python reads its own byte code without any check. All else is made anew, as without the file.

Only texts of the tree are kept, never those of the pillar, nor what a template printed: secrets stay where they are.
"""

from __future__ import annotations

import hashlib
import marshal
import os
import stat
import threading
from _frozen_importlib_external import MAGIC_NUMBER  # `importlib.util` is not imported otherwise
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from asyncstate._code_pack import UNREADABLE, source_stamp, write_pack
from asyncstate._version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    _Index = dict[bytes, tuple[int, int, bytes, int]]

_T = TypeVar("_T")

_NAME: Final = "compiled"
"""The name of the file in the cache directory."""
_SIZE: Final = 8
"""Bytes of the length of the index, after its digest."""
_DIGEST: Final = 32
_LARGEST: Final = 1 << 25
"""The maximum of bytes of the file: what was used the longest time ago goes first."""
_LARGEST_NEW: Final = _LARGEST >> 2
"""The number of bytes of new results, and characters of their texts, beyond which a process keeps no more of them."""
_AGE: Final = 50
"""The number of times that the file is written without a use of a part before that part goes."""
_DAMAGED: Final = (*UNREADABLE, LookupError, ArithmeticError)
"""The errors of a file that is missing or damaged, or that another version of the program has laid out otherwise."""


def made_by(*modules: ModuleType) -> tuple[Any, ...]:
    """Return what changes with the program: its version, that of Python, the sources and the versions of these modules.

    Of sources in an archive, it returns a key with which nothing is kept.
    """
    versions = (vars(module).get("__version__") for module in modules)
    try:
        stamps = [source_stamp(os.stat(str(module.__file__))) for module in modules]
    except OSError:
        return (object(),)
    return __version__, MAGIC_NUMBER, *versions, *stamps


def _name(key: tuple[Any, ...]) -> bytes:
    """Return the name of a key's result; b"" for a key that cannot be written."""
    try:
        return hashlib.sha256(marshal.dumps(key, 2)).digest()  # version 2 writes equal values as equal bytes
    except ValueError:
        return b""


class Kept:
    """The kept results of one cache directory. Its methods may be called from any thread."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._file = -1
        self._index: _Index | None = None
        self._begin = 0
        self._written = 0
        self._used: set[bytes] = set()
        self._new: dict[bytes, bytes] = {}
        self._made_of: dict[bytes, list[str]] = {}
        self._waiting = 0

    @property
    def is_changed(self) -> bool:
        """Whether there are results that the file does not have."""
        return bool(self._new)

    def of(self, key: tuple[Any, ...], make: Callable[[], _T]) -> _T:
        """Return what ``make`` returned for the same key in this process or an earlier one; else call it.

        ``key`` is all that the result depends on. Nothing is kept if `marshal` cannot write it or the result: a
        template may be named by a Markup, which is no plain text. Raises what ``make`` raises.
        """
        name = _name(key)
        if not name:
            return make()
        with suppress(*_DAMAGED):
            found = self._found(name)
            if found is not None:
                kept: _T = marshal.loads(found)[0]  # noqa: S302 - whole, and written by this user
                return kept
        made = make()
        with suppress(ValueError):
            self._keep(name, marshal.dumps([cast("Any", made)]), [part for part in key if isinstance(part, str)])
        return made

    def _keep(self, name: bytes, packed: bytes, texts: list[str]) -> None:
        size = len(packed) + sum(map(len, texts))
        with self._lock:
            if self._waiting + size <= _LARGEST_NEW:
                self._new[name] = packed
                self._made_of[name] = texts
                self._waiting += size

    def save(self, shown: Callable[[str], str]) -> None:
        """Write the file anew if there are new results, unless others can change its folder, which is made if missing.

        ``shown`` hides the secrets of a text: a result that has one, or is made of one, is not written. A full disk, or
        another process that writes the file at this moment, is no error.
        """

        def tells(name: bytes, part: bytes) -> bool:
            # The result has a number in its binary form, the text a secret in any of YAML's.
            return any(shown(text) != text for text in (part.decode(errors="replace"), *self._made_of[name]))

        with self._lock, suppress(*_DAMAGED):
            self._new = {name: part for name, part in self._new.items() if not tells(name, part)}
            if self._new:
                self._write()

    def close(self) -> None:
        """Close the file, and forget all."""
        with self._lock:
            if self._file != -1:
                os.close(self._file)
            self._file, self._index, self._new, self._made_of = -1, {}, {}, {}

    def __del__(self) -> None:
        """Close the file of a runtime that was never entered."""
        self.close()

    def _found(self, name: bytes) -> bytes | None:
        with self._lock:
            if name in self._new:
                return self._new[name]
            if self._index is None:
                self._index = self._opened()
            place = self._index.get(name)
            if place is None:
                return None
            self._used.add(name)
            data = os.pread(self._file, place[1], self._begin + place[0])
        return data if hashlib.sha256(data).digest() == place[2] else None

    def _opened(self) -> _Index:
        """Open the file and return its index, which is empty if there is none to believe."""
        try:
            with self._own_folder() as folder:
                file = os.open(_NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
            self._file = file
            found = os.fstat(file)
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
                return {}
            head = os.pread(file, _DIGEST + _SIZE, 0)
            length = min(int.from_bytes(head[_DIGEST:], "little"), _LARGEST)
            packed = os.pread(file, length, _DIGEST + _SIZE)
            if hashlib.sha256(packed).digest() != head[:_DIGEST]:
                return {}
            self._begin = _DIGEST + _SIZE + length
            written, index = marshal.loads(packed)  # noqa: S302 - as above
        except _DAMAGED:
            return {}
        if type(written) is not int or type(index) is not dict:
            return {}
        self._written = written
        return index

    @contextmanager
    def _own_folder(self) -> Iterator[int]:
        """Open the cache directory. Raises OSError, also if others can write there."""
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            found = os.fstat(folder)
            if found.st_uid != os.geteuid() or found.st_mode & 0o022:
                raise PermissionError(self._folder)
            yield folder
        finally:
            os.close(folder)

    def _write(self) -> None:
        def pieces() -> list[bytes]:
            self._written += 1
            index: _Index = {}
            parts: list[bytes] = []
            size = 0
            for name, part, digest, used in self._parts():
                size += len(part)
                if size > _LARGEST:
                    break
                index[name] = (size - len(part), len(part), digest, used)
                parts.append(part)
            packed = marshal.dumps((self._written, index))
            return [hashlib.sha256(packed).digest(), len(packed).to_bytes(_SIZE, "little"), packed, *parts]

        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        with self._own_folder() as folder:
            write_pack(_NAME, 0o600, pieces, folder)

    def _parts(self) -> Iterator[tuple[bytes, bytes, bytes, int]]:
        """Yield what to keep, from the last used to the first: its name, its bytes, their digest, when it was used.

        Whether a part of the file is still whole is not asked here, but when it is used.
        """
        now = self._written
        yield from ((name, part, hashlib.sha256(part).digest(), now) for name, part in self._new.items())
        index = self._index or {}
        last = {name: now if name in self._used else place[3] for name, place in index.items()}
        for name in sorted(last.keys() - self._new.keys(), key=last.__getitem__, reverse=True):
            begin, length, digest, _ = index[name]
            if now - last[name] < _AGE:
                yield name, os.pread(self._file, length, self._begin + begin), digest, last[name]
