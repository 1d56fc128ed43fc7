"""Publishes diagnostics: sends what changed since the last answer, and withdraws what is mended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types
from msgspec import structs

from asyncstate.extras.editor.diagnostics import diagnostics
from asyncstate.extras.editor.messages import Found

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from asyncstate.extras.editor.diagnostics import Diagnostic
    from asyncstate.extras.editor.messages import Answer, Finding
    from asyncstate.extras.editor.outline import Place
    from asyncstate.extras.editor.tree import At, Tree

_LEVELS = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "information": types.DiagnosticSeverity.Information,
}


class Publisher:
    """The diagnostics published for each file.

    ``send`` tells the editor; ``range_in(path, place)`` and ``locations`` give places as the editor counts.
    """

    def __init__(
        self,
        send: Callable[[types.PublishDiagnosticsParams], None],
        range_in: Callable[[str, Place], types.Range],
        locations: Callable[[Iterable[At]], list[types.Location]],
        uri_of: Callable[[str], str],
    ) -> None:
        self._send = send
        self._range_in = range_in
        self._locations = locations
        self._uri_of = uri_of
        self._told: dict[str, list[Diagnostic]] = {}
        self._early: frozenset[Finding] = frozenset()
        self._late: tuple[Finding, ...] = ()
        self._texts: dict[str, str] = {}

    def take(self, answer: Answer, tree: Tree) -> None:
        """Publish the findings of a job; other answers are ignored.

        Findings that only a whole compilation gives stay until the next one replaces them: they move with their line,
        and go if the line has changed.
        """
        if not isinstance(answer, Found):
            return
        findings = answer.findings
        if answer.whole:
            self._late = tuple(finding for finding in findings if finding not in self._early)
            files = {finding.file: tree.file(finding.file) for finding in self._late}
            self._texts = {path: file.text for path, file in files.items() if file is not None}
        else:
            self._early = frozenset(findings)
            findings += tuple(finding for finding in self._moved(tree) if finding not in self._early)
        found = diagnostics(tree, findings)
        for path in [*found, *(self._told.keys() - found.keys())]:
            here = found.get(path, [])
            if here != self._told.get(path, []):
                self._send(types.PublishDiagnosticsParams(self._uri_of(path), [self.shown(path, it) for it in here]))
        self._told = found

    def _moved(self, tree: Tree) -> Iterator[Finding]:
        """Yield the findings that only the last whole compilation gave, at their present lines."""
        lines: dict[str, Callable[[int], int]] = {}
        for path, text in self._texts.items():
            file = tree.file(path)
            if file is not None and file.text != text:
                lines[path] = line_map(text.split("\n"), file.text.split("\n"))
        for finding in self._late:
            line = lines[finding.file](finding.line) if finding.file in lines and finding.line else finding.line
            if line >= 0:
                yield structs.replace(finding, line=line)

    def told(self, path: str) -> list[Diagnostic]:
        """Return the published diagnostics of a file."""
        return self._told.get(path, [])

    def shown(self, path: str, it: Diagnostic) -> types.Diagnostic:
        """Return a diagnostic in the protocol's form."""
        related = [types.DiagnosticRelatedInformation(at, "see here") for at in self._locations(it.related)]
        return types.Diagnostic(
            range=self._range_in(path, it.place),
            message=it.message,
            severity=_LEVELS[it.level],
            code=it.code or it.rule or None,
            source="asyncstate",
            related_information=related or None,
        )


def line_map(before: Sequence[str], after: Sequence[str]) -> Callable[[int], int]:
    """Return a function from a line before a change to its line after it, from 1; -1 for a changed line."""
    most = min(len(before), len(after))
    above = 0
    while above < most and before[above] == after[above]:
        above += 1
    below = 0
    while below < most - above and before[-1 - below] == after[-1 - below]:
        below += 1

    def line_of(line: int) -> int:
        if line <= above:
            return line
        return line + len(after) - len(before) if line > len(before) - below else -1

    return line_of
