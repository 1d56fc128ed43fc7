"""Loggers of plugins: Salt's three levels below and beside Python's."""

from __future__ import annotations

import logging
from typing import Any, Final

PROFILE: Final = 15
TRACE: Final = 5
GARBAGE: Final = 1


class PluginLogger(logging.Logger):
    """A logger with ``log.trace``, ``log.garbage`` and ``log.profile``, which Salt adds to every logger there is."""

    @staticmethod
    def adopt(name: str) -> None:
        """Make the logger of that name, wherever it is asked for, one of these."""
        logger = logging.getLogger(name)
        if type(logger) is logging.Logger:
            logger.__class__ = PluginLogger

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
