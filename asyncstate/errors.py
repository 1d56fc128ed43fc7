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
    ├─ PathRefused                  a user other than root could have planted a path, or a part of it
    ├─ PlanError                    a plan file is invalid or unreadable, or the tree compiles to another plan
    ├─ EventLoopError               no asyncio loop runs here, or not the one that this belongs to
    ├─ RunCancelled                 the run was cancelled or exceeded its time limit
    ├─ LockHeld(pid, since)         another run holds the lock
    ├─ ResumeRefused                a run cannot be resumed: says what differs
    ├─ FleetError                   a run across hosts cannot begin or go on
    │  ├─ BoardError                the server between the hosts cannot be reached, or refuses something
    │  │  └─ BoardRefused           it refuses a key or a value, and may take others
    │  │     └─ ValueTooLarge       the value has too many bytes
    │  └─ MessageRefused            a message is malformed, not signed by its sender, or of another version
    └─ JournalError                 the journal of runs cannot be kept or read, or has no such run
"""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType, TracebackType
from typing import Any, Final, NamedTuple

__all__ = [
    "ArgumentError",
    "AsyncStateError",
    "CommandExecutionError",
    "CompileError",
    "ConfigError",
    "CycleError",
    "EventLoopError",
    "FleetError",
    "FunctionNotFound",
    "InvocationError",
    "Issue",
    "JournalError",
    "LoaderError",
    "LockHeld",
    "NotYet",
    "PathRefused",
    "PillarError",
    "PlanError",
    "RaisedElsewhere",
    "RenderError",
    "ResumeRefused",
    "RunCancelled",
]


def meant_for_program(error: BaseException) -> bool:
    """Whether the user pressed Ctrl-C, which reaches only the main thread. A plugin's KeyboardInterrupt is its own."""
    from threading import current_thread, main_thread  # noqa: PLC0415 - --help does without threads

    return isinstance(error, KeyboardInterrupt) and current_thread() is main_thread()


EXTERNAL: Final = "asyncstate.ext."
"""Prefix of the module names of plugins outside installed packages; no package of this name exists."""


def step_in_plugin(error: BaseException, source: str = "") -> TracebackType | None:
    """Return the last step of a traceback in a plugin of a tree, or in the file ``source``; None if there is none."""
    found, trace = None, error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        if frame.f_code.co_filename == source or str(frame.f_globals.get("__name__")).startswith(EXTERNAL):
            found = trace
        trace = trace.tb_next
    return found


def place_in_plugin(error: BaseException) -> str:
    """Return ``FILE:LINE`` of the step from `step_in_plugin`, "" if there is none."""
    step = step_in_plugin(error)
    return "" if step is None else f"{step.tb_frame.f_code.co_filename}:{step.tb_lineno}"


class Issue(NamedTuple):
    """One mistake in a tree: Salt's message, and its place.

    ``message`` is the text that Salt users search for; ``file`` and ``line`` (1-based, 0 = unknown) are the place;
    ``hint`` is the next step ("did you mean …"). ``rule`` is the name of the lint rule, "" if it cannot be silenced.
    A warning with ``mistake`` is certain: the state will fail, or do something other than the SLS file says.
    ``code`` names the page that ``asyncstate explain CODE`` prints, "" if there is none.
    """

    message: str
    file: str = ""
    line: int = 0
    hint: str = ""
    rule: str = ""
    mistake: bool = False
    code: str = ""

    def __str__(self) -> str:
        """Return the message, the place in parentheses, and the hint on its own line."""
        text = self.message.rstrip("\n")
        if self.file:
            place = f"{self.file}:{self.line}" if self.line else self.file
            text = f"{text}\n    at {place}"
        return f"{text}\n    {self.hint}" if self.hint else text


class AsyncStateError(Exception):
    """Base of every error of this package; custom modules know it as ``salt.exceptions.SaltException``.

    ``message`` and ``strerror`` are its text.
    """

    def __init__(self, message: object = "") -> None:
        text = message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)
        super().__init__(text)
        self.message: str = text
        self.strerror: str = text


class ConfigError(AsyncStateError):
    """A setting is wrong: names the file and the key."""


class RenderError(AsyncStateError):
    """A template or its data does not render.

    ``str(error)`` is Salt's wording; ``file`` and ``line`` point at the source, before rendering; ``hint`` is the next
    step. A custom renderer gives the line as Salt's ``SaltRenderError`` takes it, second.
    """

    def __init__(
        self,
        message: object,
        line: int | None = None,
        buf: str = "",
        *,
        file: str = "",
        excerpt: str = "",
        hint: str = "",
    ) -> None:
        super().__init__(message)
        self.buffer = buf
        self.file = file
        self.line: int = line or 0
        self.excerpt = excerpt
        self.hint = hint


class CompileError(AsyncStateError):
    """A tree does not compile. ``issues`` lists every mistake found."""

    def __init__(self, issues: list[Issue] | tuple[Issue, ...]) -> None:
        self.issues: tuple[Issue, ...] = tuple(issues)
        super().__init__("\n".join(str(issue) for issue in self.issues))


class CycleError(CompileError):
    """The requisites form a cycle."""


class PillarError(CompileError):
    """The pillar does not render; nothing was compiled. ``rendered`` is the result of its other files."""

    def __init__(
        self, issues: list[Issue] | tuple[Issue, ...], rendered: Mapping[str, Any] = MappingProxyType({})
    ) -> None:
        super().__init__(issues)
        self.rendered = rendered


class RaisedElsewhere(Exception):
    """Mixed into an exception that another process raised: its row has the text ``shown``, such as that traceback."""

    shown: str = ""


class LoaderError(AsyncStateError):
    """A plugin could not be loaded."""


class FunctionNotFound(LoaderError, KeyError):
    """No plugin offers the function ``name``; ``reason`` is Salt's message."""

    def __init__(self, name: str, reason: str, suggestion: str = "") -> None:
        super().__init__(name)
        self.name = name
        self.reason = reason
        self.suggestion = suggestion

    def __str__(self) -> str:
        """Return the reason, and the nearest existing name."""
        return f"{self.reason} Did you mean {self.suggestion!r}?" if self.suggestion else self.reason


class ArgumentError(AsyncStateError, TypeError):
    """Arguments do not fit a function's signature."""


class CommandExecutionError(AsyncStateError):
    """An execution module could not do its work.

    ``error`` is the bare message; ``info``, data that says more, follows it in ``str(error)`` as indented text.
    ``strerror_without_changes`` leaves the key ``changes`` of ``info`` out.
    """

    def __init__(self, message: object = "", info: object = None) -> None:
        super().__init__(message)
        self.error: str = self.message
        self.strerror_without_changes: str = self.message
        self.info = info
        if not info:
            return
        self.message: str = _with_info(self.error, info)
        self.strerror: str = self.message
        self.strerror_without_changes = self.message
        self.args: tuple[object, ...] = (self.message,)
        if isinstance(info, Mapping) and "changes" in info:
            rest = {key: value for key, value in info.items() if key != "changes"}
            self.strerror_without_changes = _with_info(self.error, rest) if rest else self.error


class InvocationError(AsyncStateError, TypeError):
    """An execution module was called with arguments that make no sense."""


class PathRefused(AsyncStateError):
    """A path is refused, because a user other than root could have planted it or a part of it.

    The text names the part, its owner and the next step; it becomes the whole comment of a state's row. See
    `asyncstate.filesystem`.
    """


class PlanError(AsyncStateError):
    """A saved plan cannot be used: it is no plan, or the tree compiles to another one."""


class RunCancelled(AsyncStateError):
    """The run was cancelled, or exceeded its time limit, during this call."""


class JournalError(AsyncStateError):
    """The journal of runs cannot be kept or read, or has no such run: names the file, or the nearest run."""


class ResumeRefused(AsyncStateError):
    """A run cannot be resumed: gives the reason, and the differences between then and now."""


class FleetError(AsyncStateError):
    """A run across hosts cannot begin or go on; the text names the host and the reason."""


class NotYet(AsyncStateError):
    """Something cannot be fetched ahead before ``topic`` is announced (`asyncstate.prefetch.announce`)."""

    def __init__(self, topic: str) -> None:
        super().__init__(f"waits for {topic}")
        self.topic: str = topic


class EventLoopError(AsyncStateError):
    """Something was used away from its event loop: none runs, a trio loop runs, or the loop is another thread's.

    The text names the right place, and how to get there.
    """


class LockHeld(AsyncStateError):
    """Another run that changes this system holds the lock. ``pid`` is 0 and ``since`` "" if they are unknown."""

    def __init__(self, path: str, pid: int, since: str) -> None:
        who = f": process {pid}, since {since}" if pid else ""
        super().__init__(f"another run holds {path}{who}. Wait for it with --wait SECONDS (or wait=).")
        self.pid = pid
        self.since = since


def _with_info(message: str, info: object) -> str:
    if message:
        message += " " if message.endswith((".", "?", "!")) else ". "
    return f"{message}Additional info follows:\n\n" + "\n".join(_outline(info))


def _outline(value: object, margin: str = "", mark: str = "") -> Iterator[str]:
    """Yield the lines of ``value`` as Salt's ``nested`` outputter writes them, for the text of an exception."""
    if isinstance(value, Mapping):
        if margin:
            yield f"{margin}----------"
        for key in sorted(value, key=str):
            yield f"{margin}{key}:"
            yield from _outline(value[key], f"{margin}    ")
    elif isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        for item in value:
            if isinstance(item, (Mapping, list, tuple)):
                yield f"{margin}|_"
                yield from _outline(item, f"{margin}  ")
            else:
                yield from _outline(item, margin, "- ")
    else:
        for line in str(value).splitlines():
            yield f"{margin}{mark}{line}"
            mark = " " * len(mark)
