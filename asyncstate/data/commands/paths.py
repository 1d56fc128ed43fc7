"""Conversion of a command's words to names of resources: ``path:/a``, ``path:/a/**``, ``sysctl:a.b``."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from asyncstate.data.commands.syntax import ANY_MARK, END, OPEN, TILDE

if TYPE_CHECKING:
    from collections.abc import Iterator

TREE = "/**"
SYSCTL_FOLDER = "/proc/sys/"

_NOT_KEPT = re.compile(
    r"/dev/(?:null|zero|full|u?random|tty\w*|console|ptmx|pts(?:/.*)?|std\w+|fd(?:/.*)?|log|tcp/.*|udp/.*)$"
    r"|/proc(?!/sys/)(?:/.*)?$"
)
"""Devices that store nothing, and the kernel's information on processes."""

_UNEVEN = re.compile(r"//|/\.|/$")
_MOST_FOLDERS = 8


class Folders:
    """The folders that relative paths may start from: several after a conditional ``cd``.

    ``login`` is the home of the user who runs the command, ``tilde`` the home of the shell's user: ``~`` or ``~user``.
    ``certain`` is False if other folders are possible.
    """

    __slots__ = ("certain", "login", "paths", "tilde")

    def __init__(self, paths: tuple[str, ...], login: str, *, certain: bool = True, tilde: str = "") -> None:
        self.paths: tuple[str, ...] = paths
        self.login: str = login
        self.tilde: str = tilde or login
        self.certain: bool = certain

    def changed(self, word: str, *, perhaps: bool) -> Folders:
        """Return the folders after ``cd word``; ``perhaps`` if the command may not run."""
        if word == "-" or ANY_MARK.search(word.removeprefix(TILDE)):
            return Folders(self.paths, self.login, certain=False, tilde=self.tilde)
        paths = tuple(path for path, _ in resolve(word or TILDE, self))
        certain = self.certain or word.startswith(("/", TILDE)) or not word
        if perhaps:
            paths, certain = (*self.paths, *paths), self.certain and certain
        paths = tuple(dict.fromkeys(paths))
        certain = certain and len(paths) <= _MOST_FOLDERS
        return Folders(paths[:_MOST_FOLDERS], self.login, certain=certain, tilde=self.tilde)

    def of(self, user: str, *, login: bool) -> Folders:
        """Return the folders of a command run by ``user``; with ``login``, it starts in the home of that user."""
        home = f"~{user}"
        return Folders((home,) if login else self.paths, home, certain=self.certain, tilde=self.tilde)

    def inside(self) -> Folders:
        """Return the folders of a shell that the command starts: there, ``~`` is the home of the command's user."""
        return Folders(self.paths, self.login, certain=self.certain)


def normal(path: str) -> str:
    """Return a path without ``.``, ``..``, doubled slashes and a trailing slash."""
    if _UNEVEN.search(path) is None:
        return path
    if path.startswith("~"):
        home, _, rest = path.partition("/")
        rest = posixpath.normpath(rest) if rest else "."
        return home if rest == "." else f"{home}/{rest}"
    path = posixpath.normpath(path)
    return path[1:] if path.startswith("//") else path


def resolve(word: str, folders: Folders) -> Iterator[tuple[str, bool]]:
    """Yield each path that a word may name, and whether the word means entries below that path, found by the shell.

    Yields nothing if the folder of the word is unknown.
    """
    if word.startswith("file://"):
        word = word[7:].removeprefix("localhost")
    home = ""
    if word.startswith(TILDE):
        name, slash, rest = word[1:].partition("/")
        if ANY_MARK.search(name):
            return
        home, word = f"~{name}" if name else folders.tilde, f"{slash}{rest}"
    mark = ANY_MARK.search(word)
    tree = mark is not None
    if mark is not None:
        word = word[: word.rfind("/", 0, mark.start()) + 1]
        if mark.group() == OPEN and not home and (word == "/" or not (word or mark.start())):
            return
    if home or word.startswith("/"):
        yield normal(f"{home}{word}"), tree
    elif word or tree:
        for folder in folders.paths:
            yield normal(f"{folder}/{word}"), tree


def uncertainty(word: str, folders: Folders) -> str:
    """Return the reason why the path of a word is uncertain, "" if it is not."""
    mark = ANY_MARK.search(word)
    if mark is not None:
        if mark.group() == OPEN and not word[: mark.start()].strip("/"):
            return opened(word)
        if mark.group() == TILDE and OPEN in word.partition("/")[0]:
            return opened(word)
    if not word.startswith(("/", TILDE, "file://")) and not folders.certain:
        return "it names files in a folder that only a run knows"
    return ""


def opened(word: str) -> str:
    """Return the reason inside a word with a part known only at run time, as a sentence."""
    start = word.index(OPEN)
    what = word[start + 1 : word.index(END, start)]
    return f"it uses {what}, which only a run knows"


def named(path: str, *, tree: bool) -> str:
    """Return the name of a path's resource; "" if the path stores nothing."""
    if path.startswith(("/dev/", "/proc")):
        if path.startswith(SYSCTL_FOLDER):
            return f"sysctl:{path[len(SYSCTL_FOLDER) :].replace('/', '.')}"
        if _NOT_KEPT.match(path):
            return ""
    if "#" in path:  # "#" begins an entry of a file
        path, tree = path[: path.index("#")], False
    return f"path:{'' if tree and path == '/' else path}{TREE if tree else ''}"
