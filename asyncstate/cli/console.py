"""The console: destination, format and colours of all output. One per call of the program."""

from __future__ import annotations

import io
import os
import sys
import threading
from contextlib import contextmanager, suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TextIO, TypeVar, cast

from asyncstate.report.delivery import Delivery, deliver
from asyncstate.report.terminal import COLOURED, PLAIN, Palette, has_gone, without_control

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from asyncstate.cli.logs import LineStream
    from asyncstate.cli.settings import Selection
    from asyncstate.config import Settings
    from asyncstate.errors import Issue
    from asyncstate.model.plan import Plan
    from asyncstate.model.result import HostResult
    from asyncstate.redact import Secrets

T = TypeVar("T")

_INDENT = "  "
_USUAL_WIDTH = 80
_LINES = 10_000
"""Number of lines of a report that are joined at once: a large report is never in memory as a whole."""

_MOST_UNREAD = 1 << 20
"""Bytes buffered for a slow reader of standard error. Output beyond that is dropped."""
_PATIENCE = 5.0
"""Timeout, in seconds, for a reader of standard error that reads nothing."""

CHANGED = 3
"""Exit code of --detailed-exitcode if all went well and something changed."""

OUTPUT_LOST = 74
"""Exit code if all went well, but the answer or a report could not be written (EX_IOERR)."""


class LastReport(Protocol):
    """The output still to be written if the process has to end at once: see `asyncstate.cli.LastReport`."""

    run: str
    answered: bool
    is_written: bool

    def end(self, code: int, why: str) -> NoReturn:
        """End the process with an exit code, and write the rest of the output."""


class Console:
    """Writes the answer to standard output, and everything else to standard error.

    ``out`` is the format of the answer (human, github, json, jsonl, yaml). ``answers_with_data`` marks commands whose
    standard output is data even in the format for people (a graph, a value): their errors go to standard error.
    ``answered`` is true once an answer was begun, after which errors go to standard error too. ``incomplete`` is true
    if a part of the answer, or a requested file, could not be written. Messages are kept back between `hold` and
    `release`. ``arguments`` is the command line. ``metrics`` is the file of --metrics, which is written last, from
    ``results`` and the exit code; ``ended_at`` is when a past run ended. ``junit`` is the file of --junit, which lists
    ``problems`` if there is no result. ``last`` is written if the process has to end at once; ``ended_by`` is
    what ended a run from within.
    ``codes`` marks commands whose issues are shown with their codes, also as data; a run shows Salt's texts.
    """

    def __init__(self) -> None:
        self.out = "human"
        self.colour = "auto"
        self.log_level = ""
        self.log_file = ""
        self.log_file_level = ""
        self.log_format = "text"
        self.debug = False
        self.answers_with_data = False
        self.answered: bool = False
        self.codes = False
        self.incomplete: bool = False
        self.metrics = ""
        self.junit = ""
        self.arguments: tuple[str, ...] = ()
        self.results: list[HostResult] = []
        self.ended_at: float | None = None
        self.problems: list[Issue] = []
        self.last: LastReport | None = None
        self.ended_by: str = ""
        self._held: list[str] | None = None
        self._no_output = False
        self._answer: TextIO | None = None
        self._secrets: Secrets | None = None

    def run(self, main: Callable[[], Coroutine[Any, Any, T]], loop: str = "asyncio", on_signal: T | None = None) -> T:
        """Return the result of ``main()`` on the event loop that the option ``event_loop`` names.

        A signal cancels it; then ``on_signal`` is returned, or without it Interrupted raised. Raises ConfigError.
        """
        from asyncstate.cli.event_loop import run_on
        from asyncstate.cli.interrupts import Interrupted

        try:
            return run_on(loop, main)
        except Interrupted:
            if on_signal is None:
                raise
            return on_signal

    def signalled(self, receiver: Callable[[int], None], within: float | None = None) -> AbstractContextManager[None]:
        """Pass signals to ``receiver`` while the block lasts: see `asyncstate.cli.interrupts.delivered_to`."""
        from asyncstate.cli.interrupts import delivered_to

        return delivered_to(receiver, within)

    def log(self, configured: str = "", granular: Mapping[str, str] | None = None) -> None:
        """Start the log as the command line and these settings say: see `asyncstate.cli.logs.start_logging`."""
        from asyncstate.cli.logs import start_logging

        start_logging(self, configured, granular)

    def also_log_to(self, stream: LineStream, least: str) -> None:
        """Send log records of at least this level to one more stream: see `asyncstate.cli.logs.also_log_to`."""
        from asyncstate.cli.logs import also_log_to

        also_log_to(stream, least)

    def settings(self, options: dict[str, Any]) -> Settings:
        """Return the settings of a command and apply their log levels. Raises ConfigError."""
        from asyncstate.cli.settings import settings_from

        return settings_from(self, options)

    def selected(self, words: tuple[str, ...], options: dict[str, Any]) -> tuple[Settings, Selection]:
        """Return the settings of a command, and the part of the tree that its words and options select.

        Raises UsageError and ConfigError.
        """
        from asyncstate.cli.settings import select

        return select(self, words, options)

    def traces(self, settings: Settings) -> Any:
        """Return the ``traces`` of an extra; None if runs are not traced.

        Raises ConfigError if the settings want traces and no extra sends any.
        """
        from asyncstate.cli.settings import is_traced

        if not is_traced(settings):
            return None
        from asyncstate import extend

        return extend.provided("traces", "traces: on") if settings.traced == "on" else extend.offered("traces")

    def named(self, plan: Plan, wanted: str) -> list[int]:
        """Return the numbers of the states with this ID or name. Raises UsageError; CompileError without states."""
        from asyncstate.cli.settings import states_called

        return states_called(plan, wanted)

    @property
    def for_people(self) -> bool:
        """Whether the answer is text for people, not data for a program."""
        return self.out in ("human", "github")

    @property
    def warns(self) -> bool:
        """Whether warnings are shown."""
        return self.log_level not in {"error", "critical", "quiet"}

    @property
    def on_terminal(self) -> bool:
        """Whether standard output is a terminal."""
        return self.stdout is not None and self.stdout.isatty()

    def exit_code(self, code: int, *, detailed: bool) -> int:
        """Return the exit code of a run: ``code``, or if it is 0, 3 for changes with --detailed-exitcode."""
        return code or (CHANGED if detailed and any(each.report.changed for each in self.results) else 0)

    def shows_new_files(self, diffs: bool | None) -> bool:
        """Whether a dry run shows the content of new files: with ``--diff``, or by default for people on a terminal."""
        return (self.for_people and self.on_terminal) if diffs is None else diffs

    def end(self, code: int, why: str) -> None:
        """End the process at once and have the rest of the output written: takes no lock, does not block."""
        if self.last is not None:
            if self._answer is not None:
                os.dup2(self._answer.fileno(), 1)  # descriptor 1 belongs to plugins now
            self.last.answered = self.answered
            self.last.end(code, why)

    @property
    def secrets(self) -> Secrets:
        """The secrets that no output may show; the runtime adds to them."""
        if self._secrets is None:
            from asyncstate.redact import Secrets

            self._secrets = Secrets()
        return self._secrets

    def hide(self, value: Any) -> Any:
        """Return ``value`` as plain data with the secrets hidden."""
        from asyncstate.model.encode import plain

        return self.secrets.redactor.value(plain(value))

    def _shown(self, text: str) -> str:
        return text if self._secrets is None else self._secrets.redactor.text(text)

    @property
    def stdout(self) -> TextIO | None:
        """The stream of the answer; None if standard output is closed."""
        return self._answer or sys.stdout

    @contextmanager
    def kept_apart(self) -> Iterator[None]:
        """Keep standard output for the answer: output of plugins and their programs goes to standard error."""
        try:
            private = os.dup(sys.stdout.fileno()) if sys.stdout is not None else -1
        except (OSError, io.UnsupportedOperation):
            private = -1
        if private == -1:  # closed, or a stream of the calling program
            yield
            return
        own = sys.stdout
        own.flush()
        number = own.fileno()
        self._answer = os.fdopen(private, "w", encoding=own.encoding, errors=own.errors)
        os.dup2(2, number)
        sys.stdout = sys.stderr or own
        try:
            yield
        finally:
            sys.stdout = own
            self._restore(own, number)

    def _restore(self, own: TextIO, number: int) -> None:
        answer, self._answer = self._answer, None
        if answer is None:
            return
        own.flush()  # a plugin may have printed to this stream
        os.dup2(answer.fileno(), number)
        try:
            answer.flush()
        except OSError:  # `write` has reported it
            drop_output(answer.fileno())
        answer.close()

    def palette(self, stream: TextIO | None = None) -> Palette:
        """Return the colours for ``stream`` (standard output if not given)."""
        return COLOURED if self._wants_colour(self.stdout if stream is None else stream) else PLAIN

    def _wants_colour(self, stream: TextIO | None) -> bool:
        if self.colour != "auto":
            return self.colour == "always"
        if os.environ.get("NO_COLOR"):
            return False
        if os.environ.get("FORCE_COLOR"):
            return True
        return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"

    def fitting_progress(self, wanted: str, *, quiet: bool) -> str:
        """Return the form of progress, live, plain or none: ``wanted`` (``--progress``), unless that is auto."""
        if wanted != "auto":
            return wanted
        if sys.stderr is not None and sys.stderr.isatty():
            return "live"
        return "plain" if self.for_people and not quiet else "none"

    def lines(self, lines: Iterable[str], *, redacted: bool = False) -> None:
        """Write lines to standard output. ``redacted`` lines are not searched for secrets again."""
        if not redacted:
            self.write("".join(f"{line}\n" for line in lines))  # a secret may span lines
            return
        each = iter(lines)
        self.write("")
        while batch := list(islice(each, _LINES)):
            self.write("\n".join(batch) + "\n", redacted=True)

    def write(self, text: str | bytes, *, redacted: bool = False, data: bool = False) -> None:
        """Write to standard output, with the secrets in text hidden and control characters escaped.

        ``data`` for programs, such as bytes, is written as it is, unless it goes to a terminal.

        If the reader has gone away, the rest is dropped without a message. If the stream is closed or the disk is full,
        `unwritten` reports it once.
        """
        self.answered = True
        stream = self.stdout
        if stream is None and not self._no_output:
            self._no_output = True
            self.unwritten("standard output", "it is closed")
        if stream is None or self._no_output:
            return
        if isinstance(text, str) and not redacted:
            text = self._shown(text)
        if stream.isatty() or not (data or isinstance(text, bytes)):
            text = without_control(text if isinstance(text, str) else text.decode("utf-8", "backslashreplace"))
        if isinstance(sys.stderr, _LastingStream):
            sys.stderr.settle()
        try:
            if isinstance(text, str):
                text = text.encode(stream.encoding or "utf-8", "backslashreplace")
            stream.flush()
            deliver(stream.buffer, text)
        except OSError as error:
            self._no_output = True
            is_wanted = not has_gone(error, stream)
            drop_output(stream.fileno())
            if is_wanted:
                self.unwritten("standard output", error.strerror or str(error))

    def unwritten(self, what: str, why: str) -> None:
        """Report that a part of the answer could not be written. The exit code becomes 74 if it would be 0."""
        self.incomplete = True
        self.complain(f"{what} could not be written: {why}")

    def write_file(self, path: str, text: str, *, mode: int | None = None) -> None:
        """Write a file that an option requested, and report a failure. See `asyncstate.cli.output_file`."""
        from asyncstate.cli.output_file import write_file
        from asyncstate.errors import AsyncStateError

        try:
            write_file(path, text.encode("utf-8", "backslashreplace"), mode=mode)
        except (OSError, AsyncStateError) as error:
            self.unwritten(path, getattr(error, "strerror", None) or str(error))

    def drop(self) -> None:
        """Discard all further output to standard output, also what is blocked by its reader now."""
        if self.stdout is not None:
            drop_output(self.stdout.fileno())

    def data(self, value: Any, *, redacted: bool = False, reduced: bool = False) -> None:
        """Write ``value`` in the requested format, JSON or YAML (JSON for any other), with the secrets hidden.

        ``reduced``: it is plain data already, as rows are.
        """
        if not redacted:
            value = self.hide(value)
        if self.out == "yaml":
            self.write(_yaml(value), redacted=True, data=True)
            return
        from asyncstate.model.encode import json_pieces

        for piece in json_pieces(value, indent=0 if self.out == "jsonl" else 4, reduced=reduced):
            self.write(piece, data=True)
        self.write(b"\n")

    def answer(
        self, lines: Callable[[Palette], Iterable[str]], data: Callable[[], Any], *, redacted: bool = False
    ) -> None:
        """Write the answer of a command: its lines for people, in these colours, else its data, ``redacted`` or not."""
        if self.out == "human":
            self.lines(lines(self.palette()))
        else:
            self.data(data(), redacted=redacted)

    def tree(self, value: Any) -> None:
        """Write ``value``, which has no secrets: indented, for people, else in the requested format."""
        if self.out == "human":
            from asyncstate.report.nested import nested_lines

            self.lines(nested_lines(value, 0, self.palette()), redacted=True)
        else:
            self.data(value, redacted=True)

    def say(self, *lines: str) -> None:
        """Write lines to standard error, with the secrets hidden; while messages are held, keep them back."""
        if self._held is not None:
            self._held += lines
            return
        stream = sys.stderr
        if stream is None:
            return
        try:
            stream.write(without_control(self._shown("".join(f"{line}\n" for line in lines))))
            stream.flush()
        except OSError:  # there is no stream left to report it on
            drop_output(2)

    def hold(self) -> None:
        """Keep back messages from now on, until `release`."""
        self._held = self._held or []

    def release(self) -> None:
        """Write the messages that were kept back, and keep back no more."""
        held, self._held = self._held, None
        if held:
            self.say(*held)

    def complain(self, text: str, hint: str = "") -> None:
        """Write ``asyncstate: text`` to standard error, after any held messages, then the ``hint``: the next step."""
        self.release()
        palette = self.palette(sys.stderr)
        first, *rest = _fitted(f"asyncstate: {self._shown(text)}", sys.stderr) or [""]
        self.say(palette.paint(palette.red, "asyncstate:") + first.removeprefix("asyncstate:"), *rest)
        if hint:
            self.say(*_fitted(f"{_INDENT}{hint}", sys.stderr))


def columns(stream: TextIO | None) -> int:
    """Return the width of the terminal behind ``stream``, or ``COLUMNS``; 0 if it is no terminal."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given):
        return int(given)
    if stream is None or not stream.isatty():
        return 0
    with suppress(OSError, io.UnsupportedOperation):
        return os.get_terminal_size(stream.fileno()).columns or _USUAL_WIDTH
    return _USUAL_WIDTH


def _fitted(text: str, stream: TextIO | None) -> list[str]:
    """Return the lines of a message, those after the first indented; on a terminal, wrapped at words."""
    first, *rest = text.rstrip("\n").splitlines() or [""]
    lines = [first, *(f"{_INDENT}{line}" for line in rest)]
    if stream is None or not stream.isatty():
        return lines
    from asyncstate.report.columns import wrapped

    fitted = []
    for line in lines:
        margin = " " * (len(line) - len(line.lstrip()))
        parts = wrapped(line, columns(stream) - len(margin) - len(_INDENT)) or [""]
        fitted += [margin + (_INDENT if number else "") + part for number, part in enumerate(parts)]
    return fitted


class _LastingStream:
    """A text stream whose writes neither fail nor wait: output that cannot be written is dropped.

    A progress display, a log record or a warning must not end a run because the terminal was closed, the reader of
    ``2>&1 | head`` exited, or the disk is full; nor block it because the stream is not read.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._delivery = Delivery(stream.buffer, _MOST_UNREAD) if hasattr(stream, "buffer") else None
        self._line = ""
        self._lock = threading.RLock()
        self.made_harmless: Callable[[str], str] = str
        """Changes the output so that its reader finds no command in it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with self._lock:
            self._line += text
            if "\n" in text:
                self.flush()
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        self.write("".join(lines))

    def flush(self) -> None:
        with self._lock:
            text, self._line = self.made_harmless(self._line), ""
            if self._delivery is None:
                self._stream.write(text)
                self._stream.flush()
            elif text:
                encoding, errors = self._stream.encoding or "utf-8", self._stream.errors or "backslashreplace"
                self._delivery.write(text.encode(encoding, errors))

    def settle(self) -> None:
        """Deliver everything to the reader; the timeout for one that does not read applies only once."""
        self.flush()
        if self._delivery is not None:
            self._delivery.settle(_PATIENCE)


def keep_github_from_obeying() -> None:
    """Break workflow commands in all further output to standard error, which GitHub reads, too."""
    from asyncstate.report.github import harmless

    if isinstance(sys.stderr, _LastingStream):
        sys.stderr.made_harmless = harmless


@contextmanager
def lasting_stderr() -> Iterator[None]:
    """Make writes to standard error in the block never fail: output that cannot be written is dropped."""
    before = sys.stderr
    if before is None:
        yield
        return
    lasting = _LastingStream(before)
    sys.stderr = cast("TextIO", lasting)
    try:
        yield
    finally:
        sys.stderr = before
        lasting.settle()


def drop_output(descriptor: int = 1) -> None:
    """Redirect a standard stream to /dev/null: the interpreter flushes it at exit and would fail again."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, descriptor)
    os.close(null)


def _yaml(value: Any) -> str:
    import yaml

    from asyncstate.model.encode import plain

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text: str = yaml.dump(plain(value), Dumper=dumper, sort_keys=False, allow_unicode=True, default_flow_style=False)
    return text
