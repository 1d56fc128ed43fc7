"""The mapping from a directory of the file roots to target paths."""

from __future__ import annotations

import os
import posixpath
from typing import TYPE_CHECKING, Any

from asyncstate.data.patterns import is_included
from asyncstate.dunders import __env__, tree_files
from asyncstate.errors import CommandExecutionError

from .arguments import string_list

if TYPE_CHECKING:
    from collections.abc import Mapping


def existing_sources(source: Any) -> list[str]:
    """Return the ``salt://`` directories of ``source`` that exist. Raises CommandExecutionError if there is none."""
    found = []
    for url in (single.rstrip("/") for single in string_list(source)):
        if not url.startswith("salt://"):
            raise CommandExecutionError(f"Invalid source '{url}' (must be a salt:// URI)")
        path, saltenv = _split(url)
        if path in tree_files().list_dirs(saltenv):
            found.append(url)
    if not found:
        raise CommandExecutionError("none of the specified sources were found")
    return found


def _split(url: str) -> tuple[str, str]:
    """Return the path and the environment of ``salt://path?saltenv=env``."""
    path, _, query = url.removeprefix("salt://").partition("?")
    _, named, saltenv = query.partition("saltenv=")
    return path.strip("/"), saltenv if named else str(__env__)


class TreeContent:
    """The wanted ``files`` (path: URL), ``directories`` and ``links`` (path: target) of a tree, all in ``keep``."""

    def __init__(
        self,
        name: str,
        keep_symlinks: bool = False,
        include_pat: Any = None,
        exclude_pat: Any = None,
        maxdepth: int | None = None,
        include_empty: bool = False,
    ) -> None:
        self.name = name
        self.keep_symlinks = keep_symlinks
        self.include_pat = include_pat
        self.exclude_pat = exclude_pat
        self.maxdepth = maxdepth
        self.include_empty = include_empty
        self.files: dict[str, str] = {}
        self.directories: set[str] = set()
        self.links: dict[str, str] = {}
        self.keep: set[str] = set()
        self._ancestors: set[str] = set()

    def add(self, url: str) -> None:
        """Add the paths of a source that no earlier source had."""
        path, saltenv = _split(url)
        client = tree_files()
        prefix = f"{path}/"
        names = [name for name in client.list_files(saltenv) if name.startswith(prefix)]
        if self.keep_symlinks:
            names = self._add_links(prefix, client.list_symlinks(saltenv), names)
        for name in names:
            place = self._place(name, prefix)
            if place:
                self.files[place] = f"salt://{name}?saltenv={saltenv}"
                self.directories.add(os.path.dirname(place))
                self._add_ancestors(place)
                self.keep.add(place)
        if self.include_empty:
            for name in client.list_dirs(saltenv):
                place = self._place(name, prefix, is_directory=True) if name.startswith(prefix) else ""
                if place:
                    self.directories.add(place)
                    self._ancestors.add(place)
                    self.keep.add(place)

    def _add_ancestors(self, place: str) -> None:
        folder = os.path.dirname(place)
        while folder not in self._ancestors and folder != os.path.dirname(folder):
            self._ancestors.add(folder)
            folder = os.path.dirname(folder)

    def _add_links(self, prefix: str, links: dict[str, str], names: list[str]) -> list[str]:
        """Add links as links; return the names that are not below a link."""
        for link, target in links.items():
            if not link.startswith(prefix):
                continue
            names = [name for name in names if name != link and not name.startswith(f"{link}/")]
            place = self._place(link, prefix)
            if place:
                self.links[place] = target
                self.keep.add(place)
        return names

    def _place(self, name: str, prefix: str, *, is_directory: bool = False) -> str:
        """Return the target path of a file of the roots; "" if the file is excluded, or its path is taken."""
        relative = posixpath.relpath(name, prefix)
        if self.maxdepth is not None and relative.count("/") > self.maxdepth:
            return ""
        if relative == "." or not is_included(relative, self.include_pat, self.exclude_pat):
            return ""
        place = os.path.join(self.name, relative)
        part = relative  # the parents of the relative path end, however self.name is spelt
        while part:
            taken = os.path.join(self.name, part)
            if taken in self.files or taken in self.links:
                return ""
            part = posixpath.dirname(part)
        return "" if place in self._ancestors and not is_directory else place


def recursed_paths(low: Mapping[str, Any]) -> set[str]:
    """Return all paths that the ``file.recurse`` of a low chunk manages; none if its source is missing."""
    try:
        sources = existing_sources(low.get("source", []))
    except CommandExecutionError:
        return set()
    content = TreeContent(
        low["name"],
        bool(low.get("keep_symlinks")),
        low.get("include_pat"),
        low.get("exclude_pat"),
        low.get("maxdepth"),
        bool(low.get("include_empty")),
    )
    for single in sources if low.get("merge") else sources[:1]:
        content.add(single)
    return content.keep
