"""A file client whose files are in memory."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from asyncstate.errors import RenderError
from asyncstate.sources.fileclient import LocalFileClient, note_read, sls_names

if TYPE_CHECKING:
    from collections.abc import Mapping


class MemoryFileClient(LocalFileClient):
    """A tree given as ``{saltenv: {path: text}}``. Paths that `find` returns begin with ``/memory/``."""

    _PREFIX = "/memory/"

    def __init__(self, files: Mapping[str, Mapping[str, str | bytes]]) -> None:
        super().__init__({})
        self._files = files

    def envs(self) -> list[str]:
        """Return the environments, in the order they were given."""
        return list(self._files)

    def roots(self, saltenv: str) -> list[str]:
        """Return the virtual directory of an environment; [] for an unknown one."""
        return [self._PREFIX + saltenv] if saltenv in self._files else []

    def find(self, path: str, saltenv: str) -> str | None:
        """Return the virtual path of a file, or None."""
        path = os.path.normpath(path)
        return f"{self._PREFIX}{saltenv}/{path}" if path in self._files.get(saltenv, ()) else None

    def read(self, path: str) -> bytes:
        """Return the content of a file. Raises RenderError for a path that `find` did not return."""
        saltenv, _, relpath = path.removeprefix(self._PREFIX).partition("/")
        try:
            content = self._files[saltenv][relpath]
        except KeyError:
            raise RenderError(f"Cannot read {path}: no such file in memory", file=path) from None
        raw = content if isinstance(content, bytes) else content.encode()
        note_read(path, raw)
        return raw

    def list_files(self, saltenv: str) -> list[str]:
        """Return every file of an environment."""
        return sorted(self._files.get(saltenv, ()))

    def list_dirs(self, saltenv: str) -> list[str]:
        """Return every directory that contains a file, directly or below."""
        parents: set[str] = set()
        for path in self._files.get(saltenv, ()):
            while path := os.path.dirname(path):
                parents.add(path)
        return sorted(parents)

    def list_empty_dirs(self, saltenv: str) -> list[str]:
        """Return []: a directory in memory exists only through its files."""
        del saltenv
        return []

    def list_symlinks(self, saltenv: str) -> dict[str, str]:
        """Return {}: there are no symlinks in memory."""
        del saltenv
        return {}

    def list_states(self, saltenv: str) -> list[str]:
        """Return the dotted names of every SLS of an environment, sorted."""
        return sls_names(self.list_files(saltenv))
