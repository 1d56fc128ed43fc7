"""Logging: every log line names the state that wrote it, and contains no secret.

Every module of this package and every plugin logs through the standard library. `LineLogger` is the class of their
loggers: it adds the fields of the running state to each record and hides secrets in it, before any handler or filter
sees it. The fields are bound when a chunk starts (`RunFields`); they are also structlog context variables. The secrets
of all runtimes of this process are hidden, so it does not matter which thread, or which of two runtimes, writes a line.

This package adds no handlers, which belong to the program. Those of the command line are in `asyncstate.cli.logs`.
"""

from __future__ import annotations

import logging
import re
import sys
from typing import TYPE_CHECKING, Any, Final

from asyncstate.logs.fields import is_hushed, line_fields
from asyncstate.model.encode import plain
from asyncstate.redact import MASK, all_redactors, distinct

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping, Sequence

    from asyncstate.redact import Redactor

__all__ = ["RimFilter", "hide_secrets"]

PROFILE: Final = 15
TRACE: Final = 5
GARBAGE: Final = 1
TOP: Final = "asyncstate"
KINDS: Final = frozenset({"states", "modules", "grains", "utils", "renderers", "interfaces"})
"""The kinds of plugins: the first part of their loggers' names."""
_GENERATED: Final = f"{TOP}.ext."
_GENERATED_PARTS: Final = 4
"""``asyncstate.ext.states.mystate_0123456789ab``: the module name of a plugin that a tree brings."""

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


class LineLogger(logging.Logger):
    """A logger whose records have the fields of their state and no secrets, whatever the handlers.

    It has ``log.trace``, ``log.garbage`` and ``log.profile``, which Salt adds to every logger.
    """

    def handle(self, record: logging.LogRecord) -> None:
        """Add the fields to a record and hide its secrets, then pass it on."""
        _name_after_plugin(record)
        make_showable(record, own_name=True)
        super().handle(record)

    def profile(self, msg: object, *args: object, **kwargs: Any) -> None:
        """Log the time that something took."""
        self._log_at(PROFILE, msg, args, kwargs)

    def trace(self, msg: object, *args: object, **kwargs: Any) -> None:
        """Log a detail for developers of the module."""
        self._log_at(TRACE, msg, args, kwargs)

    def garbage(self, msg: object, *args: object, **kwargs: Any) -> None:
        """Log a detail that is too much even for ``trace``."""
        self._log_at(GARBAGE, msg, args, kwargs)

    def _log_at(self, level: int, msg: object, args: tuple[object, ...], kwargs: dict[str, Any]) -> None:
        if self.isEnabledFor(level):
            self._log(level, msg, args, stacklevel=kwargs.pop("stacklevel", 1) + 2, **kwargs)


_line_classes: Final[dict[type[logging.Logger], type[LineLogger]]] = {logging.Logger: LineLogger}


class RimFilter(logging.Filter):
    """For a program's handler that also shows other loggers, such as those of libraries that states use.

    Like `LineLogger`, it adds the fields of the state that wrote a record, and hides secrets.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the fields to the record and hide its secrets; return True."""
        known = isinstance(logging.root.manager.loggerDict.get(record.name), LineLogger)
        _name_after_plugin(record)
        make_showable(record, own_name=known)
        return True


def get_logger(name: str) -> logging.Logger:
    """Return the logger of a module of this package."""
    return _adopted(logging.getLogger(name))


def plugin_logger(name: str, imported_as: str = "") -> logging.Logger:
    """Return the logger of a plugin, for example ``states.file``.

    From then on ``logging.getLogger(imported_as)`` returns the same logger, so a plugin's ``getLogger(__name__)`` does.
    """
    kind = name.partition(".")[0]
    logger = get_logger(name)
    known: dict[str, Any] = logging.root.manager.loggerDict
    if logger.parent is logging.root:
        logger.parent = get_logger(f"{TOP}.{kind}")
        # If the program creates a logger named after the kind (``states``), logging must not make it the parent.
        getattr(known.get(kind), "loggerMap", {}).pop(logger, None)
    if imported_as:
        known[imported_as] = logger
    return logger


def configured_logger(name: str) -> logging.Logger:
    """Return the logger that a configuration names: ``states.file``, ``states`` for all states, or a name of Salt's."""
    name = re.sub(r"^salt\.(loaded\.(int|ext)\.)?", "", name)
    if name in {"salt", TOP}:
        return get_logger(TOP)
    if name in KINDS:
        return get_logger(f"{TOP}.{name}")
    kind, _, plugin = name.partition(".")
    return plugin_logger(name) if kind in KINDS and plugin else logging.getLogger(name)


def adopt_loggers(namespace: Mapping[str, Any]) -> None:
    """Turn all loggers in the namespace of a plugin, whatever their names, into `LineLogger`s."""
    for item in list(namespace.values()):
        if isinstance(item, logging.Logger):
            _adopted(item)


def own_name(module: str) -> str:
    """Return the logger name for a module of a bundled plugin: ``states.file`` for ``asyncstate.states.file.rows``."""
    kind, _, path = module.removeprefix(f"{TOP}.").partition(".")
    return f"{kind}.{path.partition('.')[0]}"


def _name_after_plugin(record: logging.LogRecord) -> None:
    """Name a record of ``getLogger(f"{__name__}.more")`` in a tree's plugin ``states.mystate.more``."""
    if record.name.startswith(_GENERATED):
        parts = record.name.split(".")
        plugin = logging.root.manager.loggerDict.get(".".join(parts[:_GENERATED_PARTS]))
        if isinstance(plugin, LineLogger):
            record.name = ".".join([plugin.name, *parts[_GENERATED_PARTS:]])


def _adopted(logger: logging.Logger) -> logging.Logger:
    if not isinstance(logger, (LineLogger, logging.RootLogger)):
        logger.__class__ = _line_class(type(logger))
    return logger


def _line_class(base: type[logging.Logger]) -> type[LineLogger]:
    """Return a subclass of `LineLogger` and ``base``: programs may set the class of loggers, and structlog does."""
    if base not in _line_classes:
        _line_classes[base] = type(f"Line{base.__name__}", (LineLogger, base), {})
    return _line_classes[base]


get_logger(TOP).addHandler(logging.NullHandler())  # as in any library: no output without a handler of the program
for _name in ("data.merging", "dunders.context", "process.child"):  # lower layers, which cannot import this module
    get_logger(f"{TOP}.{_name}")
