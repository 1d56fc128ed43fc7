"""File clients: access to the files of a tree, in roots on disk.

They behave like Salt's ``roots`` backend: the first root of an environment that has the path wins, symlinks are
followed (also out of the root, unless ``fileserver_followsymlinks`` is off), ``..`` never leaves a root.
"""

from __future__ import annotations

import fnmatch
import os
import re
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from asyncstate.data.urls import SALT_SCHEME
from asyncstate.dunders import TreeFiles
from asyncstate.errors import PathRefused, RenderError
from asyncstate.filesystem import read_start
from asyncstate.pattern import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_GLOB = lazy_pattern(r"[*?\[]")
_LARGEST_TEXT = 1 << 26
"""The largest file that is read as an SLS, a template or a module, in bytes."""
_NEVER_SLS = frozenset({".git", ".hg", ".svn"})

_noted: ContextVar[dict[str, str] | None] = ContextVar("asyncstate_reads", default=None)


@contextmanager
def noted_reads() -> Iterator[dict[str, str]]:
    """Record the files that this thread and its worker threads find or read in the block.

    Each path has the sha256 of the content at the first read, "" if it was only found.
    """
    found: dict[str, str] = {}
    token = _noted.set(found)
    try:
        yield found
    finally:
        _noted.reset(token)


def note_found(path: str) -> None:
    """Record that a file client found a file."""
    noted = _noted.get()
    if noted is not None and path not in noted:
        noted[path] = ""


def note_read(path: str, content: bytes) -> None:
    """Record the content that a file client read."""
    noted = _noted.get()
    if noted is not None and not noted.get(path):
        noted[path] = sha256(content).hexdigest()


class SlsFile(msgspec.Struct, frozen=True):
    """One SLS: its name, its environment and its file (``relpath`` is ``p/q.sls`` or ``p/q/init.sls``)."""

    sls: str
    saltenv: str
    path: str
    relpath: str


class Listing(msgspec.Struct, frozen=True):
    """The sorted content of one environment, as paths relative to the roots. ``links`` maps a link to its target."""

    files: list[str]
    dirs: list[str]
    empty_dirs: list[str]
    links: dict[str, str]


class FileClient(TreeFiles, Protocol):
    """A source of files: the methods for plugins, and SLS by name."""

    def sls_file(self, sls: str, saltenv: str) -> SlsFile | None:
        """Return the file of an SLS: ``<path>.sls`` before ``<path>/init.sls``. Slashes in the name are accepted."""

    def expand(self, names: Iterable[str], saltenv: str) -> list[str]:
        """Replace names with glob characters by the SLS they match; one that matches nothing stays as it is."""


def sls_names(files: Iterable[str]) -> list[str]:
    """Return the dotted names of the SLS among ``files``, sorted."""
    names = set()
    for path in files:
        if path.endswith(".sls"):
            stem = path.removesuffix("/init.sls") if path.endswith("/init.sls") else path.removesuffix(".sls")
            names.add(stem.replace("/", "."))
    return sorted(names)


def top_path(opts: Mapping[str, Any]) -> str:
    """Return the path of the top file below a root (option ``state_top``, with or without ``salt://``)."""
    return str(opts.get("state_top") or "top.sls").removeprefix(SALT_SCHEME).lstrip("/")


class LocalFileClient:
    """Files below directories on this machine. Directory listings are read once per client, on first use."""

    def __init__(
        self,
        file_roots: Mapping[str, Sequence[str]],
        *,
        follow_symlinks: bool = True,
        ignore_symlinks: bool = False,
        ignore_glob: Sequence[str] = (),
        ignore_regex: Sequence[str] = (),
    ) -> None:
        self._roots = {env: [os.path.abspath(root) for root in roots] for env, roots in file_roots.items()}
        self._follow_symlinks = follow_symlinks
        self._ignore_symlinks = ignore_symlinks
        self._ignored = [re.compile(regex).search for regex in ignore_regex]
        self._ignored += [re.compile(fnmatch.translate(glob)).match for glob in ignore_glob]
        self._listings: dict[str, Listing] = {}
        self._states: dict[str, list[str]] = {}

    @classmethod
    def from_opts(cls, opts: Mapping[str, Any], roots: str = "file_roots") -> LocalFileClient:
        """Make a client for the roots in ``opts[roots]`` with Salt's ``fileserver_*`` and ``file_ignore_*`` options."""
        return cls(
            opts[roots],
            follow_symlinks=opts.get("fileserver_followsymlinks", True),
            ignore_symlinks=opts.get("fileserver_ignoresymlinks", False),
            ignore_glob=opts.get("file_ignore_glob") or (),
            ignore_regex=opts.get("file_ignore_regex") or (),
        )

    def envs(self) -> list[str]:
        """Return the environments, in the order they were configured."""
        return list(self._roots)

    def roots(self, saltenv: str) -> list[str]:
        """Return the directories of an environment; those of ``__env__`` if it is not configured.

        No name of an environment leads out of the directory in which ``__env__`` occurs.
        """
        if saltenv in self._roots:
            return list(self._roots[saltenv])
        if ".." in saltenv.split("/") or "\0" in saltenv:
            return []
        return [root.replace("__env__", saltenv) for root in self._roots.get("__env__", ())]

    def find(self, path: str, saltenv: str) -> str | None:
        """Return the file at a path relative to the roots, or None. ``..`` never leaves the roots."""
        full = self._found(os.path.normpath(path), saltenv)
        if full is not None:
            note_found(full)
        return full

    def _found(self, path: str, saltenv: str) -> str | None:
        """Return the file at a normalised path."""
        if os.path.isabs(path) or path == ".." or path.startswith("../"):
            return None
        for root in self.roots(saltenv):
            full = os.path.join(root, path)
            if os.path.isfile(full) and not self._is_ignored(full) and self._is_inside(root, full):
                return full
        return None

    def read(self, path: str) -> bytes:
        """Return the content of a text file of the tree. Raises RenderError with the path and the reason."""
        try:
            text = read_start(path, _LARGEST_TEXT + 1)
        except PathRefused as error:
            raise RenderError(f"Cannot read {path}: it is not a regular file", file=path) from error
        except OSError as error:
            raise RenderError(f"Cannot read {path}: {error.strerror}", file=path) from error
        if len(text) > _LARGEST_TEXT:
            raise RenderError(f"Cannot read {path}: a text of the tree is at most {_LARGEST_TEXT >> 20} MiB", file=path)
        note_read(path, text)
        return text

    def list_files(self, saltenv: str) -> list[str]:
        """Return every file of an environment."""
        return self._listing(saltenv).files

    def list_dirs(self, saltenv: str) -> list[str]:
        """Return every directory of an environment."""
        return self._listing(saltenv).dirs

    def list_empty_dirs(self, saltenv: str) -> list[str]:
        """Return every empty directory of an environment."""
        return self._listing(saltenv).empty_dirs

    def list_symlinks(self, saltenv: str) -> dict[str, str]:
        """Return every symlink of an environment and its target; if links are followed, only those within the root."""
        return self._listing(saltenv).links

    def list_states(self, saltenv: str) -> list[str]:
        """Return the dotted names of every SLS of an environment, sorted."""
        if saltenv not in self._states:
            # An SLS inside such a directory cannot be named, and these directories are large.
            self._states[saltenv] = sls_names(self._walk(saltenv, prune=_NEVER_SLS).files)
        return self._states[saltenv]

    def sls_file(self, sls: str, saltenv: str) -> SlsFile | None:
        """Return the file of an SLS; see `FileClient`."""
        stem = sls.replace(".", "/").lstrip("/")
        folder = stem.rstrip("/")
        paths = [f"{folder}/init.sls"] if stem.endswith("/") else [f"{stem}.sls", f"{stem}/init.sls"]
        for relpath in paths if folder else ():
            if path := self.find(relpath, saltenv):
                return SlsFile(sls, saltenv, path, relpath)
        return None

    def expand(self, names: Iterable[str], saltenv: str) -> list[str]:
        """Replace names with glob characters by the SLS they match."""
        expanded: list[str] = []
        for name in names:
            found = fnmatch.filter(self.list_states(saltenv), name) if _GLOB.search(name) else ()
            expanded.extend(found or (name,))
        return expanded

    def _listing(self, saltenv: str) -> Listing:
        if saltenv not in self._listings:
            self._listings[saltenv] = self._walk(saltenv)
        return self._listings[saltenv]

    def _walk(self, saltenv: str, prune: frozenset[str] = frozenset()) -> Listing:
        walk = _Walk(self._follow_symlinks, prune)
        for root in self.roots(saltenv):
            walk.root(root)
        links = {} if self._ignore_symlinks else walk.links
        hidden = walk.links if self._ignore_symlinks else {}

        def shown(paths: Iterable[str]) -> list[str]:
            return sorted(path for path in paths if path not in hidden and not self._is_ignored(path))

        return Listing(shown(walk.files), shown(walk.dirs), shown(walk.empty_dirs), {p: links[p] for p in shown(links)})

    def _is_ignored(self, path: str) -> bool:
        return any(matches(path) for matches in self._ignored)

    def _is_inside(self, root: str, full: str) -> bool:
        """Whether a file that may be reached through symlinks counts as being under ``root``."""
        if self._follow_symlinks:
            return True  # the path is normalised: only a symlink could lead out, and Salt follows symlinks
        real_root = os.path.realpath(root)
        return os.path.commonpath([real_root, os.path.realpath(full)]) == real_root


class _Walk:
    """Collects the files below one or more roots. A directory that contains itself through a link is entered once."""

    def __init__(self, follow_symlinks: bool, prune: frozenset[str]) -> None:
        self.files: set[str] = set()
        self.dirs: set[str] = set()
        self.empty_dirs: set[str] = set()
        self.links: dict[str, str] = {}
        self._follow_symlinks = follow_symlinks
        self._prune = prune

    def root(self, root: str) -> None:
        try:
            status = os.stat(root)
        except OSError:
            return
        real_root = os.path.realpath(root)
        waiting = [(root, "", frozenset({(status.st_dev, status.st_ino)}))]
        while waiting:
            directory, prefix, parents = waiting.pop()
            entries = _entries(directory)
            if prefix and not entries:
                self.empty_dirs.add(prefix.removesuffix("/"))
            for entry in entries:
                relpath = prefix + entry.name
                if entry.is_symlink():
                    self._link(entry, relpath, real_root)
                identity = _directory_identity(entry)
                if identity is None:
                    self.files.add(relpath)
                    continue
                self.dirs.add(relpath)
                followed = self._follow_symlinks or not entry.is_symlink()
                if followed and entry.name not in self._prune and identity not in parents:
                    waiting.append((entry.path, relpath + "/", parents | {identity}))

    def _link(self, entry: os.DirEntry[str], relpath: str, real_root: str) -> None:
        target = os.readlink(entry.path)
        real = os.path.realpath(os.path.join(os.path.dirname(entry.path), target))
        if not self._follow_symlinks or os.path.commonpath([real_root, real]) == real_root:
            self.links.setdefault(relpath, target)


def _directory_identity(entry: os.DirEntry[str]) -> tuple[int, int] | None:
    """Return device and inode of a directory, also behind a symlink; None for anything else."""
    try:
        if not entry.is_dir():
            return None
        status = entry.stat()
    except OSError:  # a symlink to itself, or into an unreadable directory
        return None
    return status.st_dev, status.st_ino


def _entries(directory: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except OSError:
        return []


class OtherTexts:
    """A file client that replaces the content of some files. ``texts`` maps paths from `find` to the new texts."""

    def __init__(self, client: FileClient, texts: Mapping[str, str]) -> None:
        self._client = client
        self._texts = texts

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def read(self, path: str) -> bytes:
        """Return the replacement text of a file that `find` returned, else its content."""
        text = self._texts.get(path)
        if text is None:
            return self._client.read(path)
        note_read(path, content := text.encode())
        return content


class OneMoreSls:
    """A file client with one additional SLS, which replaces an SLS of the same name."""

    def __init__(self, client: FileClient, file: SlsFile) -> None:
        self._client = client
        self._file = file

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def sls_file(self, sls: str, saltenv: str) -> SlsFile | None:
        """Return the file of an SLS."""
        if (sls, saltenv) == (self._file.sls, self._file.saltenv):
            return self._file
        return self._client.sls_file(sls, saltenv)
