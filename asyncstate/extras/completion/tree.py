"""The SLS names of a tree, and the IDs that its files declare, read from their text."""

from __future__ import annotations

import os
import re
import stat
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_SECONDS_OF_READING = 0.2
"""Time limit for reading files, in seconds; the IDs of unread files are not offered."""
_LARGEST_SLS = 1 << 20
_COMMENT = re.compile(r"\{#.*?#\}", re.DOTALL)
_KEY = re.compile(
    r"""^(?:"([^"\\\n]+)"|'([^'\n]+)'|([^\s#{}%\[\]&*!|>'"@`,?-][^\n]*?|-[^\s][^\n]*?)):(?=[ \t\r]|$)""", re.MULTILINE
)
_INCLUDE = re.compile(r"^include:[^\n]*\n((?:[ \t]*(?:-[^\n]*|#[^\n]*|\{%[^\n]*)?\n)*)", re.MULTILINE)
_INCLUDED = re.compile(r"""^[ \t]*-[ \t]+["']?([\w./*-]+)["']?[ \t\r]*(?:#.*)?$""", re.MULTILINE)
_NO_IDS = frozenset({"include", "exclude", "extend"})
_OWN_LANGUAGE = re.compile(r"#![^\n]*\bpy")


def sls_files(roots: Sequence[str], begun: str = "") -> dict[str, str]:
    """Return the files of an environment's SLS whose names begin with a text, by dotted name, sorted.

    As in the engine, ``a.sls`` of any root comes before ``a/init.sls``, and then the first root counts.
    """
    modules: dict[str, str] = {}
    packages: dict[str, str] = {}
    for root in roots:
        for prefix, entry in _sls_entries(root, begun):
            if entry.name == "init.sls" and prefix:
                packages.setdefault(prefix[:-1], entry.path)
            else:
                modules.setdefault(prefix + entry.name[:-4], entry.path)
    found = {**packages, **modules}
    return {name: found[name] for name in sorted(found) if name.startswith(begun)}


def sls_file(roots: Sequence[str], name: str) -> str | None:
    """Return the file of one SLS; None if there is none."""
    stem = name.replace(".", "/")
    places = [f"{root}/{stem}{rest}" for rest in (".sls", "/init.sls") for root in roots]
    return next((place for place in places if os.path.isfile(place)), None)


def _sls_entries(root: str, begun: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield the files that can be named as an SLS, with the prefix of their names.

    Folders without a name that begins with ``begun`` are skipped.
    """
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
                        below = f"{prefix}{entry.name}."
                        if below.startswith(begun) or f"{begun}.".startswith(below):
                            waiting.append((entry.path, below))
        except OSError:
            continue


def _leads_up(entry: os.DirEntry[str]) -> bool:
    """Return whether a link points to a folder that contains it, so that following it would never end."""
    above = os.path.dirname(entry.path)
    real = os.path.realpath(entry.path)
    return (os.path.realpath(above) + "/").startswith(real.rstrip("/") + "/")


def ids_of(
    file_roots: Mapping[str, Sequence[str]], saltenv: str, named: Iterable[str] = (), begun: str = ""
) -> list[str]:
    """Return the IDs in the named SLS and their includes; if none exists, those of the whole environment.

    Only IDs that begin with ``begun`` are returned, sorted; IDs that a template computes are unknown.
    """
    roots = file_roots.get(saltenv) or file_roots.get("__env__") or []
    texts = _Texts()
    wanted = _with_includes(texts, roots, named) or sls_files(roots).values()
    return sorted({id_ for path in wanted for id_ in texts.of(path)[0] if id_.startswith(begun)})


def _with_includes(texts: _Texts, roots: Sequence[str], named: Iterable[str]) -> set[str]:
    found: set[str] = set()
    waiting = [*named]
    while waiting:
        name = waiting.pop()
        path = sls_file(roots, name)
        if path is None or path in found:
            continue
        found.add(path)
        package = name if path.endswith("/init.sls") else name.rpartition(".")[0]
        waiting += [_absolute(included, package) for included in texts.of(path)[1]]
    return found


def _absolute(included: str, package: str) -> str:
    """Return the absolute name of an included SLS: ``.x`` is a sibling, ``..x`` one folder further up."""
    name = included.lstrip(".")
    up = len(included) - len(name)
    if not up:
        return included.replace("/", ".")
    parts = package.split(".") if package else []
    return ".".join([*parts[: len(parts) - up + 1], name])


class _Texts:
    """The IDs and includes of files, each file read once, within a time limit."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[list[str], list[str]]] = {}
        self._until = time.monotonic() + _SECONDS_OF_READING

    def of(self, path: str) -> tuple[list[str], list[str]]:
        """Return the IDs and the includes of a file; nothing once the time is up."""
        if path not in self._known:
            self._known[path] = _read(path) if time.monotonic() < self._until else ([], [])
        return self._known[path]


def ids_in(path: str) -> list[str]:
    """Return the top-level keys in the text of a file that is written like an SLS."""
    return _read(path)[0]


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
    """Return the IDs and the includes in the text of an SLS; none for a program, which computes them."""
    if _OWN_LANGUAGE.match(text):
        return [], []
    if "{#" in text:
        text = _COMMENT.sub("", text)
    keys = dict.fromkeys(first or second or plain for first, second, plain in _KEY.findall(text))
    include = _INCLUDE.search(text)
    included = _INCLUDED.findall(include[1]) if include else []
    return [key for key in keys if key not in _NO_IDS and "{{" not in key], included
