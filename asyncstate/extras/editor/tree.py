"""All SLS files of a tree with their declarations: the editor's buffers, and the other files from disk.

`read_tree` looks at the disk and reads only changed files; nothing else here does. `Tree.edited` takes the buffers,
so that an answer never waits for a disk or for the text of more than one file.
"""

from __future__ import annotations

import os
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from asyncstate.errors import AsyncStateError
from asyncstate.extras.editor.index import EMPTY, FileIndex, index
from asyncstate.extras.editor.outline import Place, Word, entries

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from asyncstate.extras.editor.index import Declaration, Link, Reference
    from asyncstate.sources.fileclient import LocalFileClient

_LARGEST = 1 << 22
"""The largest file that is read, in bytes."""
_NEVER = (".git/", ".hg/", ".svn/")
_LINE_END = re.compile(r"\r\n?")


class Roots(NamedTuple):
    """The folders of the tree and of the pillar, by environment. Paths are absolute."""

    files: Mapping[str, tuple[str, ...]]
    pillar: Mapping[str, tuple[str, ...]]

    def of(self, path: str) -> tuple[str, str, bool] | None:
        """Return the environment of a file, its path below the root, and whether it is pillar; None outside."""
        for roots, pillar in ((self.files, False), (self.pillar, True)):
            for env, folders in roots.items():
                for folder in folders:
                    if path.startswith(f"{folder.rstrip('/')}/"):
                        return env, path[len(folder.rstrip("/")) + 1 :], pillar
        return None

    def leads_outside(self, path: str) -> str:
        """Return the real path of a file if that is outside of the tree, else "". Reads the disk."""
        real = os.path.realpath(path)
        folders = [os.path.realpath(folder) for of_env in self.files.values() for folder in of_env]
        return "" if any(real.startswith(f"{folder.rstrip('/')}/") for folder in folders) else real


class File(NamedTuple):
    """One SLS file. ``found`` has its declarations and references, ``keys`` are the keys of a pillar file.

    ``stamp`` is its state on disk when it was read, None for a buffer.
    """

    path: str
    env: str
    relpath: str
    text: str
    found: FileIndex
    keys: tuple[Word, ...]
    stamp: tuple[int, int] | None

    @property
    def sls(self) -> str:
        """The name of the SLS; "" for any other file."""
        return sls_name(self.relpath) if self.relpath.endswith(".sls") else ""


class At(NamedTuple):
    """A place in a file."""

    path: str
    place: Place


class Tree(NamedTuple):
    """All files: the texts of ``files`` and ``pillar`` by path.

    ``listing`` and ``pillar_listing`` have all files by environment, as paths below the roots, with their paths;
    ``stamps`` are their states on disk, by path.
    """

    roots: Roots
    files: dict[str, File]
    pillar: dict[str, File]
    listing: Mapping[str, Mapping[str, str]]
    pillar_listing: Mapping[str, Mapping[str, str]]
    stamps: Mapping[str, tuple[int, int]] = MappingProxyType({})

    def edited(self, path: str, text: str) -> None:
        """Take a text for a file from the editor."""
        where = self.roots.of(path)
        env, relpath, pillar = where or ("", os.path.basename(path), False)
        (self.pillar if pillar else self.files)[path] = _read(path, env, relpath, text, pillar=pillar)

    def closed(self, path: str) -> None:
        """Forget the text of the editor; the next look at the disk reads the file."""
        for files in (self.files, self.pillar):
            if path in files:
                files[path] = files[path]._replace(stamp=(0, 0))

    def file(self, path: str) -> File | None:
        """Return a file of the tree or of the pillar."""
        return self.files.get(path) or self.pillar.get(path)

    def declarations(self, module: str = "") -> Iterator[tuple[File, Declaration]]:
        """Yield all declarations with a state of a module, or all; not those under ``extend``."""
        for file in self.files.values():
            for declared in file.found.declarations:
                if not declared.extends and (not module or any(state.module == module for state in declared.states)):
                    yield file, declared

    def declared(self, module: str, target: str) -> list[tuple[File, Declaration]]:
        """Return the declarations that ``module: target`` names: by their IDs, else by the names of their states."""
        every = [(file, each) for file, each in self.declarations(module) if not each.id.templated]
        return [(file, each) for file, each in every if each.id.text == target] or [
            (file, each) for file, each in every if target in each.names
        ]

    def references(self) -> Iterator[tuple[File, Reference]]:
        """Yield all requisites."""
        for file in self.files.values():
            for reference in file.found.references:
                yield file, reference

    def links(self) -> Iterator[tuple[File, Link]]:
        """Yield all references to files."""
        for file in (*self.files.values(), *self.pillar.values()):
            for link in file.found.links:
                yield file, link

    def target_of(self, file: File, link: Link) -> str:
        """Return the path of the file that a link names; "" if there is none."""
        name = link.target.text
        envs = list(dict.fromkeys([file.env, *self.roots.files]))
        pillar = file.path in self.pillar
        if link.kind == "sls":
            name = _absolute(name, file)
            stem = name.replace(".", "/").strip("/")
            candidates = [f"{stem}.sls", f"{stem}/init.sls"]
        else:
            beside = os.path.join(os.path.dirname(file.relpath), name)
            candidates = [name, os.path.normpath(beside)] if link.kind == "template" else [name]
        listing = self.pillar_listing if pillar and link.kind == "sls" else self.listing
        for env in envs:
            for candidate in candidates:
                if path := listing.get(env, {}).get(candidate):
                    return path
        return ""

    def sls_names(self, *, pillar: bool = False) -> list[str]:
        """Return the names of all SLS, sorted."""
        return sorted({file.sls for file in (self.pillar if pillar else self.files).values() if file.sls} - {"top"})


def _absolute(name: str, file: File) -> str:
    """Return the name of an SLS that an include names relatively, by leading dots."""
    dots = len(name) - len(name.lstrip("."))
    if not dots:
        return name
    package = file.sls.split(".")
    if not file.relpath.endswith("/init.sls"):
        package = package[:-1]
    package = package[: len(package) - dots + 1]
    return ".".join([*package, name[dots:]])


def sls_name(relpath: str) -> str:
    """Return the dotted name of an SLS file by its path below the root."""
    stem = relpath.removesuffix("/init.sls") if relpath.endswith("/init.sls") else relpath.removesuffix(".sls")
    return stem.replace("/", ".")


def read_tree(files: LocalFileClient, pillar: LocalFileClient, before: Tree | None, buffers: Mapping[str, str]) -> Tree:
    """Return the present tree on disk. Blocks: for a thread. Unchanged files are not read."""
    roots = Roots(_folders(files), _folders(pillar))
    listing, pillar_listing = _listing(files), _listing(pillar)
    stamps = {
        path: _stamp(path) for of in (listing, pillar_listing) for paths in of.values() for path in paths.values()
    }
    tree = Tree(roots, {}, {}, listing, pillar_listing, stamps)
    disk = _Disk({} if before is None else {**before.files, **before.pillar}, buffers, tree.stamps)
    for client, listed, into in ((files, listing, tree.files), (pillar, pillar_listing, tree.pillar)):
        for env, paths in listed.items():
            into.update(disk.read(client, env, paths, pillar=client is pillar))
    for path, text in buffers.items():
        tree.edited(path, text)
    return tree


def changed(tree: Tree) -> str:
    """Return the path of an SLS file that has changed on disk since it was read, "" for none. Reads the disk."""
    for path, file in tree.files.items():
        if file.stamp is not None and file.stamp != _stamp(path):
            return path
    return ""


def differs(before: Tree, now: Tree, buffers: Collection[str]) -> bool:
    """Return whether the disk has changed between two looks; files with a buffer count only if they are code."""
    if (before.roots, before.listing, before.pillar_listing) != (now.roots, now.listing, now.pillar_listing):
        return True
    code = {path for listed in now.listing.values() for name, path in listed.items() if name.startswith("_")}
    return any(
        before.stamps.get(path) != stamp for path, stamp in now.stamps.items() if path not in buffers or path in code
    )


def _stamp(path: str) -> tuple[int, int]:
    try:
        status = os.stat(path)
    except OSError:
        return -1, -1
    return status.st_mtime_ns, status.st_size


def _folders(client: LocalFileClient) -> dict[str, tuple[str, ...]]:
    return {env: tuple(map(os.path.abspath, client.roots(env))) for env in client.envs()}


def _listing(client: LocalFileClient) -> dict[str, dict[str, str]]:
    listed: dict[str, dict[str, str]] = {}
    for env in client.envs():
        names = [name for name in client.list_files(env) if not name.startswith(_NEVER)]
        listed[env] = {name: path for name in names if (path := client.find(name, env))}
    return listed


class _Disk:
    """Reads files; those that are ``known`` and did not change, and those with a buffer, are not read."""

    def __init__(
        self, known: Mapping[str, File], buffers: Mapping[str, str], stamps: Mapping[str, tuple[int, int]]
    ) -> None:
        self._known = known
        self._buffers = buffers
        self._stamps = stamps

    def read(
        self, client: LocalFileClient, env: str, paths: Mapping[str, str], *, pillar: bool
    ) -> Iterator[tuple[str, File]]:
        """Yield the texts among some paths."""
        for relpath, path in paths.items():
            if relpath.endswith((".sls", ".jinja", ".j2")) and path not in self._buffers:
                file = self._file(client, path, env, relpath, pillar=pillar)
                if file is not None:
                    yield path, file

    def _file(self, client: LocalFileClient, path: str, env: str, relpath: str, *, pillar: bool) -> File | None:
        stamp = self._stamps[path]
        held = self._known.get(path)
        if held is not None and (held.stamp, held.env, held.relpath) == (stamp, env, relpath):
            return held
        if stamp[1] > _LARGEST:
            return None
        try:
            text = client.read(path).decode(errors="replace")
        except (OSError, AsyncStateError):  # deleted since, or not ours to read: the compiler says so where it matters
            return None
        return _read(path, env, relpath, text, pillar=pillar)._replace(stamp=stamp)


def _read(path: str, env: str, relpath: str, text: str, *, pillar: bool) -> File:
    text = _LINE_END.sub("\n", text.removeprefix("\ufeff"))
    if pillar:
        links = tuple(link for link in index(text).links if link.kind != "salt")
        return File(path, env, relpath, text, EMPTY._replace(links=links), tuple(_pillar_keys(text)), None)
    found = index(text)
    if not relpath.endswith(".sls"):
        found = EMPTY._replace(links=found.links, pillar=found.pillar)
    return File(path, env, relpath, text, found, (), None)


def _pillar_keys(text: str) -> Iterator[Word]:
    for entry in entries(text):
        if entry.key is not None and not entry.dash and entry.names[:1] != ("include",):
            yield entry.key._replace(text=":".join([*entry.names, entry.key.text]))
