"""Findings: the errors and warnings of a tree so far, each with its file and line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.errors import CompileError, CycleError, Issue
from asyncstate.model.chunk import Lines
from asyncstate.model.rules import CODES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def _no_line(*_path: str | None) -> int:
    return 0


_NO_LINES = Lines(_no_line)

_MOST_SEARCHES = 10
"""The number of IDs that are searched for in all SLS files: that is slow in a large tree."""


def mistakes(issues: Iterable[Issue]) -> list[Issue]:
    """Return the warnings that are mistakes, sorted by file and line."""
    return sorted((issue for issue in issues if issue.mistake), key=lambda issue: (issue.file, issue.line))


class Findings:
    """Collects errors and warnings, and knows which file each SLS was rendered from.

    ``line_of(id, state, argument)`` of a rendered file returns the line of a declaration before rendering, 0 if
    unknown. Callers may leave out ``argument``, or both ``state`` and ``argument``.
    """

    def __init__(self) -> None:
        self.errors: list[Issue] = []
        self.warnings: list[Issue] = []
        self.cyclic = False
        self.shared_requisites: set[Any] = set()
        """IDs with a requisite directly under them, which therefore belongs to each of their states."""
        self.misdirected: set[tuple[Any, Any]] = set()
        """State modules and arguments that extensions give to IDs which do not exist."""
        self.copied: set[tuple[Any, Any, Any]] = set()
        """IDs, state modules and arguments that another state gives through ``use``."""
        self.declaring: Callable[[Any, str], list[str]] = lambda _id, _env: []
        """Returns the SLS of an environment that seem to declare an ID, by their texts; for hints only."""
        self.nearest_sls: Callable[[str, str], str] = lambda _sls, _env: ""
        """Returns a hint for the name of an SLS that an environment does not have."""
        self._searches = 0
        self._files: dict[tuple[str, str], tuple[str, Lines]] = {}

    def opened(self, env: str, sls: str, path: str, line_of: Callable[..., int] = _no_line) -> None:
        """Record the file an SLS comes from."""
        self._files[env, sls] = (path, Lines(line_of))

    def place(
        self, env: str = "base", sls: str = "", id_: Any = None, state: str | None = None, argument: str | None = None
    ) -> tuple[str, int]:
        """Return the file and line of a declaration; ``("", 0)`` for high data that did not come from a file.

        An argument without a line of its own has that of its state.
        """
        path, lines = self.source(env, sls)
        return path, (lines.of(id_, state, argument) if argument else 0) or lines.of(id_, state)

    def source(self, env: str, sls: str) -> tuple[str, Lines]:
        """Return the file of an SLS and its lines."""
        return self._files.get((env, sls), ("", _NO_LINES))

    def include_hint(self, id_: Any, env: str) -> str:
        """Return which SLS that was not compiled seems to declare an ID; "" if none does, and after a few searches."""
        self._searches += 1
        if self._searches > _MOST_SEARCHES:
            return ""
        others = [sls for sls in self.declaring(id_, env) if (env, sls) not in self._files]
        named = " or ".join(f"'{sls}'" for sls in others[:3])
        return f"SLS {named} declares {id_!r} and is not included: include it" if others else ""

    def error(self, code: str, message: str, *, hint: str = "", **where: Any) -> None:
        """Record an error: the tree cannot be compiled. ``where`` are arguments of `place`."""
        self.error_at(code, message, *self.place(**where), hint)

    def error_at(self, code: str, message: str, file: str, line: int, hint: str = "") -> None:
        """Record an error whose file and line are known."""
        self.errors.append(Issue(message, file, line, hint, code=code))

    def warn(self, code: str, message: str, *, hint: str = "", **where: Any) -> None:
        """Record something that Salt accepts silently: the tree compiles, but probably not as its author meant."""
        self.warn_at(code, message, *self.place(**where), hint)

    def warn_at(self, code: str, message: str, file: str, line: int, hint: str = "") -> None:
        """Record a warning whose file and line are known."""
        self.warnings.append(Issue(message, file, line, hint, code=code))

    def noted(self, code: str, message: str, file: str, line: int, hint: str = "", *, mistake: bool = False) -> None:
        """Record what a rule found. A run only warns, as it does what Salt does; ``mistake`` makes a check fail."""
        self.warnings.append(Issue(message, file, line, hint, CODES[code], mistake, code))

    def beside(self) -> Findings:
        """Return new, empty findings that know the same files."""
        other = Findings()
        other._files = self._files
        other.declaring, other.nearest_sls = self.declaring, self.nearest_sls
        return other

    def check(self) -> None:
        """Raise CompileError (CycleError for a cyclic graph) if there are errors. It also lists the mistakes."""
        if self.errors:
            raise (CycleError if self.cyclic else CompileError)([*self.errors, *mistakes(self.warnings)])

    def silence(self, silenced: Callable[[Issue], bool]) -> None:
        """Drop the warnings for which ``silenced`` returns True."""
        self.warnings = [issue for issue in self.warnings if not silenced(issue)]

    def refuse_mistakes(self) -> None:
        """Turn every mistake into an error."""
        self.errors += mistakes(self.warnings)
        self.warnings = [issue for issue in self.warnings if not issue.mistake]
