"""Where the tree, the plugins and the journal are that a command line would use."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from asyncstate.cli.complete import store

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import click

    from asyncstate.config.files import Project

_FORMAT = 2
"""Counts the changes of what is kept."""
_KINDS = ("states", "modules")


class Places(NamedTuple):
    """``plugin_dirs`` are the folders of plugins by kind, the first to look in first, bundled ones last."""

    file_roots: dict[str, list[str]]
    saltenv: str
    state_dir: str
    plugin_dirs: dict[str, list[str]]


def places_of(ctx: click.Context) -> Places:
    """Return the places that the configuration and the options typed so far name.

    The configuration is read only if a file of it has changed since the last time; in another tree it is the same one.
    """
    configured = _configured(ctx)
    roots: dict[str, list[str]] = {}
    for saltenv, root in ctx.params.get("file_root") or ():
        roots.setdefault(saltenv, []).extend(_matching(root))
    roots = roots or configured.file_roots
    in_tree = [root for saltenv in sorted(roots, key=lambda each: each != "base") for root in roots[saltenv]]
    folders = {
        kind: list(dict.fromkeys([*(f"{root}/_{kind}" for root in in_tree), *configured.plugin_dirs[kind]]))
        for kind in _KINDS
    }
    return configured._replace(file_roots=roots, plugin_dirs=folders)


def _configured(ctx: click.Context) -> Places:
    """Return the places of the configuration, with the folders of plugins outside the tree."""
    from asyncstate.config.files import find_project

    options = {name: ctx.params.get(name) for name in ("saltenv", "trust_writable")}
    named = [os.path.abspath(name) for name in ctx.params.get("config") or ()]
    surroundings = {name: value for name, value in os.environ.items() if name.startswith(("ASYNCSTATE_", "XDG_"))}
    project = None if named else find_project()
    here = os.getcwd() if any(not os.path.isabs(value) for value in surroundings.values()) else ""
    home, code = os.environ.get("HOME"), os.path.dirname(__file__)
    name = f"places-{store.key_of('places', _FORMAT, options, named, project, home, surroundings, here, code)}.json"
    known = store.load(name)
    if known and all(store.stamp(path) == stamp for path, stamp in known["stamps"].items()):
        return Places(**known["places"])
    places, files = _read(named, options, project)
    store.save(name, {"places": places._asdict(), "stamps": {path: store.stamp(path) for path in files}})
    return places


def _matching(root: str) -> list[str]:
    """Return the folders that a root means: it may have wildcards."""
    if not any(each in root for each in "*?["):
        return [root]
    import glob

    return sorted(glob.glob(root)) or [root]


def _read(named: Sequence[str], overrides: Mapping[str, Any], project: Project | None) -> tuple[Places, set[str]]:
    """Read the configuration. Return also the files and folders whose change would change the answer."""
    from asyncstate.config import default_files, load_settings
    from asyncstate.errors import AsyncStateError
    from asyncstate.load.search_path import bundled_folder, plugin_folders

    try:
        settings = load_settings(named or default_files(), overrides, project=project)
    except AsyncStateError:  # a mistake there is told by the command, not by a completion
        settings = load_settings([], overrides)
    extensions = settings.extra.get("extension_modules") or os.path.join(settings.cachedir, "extmods")
    opts = {
        "module_dirs": settings.module_dirs,
        "states_dirs": settings.states_dirs,
        "extension_modules": str(extensions),
    }
    outside = {
        kind: [folder.path for folder in (*plugin_folders(kind, opts, _NoTree()), *bundled_folder(kind))]
        for kind in _KINDS
    }
    places = Places(settings.file_roots, settings.saltenv or "base", settings.state_dir, outside)
    return places, _read_files(named, project)


class _NoTree:
    """No file roots, as the search path of plugins asks for them."""

    def envs(self) -> list[str]:
        return []

    def roots(self, _saltenv: str) -> list[str]:
        return []


def _read_files(named: Iterable[str], project: Project | None) -> set[str]:
    from pathlib import Path

    from asyncstate.config.files import default_candidates, main_file, read_with_includes
    from asyncstate.errors import AsyncStateError

    found: set[str] = set()
    of_project = [Path(project.config)] if project and project.config else []
    for path in [*([Path(name) for name in named] or default_candidates()), *of_project]:
        found |= {str(path), str(path.parent)}
        try:
            read = [each for each, _ in read_with_includes(main_file(path))] if path.exists() else []
        except AsyncStateError:
            continue
        found |= {str(each) for file in read for each in (file, file.parent, file.parent / "minion.d")}
    return found
