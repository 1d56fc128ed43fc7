"""Loggers of plugins: Salt's three levels below and beside Python's."""

from __future__ import annotations

import logging
from typing import Any, Final

from asyncstate.dunders.context import CallContext, current
from asyncstate.redact.redactor import MASK

PROFILE: Final = 15
TRACE: Final = 5
GARBAGE: Final = 1
_OURS: Final = "asyncstate."


class PluginLogger(logging.Logger):
    """A logger with ``log.trace``, ``log.garbage`` and ``log.profile``, which Salt adds to every logger there is."""

    @staticmethod
    def adopt(name: str) -> None:
        """Make the loggers of a module, its package and what else of ours it has imported such ones, whoever asks."""
        logging.getLogger(name)
        below = _OURS if name.startswith(_OURS) else f"{name}."
        for other, logger in list(logging.root.manager.loggerDict.items()):
            if type(logger) is logging.Logger and (other == name or other.startswith(below)):
                logger.__class__ = PluginLogger

    def handle(self, record: logging.LogRecord) -> None:
        """Pass a record on to whatever handlers there are, without secrets and what ``no_log`` hides."""
        call = current.get(None)
        if call is not None and (call.secrets is not None or call.low.get("no_log")):
            _redact(record, call)
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


_traces: Final = logging.Formatter()


def _redact(record: logging.LogRecord, call: CallContext) -> None:
    if call.low.get("no_log"):
        record.msg, record.args, record.exc_info, record.exc_text, record.stack_info = MASK, (), None, None, None
        return
    redactor = call.secrets.redactor
    try:
        said = record.getMessage()
        trace = _traces.formatException(record.exc_info) if record.exc_info else ""
    except Exception as error:  # noqa: BLE001 - arguments that do not fit, or whose repr raises
        record.msg, record.args, record.exc_info = f"a record that cannot be written ({type(error).__name__})", (), None
        return
    shown = redactor.text(said)
    if shown != said:
        record.msg, record.args = shown, ()
    shown = redactor.text(trace)
    if shown != trace:
        record.exc_info, record.exc_text = None, shown
