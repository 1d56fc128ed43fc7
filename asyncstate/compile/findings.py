"""Findings: everything wrong with a tree so far, each with the file and line it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.errors import CompileError, CycleError, Issue
from asyncstate.model.chunk import Lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def _no_line(*_path: str | None) -> int:
    return 0


_NO_LINES = Lines(_no_line)


def mistakes(issues: Iterable[Issue]) -> list[Issue]:
    """Return those of the warnings that are mistakes, by place."""
    return sorted((issue for issue in issues if issue.mistake), key=lambda issue: (issue.file, issue.line))


class Findings:
    """Collects errors and warnings, and knows which file each SLS was rendered from.

    ``line_of(id, state, argument)`` of a rendered file gives the line of a declaration before rendering, 0 if unknown.
    The last may be left out, or the last two.
    """

    def __init__(self) -> None:
        self.errors: list[Issue] = []
        self.warnings: list[Issue] = []
        self.cyclic = False
        self.shared_requisites: set[Any] = set()
        """IDs under which a requisite stands directly, so that each of their states has it."""
        self._files: dict[tuple[str, str], tuple[str, Lines]] = {}

    def opened(self, env: str, sls: str, path: str, line_of: Callable[..., int] = _no_line) -> None:
        """Take note of the file an SLS comes from."""
        self._files[env, sls] = (path, Lines(line_of))

    def place(self, env: str, sls: str, id_: Any = None, state: str | None = None) -> tuple[str, int]:
        """Return file and line of a declaration; ``("", 0)`` for high data that came from no file."""
        path, lines = self.source(env, sls)
        return path, lines.of(id_, state)

    def source(self, env: str, sls: str) -> tuple[str, Lines]:
        """Return the file of an SLS and its lines."""
        return self._files.get((env, sls), ("", _NO_LINES))

    def error(
        self,
        message: str,
        *,
        env: str = "base",
        sls: str = "",
        id_: Any = None,
        state: str | None = None,
        hint: str = "",
    ) -> None:
        """Note a mistake that keeps the tree from compiling."""
        self.errors.append(Issue(message, *self.place(env, sls, id_, state), hint))

    def error_at(self, message: str, file: str, line: int, hint: str = "") -> None:
        """Note a mistake whose place is known."""
        self.errors.append(Issue(message, file, line, hint))

    def warn(
        self,
        message: str,
        *,
        env: str = "base",
        sls: str = "",
        id_: Any = None,
        state: str | None = None,
        hint: str = "",
    ) -> None:
        """Note something Salt would swallow: the tree compiles, and probably not as it was meant."""
        self.warnings.append(Issue(message, *self.place(env, sls, id_, state), hint))

    def warn_at(self, message: str, file: str, line: int, hint: str = "") -> None:
        """Note a warning whose place is known."""
        self.warnings.append(Issue(message, file, line, hint))

    def noted(self, rule: str, message: str, file: str, line: int, hint: str = "", *, mistake: bool = False) -> None:
        """Note what a rule found: a warning for a run, which takes it as Salt does; a mistake for whoever checks."""
        self.warnings.append(Issue(message, file, line, hint, rule, mistake))

    def beside(self) -> Findings:
        """Return empty findings that know the same files."""
        other = Findings()
        other._files = self._files
        return other

    def check(self) -> None:
        """Raise CompileError (CycleError if the graph has a cycle) when there are errors; mistakes are told, too."""
        if self.errors:
            raise (CycleError if self.cyclic else CompileError)([*self.errors, *mistakes(self.warnings)])

    def silence(self, silenced: Callable[[Issue], bool]) -> None:
        """Drop the warnings that somebody does not want to hear."""
        self.warnings = [issue for issue in self.warnings if not silenced(issue)]

    def refuse_mistakes(self) -> None:
        """Make every mistake an error."""
        self.errors += mistakes(self.warnings)
        self.warnings = [issue for issue in self.warnings if not issue.mistake]
