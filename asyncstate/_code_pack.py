"""One file with the compiled code of the modules that the program imports: 500, and ten system calls for each.

The pack stands in ``__pycache__`` beside the compiled files of this package, is made of such files, and is trusted as
they are. The code of a module is taken from it if the source still has the time and the size that it was compiled from,
as in a ``.pyc`` (PEP 3147). Everything else is imported as usual: without a pack only time is lost.
"""

from __future__ import annotations

import marshal
import os
import sys
from _frozen_importlib import ModuleSpec  # `importlib.machinery`, which is not imported yet
from _frozen_importlib_external import MAGIC_NUMBER, SourceFileLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType, ModuleType

_FORMAT = 1
_ENOUGH = 16
"""How many modules a pack must lack for a new one to be written."""
_SIZE = 8
"""Bytes before the index, with its length."""
_HEADER = 16
"""Bytes before the code in a .pyc: version of the byte code, flags, time and size of the source, four bytes each."""
_BY_TIME = bytes(4)
"""The flags of a .pyc that is valid by time and size."""
_UNREADABLE = (OSError, EOFError, ValueError, TypeError)


class _Loader(SourceFileLoader):
    """The loader of a source file whose code is in the pack."""

    def __init__(self, name: str, source: str, code: bytes) -> None:
        super().__init__(name, source)
        self._code = code

    def get_code(self, fullname: str) -> CodeType | None:
        """Return the code; that of the source if the pack is damaged, or if it was returned before."""
        packed, self._code = self._code, b""
        try:
            code: CodeType | None = marshal.loads(packed)  # noqa: S302 - trusted as a .pyc is
        except _UNREADABLE:
            code = super().get_code(fullname)
        return code


class CodePack:
    """A finder of modules for `sys.meta_path`, and the file that it takes them from, which need not exist."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = -1
        self._begin = 0
        self._index: dict[str, tuple[str, bool, bytes, int, int]] = {}
        self._changed: set[str] = set()
        self._renews = not sys.dont_write_bytecode and not sys.flags.optimize
        try:
            self._open()
        except _UNREADABLE:
            self._index = {}

    def _open(self) -> None:
        self._file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        length = int.from_bytes(os.pread(self._file, _SIZE, 0), "little")
        if length > os.fstat(self._file).st_size:
            return
        made_for, search_path, index = marshal.loads(os.pread(self._file, length, _SIZE))  # noqa: S302 - as above
        if made_for == _made_for() and search_path[1:] == sys.path[1:]:
            self._begin = _SIZE + length
            if search_path == sys.path:
                self._index = index
            else:  # `python -m asyncstate`, which searches the current folder, leaves the program its pack
                self._renews = False

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module that is in the pack and whose source has not changed."""
        if name not in self._index:
            return None
        source, is_package, stamp, begin, length = self._index[name]
        folder = os.path.dirname(source)
        try:
            status = os.stat(source)
            if _stamp(status) != stamp or (path is not None and _parent(folder, is_package) not in path):
                self._changed.add(name)
                return None
            code = os.pread(self._file, length, self._begin + begin)
        except OSError:
            return None
        spec = ModuleSpec(name, _Loader(name, source, code), origin=source, is_package=is_package)
        spec.has_location = True
        if is_package:
            spec.submodule_search_locations = [folder]
        return spec

    def renew(self) -> None:
        """Write the pack anew if this process imported many modules that it lacks."""
        if not self._renews:
            return
        found = {
            name: spec
            for name, module in list(sys.modules.items())
            if type(spec := getattr(module, "__spec__", None)) is ModuleSpec
            and type(spec.loader) is SourceFileLoader
            and spec.name == name
        }
        lacking = [name for name in found if name not in self._index or name in self._changed]
        if len(lacking) < _ENOUGH:
            return
        try:
            self._write(found)
        except _UNREADABLE:
            return

    def _write(self, found: dict[str, ModuleSpec]) -> None:
        index, codes, size = {}, [], 0
        for name, (source, is_package, stamp, begin, length) in self._index.items():
            if name not in found:
                codes.append(os.pread(self._file, length, self._begin + begin))
                index[name] = (source, is_package, stamp, size, length)
                size += length
        for name, spec in found.items():
            compiled = _compiled(spec.cached)
            if compiled is not None:
                stamp, code = compiled
                index[name] = (str(spec.origin), spec.submodule_search_locations is not None, stamp, size, len(code))
                codes.append(code)
                size += len(code)
        head = marshal.dumps((_made_for(), sys.path, index))
        new = f"{self._path}.{os.getpid()}"
        file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        try:
            with os.fdopen(file, "wb") as pack:
                pack.writelines([len(head).to_bytes(_SIZE, "little"), head, *codes])
            os.replace(new, self._path)
        except OSError:
            os.unlink(new)
            raise


def _made_for() -> tuple[int, bytes, str]:
    return _FORMAT, MAGIC_NUMBER, sys.version


def _stamp(status: os.stat_result) -> bytes:
    """Return the time and the size of a source as a .pyc has them."""
    return b"".join((int(number) & 0xFFFFFFFF).to_bytes(4, "little") for number in (status.st_mtime, status.st_size))


def _parent(folder: str, is_package: bool) -> str:
    return os.path.dirname(folder) if is_package else folder


def _compiled(path: str | None) -> tuple[bytes, bytes] | None:
    """Return the stamp and the code of a .pyc, None if there is none that is valid by time and size."""
    try:
        with open(path or "", "rb") as file:
            data = file.read()
    except OSError:
        return None
    if data[:4] != MAGIC_NUMBER or data[4:8] != _BY_TIME:
        return None
    return data[8:_HEADER], data[_HEADER:]
