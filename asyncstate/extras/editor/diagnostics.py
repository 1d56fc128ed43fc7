"""Diagnostics: the findings of check and lint, placed in the texts of the editor."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from asyncstate.extras.editor.outline import Place
from asyncstate.extras.editor.tree import At

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from asyncstate.extras.editor.messages import Finding
    from asyncstate.extras.editor.tree import Tree

_QUOTED = re.compile(r"'([^'\n]+)'")
_COMMENT = re.compile(r"(?<=\s)#")
_MISSING = re.compile(r"Specified SLS (\S+) in saltenv|Specified SLS \S+: (\S+) is not")
_FOR_INFORMATION = frozenset({"not-called", "unknown-effects", "unused-pillar"})
"""Rules whose findings are no faults of the text: level information."""


class Diagnostic(NamedTuple):
    """One finding in a file. ``level`` is error, warning or information; ``related`` are other places it names."""

    place: Place
    level: str
    rule: str
    message: str
    related: tuple[At, ...]
    code: str = ""


def diagnostics(tree: Tree, findings: Iterable[Finding]) -> dict[str, list[Diagnostic]]:
    """Return the findings by path. A finding without a file goes to the top file that names its subject."""
    found: dict[str, list[Diagnostic]] = {}
    tops = [file.path for file in tree.files.values() if file.relpath == "top.sls"]
    for finding in findings:
        path = finding.file or next(iter(tops), "")
        if not path:
            continue
        file = tree.file(path)
        lines = file.text.split("\n") if file is not None else [""]
        level = "error" if finding.mistake else "information" if finding.rule in _FOR_INFORMATION else "warning"
        message = "\n".join(filter(None, (finding.message.strip(), finding.hint)))
        related = tuple(_related(tree, finding.hint, At(path, Place(finding.line - 1, 0, 0))))
        place = _place(lines, finding)
        found.setdefault(path, []).append(Diagnostic(place, level, finding.rule, message, related, finding.code))
    return found


def _place(lines: Sequence[str], finding: Finding) -> Place:
    """Return the word of its line that a finding names, else the line without blanks and comment."""
    number = min(max(finding.line - 1, 0), len(lines) - 1)
    included = [*filter(None, (word for match in _MISSING.findall(finding.message) for word in match))]
    for word in [*included, *_QUOTED.findall(finding.message)]:
        written = re.compile(rf"(?<![\w.]){re.escape(word)}(?![\w.])")
        below = word in included or not finding.line  # an include is reported at its keyword
        for at in range(number, len(lines) if below else number + 1):
            if match := written.search(lines[at]):
                return Place(at, match.start(), match.end())
    line = lines[number]
    comment = _COMMENT.search(line)
    text = line[: comment.start() if comment else None].rstrip()
    return Place(number, len(text) - len(text.lstrip()), max(len(text), 1))


def _related(tree: Tree, hint: str, own: At) -> Iterator[At]:
    """Yield the places of files of the tree that a hint names as ``file:line``."""
    if "/" not in hint:
        return
    seen = {own}
    for path in (*tree.files, *tree.pillar):
        if f"{path}:" in hint:
            for line in re.findall(rf"{re.escape(path)}:(\d+)", hint):
                at = At(path, Place(int(line) - 1, 0, 0))
                if at not in seen:
                    seen.add(at)
                    yield at
