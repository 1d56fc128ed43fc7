"""The rules that `check` and `lint` apply, and the comments that silence them.

``# asyncstate: ignore[rule, …]`` silences rules, or single codes (``ignore[W203]``), for its own line or the line
below: an argument, a state with all its arguments, or an ID with all its states. ``ignore-file[…]`` silences them for
the whole file. Without brackets the comment silences all rules. Jinja comments work as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncstate.errors import AsyncStateError
from asyncstate.pattern import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RULES = {
    "unknown-function": "a state function that does not exist",
    "unknown-argument": "an argument that the function does not take",
    "missing-argument": "a required argument that is not given",
    "probable-argument": "an argument that a function which takes any keyword does not use",
    "argument-type": "a list or a mapping where the function takes neither, or the other way round",
    "argument-value": "a value that the run would reject, or take for something else: a mode, a path, a source, …",
    "requisite-word": "a word that is nearly a requisite, and lists states",
    "missing-source": "a salt:// source that is in no file root",
    "undone": "two states that undo each other's work, in each run anew",
    "refused": "a state that a run refuses: it runs a program as root in a place that another state gives to a user",
    "tree": "a declaration that probably means something else: a reference to nothing, an invalid order, …",
    "footprint-order": "two states that are ordered only because both touch the same resource",
    "definition-order": "a state with unknown effects that nothing keeps behind the state above it",
    "unknown-effects": "a state that may touch more than is known, and why",
    "may-undo": "two states that may undo each other's work, in each run anew",
    "unknown-name": "a module, an interface or another name in the settings that does not exist",
    "unknown-rule": "a comment that silences a rule or code that does not exist",
    "self": "a state that refers to itself",
    "unused-pillar": "a pillar key that no SLS file reads",
    "no-effect": "a setting of Salt, or a folder of plugins, that has no effect here, and what to do instead",
}
"""Each rule, and the findings it covers."""

CODES = {
    "E305": "tree",
    "E401": "unknown-function",
    "E402": "unknown-argument",
    "E403": "missing-argument",
    "E404": "probable-argument",
    "E405": "argument-type",
    "E406": "requisite-word",
    "E407": "missing-source",
    **dict.fromkeys(
        (
            *("E410", "E411", "E412", "E413", "E414", "E415", "E416", "E417", "E418"),
            *("E419", "E420", "E421", "E422", "E423", "E424", "E425", "E426", "E427", "E428"),
        ),
        "argument-value",
    ),
    "W402": "argument-value",
    "W403": "unknown-rule",
    "W404": "unknown-name",
    "E430": "undone",
    "E431": "refused",
    "W301": "footprint-order",
    "W302": "definition-order",
    "W303": "unknown-effects",
    "W304": "self",
    "W305": "unused-pillar",
    "W306": "may-undo",
    "W401": "no-effect",
}
"""The rules of codes that belong to a named rule. ``asyncstate explain`` explains every code."""

ANY = "tree"
"""The rule of findings without a rule of their own."""

_COMMENT = lazy_pattern(r"#\s*asyncstate:\s*ignore(?P<file>-file)?(?:\[(?P<rules>[^\]]*)\])?")
_STATEMENT = lazy_pattern(r"\s*\{[%#]")


def silenced_names(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of each rule or code that the comments of a file silence."""
    for number, line in enumerate(text.splitlines(), 1) if "asyncstate:" in text else ():
        for found in _COMMENT.finditer(line):
            yield from ((number, rule.strip()) for rule in (found["rules"] or "").split(",") if rule.strip())


class Silenced:
    """The silencing comments of a tree. ``read(path)`` returns the text of a file."""

    def __init__(self, read: Callable[[str], str]) -> None:
        self._read = read
        self._files: dict[str, _Comments | None] = {}

    def holds(self, rule: str, file: str, line: int, code: str = "") -> bool:
        """Return whether a finding at this place is silenced, by its rule or its code."""
        if not file:
            return False
        if file not in self._files:
            self._files[file] = self._comments(file)
        comments = self._files[file]
        return comments is not None and comments.silence({rule or ANY, code}, line)

    def _comments(self, file: str) -> _Comments | None:
        try:
            text = self._read(file)
        except (OSError, UnicodeDecodeError, AsyncStateError):
            return None
        return _Comments(text.splitlines()) if "asyncstate:" in text else None


class _Comments:
    """The silencing comments of one file."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._everywhere: set[str] = set()
        self._at: dict[int, set[str]] = {}
        for number, text in enumerate(lines, 1):
            for found in _COMMENT.finditer(text):
                rules = {name for _, name in silenced_names(found[0])} or set(RULES)
                (self._everywhere if found["file"] else self._at.setdefault(number, set())).update(rules)

    def silence(self, names: set[str], line: int) -> bool:
        if not names.isdisjoint(self._everywhere):
            return True
        return any(not names.isdisjoint(self._at.get(place, ())) for place in self._places(line))

    def _places(self, line: int) -> Iterator[int]:
        """Yield the lines whose comments apply to a line: the line, its parents, and the comments above each."""
        indent = 1 << 30
        for number in range(min(line, len(self._lines)), 0, -1):
            text = self._lines[number - 1]
            own = len(text) - len(text.lstrip())
            if not text.strip() or _is_comment(text) or _STATEMENT.match(text) or own >= indent:
                continue
            indent = own
            yield number
            above = number - 1
            while above and _is_comment(self._lines[above - 1]):
                yield above
                above -= 1
            if not own:
                return


def _is_comment(text: str) -> bool:
    return text.lstrip().startswith(("#", "{#"))
