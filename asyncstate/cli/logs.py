"""Logs on standard error or in a file. structlog is imported by the first record that is written: it takes 100 ms."""

from __future__ import annotations

import logging
import os
import sys
from typing import TYPE_CHECKING, TextIO

from asyncstate.errors import ConfigError

if TYPE_CHECKING:
    from asyncstate.cli.console import Console

LEVELS = {
    "all": logging.DEBUG,
    "garbage": logging.DEBUG,
    "trace": logging.DEBUG,
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
    "quiet": logging.CRITICAL + 10,
}
"""Salt's names of the levels. What Salt logs below debug is debug here."""


class LogStream(logging.Handler):
    """Writes records to ``stream`` (standard error as it is then, if None) in structlog's text or JSON form."""

    def __init__(self, stream: TextIO | None, *, as_json: bool, colours: bool, level: int) -> None:
        super().__init__(level)
        self._stream = stream
        self._as_json = as_json
        self._colours = colours

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record and flush."""
        if self.formatter is None:
            self.formatter = _formatter(self._as_json, self._colours)
        try:
            stream = self._stream or sys.stderr
            stream.write(self.format(record) + "\n")
            stream.flush()
        except (OSError, ValueError, TypeError, KeyError):
            self.handleError(record)

    def close(self) -> None:
        """Close the file, if it is one of ours."""
        if self._stream is not None:
            self._stream.close()
        super().close()


def _formatter(as_json: bool, colours: bool) -> logging.Formatter:
    import structlog

    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso" if as_json else "%H:%M:%S", utc=as_json),
    ]
    if as_json:
        last: list[structlog.typing.Processor] = [
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(default=str),
        ]
    else:
        plain = structlog.dev.plain_traceback
        last = [structlog.dev.ConsoleRenderer(colors=colours, exception_formatter=plain, pad_event_to=0)]
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last]
    )


def start_logging(console: Console, configured: str = "") -> None:
    """Send the log where the command line says; ``configured`` is the level of the configuration.

    Raises ConfigError when the log file cannot be opened.
    """
    level = LEVELS.get(console.log_level or configured.lower(), logging.WARNING)
    as_json = console.log_format == "json"
    on_screen = max(level, logging.WARNING) if console.log_file else level
    coloured = bool(console.palette(sys.stderr).reset)
    handlers = [LogStream(None, as_json=as_json, colours=coloured, level=on_screen)]
    if console.log_file:
        handlers.append(LogStream(_open_log(console.log_file), as_json=as_json, colours=False, level=level))
    root = logging.getLogger()
    for old in [handler for handler in root.handlers if isinstance(handler, LogStream)]:
        root.removeHandler(old)
    for handler in handlers:
        root.addHandler(handler)
    root.setLevel(level)


def _open_log(path: str) -> TextIO:
    """Open a log for appending; a new one is readable by its owner only."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ConfigError(f"--log-file {path}: {error.strerror}") from None
    return open(handle, "a", encoding="utf-8", errors="backslashreplace")
