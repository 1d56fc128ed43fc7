"""One file with the results of a start: the code of 500 modules, and the tables of their regular expressions.

The pack lies among the compiled files of this package, in place of the one of `asyncstate._program`, which is never
imported. It is made of such files, and is trusted as they are. The code of a module is taken from it if its source
still has the time and the size of its compilation, as in a ``.pyc`` (PEP 3147), and if no folder of the search
path has changed: something else may have the name there now. Everything else is imported as usual: without a pack only
time is lost.

A regular expression is a table for the matching engine in C. Python computes it anew in each process, from the pattern
and its flags alone, which takes 12 % of a start. The pack has those that this interpreter computed for the bodies of
the packed modules and of their classes, and for `asyncstate.pattern`, and none of users' patterns.
"""

from __future__ import annotations

import marshal
import os
import sys
from _frozen_importlib import ModuleSpec  # `importlib.machinery`, which is not imported yet
from _frozen_importlib_external import MAGIC_NUMBER, PathFinder, SourceFileLoader, cache_from_source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Sequence
    from types import CodeType, ModuleType
    from typing import Any

    _Expression = tuple[str | bytes, int]

_FORMAT = 3
_DAY = 86400
_ENOUGH = 16
"""The number of modules and expressions that a pack must lack for a new one to be written."""
_SIZE = 8
"""Bytes of the length field before the index."""
_HEADER = 16
"""Bytes before the code in a .pyc: version of the byte code, flags, time and size of the source, four bytes each."""
_BY_TIME = bytes(4)
"""The flags of a .pyc that is valid by time and size."""
UNREADABLE = (OSError, EOFError, ValueError, TypeError, MemoryError)
"""The errors of a file that is missing or damaged."""
_COMPILER = "re._compiler"
_ON_USE = "asyncstate.pattern"
"""The module that compiles expressions of modules in a function, when they are first used."""
_ALWAYS_THE_SAME = 2 | 8 | 16 | 32 | 64 | 256
"""The flags of `re`, except those whose table depends on the locale, or is printed."""
_OF_A_FUNCTION = 1
"""CO_OPTIMIZED: the flag of the code of functions, but not of modules and classes."""


class _Loader(SourceFileLoader):
    """The loader of a source file whose code is in the pack, or of `re._compiler`."""

    def __init__(self, name: str, source: str, code: bytes) -> None:
        super().__init__(name, source)
        self._code = code
        self.serves: Callable[[ModuleType], None] | None = None

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module."""
        super().exec_module(module)
        if self.serves is not None:
            self.serves(module)

    def get_code(self, fullname: str) -> CodeType | None:
        """Return the code; compiled from the source if the pack is damaged, or if it was returned before."""
        packed, self._code = self._code, b""
        try:
            code: CodeType | None = marshal.loads(packed)  # noqa: S302 - trusted as a .pyc is
        except UNREADABLE:
            code = super().get_code(fullname)
        return code


def pack_of(package: str) -> CodePack | None:
    """Return the pack of the package in this folder; None with ``-O`` or PYTHONPATH, or without compiled files."""
    if sys.flags.optimize or "PYTHONPATH" in os.environ:
        return None
    try:
        return CodePack(cache_from_source(os.path.join(package, "_program.py")))
    except NotImplementedError:  # this Python keeps no compiled files
        return None


class Patterns:
    """The tables of regular expressions, by pattern and flags; and the expressions that had none, by module."""

    def __init__(self, tables: dict[_Expression, tuple[Any, ...]]) -> None:
        self.tables: dict[_Expression, tuple[Any, ...]] = tables
        self._lacking: dict[_Expression, str] = {}
        self._compiler: Any = None

    def serve(self, compiler: Any) -> None:
        """Let `re` take the tables from here; ``compiler`` is its module that computes them."""
        compute, make = compiler.compile, compiler._sre.compile  # noqa: SLF001 - `re` has no interface for it
        self._compiler = compiler

        def compiled(pattern: Any, flags: int = 0) -> Any:
            try:
                known = self.tables.get((pattern, flags))
                if known is not None:
                    found, table, *groups = known
                    return make(pattern, found, list(memoryview(table).cast("I")), *groups)
            except (TypeError, ValueError, RuntimeError):  # a pattern without a hash, or a damaged pack
                pass
            frame = sys._getframe(1)  # noqa: SLF001 - whose expression it is, decides whether it is kept
            while frame.f_back is not None and frame.f_globals.get("__name__") == "re":
                frame = frame.f_back
            module = frame.f_globals.get("__name__", "")
            if type(pattern) in (str, bytes) and (module == _ON_USE or not frame.f_code.co_flags & _OF_A_FUNCTION):
                self._lacking[pattern, int(flags)] = module
            return compute(pattern, flags)

        compiler.compile = compiled

    def lacking(self, modules: Container[str]) -> int:
        """Return the number of expressions of these modules that had no table."""
        return sum(module in modules for module in self._lacking.values())

    def computed(self, modules: Container[str]) -> dict[_Expression, tuple[Any, ...]]:
        """Return all tables, and those of the expressions of these modules that had none."""
        from array import array  # noqa: PLC0415 - few starts write a pack

        tables = dict(self.tables)
        for (pattern, flags), module in self._lacking.items():
            if module in modules:
                parsed = self._compiler._parser.parse(pattern, flags)  # noqa: SLF001 - as above
                state, code = parsed.state, self._compiler._code(parsed, flags)  # noqa: SLF001 - as above
                names = {number: name for name, number in state.groupdict.items()}
                groups = tuple(map(names.get, range(state.groups)))
                if not (flags | state.flags) & ~_ALWAYS_THE_SAME:
                    table = array("I", code).tobytes()
                    tables[pattern, flags] = (flags | state.flags, table, state.groups - 1, state.groupdict, groups)
        return tables


class CodePack:
    """A finder of modules for `sys.meta_path`, and the file that it takes them from, which need not exist."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._file = -1
        self._begin = 0
        self._index: dict[str, tuple[str, bool, bytes, int, int]] = {}
        self._changed: set[str] = set()
        self._made_for = _made_for()
        self._is_of_another_start = False
        self._patterns = Patterns({})
        try:
            self._open()
        except UNREADABLE:
            self._index = {}
        if _COMPILER in sys.modules:
            self._patterns.serve(sys.modules[_COMPILER])

    def _open(self) -> None:
        self._file = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        length = int.from_bytes(os.pread(self._file, _SIZE, 0), "little")
        if length > os.fstat(self._file).st_size:
            return
        made_for, index, tables = marshal.loads(os.pread(self._file, length, _SIZE))  # noqa: S302 - as above
        if made_for == self._made_for:
            self._index, self._begin = index, _SIZE + length
            self._patterns.tables = tables
        else:
            self._is_of_another_start = _is_of_another_start(made_for, self._made_for)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module that is in the pack and whose source has not changed, and of `re._compiler`."""
        spec = self._packed(name, path) if name in self._index else None
        if name != _COMPILER:
            return spec
        spec = spec or PathFinder.find_spec(name, path)
        if spec is None or not isinstance(spec.loader, SourceFileLoader):
            return None
        loader = spec.loader if isinstance(spec.loader, _Loader) else _Loader(name, str(spec.origin), b"")
        loader.serves, spec.loader = self._patterns.serve, loader
        return spec

    def _packed(self, name: str, path: Sequence[str] | None) -> ModuleSpec | None:
        source, is_package, stamp, begin, length = self._index[name]
        folder = os.path.dirname(source)
        try:
            holds = source_stamp(os.stat(source)) == stamp and (path is None or _parent(folder, is_package) in path)
            code = os.pread(self._file, length, self._begin + begin) if holds else None
        except OSError:
            code = None
        if code is None:
            self._changed.add(name)
            return None
        spec = ModuleSpec(name, _Loader(name, source, code), origin=source, is_package=is_package)
        spec.has_location = True
        if is_package:
            spec.submodule_search_locations = [folder]
        return spec

    def renew(self) -> None:
        """Write the pack anew if it lacks many of the modules and expressions of this process.

        One that serves another way to start the program, ``asyncstate`` or ``python -m asyncstate``, is left for a day:
        who uses both in turn would write it each time.
        """
        if sys.dont_write_bytecode or (self._is_of_another_start and self._is_young()):
            return
        known = self._index.keys() - self._changed
        lacking = _imported(sys.modules.keys() - known)
        if len(lacking) + self._patterns.lacking(self._index) < _ENOUGH or None in map(_compiled, lacking[:_ENOUGH]):
            return
        try:
            self._write(lacking)
        except UNREADABLE:
            return

    def _is_young(self) -> bool:
        import time  # noqa: PLC0415 - most packs are of the same start

        return 0 <= time.time() - os.fstat(self._file).st_mtime < _DAY

    def _write(self, lacking: list[ModuleSpec]) -> None:
        def pieces() -> list[bytes]:
            index, codes, size = {}, [], 0
            for name, (source, is_package, stamp, begin, length) in self._index.items():
                if name not in self._changed:
                    codes.append(os.pread(self._file, length, self._begin + begin))
                    index[name] = (source, is_package, stamp, size, length)
                    size += length
            for spec in lacking:
                compiled = _compiled(spec)
                if compiled is not None:
                    stamp, code = compiled
                    is_package = spec.submodule_search_locations is not None
                    index[spec.name] = (str(spec.origin), is_package, stamp, size, len(code))
                    codes.append(code)
                    size += len(code)
            head = marshal.dumps((self._made_for, index, self._patterns.computed(index)))
            return [len(head).to_bytes(_SIZE, "little"), head, *codes]

        write_pack(self.path, 0o644, pieces)


def write_pack(path: str, mode: int, pieces: Callable[[], Iterable[bytes]], folder: int | None = None) -> None:
    """Replace a file in one step; ``folder`` is the open folder of a relative path. Raises OSError.

    Of several processes that would write it, one does; in the others, BlockingIOError is raised.
    """
    import fcntl  # noqa: PLC0415 - few processes write one

    new = f"{path}.new"
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with os.fdopen(os.open(new, flags, mode, dir_fd=folder), "wb") as pack:
        fcntl.flock(pack, fcntl.LOCK_EX | fcntl.LOCK_NB)
        opened, found = os.fstat(pack.fileno()), os.stat(new, dir_fd=folder, follow_symlinks=False)
        if (opened.st_dev, opened.st_ino) != (found.st_dev, found.st_ino):
            raise BlockingIOError(new)  # another process has put the opened file in place, and a third may write now
        if found.st_uid != os.geteuid() or found.st_nlink != 1 or found.st_mode & 0o7777 & ~mode:
            os.unlink(new, dir_fd=folder)  # left by another user, or another file's content
            raise PermissionError(new)
        try:
            written = pieces()
            pack.truncate(0)
            pack.writelines(written)
            pack.flush()
            os.replace(new, path, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            os.unlink(new, dir_fd=folder)  # on a full disk, the room is needed
            raise


def _made_for() -> tuple[int, bytes, str, list[tuple[str, int]]]:
    """Return the dependencies of a pack: the interpreter, and the searched folders, with their times of change."""
    folders = []
    for folder in sys.path:
        try:
            folders.append((folder, os.stat(folder or ".").st_mtime_ns))
        except OSError:
            folders.append((folder, 0))
    return _FORMAT, MAGIC_NUMBER, sys.version, folders


def _is_of_another_start(made_for: Any, own: tuple[int, bytes, str, list[tuple[str, int]]]) -> bool:
    """Return whether a pack differs in the first folder of the search path only: the program's, or the caller's."""
    try:
        *kind, folders = made_for
        return tuple(kind) == own[:-1] and folders[0][0] != own[-1][0][0] and folders[1:] == own[-1][1:]
    except (*UNREADABLE, LookupError):
        return False


_LOADERS = (SourceFileLoader, _Loader)


def source_stamp(status: os.stat_result) -> bytes:
    """Return the time and the size of a source in the form of a .pyc."""
    return b"".join((int(number) & 0xFFFFFFFF).to_bytes(4, "little") for number in (status.st_mtime, status.st_size))


def _parent(folder: str, is_package: bool) -> str:
    return os.path.dirname(folder) if is_package else folder


def _imported(names: Iterable[str]) -> list[ModuleSpec]:
    """Return the specs of those of the imported modules that were found on the search path."""
    found = []
    for name in sorted(names):
        module = sys.modules.get(name)
        spec = module.__dict__.get("__spec__") if type(module) is type(sys) else None
        if type(spec) is not ModuleSpec or type(spec.loader) not in _LOADERS or spec.name != name:
            continue
        folder = _parent(os.path.dirname(str(spec.origin)), spec.submodule_search_locations is not None)
        if "." in name or folder in sys.path:
            found.append(spec)
    return found


def _compiled(spec: ModuleSpec) -> tuple[bytes, bytes] | None:
    """Return the stamp and the code of a module's .pyc, None if there is none that is valid by time and size."""
    try:
        with open(spec.cached or "", "rb") as file:
            data = file.read()
    except OSError:
        return None
    return (data[8:_HEADER], data[_HEADER:]) if data[:8] == MAGIC_NUMBER + _BY_TIME else None
