"""Findings: everything wrong with a tree so far, each with the file and line it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.errors import CompileError, CycleError, Issue

if TYPE_CHECKING:
    from collections.abc import Callable

    LineOf = Callable[[str, str | None], int]


class Findings:
    """Collects errors and warnings, and knows which file each SLS was rendered from.

    ``line_of(id, state)`` of a rendered file gives the line of a declaration before rendering, 0 if unknown.
    """

    def __init__(self) -> None:
        self.errors: list[Issue] = []
        self.warnings: list[Issue] = []
        self.cyclic = False
        self._files: dict[tuple[str, str], tuple[str, LineOf | None]] = {}

    def opened(self, env: str, sls: str, path: str, line_of: LineOf | None = None) -> None:
        """Take note of the file an SLS comes from."""
        self._files[env, sls] = (path, line_of)

    def place(self, env: str, sls: str, id_: Any = None, state: str | None = None) -> tuple[str, int]:
        """Return file and line of a declaration; ``("", 0)`` for high data that came from no file."""
        path, line_of = self._files.get((env, sls), ("", None))
        if line_of is None or not isinstance(id_, str):
            return path, 0
        return path, line_of(id_, state)

    def source(self, env: str, sls: str) -> tuple[str, LineOf | None]:
        """Return the file of an SLS and its line table, for whoever asks about each of its states."""
        return self._files.get((env, sls), ("", None))

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

    def check(self) -> None:
        """Raise CompileError (CycleError if the graph has a cycle) when there are errors."""
        if self.errors:
            raise (CycleError if self.cyclic else CompileError)(self.errors)
