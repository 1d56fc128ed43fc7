"""Logs on standard error or in a file. structlog is imported for the first written record: it takes 100 ms.

The text of a record often comes from outside: a command, a server, a user. So no record shows a secret (see
`asyncstate.logs`) or controls the terminal, and only the first line of a record begins at the left margin, so that
its text cannot forge a record.
"""

from __future__ import annotations

import errno
import importlib.util
import logging
import os
import sys
import threading
from typing import TYPE_CHECKING, Any, Final, Protocol, TextIO

from asyncstate.errors import ConfigError
from asyncstate.logs import GARBAGE, PROFILE, TRACE, RimFilter, configured_logger, hide_secrets
from asyncstate.logs.fields import FIELDS
from asyncstate.pattern import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    import structlog

    from asyncstate.report.terminal import Palette

LEVELS = {
    "all": GARBAGE,
    "garbage": GARBAGE,
    "trace": TRACE,
    "debug": logging.DEBUG,
    "profile": PROFILE,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
    "quiet": logging.CRITICAL + 10,
}
"""Salt's names of the levels."""

_ODD: Final = lazy_pattern(r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
"""Characters that end a line, control a terminal, are invisible, or reverse the order of letters."""
_TRACES: Final = ("exception", "stack")
_FIRST: Final = ("timestamp", "level", "event", "logger", *FIELDS)


class LogOptions(Protocol):
    """What a command line says of the log: a `Console`. Options that are not given are ""."""

    log_level: str
    log_file: str
    log_file_level: str
    log_format: str

    def palette(self, stream: TextIO | None = None) -> Palette:
        """Return the colours for a stream."""


class LineStream(Protocol):
    """A destination of log lines."""

    def write(self, text: str, /) -> object:
        """Write a line."""

    def flush(self) -> object:
        """Flush what was written."""

    def close(self) -> object:
        """End the log."""


class LogStream(logging.Handler):
    """Writes records to ``stream`` (the current standard error if None) in structlog's text or JSON format."""

    def __init__(self, stream: LineStream | None, *, as_json: bool, colours: bool, level: int = logging.NOTSET) -> None:
        super().__init__(level)
        self.addFilter(RimFilter())
        self._stream = stream
        self._as_json = as_json
        self._colours = colours

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record and flush."""
        if self.formatter is None:
            self.setFormatter(_formatter(self._as_json, self._colours))
        try:
            line = self.format(record)
        except Exception as error:  # noqa: BLE001 - arguments that do not fit, or whose repr raises
            line = f"{record.levelname} {record.name}: a record that cannot be written ({type(error).__name__})"
        stream = self._stream or sys.stderr
        try:
            stream.write(line + "\n")
            stream.flush()
        except (OSError, ValueError):
            self.handleError(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        """Drop a record that cannot be written: Python's own message would not be redacted."""

    def close(self) -> None:
        """Close the file; standard error stays open."""
        if self._stream is not None:
            self._stream.close()
        super().close()


def _plain(value: Any) -> Any:
    from asyncstate.model.encode import plain

    return plain(value)


def _readable(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Escape special characters, and put the fields common to all records first."""
    ordered = {key: event[key] for key in _FIRST if key in event} | dict(event)
    return {_spelt(str(key)): _one_record(key, _plain(value)) for key, value in ordered.items()}


def _one_record(key: str, value: Any) -> Any:
    """Return text without line breaks. Tracebacks keep their lines, all of them indented."""
    if not isinstance(value, str):
        return value
    if key in _TRACES:
        return "\n".join(f"    {_spelt(line)}" for line in value.rstrip("\n").split("\n"))
    return _spelt(value)


def _spelt(text: str) -> str:
    if text.isprintable():
        return text
    return _ODD.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


class _StructlogSetUp:
    """Configures structlog when it is imported, so that structlog loggers in plugins write to the log too.

    By default structlog would print. Only the command line does this; as a library asyncstate configures nothing.
    """

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> ModuleSpec | None:
        """Return the spec of structlog with a loader that configures it after loading. Works once."""
        if name != "structlog":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_set_up(module: ModuleType) -> None:
                load(module)
                _set_up(module)

            spec.loader.exec_module = load_and_set_up  # type: ignore[method-assign]
        return spec


def _set_up(structlog: Any) -> None:
    stdlib = structlog.stdlib
    structlog.configure(
        processors=[
            stdlib.filter_by_level,
            structlog.contextvars.merge_contextvars,
            stdlib.add_log_level,
            stdlib.add_logger_name,
            stdlib.PositionalArgumentsFormatter(),
            structlog.processors.StackInfoRenderer(),
            structlog.processors.format_exc_info,
            stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=stdlib.LoggerFactory(),
        wrapper_class=stdlib.BoundLogger,
    )


def _formatter(as_json: bool, colours: bool) -> logging.Formatter:
    import structlog

    if as_json:
        last: structlog.typing.Processor = structlog.processors.JSONRenderer(default=str)
    else:
        plain = structlog.dev.plain_traceback
        last = structlog.dev.ConsoleRenderer(colors=colours, exception_formatter=plain, pad_event_to=0, sort_keys=False)
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            structlog.contextvars.merge_contextvars,
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.stdlib.ExtraAdder(),
        ],
        processors=[
            _with_traceback,
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.TimeStamper(fmt="iso" if as_json else "%H:%M:%S", utc=as_json),
            structlog.processors.format_exc_info,
            hide_secrets,
            _readable,
            last,
        ],
    )


def _with_traceback(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Use the redacted text of a traceback in place of the exception."""
    text = event["_record"].exc_text
    if text:
        event.pop("exc_info", None)
        event["exception"] = text
    return event


def start_logging(console: LogOptions, configured: str = "", granular: Mapping[str, str] | None = None) -> None:
    """Send the log to the destination of the command line; ``configured`` is the level of the configuration.

    ``granular`` maps loggers to levels. Raises ConfigError if the log file cannot be opened.
    """
    level = LEVELS[console.log_level or configured or "warning"]
    as_json = console.log_format == "json"
    on_screen = max(level, logging.WARNING) if console.log_file else logging.NOTSET
    in_file = logging.NOTSET
    if console.log_file_level:
        on_screen, in_file = level, LEVELS[console.log_file_level]
        level = min(level, in_file)
    coloured = bool(console.palette(sys.stderr).reset)
    handlers = [LogStream(None, as_json=as_json, colours=coloured, level=on_screen)]
    if console.log_file:
        file = _open_log(console.log_file)
        handlers.append(LogStream(file, as_json=as_json, colours=False, level=in_file))
    structlog = sys.modules.get("structlog")
    if structlog is not None and not structlog.is_configured():
        _set_up(structlog)
    elif structlog is None and not any(isinstance(finder, _StructlogSetUp) for finder in sys.meta_path):
        sys.meta_path.insert(0, _StructlogSetUp())
    root = logging.getLogger()
    for old in [handler for handler in root.handlers if isinstance(handler, LogStream)]:
        root.removeHandler(old)
        old.close()
    for handler in handlers:
        root.addHandler(handler)
    root.setLevel(level)
    for name, wanted in (granular or {}).items():
        configured_logger(name).setLevel(LEVELS[wanted])
    for number, name in ((PROFILE, "PROFILE"), (TRACE, "TRACE"), (GARBAGE, "GARBAGE")):
        logging.addLevelName(number, name)
    # Warnings of plugins and their libraries, and exceptions that end their threads, are logged too.
    logging.captureWarnings(capture=True)
    threading.excepthook = _log_end_of_thread
    sys.unraisablehook = _log_unraisable


def also_log_to(stream: LineStream, least: str) -> None:
    """Send the records of at least this level, a key of `LEVELS`, to one more stream, as a JSON object per line.

    Call it after `start_logging`.
    """
    level = LEVELS[least]
    root = logging.getLogger()
    for handler in root.handlers:
        if isinstance(handler, LogStream):
            handler.setLevel(max(handler.level, root.level))
    root.addHandler(LogStream(stream, as_json=True, colours=False, level=level))
    root.setLevel(min(root.level, level))


def _log_end_of_thread(failure: threading.ExceptHookArgs) -> None:
    if failure.exc_type is not SystemExit and failure.exc_value is not None:
        name = failure.thread.name if failure.thread is not None else "unknown"
        error = (failure.exc_type, failure.exc_value, failure.exc_traceback)
        logging.getLogger("threading").error("An exception ended the thread %s", name, exc_info=error)


def _log_unraisable(failure: sys.UnraisableHookArgs) -> None:
    value = failure.exc_value or failure.exc_type()
    error = (failure.exc_type, value, failure.exc_traceback)
    what = failure.err_msg or "Exception ignored in"
    logging.getLogger("python").error("%s: %r", what, failure.object, exc_info=error)


def _open_log(path: str) -> TextIO:
    """Open a log for appending; a new one is readable by its owner only. A pipe without a reader is refused."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        handle = os.open(path, flags, 0o600)
    except OSError as error:
        reason = "it is a pipe that no program reads" if error.errno == errno.ENXIO else error.strerror
        raise ConfigError(f"--log-file {path}: {reason}") from None
    os.set_blocking(handle, True)
    return open(handle, "a", encoding="utf-8", errors="backslashreplace")
