"""The ``log`` execution module: messages from templates."""

from __future__ import annotations

import logging

_log = logging.getLogger(__name__)


def debug(message: object) -> bool:
    """Log a message at debug level."""
    _log.debug("%s", message)
    return True


def info(message: object) -> bool:
    """Log a message at info level."""
    _log.info("%s", message)
    return True


def warning(message: object) -> bool:
    """Log a warning."""
    _log.warning("%s", message)
    return True


def error(message: object) -> bool:
    """Log an error."""
    _log.error("%s", message)
    return True


def critical(message: object) -> bool:
    """Log a critical error."""
    _log.critical("%s", message)
    return True


def exception(message: object) -> bool:
    """Log an error, with the traceback if one is being handled."""
    _log.exception("%s", message)
    return True
