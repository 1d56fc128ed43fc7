"""Logging: every log line names the state that wrote it, and contains no secret.

Every module of this package and every plugin logs through the standard library. `LineLogger` is the class of their
loggers: it adds the fields of the running state to each record and hides secrets in it, before any handler or filter
sees it. The fields are bound when a chunk starts (`RunFields`); they are also structlog context variables.

This package adds no handlers, which belong to the program. Those of the command line are in `asyncstate.cli.logs`.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any, Final

from asyncstate.logs.record_redaction import hide_secrets, make_showable

if TYPE_CHECKING:
    from collections.abc import Mapping


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
