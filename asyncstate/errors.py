"""Every exception this package raises on purpose.

A state that fails is data (a row whose ``result`` is False), never an exception::

    AsyncStateError
    ├─ ConfigError                  a setting or a configuration file is wrong
    ├─ RenderError                  a template or its data language does not render
    ├─ CompileError(issues)         everything wrong with a tree, collected
    │  └─ CycleError                the requisites form a cycle
    ├─ PillarError                  the pillar does not render
    ├─ LoaderError
    │  └─ FunctionNotFound          no such ``module.function``; carries the reason
    ├─ ArgumentError                low data does not fit the function's signature
    ├─ CommandExecutionError        an execution module could not do its work
    ├─ InvocationError              an execution module was called wrongly
    ├─ RunCancelled                 the run was cancelled or ran out of time
    └─ LockHeld(pid, since)         another run holds the root
"""

from __future__ import annotations

from typing import NamedTuple


class Issue(NamedTuple):
    """One thing wrong with a tree: Salt's sentence, and where it comes from.

    ``message`` is the text Salt users search for; ``file`` and ``line`` (1-based, 0 = unknown) say where;
    ``hint`` is the next step ("did you mean …").
    """

    message: str
    file: str = ""
    line: int = 0
    hint: str = ""

    def __str__(self) -> str:
        """Return the message, the place in parentheses, and the hint on its own line."""
        text = self.message.rstrip("\n")
        if self.file:
            place = f"{self.file}:{self.line}" if self.line else self.file
            text = f"{text}\n    at {place}"
        return f"{text}\n    {self.hint}" if self.hint else text


class AsyncStateError(Exception):
    """Base of every error of this package."""


class ConfigError(AsyncStateError):
    """A setting is wrong: names the file and the key."""


class RenderError(AsyncStateError):
    """A template or its data does not render.

    ``str(error)`` is Salt's wording; ``file`` and ``line`` point at the source, before rendering.
    """

    def __init__(self, message: str, *, file: str = "", line: int = 0, excerpt: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.file = file
        self.line = line
        self.excerpt = excerpt


class CompileError(AsyncStateError):
    """A tree does not compile. ``issues`` lists every mistake that was found."""

    def __init__(self, issues: list[Issue] | tuple[Issue, ...]) -> None:
        self.issues = tuple(issues)
        super().__init__("\n".join(str(issue) for issue in self.issues))


class CycleError(CompileError):
    """The requisites form a cycle."""


class PillarError(CompileError):
    """The pillar does not render; nothing was compiled."""


class LoaderError(AsyncStateError):
    """A plugin could not be loaded."""


class FunctionNotFound(LoaderError, KeyError):
    """No loaded plugin offers ``name``; ``reason`` says why in Salt's words."""

    def __init__(self, name: str, reason: str, suggestion: str = "") -> None:
        super().__init__(name)
        self.name = name
        self.reason = reason
        self.suggestion = suggestion

    def __str__(self) -> str:
        """Return the reason, and the nearest name that does exist."""
        return f"{self.reason} Did you mean {self.suggestion!r}?" if self.suggestion else self.reason


class ArgumentError(AsyncStateError, TypeError):
    """Arguments do not fit a function's signature."""


class CommandExecutionError(AsyncStateError):
    """An execution module could not do its work."""


class InvocationError(AsyncStateError, TypeError):
    """An execution module was called with arguments that make no sense."""


class RunCancelled(AsyncStateError):
    """The run was cancelled, or ran out of time, while this call was under way."""


class LockHeld(AsyncStateError):
    """Another mutating run holds the lock of this root."""

    def __init__(self, path: str, pid: int, since: str) -> None:
        super().__init__(f"another run holds {path}: process {pid}, since {since}. Wait for it with --wait SECONDS.")
        self.pid = pid
        self.since = since
