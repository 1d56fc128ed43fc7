"""The locations of the tree, the plugins and the journal that a command line would use."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import click

_KINDS = ("states", "modules")


class Places(NamedTuple):
    """``plugin_dirs`` are the folders of plugins by kind, in order of lookup, bundled ones last."""

    file_roots: dict[str, list[str]]
    saltenv: str
    state_dir: str
    plugin_dirs: dict[str, list[str]]


def places_of(ctx: click.Context) -> Places:
    """Return the places named by the configuration and the options typed so far."""
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
    """Return the places named by the configuration, with the folders of plugins outside the tree."""
    from asyncstate.config import load_settings
    from asyncstate.config.files import find_project
    from asyncstate.errors import AsyncStateError
    from asyncstate.load.folders import plugin_folders

    options = {name: ctx.params.get(name) for name in ("saltenv", "trust_writable")}
    named = [os.path.abspath(name) for name in ctx.params.get("config") or ()]
    project = None if named else find_project()
    try:
        settings = load_settings(named or None, options, project=project)
    except AsyncStateError:  # the command reports such a mistake, a completion does not
        settings = load_settings([], options)
    extensions = settings.extra.get("extension_modules") or os.path.join(settings.cachedir, "extmods")
    opts = {
        "module_dirs": settings.module_dirs,
        "states_dirs": settings.states_dirs,
        "extension_modules": str(extensions),
    }
    outside = {kind: [folder.path for folder in plugin_folders(kind, opts, _NoTree(), bundled=True)] for kind in _KINDS}
    return Places(settings.file_roots, settings.saltenv or "base", settings.state_dir, outside)


def _matching(root: str) -> list[str]:
    """Return the folders that match a root, which may have wildcards; the root itself if none does."""
    if not any(each in root for each in "*?["):
        return [root]
    import glob

    return sorted(glob.glob(root)) or [root]


class _NoTree:
    """A file client without roots, for the search path of plugins."""

    def envs(self) -> list[str]:
        return []

    def roots(self, _saltenv: str) -> list[str]:
        return []
