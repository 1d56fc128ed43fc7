"""The resources that a command touches, collected word by word."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from asyncstate.data.commands import paths
from asyncstate.data.commands.syntax import ANY_MARK, END, OPEN, TILDE, WILD

if TYPE_CHECKING:
    from asyncstate.data.commands.paths import Folders

_EVEN_PATH = re.compile(r"(?!/dev/|/proc)(?:/(?!\.\.?(?:/|\Z))[^/#\ufdd0-\ufdef]+)+\Z")
"""Paths that name themselves: absolute, without patterns, variables, entries, ``.``, ``..`` and doubled slashes."""

_INTERPRETED = "it runs {}, and what that does is not known"


class Found:
    """The resources found so far. ``reasons``: why there may be more."""

    def __init__(self) -> None:
        self.reads: dict[str, None] = {}
        self.writes: dict[str, None] = {}
        self.makes: dict[str, None] = {}
        self.links: dict[tuple[str, str], None] = {}
        self.copies: dict[tuple[str, str], None] = {}
        self.reasons: dict[str, None] = {}
        self.bare: dict[str, None] = {}
        self.programs: dict[str, None] = {}
        self.forgotten: set[str] = set()
        self.reads_script: bool = False
        self.all_known: bool = True

    def open(self, reason: str) -> None:
        """Note a reason why more may be touched."""
        self.reasons[reason] = None
        self.all_known = False


class Touching:
    """Notes the resources that the words of one command name, relative to its folders."""

    def __init__(self, found: Found, folders: Folders) -> None:
        self.found: Found = found
        self.folders: Folders = folders

    def read(self, word: str) -> None:
        """Note that a word's path is read, with everything below it."""
        self.touch(word, self.found.reads, below=True)

    def read_folder(self, word: str) -> None:
        """Note that a folder must exist."""
        if word not in {"", "-"}:
            self.touch(word, self.found.reads, below=False)

    def write(self, word: str) -> None:
        """Note that a word's path is written."""
        self.touch(word, self.found.writes, below=False)

    def write_below(self, word: str) -> None:
        """Note that a word's path, and anything below it, may be written."""
        self.touch(word, self.found.writes, below=True)

    def make(self, word: str) -> None:
        """Note that a folder is made, with its parents, if missing."""
        self.touch(word, self.found.makes, below=False)

    def link(self, place: str, said: str) -> None:
        """Note a link and its text: a path, absolute or relative to the folder of the link."""
        for path, tree in paths.resolve(place, self.folders):
            if not tree:
                self.found.links[(path, said)] = None

    def script(self, word: str) -> None:
        """Note a file with commands, whose content is not known."""
        self.read(word)
        if OPEN not in word:
            self.found.open(_INTERPRETED.format(f"the script {shown(word)}"))

    def resource(self, kind: str, word: str) -> None:
        """Note another resource; ``kind!`` for one that is written."""
        word = word.removesuffix(".service") if kind.startswith("service") else word
        mark = ANY_MARK.search(word)
        if mark is not None:
            self.found.open(paths.opened(word) if OPEN in word else f"a pattern chooses what it changes ({kind})")
        elif word:
            names = self.found.writes if kind.endswith("!") else self.found.reads
            names[f"{kind.removesuffix('!')}:{word}"] = None

    def touch(self, word: str, names: dict[str, None], *, below: bool) -> None:
        """Add the resources of a word to ``names``, with everything ``below`` or without."""
        if _EVEN_PATH.match(word):
            names[f"path:{word}/**" if below else f"path:{word}"] = None
            return
        if word in {"", "-"}:
            return
        reason = paths.uncertainty(word, self.folders)
        if reason:
            self.found.open(reason)
        for path, tree in paths.resolve(word, self.folders):
            name = paths.named(path, tree=tree or below)
            if name:
                names[name] = None


def shown(word: str) -> str:
    """Return a word as an author would write it."""
    word = re.sub(f"{OPEN}([^{END}]*){END}", r"\1", word)
    return ANY_MARK.sub("", word.replace(WILD, "*").replace(TILDE, "~"))
