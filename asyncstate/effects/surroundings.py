"""Undeclared reads of states: sources in the file roots, lookups of templates, plugins of the tree.

Few plans change any of it. So the resources are read by those states only that may ask for them, and only where a state
of the plan writes them.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Any

from asyncstate.data.urls import SALT_SCHEME, parse_salt_url
from asyncstate.effects.resources import ENTRY, ENVIRONMENT, PATH, TREE, folders_above
from asyncstate.load.folders import FOLDER_OPTIONS, plugin_folders
from asyncstate.model.requisite import CONDITIONS
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from asyncstate.model.chunk import LowChunk
    from asyncstate.sources.fileclient import FileClient

GRAINS = "grains"
PILLAR = "pillar"
PLUGINS = "plugins"
_SHARED = (ENVIRONMENT, GRAINS, PILLAR, PLUGINS)

RELOADS = {
    "reload_grains": GRAINS,
    "reload_pillar": PILLAR,
    "reload_modules": PLUGINS,
    "force_reload_modules": PLUGINS,
}
"""Arguments that have something loaded again, and what."""
_ASKING = frozenset({*CONDITIONS, "template", "contents_grains", "contents_pillar", "dataset_pillar"})
"""Arguments with which a state may look at grains, the pillar and functions while it runs."""
_STARTS_NO_PROGRAM = frozenset({"event", "grains", "host", "ini", "stateconf", "test"})
_FILE_WITH_PROGRAM = _ASKING | {"source", "sources", "source_hash", "attrs", "selinux"}
"""Arguments with which a file state may start a program, or look for a proxy in the environment."""


class _Changed(Value):
    """The surroundings that the states of a plan write: shared resources by name, file roots, folders of plugins."""

    names: frozenset[str]
    roots: bool
    plugins: bool


class Surroundings:
    """The surroundings of the states of one machine: file roots, pillar roots and folders of plugins.

    ``python`` is the folder of the Python that runs us, "" if it does not matter.
    """

    def __init__(self, client: FileClient, opts: Mapping[str, Any], python: str = "") -> None:
        self._client = client
        self._pillar_roots = [str(root) for roots in (opts.get("pillar_roots") or {}).values() for root in roots]
        self._plugins = list(
            dict.fromkeys(folder.path for kind in FOLDER_OPTIONS for folder in plugin_folders(kind, opts, client))
        )
        self._roots = [root for env in client.envs() for root in client.roots(env)]
        folders = [*self._roots, *self._plugins]
        self._above = _above(folders).union(_SHARED)
        self._inside = (*_inside(folders), *(f"{name}{ENTRY}" for name in _SHARED))
        self.bringers: tuple[str, ...] = (
            "pkgdb",
            "pip",
            PLUGINS,
            *([f"{PATH}{python}{TREE}"] if python else []),
            *(f"{PATH}{folder}{TREE}" for folder in self._plugins),
        )
        """The resources that may bring a module which does not load yet."""

    def changed_by(self, written: set[str]) -> _Changed | None:
        """Return what changes if these resources are written; None if nothing does."""
        if self._above.isdisjoint(written) and not any(name.startswith(self._inside) for name in written):
            return None
        names = frozenset(name for name in _SHARED if name in written or _has_entry(name, written))
        roots = _touched(self._roots, written)
        plugins = PLUGINS in names or _touched(self._plugins, written)
        return _Changed(names, roots, plugins)

    def reads(self, chunk: LowChunk, changed: _Changed, *, declared: bool) -> list[str]:
        """Return what a state reads of what changes. ``declared``: it is a bundled one, and its effects are known."""
        args = chunk.args
        asks = not declared or chunk.state == "module" or not _ASKING.isdisjoint(args)
        found = []
        if ENVIRONMENT in changed.names and (asks or _starts_program(chunk)):
            found.append(ENVIRONMENT)
        if asks:
            found += [name for name in (GRAINS, PILLAR) if name in changed.names]
            if changed.plugins:
                found += [PLUGINS, *(f"{PATH}{folder}{TREE}" for folder in self._plugins)]
        if changed.roots:
            found += self._sources(chunk)
        return found

    def reloads(self, args: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return what a state reads and writes because it has grains, the pillar or modules loaded again."""
        again = tuple(dict.fromkeys(name for key, name in RELOADS.items() if args.get(key)))
        read = tuple(f"{PATH}{root}{TREE}" for root in self._pillar_roots) if PILLAR in again else ()
        return read, again

    def _sources(self, chunk: LowChunk) -> Iterator[str]:
        """Yield where the files may be that a state fetches. A template may import any other."""
        given = chunk.args.get("saltenv")
        env = given if isinstance(given, str) and given else chunk.env
        if chunk.args.get("template"):
            yield from (f"{PATH}{root}{TREE}" for root in self._client.roots(env))
        for text in chunk.texts(keys=True):
            if SALT_SCHEME in text:
                path, other = parse_salt_url(text[text.index(SALT_SCHEME) :].split()[0])
                below = posixpath.normpath(f"/{path}").rstrip("/")
                yield from (f"{PATH}{root}{below}{TREE}" for root in self._client.roots(other or env))


def around(path: str) -> frozenset[str]:
    """Return the resources that a write to this path may touch: the path, and all that contains it."""
    return _above([path])


def _starts_program(chunk: LowChunk) -> bool:
    if chunk.state == "file":
        return chunk.fun == "patch" or not _FILE_WITH_PROGRAM.isdisjoint(chunk.args)
    return chunk.state not in _STARTS_NO_PROGRAM


def _has_entry(name: str, written: Iterable[str]) -> bool:
    begin = f"{name}{ENTRY}"
    return any(each.startswith(begin) for each in written)


def _touched(folders: Sequence[str], written: set[str]) -> bool:
    """Whether one of the folders is written, something in it, or a tree that it is in."""
    inside = _inside(folders)
    return not _above(folders).isdisjoint(written) or any(name.startswith(inside) for name in written)


def _above(folders: Iterable[str]) -> frozenset[str]:
    return frozenset(
        f"{PATH}{path}{rest}"
        for folder in folders
        for path in (folder, *folders_above(folder), "")
        for rest in ("", TREE)
    )


def _inside(folders: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"{PATH}{folder}/" for folder in folders)
