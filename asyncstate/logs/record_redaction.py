"""Hides secrets in all parts of a log record.

The secrets of all runtimes of this process are hidden, so it does not matter which thread, or which of two runtimes,
writes a line.
"""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Any, Final

from asyncstate.logs.fields import is_hushed, line_fields
from asyncstate.model.encode import plain
from asyncstate.redact import MASK, all_redactors, distinct

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping, Sequence

    from asyncstate.redact import Redactor

_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_MEASURED: Final = frozenset({"created", "levelno", "lineno", "msecs", "process", "relativeCreated", "thread"})
_SPOKEN: Final = frozenset({"msg", "args", "message", "exc_info", "exc_text", "stack_info"})
_NAMED_BY_CODE: Final = frozenset({"threadName", "processName", "taskName"})
_OF_STRUCTLOG: Final = frozenset({"_logger", "_name"})
_OF_ANY_EVENT: Final = ("level", "logger", "timestamp")
_traces: Final = logging.Formatter()


class ShownTraceback(Exception):
    """Replaces an exception in a record, because its traceback may show secrets; its text is the redacted traceback."""


def make_showable(record: logging.LogRecord, *, own_name: bool) -> None:
    """Add the fields of the running state to a record, and hide secrets in it.

    If secrets are known, the message is formatted here, and only the text of an exception is kept, because the frames
    of a traceback contain the values of all variables. ``own_name`` means that the logger's name cannot contain a
    state's arguments.
    """
    if is_hushed():
        _hush(record)
        record.name = record.name if own_name else MASK
    vars(record).update(line_fields())
    redactors = all_redactors()
    if not redactors[0].harmless("") or not _is_harmless(record, redactors):
        _redact(record, redactors)


def hide_secrets(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> dict[str, Any]:
    """Hide secrets in the event of a structlog logger: a processor, to be placed after those that format tracebacks.

    An event of a state with ``no_log`` keeps only its level, logger and time, and the fields of the state.
    """
    if is_hushed():
        event = _hushed_event(event)
    event.update(line_fields())
    redactors = all_redactors()
    return distinct((_text(str(key), redactors), _value(plain(item), redactors)) for key, item in event.items())


def _is_harmless(record: logging.LogRecord, redactors: Sequence[Redactor]) -> bool:
    """Whether a record contains nothing to hide if no secrets are known: passwords in URLs are always hidden."""
    others = {key: item for key, item in vars(record).items() if key not in _STANDARD and key not in _OF_STRUCTLOG}
    try:
        said = [record.getMessage(), _trace(record), record.stack_info, plain([others, record.args])]
    except Exception:  # noqa: BLE001 - arguments that do not fit, or whose repr raises
        return False
    return bool(_value(said, redactors) == said)


def _hush(record: logging.LogRecord) -> None:
    """Keep only a record's place in the code, its time, its level and its state."""
    parts = vars(record)
    for key in parts.keys() - _STANDARD - _OF_STRUCTLOG:
        del parts[key]
    for key in _NAMED_BY_CODE & parts.keys():
        parts[key] = MASK
    event: Any = record.msg
    record.msg = _hushed_event(event) if _is_event(record) else MASK
    record.args, record.exc_info, record.exc_text, record.stack_info = (), None, None, None
    parts.pop("message", None)


def _redact(record: logging.LogRecord, redactors: Sequence[Redactor]) -> None:
    parts = vars(record)
    message, trace = _message(record), _trace(record)
    event: Any = record.msg
    record.msg = _event(event, redactors) if _is_event(record) else _text(message, redactors)
    record.args = ()
    parts.pop("message", None)
    if trace:
        record.exc_text = _text(trace, redactors)
        record.exc_info = (ShownTraceback, ShownTraceback(record.exc_text), None)
    if record.stack_info:
        record.stack_info = _text(record.stack_info, redactors)
    shown = {
        _text(key, redactors): item if key in _OF_STRUCTLOG or key in _MEASURED else _value(plain(item), redactors)
        for key, item in parts.items()
        if key not in _SPOKEN
    }
    for key in [key for key in parts if key not in _SPOKEN]:
        del parts[key]
    parts.update(shown)


def _is_event(record: logging.LogRecord) -> bool:
    """Whether a logger of structlog made this record for ``ProcessorFormatter``: its message is a dict of fields."""
    return isinstance(record.msg, dict) and "_logger" in vars(record)


def _hushed_event(event: Mapping[str, Any]) -> dict[str, Any]:
    return {key: event[key] for key in _OF_ANY_EVENT if key in event} | {"event": MASK}


def _event(event: dict[str, Any], redactors: Sequence[Redactor]) -> dict[str, Any]:
    event = dict(event)
    failure = event.pop("exc_info", None)
    if failure is True:
        failure = sys.exc_info()
    elif isinstance(failure, BaseException):
        failure = (type(failure), failure, failure.__traceback__)
    if isinstance(failure, tuple):
        event["exception"] = _formatted(failure)
    return distinct((_text(str(key), redactors), _value(plain(item), redactors)) for key, item in event.items())


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception as error:  # noqa: BLE001 - arguments that do not fit, or whose repr raises
        return f"a record that cannot be written ({type(error).__name__})"


def _trace(record: logging.LogRecord) -> str:
    if record.exc_text:
        return record.exc_text
    return _formatted(record.exc_info) if record.exc_info and record.exc_info[0] is not None else ""


def _formatted(failure: Any) -> str:
    try:
        return _traces.formatException(failure)
    except Exception as error:  # noqa: BLE001 - an exception whose text raises
        return f"a traceback that cannot be written ({type(error).__name__})"


def _text(text: str, redactors: Sequence[Redactor]) -> str:
    for redactor in redactors:
        text = redactor.text(text)
    return text


def _value(value: Any, redactors: Sequence[Redactor]) -> Any:
    for redactor in redactors:
        value = redactor.value(value)
    return value
