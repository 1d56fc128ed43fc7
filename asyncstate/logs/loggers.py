"""Loggers: one a module of ours, one a plugin, all below ``asyncstate``.

A plugin's logger has the plugin's own name, ``states.file`` or ``modules.cmd``, whatever the name under which Python
imported it. It hangs below ``asyncstate.states`` or ``asyncstate.modules``, so that the logger ``asyncstate`` sets the
level of all.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any, Final

from asyncstate.logs.rim import make_showable

if TYPE_CHECKING:
    from collections.abc import Mapping

PROFILE: Final = 15
TRACE: Final = 5
GARBAGE: Final = 1
TOP: Final = "asyncstate"
KINDS: Final = frozenset({"states", "modules", "grains", "utils", "renderers", "interfaces"})
"""The kinds of plugins: the first part of the names of their loggers."""
_GENERATED: Final = f"{TOP}.ext."
_GENERATED_PARTS: Final = 4
"""``asyncstate.ext.states.mystate_0123456789ab``: how Python knows a plugin of a tree."""


class LineLogger(logging.Logger):
    """A logger whose records have the fields of their state and show no secret, whatever handlers there are.

    It has ``log.trace``, ``log.garbage`` and ``log.profile``, which Salt adds to every logger there is.
    """

    def handle(self, record: logging.LogRecord) -> None:
        """Make a record fit to be shown, then pass it on."""
        _name_after_plugin(record)
        make_showable(record, own_name=True)
        super().handle(record)

    def profile(self, msg: object, *args: object, **kwargs: Any) -> None:
        """Log how long something took."""
        self._log_at(PROFILE, msg, args, kwargs)

    def trace(self, msg: object, *args: object, **kwargs: Any) -> None:
        """Log what only a developer of the module wants to know."""
        self._log_at(TRACE, msg, args, kwargs)

    def garbage(self, msg: object, *args: object, **kwargs: Any) -> None:
        """Log what not even they want to know."""
        self._log_at(GARBAGE, msg, args, kwargs)

    def _log_at(self, level: int, msg: object, args: tuple[object, ...], kwargs: dict[str, Any]) -> None:
        if self.isEnabledFor(level):
            self._log(level, msg, args, stacklevel=kwargs.pop("stacklevel", 1) + 2, **kwargs)


_line_classes: Final[dict[type[logging.Logger], type[LineLogger]]] = {logging.Logger: LineLogger}


class RimFilter(logging.Filter):
    """For a handler of a program that shows lines of other loggers, too, such as those of libraries that states use.

    Every record gets the fields of the state that wrote it and loses what may not be shown, as those of `LineLogger`.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Make the record fit to be shown; keep it."""
        known = isinstance(logging.root.manager.loggerDict.get(record.name), LineLogger)
        _name_after_plugin(record)
        make_showable(record, own_name=known)
        return True


def get_logger(name: str) -> logging.Logger:
    """Return the logger of a module of ours."""
    return _adopted(logging.getLogger(name))


def plugin_logger(name: str, imported_as: str = "") -> logging.Logger:
    """Return the logger of a plugin: ``states.file`` and the like.

    From now on ``logging.getLogger(imported_as)`` gives the same, so that a plugin's ``getLogger(__name__)`` does.
    """
    kind = name.partition(".")[0]
    logger = get_logger(name)
    known: dict[str, Any] = logging.root.manager.loggerDict
    if logger.parent is logging.root:
        logger.parent = get_logger(f"{TOP}.{kind}")
        # Should the program ask for a logger named after the kind, it must not find this one below it.
        getattr(known.get(kind), "loggerMap", {}).pop(logger, None)
    if imported_as:
        known[imported_as] = logger
    return logger


def configured_logger(name: str) -> logging.Logger:
    """Return the logger that a configuration names: ``states.file``, ``states`` for all states, or as in Salt."""
    name = re.sub(r"^salt\.(loaded\.(int|ext)\.)?", "", name)
    if name in {"salt", TOP}:
        return get_logger(TOP)
    if name in KINDS:
        return get_logger(f"{TOP}.{name}")
    kind, _, plugin = name.partition(".")
    return plugin_logger(name) if kind in KINDS and plugin else logging.getLogger(name)


def adopt_loggers(namespace: Mapping[str, Any]) -> None:
    """Let the loggers in the namespace of a plugin, whatever their names, be such as ours."""
    for item in list(namespace.values()):
        if isinstance(item, logging.Logger):
            _adopted(item)


def own_name(module: str) -> str:
    """Return the logger's name for a file of a bundled plugin: for ``asyncstate.states.file.rows``, ``states.file``."""
    kind, _, path = module.removeprefix(f"{TOP}.").partition(".")
    return f"{kind}.{path.partition('.')[0]}"


def _name_after_plugin(record: logging.LogRecord) -> None:
    """Give a record of ``getLogger(f"{__name__}.more")`` in a plugin of a tree the name ``states.mystate.more``."""
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
    """Return what is a `LineLogger` and a ``base``: a program may set the class of its loggers, and structlog does."""
    if base not in _line_classes:
        _line_classes[base] = type(f"Line{base.__name__}", (LineLogger, base), {})
    return _line_classes[base]


get_logger(TOP).addHandler(logging.NullHandler())  # a program that set up no log hears nothing, as from any library
for _name in ("data.merging", "dunders.cancel"):  # they lie below this package
    get_logger(f"{TOP}.{_name}")
