"""What other extras find in trees, and know of functions and of the words of the language."""

from __future__ import annotations

from typing import Any, Protocol

from asyncstate import extend


class LintFinding(Protocol):
    """A finding of lint. ``chunk`` should require ``missing``; both are -1 if a requisite does not help."""

    rule: str
    message: str
    file: str
    line: int
    hint: str
    chunk: int
    missing: int
    code: str


ANALYSIS: Any = extend.provided("analysis", "lsp")
MANUAL: Any = extend.provided("manual", "lsp")
JUDGE: Any = extend.provided("judge", "lsp")
