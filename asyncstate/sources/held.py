"""The files of a tree that was compared with a reviewed plan: a run gets the compared content, or is refused.

A state may run an hour after the comparison, and the tree may have changed by then. Reading a file here returns the
compared content; plugins, which want paths, get the path of a private copy. A file that was not compared, because a
template computes its name, is used if its path still leads to the same file as at the comparison, unmodified.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from contextlib import suppress
from contextvars import Context
from hashlib import sha256
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from asyncstate import filesystem, residue
from asyncstate.errors import PathRefused, RenderError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from asyncstate.sources.fileclient import FileClient

_PIECE = 1 << 20
_FILE_CLOCK = 5
"""CLOCK_REALTIME_COARSE, the source of file times, which lags behind the other clocks: Python has no name for it."""


class HeldFiles:
    """A file client that returns the compared content. ``contents`` has the sha256 of files below the roots, by path.

    Files that are used but missing there are added. ``plugins`` are the sha256 of plugin files. Copies are kept below
    ``directory``, until `release`. All methods are thread-safe.
    """

    def __init__(
        self,
        client: FileClient,
        contents: dict[str, str],
        directory: str,
        plugins: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.contents: dict[str, str] = contents
        self._plugins = plugins
        self._client = client
        self._directory = directory
        self._since = time.clock_gettime_ns(_FILE_CLOCK)
        self._versions = dict(self._versions_of_all())
        self._folder = ""
        self._copies: dict[str, str] = {}
        self._lock = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def find(self, path: str, saltenv: str) -> str | None:
        """Return the file at a path relative to the roots: the compared one, even if another root comes first now."""
        name = os.path.normpath(path)
        compared = (os.path.join(root, name) for root in self._client.roots(saltenv))
        return next((each for each in compared if each in self.contents), None) or self._client.find(path, saltenv)

    def read(self, path: str) -> bytes:
        """Return the content of a text file of the tree. Raises RenderError, also if it is not the compared content."""
        if self._folder and path.startswith(f"{self._folder}/"):
            return self._client.read(path)
        try:
            content = self._client.read(path if self._expected(path) else self.copy(path))
            self._require(path, sha256(content).hexdigest())
        except (PathRefused, OSError) as error:
            raise RenderError(f"Cannot read {path}: {error}", file=path) from None
        return content

    def _expected(self, path: str) -> str | None:
        return self.contents.get(path) or self._plugins.get(path)

    def _require(self, path: str, digest: str, found: os.stat_result | None = None) -> None:
        expected = self._expected(path)
        if not expected and found is not None and self._is_as_it_was(path, found):
            self.contents[path] = digest
        elif digest != expected:
            raise PathRefused(
                f"{path} changed after the tree was compared with the plan, so it is not used. Review it again: "
                "asyncstate plan --plan-out FILE"
            )

    def _is_as_it_was(self, path: str, found: os.stat_result) -> bool:
        """Whether an uncompared file is still the one that was at its path at the comparison."""
        if path in self._versions:
            return self._versions[path] == filesystem.version_of(found)
        return next(self._places(path), None) is None and found.st_ctime_ns < self._since

    def _versions_of_all(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Yield the files of the tree with their versions, which differ for any replacement.

        A file written just now is left out: its times would not change on another write.
        """
        for env in self._client.envs():
            names = self._client.list_files(env)
            for path in (os.path.join(root, name) for root in self._client.roots(env) for name in names):
                with suppress(OSError):
                    found = os.stat(path)
                    if found.st_ctime_ns < self._since:
                        yield path, filesystem.version_of(found)

    def copy(self, path: str) -> str:
        """Return the path of a private copy of a file, with its mode. Raises PathRefused if the file has changed."""
        with self._lock:
            if path not in self._copies:
                self._copies[path] = self._copied(path, next(self._places(path), path.lstrip("/")))
            return self._copies[path]

    def _places(self, path: str) -> Iterator[str]:
        """Yield the paths of a copy below the folder: one for each environment and root that contains the file."""
        for env in self._client.envs():
            for number, root in enumerate(self._client.roots(env)):
                if path.startswith(f"{root.rstrip('/')}/"):
                    yield os.path.join(_folder_of(env, number), os.path.relpath(path, root))

    def _copied(self, path: str, place: str) -> str:
        if not self._folder:  # of the run, not of the first call
            os.makedirs(self._directory, mode=0o700, exist_ok=True)
            self._folder = Context().run(residue.make_temporary_folder, "held-", self._directory)
        target = os.path.join(self._folder, place)
        if os.path.lexists(target):
            return target
        os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
        digest = sha256()
        try:
            with filesystem.open_read(path) as source, open(target, "xb") as copy:
                while piece := source.read(_PIECE):
                    digest.update(piece)
                    copy.write(piece)
                found = os.fstat(source.fileno())
                os.fchmod(copy.fileno(), found.st_mode & 0o7777)
            self._require(path, digest.hexdigest(), found)
        except (OSError, PathRefused) as error:
            with suppress(FileNotFoundError):
                os.unlink(target)
            if isinstance(error, FileNotFoundError):
                raise PathRefused(f"{path} is gone: the plan was compared with it") from None
            raise
        return target

    def roots_of_copies(self) -> dict[str, list[str]]:
        """Return folders with copies of all compared files, by environment, for programs that read a tree."""
        with self._lock:
            for path in (*self.contents, *self._plugins):
                for place in self._places(path):
                    self._copied(path, place)
            return {
                env: [
                    os.path.join(self._folder, _folder_of(env, number))
                    for number in range(len(self._client.roots(env)))
                ]
                for env in self._client.envs()
            }

    def folder_of_copies(self, folder: str) -> str:
        """Return the folder with the copies for a folder below a root; any other folder unchanged."""
        return next((os.path.join(self._folder, place) for place in self._places(folder)), folder)

    def original(self, path: str) -> str:
        """Return the file of the tree for the path of a copy; any other path unchanged."""
        if self._folder and path.startswith(f"{self._folder}/"):
            return next((original for original, copy in self._copies.items() if copy == path), path)
        return path

    def release(self) -> None:
        """Remove the copies."""
        with self._lock:
            if self._folder:
                shutil.rmtree(self._folder, ignore_errors=True)
                self._folder = ""


def _folder_of(env: str, root: int) -> str:
    return f"{quote(env, safe='')}/{root}"


class HeldCopies:
    """The file client for plugins: `find` returns copies. Raises PathRefused for a file that has changed."""

    def __init__(self, held: HeldFiles) -> None:
        self._held = held

    def __getattr__(self, name: str) -> Any:
        return getattr(self._held, name)

    def find(self, path: str, saltenv: str) -> str | None:
        """Return the path of a copy of a file, or None."""
        found = self._held.find(path, saltenv)
        return found and self._held.copy(found)
