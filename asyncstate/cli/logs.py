"""Logs on standard error or in a file. structlog is imported by the first record that is written: it takes 100 ms.

What a record says was often written by others: a command, a server, a user. So no record shows a secret, none drives a
terminal, and each begins at the left margin and ends with its line: what stands there was logged.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from typing import TYPE_CHECKING, Any, Final, TextIO

from asyncstate.dunders.context import current
from asyncstate.errors import ConfigError
from asyncstate.redact.redactor import MASK

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    import structlog

    from asyncstate.cli.console import Console
    from asyncstate.redact.secrets import Secrets

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

_ODD: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
"""What ends a line, drives a terminal, or turns the order of letters around unseen."""
_TRACES: Final = ("exception", "stack")
_OUR_OWN: Final = frozenset({"level", "logger", "timestamp"})


class LogStream(logging.Handler):
    """Writes records to ``stream`` (standard error as it is then, if None) in structlog's text or JSON form.

    No record shows one of ``secrets``, nor anything that a state with ``no_log`` logs.
    """

    def __init__(self, stream: TextIO | None, *, as_json: bool, colours: bool, level: int, secrets: Secrets) -> None:
        super().__init__(level)
        self._stream = stream
        self._secrets = secrets
        self._as_json = as_json
        self._colours = colours

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record and flush."""
        if self.formatter is None:
            self.setFormatter(_formatter(self._as_json, self._colours, self._discreet))
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
        """Drop a record nobody can read: what Python would print of it is not redacted."""

    def _discreet(self, _logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        """Hide in a record what may not be shown, and spell out characters that are more than text."""
        call = current.get(None)
        if call is not None and call.low.get("no_log"):
            own = {key: value for key, value in event.items() if key in _OUR_OWN}
            event = {**own, "event": MASK, "id": call.low.get("__id__")}
        redactor = self._secrets.redactor
        return {
            _spelt(redactor.text(key)): _one_record(key, redactor.value(_plain(value))) for key, value in event.items()
        }

    def close(self) -> None:
        """Close the file, if it is one of ours."""
        if self._stream is not None:
            self._stream.close()
        super().close()


def _plain(value: Any) -> Any:
    from asyncstate.model.encode import plain

    return plain(value)


def _one_record(key: str, value: Any) -> Any:
    """Return text that stays in its line; traces have several, none of which begins at the margin."""
    if not isinstance(value, str):
        return value
    if key in _TRACES:
        return "\n".join(f"    {_spelt(line)}" for line in value.rstrip("\n").split("\n"))
    return _spelt(value)


def _spelt(text: str) -> str:
    if text.isprintable():
        return text
    return _ODD.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def _formatter(as_json: bool, colours: bool, discreet: structlog.typing.Processor) -> logging.Formatter:
    import structlog

    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso" if as_json else "%H:%M:%S", utc=as_json),
    ]
    if as_json:
        last: structlog.typing.Processor = structlog.processors.JSONRenderer(default=str)
    else:
        plain = structlog.dev.plain_traceback
        last = structlog.dev.ConsoleRenderer(colors=colours, exception_formatter=plain, pad_event_to=0)
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            discreet,
            last,
        ],
    )


def start_logging(console: Console, configured: str = "") -> None:
    """Send the log where the command line says; ``configured`` is the level of the configuration.

    Raises ConfigError when the log file cannot be opened.
    """
    level = LEVELS.get(console.log_level or configured.lower(), logging.WARNING)
    as_json = console.log_format == "json"
    on_screen = max(level, logging.WARNING) if console.log_file else level
    coloured = bool(console.palette(sys.stderr).reset)
    secrets = console.secrets
    handlers = [LogStream(None, as_json=as_json, colours=coloured, level=on_screen, secrets=secrets)]
    if console.log_file:
        file = _open_log(console.log_file)
        handlers.append(LogStream(file, as_json=as_json, colours=False, level=level, secrets=secrets))
    root = logging.getLogger()
    for old in [handler for handler in root.handlers if isinstance(handler, LogStream)]:
        root.removeHandler(old)
        old.close()
    for handler in handlers:
        root.addHandler(handler)
    root.setLevel(level)
    logging.captureWarnings(capture=True)  # what plugins and their libraries warn of is a record like any other


def _open_log(path: str) -> TextIO:
    """Open a log for appending; a new one is readable by its owner only."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ConfigError(f"--log-file {path}: {error.strerror}") from None
    return open(handle, "a", encoding="utf-8", errors="backslashreplace")
