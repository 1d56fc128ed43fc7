"""Template blocks (``if``, ``for`` …) around each place of a text: lines in the same ones render together."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Final

_STATEMENT: Final = re.compile(r"\{#.*?#\}|\{%[-+]?\s*(?P<word>\w+)(?P<rest>.*?)%\}", re.DOTALL)
_FORKS: Final = frozenset({"else", "elif"})

Branch = tuple[int, ...]
"""The statements that are open at a place, outermost first; a branch of an ``if`` counts as another than the next."""


class Branches:
    """The branches of a text, by position."""

    def __init__(self, text: str) -> None:
        self._starts: list[int] = [0]
        self._branches: list[Branch] = [()]
        if "{%" in text:
            self._read(text)

    def at(self, position: int) -> Branch:
        """Return the branch that a position is in."""
        return self._branches[bisect_right(self._starts, position) - 1]

    def _read(self, text: str) -> None:
        closing = set(re.findall(r"\{%[-+]?\s*end(\w*)", text))
        for found in _STATEMENT.finditer(text):
            word, here = found["word"], self._branches[-1]
            if not word:
                continue
            if word.startswith("end"):
                here = here[:-1]
            elif word in _FORKS:
                here = (*here[:-1], found.end())
            elif (word in closing and not (word == "set" and "=" in found["rest"])) or word.startswith("load_"):
                here = (*here, found.end())
            else:
                continue
            self._starts.append(found.end())
            self._branches.append(here)
