"""The origins of imported plugins, and whether their files have changed since."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from asyncstate.load.folders import INTERFACES, folder_in_tree
from asyncstate.value import Value

if TYPE_CHECKING:
    from asyncstate.load.folders import PluginFile, PluginFolder


class Origin(Value):
    """The origin of an imported plugin. ``needs`` holds the module names of the neighbours it imported."""

    plugin: PluginFile
    kind: str
    base: str
    needs: dict[str, None]


origins: dict[str, Origin] = {}
"""Every plugin imported from outside installed packages, by module name."""
newest: dict[str, str] = {}
"""The name of the module that was imported last for each version of a file (`Origin.base`)."""


def is_current(name: str) -> bool:
    """Return whether all neighbours that a plugin imported are unchanged since."""
    seen = {name}
    waiting = [*origins[name].needs] if name in origins else []
    while waiting:
        needed = waiting.pop()
        if needed in seen:
            continue
        seen.add(needed)
        origin = origins.get(needed)
        if origin is None or newest.get(origin.base, needed) != needed:
            return False
        try:
            now = version(origin.plugin, origin.kind)
        except OSError:
            return False
        if not origin.base.endswith(now):
            return False
        waiting.extend(origin.needs)
    return True


def neighbours_of(folder: PluginFolder, kind: str) -> tuple[tuple[str, str], ...]:
    """Return the folders, each with its kind, whose files the plugins of ``kind`` in ``folder`` may import by name."""
    if folder.neighbours is not None:
        return folder.neighbours
    beside = os.path.dirname(folder.path)
    others = (
        ("utils", os.path.join(beside, folder_in_tree("utils"))),
        ("interfaces", os.path.join(beside, INTERFACES)),
    )
    return ((kind, folder.path), *(other for other in others if other[0] != kind))


def version(plugin: PluginFile, kind: str) -> str:
    """Return a digest of the file's path, its neighbours' folders, and the time and size of all its files.

    So two runtimes share the modules of folders that both use, and no others.
    """
    digest = hashlib.sha256(os.path.realpath(plugin.path).encode())
    for folder in neighbours_of(plugin.folder, kind):
        digest.update("\0".join(folder).encode() + b"\0")
    for path in _sources(plugin):
        status = os.stat(path)
        digest.update(f"{path}\0{status.st_mtime_ns}\0{status.st_size}\0".encode())
    return digest.hexdigest()[:12]


def _sources(plugin: PluginFile) -> list[str]:
    if not plugin.is_package:
        return [plugin.path]
    return sorted(
        os.path.join(folder, name)
        for folder, _, names in os.walk(plugin.path)
        for name in names
        if name.endswith(".py")
    )
