"""The bundle: this program and its dependencies as one file, which a host's own Python runs.

A zip application. Plugins are files and some packages are compiled; as Python imports neither from an archive, it
unpacks itself into the runner's folder first. Compiled packages fit one kind of Python only, which `abi` names.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import io
import marshal
import os
import sysconfig
import zipfile
from typing import TYPE_CHECKING, Final, NamedTuple

import anyio.to_thread

from asyncstate import filesystem
from asyncstate._version import __version__
from asyncstate.errors import FleetError

if TYPE_CHECKING:
    from collections.abc import Iterator

_PACKAGES: Final = ("anyio", "idna", "Jinja2", "MarkupSafe", "msgspec", "PyYAML", "structlog")
"""The packages that a runner imports; also ``sniffio`` and ``typing_extensions`` where `_OPTIONAL` finds them."""
_OPTIONAL: Final = ("sniffio", "typing_extensions")
_LEFT_OUT: Final = (
    "cli",
    "extras/analyse",
    "extras/borrow",
    "extras/completion",
    "extras/dropin",
    "extras/editor",
    "extras/fleet/commands",
    "extras/fleet/nats",
    "extras/fleet/report",
    "extras/manual",
    "extras/other_machine",
    "extras/picture",
    "extras/proof/commands",
    "extras/proof/shake",
    "extras/traces",
    "__pycache__",
)
_WITH_TEXT: Final = tuple(f"asyncstate/{name}/" for name in ("states", "modules", "interfaces", "extras/namespace"))
"""Folders whose source files the loader reads. Others have compiled files only, which halves the unpacked size."""
_KEPT: Final = 3
_UNCHECKED: Final = (1).to_bytes(4, "little")
"""The flags of a compiled file with an unchecked hash of its source."""
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
_MAIN: Final = """\
import os, sys, zipfile
folder = sys.argv[1]
library = os.path.join(folder, "lib")
with zipfile.ZipFile(sys.argv[0]) as archive:
    archive.extractall(library)
sys.path[0] = library
from asyncstate.extras.fleet.ssh.runner import main
sys.exit(main(folder))
"""


def abi() -> str:
    """Return the kind of this Python: implementation, version, machine and C library."""
    return str(sysconfig.get_config_var("SOABI"))


class Bundle(NamedTuple):
    """A zip application, and its sha256 in hex."""

    content: bytes
    digest: str


class _Source(NamedTuple):
    name: str
    path: str


async def made(cachedir: str) -> Bundle:
    """Return the bundle of this installation, kept in the cache directory or made now. Raises FleetError."""
    return await anyio.to_thread.run_sync(_made, cachedir)


def _made(cachedir: str) -> Bundle:
    sources = sorted(_sources())
    folder = os.path.join(cachedir, "ssh")
    try:
        path = os.path.join(folder, f"{_key(sources)}.pyz")
        filesystem.makedirs(folder, 0o700)
        try:
            with filesystem.open_read(path) as file:
                content = file.read()
        except FileNotFoundError:
            content = _build(sources)
            with filesystem.Replacement(path, 0o600, is_temporary=False) as new:
                new.write(content)
                new.commit(sync=False)
            _forget_older(folder, path)
    except OSError as error:
        raise FleetError(f"the bundle for hosts cannot be made in {folder}: {error.strerror or error}") from error
    return Bundle(content, hashlib.sha256(content).hexdigest())


def _key(sources: list[_Source]) -> str:
    """Return a key that changes with every change of a bundled file."""
    digest = hashlib.sha256(f"{__version__} {abi()} {_MAIN}".encode())
    for source in sources:
        status = os.stat(source.path)
        digest.update(f"{source.name}\0{source.path}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:32]


def _forget_older(folder: str, newest: str) -> None:
    found = [os.path.join(folder, name) for name in filesystem.listdir(folder) if name.endswith(".pyz")]
    found.sort(key=lambda path: (path == newest, os.stat(path).st_mtime))
    for path in found[:-_KEPT]:
        filesystem.remove(path)


def _sources() -> Iterator[_Source]:
    """Yield every file of the bundle with its name there."""
    for package in ("asyncstate", "asyncstate.states", "asyncstate.modules"):
        found = importlib.util.find_spec(package)
        for folder in (found and found.submodule_search_locations) or ():
            yield from _of_folder(os.path.abspath(folder), package.replace(".", "/"))
    for name in (*_PACKAGES, *_OPTIONAL):
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            if name in _OPTIONAL:
                continue
            raise FleetError(
                f"hosts need the package {name}, which is not installed here: pip install {name}"
            ) from None
        for file in distribution.files or ():
            if file.suffix in {".py", ".so"} and ".." not in file.parts:
                yield _Source(str(file), str(distribution.locate_file(file)))


def _of_folder(root: str, prefix: str) -> Iterator[_Source]:
    for folder, names, files in os.walk(root):
        below = os.path.relpath(folder, root)
        below = "" if below == "." else f"{below}/"
        names[:] = sorted(name for name in names if below + name not in _LEFT_OUT and name != "__pycache__")
        for name in files:
            if name.endswith((".py", ".so")) and not (
                prefix == "asyncstate" and below.startswith(("states/", "modules/"))
            ):
                yield _Source(f"{prefix}/{below}{name}", os.path.join(folder, name))


def _build(sources: list[_Source]) -> bytes:
    """Return the archive: the same bytes for the same files. Python files are compiled; plugins keep their text."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        _add(archive, "__main__.py", _MAIN.encode())
        for name, path in sources:
            with open(path, "rb") as file:
                content = file.read()
            with_text = name.startswith(_WITH_TEXT)
            if with_text or not name.endswith(".py"):
                _add(archive, name, content)
            if name.endswith(".py"):
                compiled = importlib.util.cache_from_source(name) if with_text else f"{name}c"
                _add(archive, compiled, _compiled(name, content))
    return out.getvalue()


def _compiled(name: str, source: bytes) -> bytes:
    """Return the compiled form of a Python file, which an import does not compare with the source."""
    code = compile(source, name, "exec", dont_inherit=True)
    head = importlib.util.MAGIC_NUMBER + _UNCHECKED + importlib.util.source_hash(source)
    return head + marshal.dumps(code)


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.external_attr = 0o600 << 16
    archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
