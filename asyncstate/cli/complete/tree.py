"""The SLS names of a tree, and the IDs that its files declare, read from their text."""

from __future__ import annotations

import os
import re
import stat
import time
from typing import TYPE_CHECKING, Any

from asyncstate.cli.complete import store

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_SECONDS_OF_READING = 0.1
"""How long files that changed are read; what is left has its former IDs, or none, until the next press of the key."""
_LARGEST_SLS = 1 << 20
_NEVER_SLS = frozenset({".git", ".hg", ".svn"})
_COMMENT = re.compile(r"\{#.*?#\}", re.DOTALL)
_KEY = re.compile(
    r"""^(?:"([^"\\\n]+)"|'([^'\n]+)'|([^\s#{}%\[\]&*!|>'"@`,?-][^\n]*?|-[^\s][^\n]*?)):(?=[ \t\r]|$)""", re.MULTILINE
)
_INCLUDE = re.compile(r"^include:[^\n]*\n((?:[ \t]*(?:-[^\n]*|#[^\n]*|\{%[^\n]*)?\n)*)", re.MULTILINE)
_INCLUDED = re.compile(r"""^[ \t]*-[ \t]+["']?([\w./*-]+)["']?[ \t\r]*(?:#.*)?$""", re.MULTILINE)
_NO_IDS = frozenset({"include", "exclude", "extend"})
_OWN_LANGUAGE = re.compile(r"#![^\n]*\bpy")


def sls_files(roots: Sequence[str]) -> dict[str, str]:
    """Return the SLS of an environment, sorted by their dotted names, and the file of each.

    As in the engine, ``a.sls`` of any root comes before ``a/init.sls``, and then the first root counts.
    """
    modules: dict[str, str] = {}
    packages: dict[str, str] = {}
    for root in roots:
        for prefix, entry in _sls_entries(root):
            if entry.name == "init.sls" and prefix:
                packages.setdefault(prefix[:-1], entry.path)
            else:
                modules.setdefault(prefix + entry.name[:-4], entry.path)
    return dict(sorted({**packages, **modules}.items()))


def _sls_entries(root: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield every file that can be named as an SLS, with what stands before it in its name; ``x.sls`` in any order."""
    waiting = [(root, "")]
    while waiting:
        directory, prefix = waiting.pop()
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    if entry.name.endswith(".sls"):
                        if "." not in entry.name[:-4] and entry.is_file():
                            yield prefix, entry
                    elif "." not in entry.name and entry.is_dir() and not (entry.is_symlink() and _leads_up(entry)):
                        waiting.append((entry.path, f"{prefix}{entry.name}."))
        except OSError:
            continue


def _leads_up(entry: os.DirEntry[str]) -> bool:
    """Return whether a link leads to a folder that contains it, so that it would be entered for ever."""
    above = os.path.dirname(entry.path)
    real = os.path.realpath(entry.path)
    return (os.path.realpath(above) + "/").startswith(real.rstrip("/") + "/")


def ids_of(file_roots: Mapping[str, Sequence[str]], saltenv: str, named: Iterable[str] = ()) -> list[str]:
    """Return the IDs in the named SLS and those that they include; without names, in all SLS of the environment.

    IDs that a template computes are not among them. They are sorted.
    """
    roots = file_roots.get(saltenv) or file_roots.get("__env__") or []
    index = _Index(store.key_of("ids", list(roots)))
    files = sls_files(roots)
    wanted = _with_includes(index, files, named) if named else files
    found = {id_ for name in wanted for id_ in index.of(files[name])[0]}
    index.keep(set(files.values()))
    return sorted(found)


def _with_includes(index: _Index, files: Mapping[str, str], named: Iterable[str]) -> dict[str, None]:
    found: dict[str, None] = {}
    waiting = [name for name in named if name in files]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found[name] = None
        package = name if files[name].endswith("/init.sls") else name.rpartition(".")[0]
        for included in index.of(files[name])[1]:
            waiting += [full for full in (_absolute(included, package),) if full in files]
    return found


def _absolute(included: str, package: str) -> str:
    """Return the name of an SLS that an include names: ``.x`` is beside it, ``..x`` one folder further up."""
    name = included.lstrip(".")
    up = len(included) - len(name)
    if not up:
        return included.replace("/", ".")
    parts = package.split(".") if package else []
    return ".".join([*parts[: len(parts) - up + 1], name])


class _Index:
    """IDs and includes by file, from the last time that somebody pressed the key."""

    def __init__(self, key: str) -> None:
        self._name = f"ids-{key}.json"
        self._known: dict[str, Any] = store.load(self._name)
        self._until = time.monotonic() + _SECONDS_OF_READING
        self._changed = False

    def of(self, path: str) -> tuple[list[str], list[str]]:
        """Return the IDs of a file and what it includes."""
        stamp = store.stamp(path)
        known = self._known.get(path)
        if (known is None or known[0] != stamp) and time.monotonic() < self._until:
            known = self._known[path] = [stamp, *_read(path)]
            self._changed = True
        return (known[1], known[2]) if known else ([], [])

    def keep(self, existing: set[str]) -> None:
        """Write what was read anew, without files that are gone."""
        if self._changed:
            store.save(self._name, {path: known for path, known in self._known.items() if path in existing})


def _read(path: str) -> tuple[list[str], list[str]]:
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return [], []
            text = file.read(_LARGEST_SLS).decode("utf-8", "replace")
    except OSError:
        return [], []
    return declared(text)


def declared(text: str) -> tuple[list[str], list[str]]:
    """Return the IDs and the includes that the text of an SLS shows; none of a program, which computes them."""
    if _OWN_LANGUAGE.match(text):
        return [], []
    if "{#" in text:
        text = _COMMENT.sub("", text)
    keys = dict.fromkeys(first or second or plain for first, second, plain in _KEY.findall(text))
    include = _INCLUDE.search(text)
    included = _INCLUDED.findall(include[1]) if include else []
    return [key for key in keys if key not in _NO_IDS and "{{" not in key], included
