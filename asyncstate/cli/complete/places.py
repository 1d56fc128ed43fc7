"""Where the tree, the plugins and the journal are that a command line would use."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from asyncstate.cli.complete import store

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import click

_FORMAT = 1
"""Counts the changes of what is kept."""


class Places(NamedTuple):
    """``plugin_dirs`` are the folders of plugins by kind, the first to look in first, bundled ones last."""

    file_roots: dict[str, list[str]]
    saltenv: str
    state_dir: str
    plugin_dirs: dict[str, list[str]]


def places_of(ctx: click.Context) -> Places:
    """Return the places that the configuration and the options typed so far name.

    The configuration is read only if a file of it has changed since the last time.
    """
    options = {name: ctx.params.get(name) for name in ("config", "file_root", "saltenv", "trust_writable")}
    surroundings = {name: value for name, value in os.environ.items() if name.startswith(("ASYNCSTATE_", "XDG_"))}
    here = (os.getcwd(), os.environ.get("HOME"), os.path.dirname(__file__))
    name = f"places-{store.key_of('places', _FORMAT, options, surroundings, here)}.json"
    known = store.load(name)
    if known and all(store.stamp(path) == stamp for path, stamp in known["stamps"].items()):
        return Places(**known["places"])
    places, files = _read(options)
    store.save(name, {"places": places._asdict(), "stamps": {path: store.stamp(path) for path in files}})
    return places


def _read(options: Mapping[str, Any]) -> tuple[Places, set[str]]:
    """Read the configuration. Return also the files and folders whose change would change the answer."""
    from asyncstate.config import default_files, load_settings
    from asyncstate.errors import AsyncStateError

    named = options.get("config") or ()
    overrides: dict[str, Any] = {name: options.get(name) for name in ("saltenv", "trust_writable")}
    for saltenv, root in options.get("file_root") or ():
        overrides.setdefault("file_roots", {}).setdefault(saltenv, []).append(root)
    try:
        settings = load_settings(named or default_files(), overrides)
    except AsyncStateError:  # a mistake there is told by the command, not by a completion
        settings = load_settings([], overrides)
    extensions = settings.extra.get("extension_modules") or os.path.join(settings.cachedir, "extmods")
    opts = {
        "module_dirs": settings.module_dirs,
        "states_dirs": settings.states_dirs,
        "extension_modules": str(extensions),
    }
    kinds = {kind: _plugin_dirs(kind, opts, settings.file_roots) for kind in ("states", "modules")}
    return Places(settings.file_roots, settings.saltenv or "base", settings.state_dir, kinds), _read_files(named)


def _read_files(named: Iterable[str]) -> set[str]:
    from pathlib import Path

    from asyncstate.config.files import default_candidates, main_file, read_with_includes
    from asyncstate.errors import AsyncStateError

    found: set[str] = set()
    for path in [Path(name) for name in named] or default_candidates():
        found |= {str(path), str(path.parent)}
        try:
            read = [each for each, _ in read_with_includes(main_file(path))] if path.exists() else []
        except AsyncStateError:
            continue
        found |= {str(each) for file in read for each in (file, file.parent, file.parent / "minion.d")}
    return found


class _Roots(NamedTuple):
    """The file roots, as the search path of plugins asks for them."""

    by_environment: dict[str, list[str]]

    def envs(self) -> list[str]:
        return list(self.by_environment)

    def roots(self, saltenv: str) -> list[str]:
        return self.by_environment.get(saltenv, [])


def _plugin_dirs(kind: Any, opts: Mapping[str, Any], file_roots: dict[str, list[str]]) -> list[str]:
    from asyncstate.load.search_path import bundled_folder, plugin_folders

    return [folder.path for folder in (*plugin_folders(kind, opts, _Roots(file_roots)), *bundled_folder(kind))]
