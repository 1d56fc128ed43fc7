"""The ``event`` execution module. There is no event bus to another machine: events go to the log of this run."""

from __future__ import annotations

import logging
from typing import Any

log = logging.getLogger(__name__)


def send(tag: str, data: Any = None, **kwargs: Any) -> bool:
    """Log an event, its keyword arguments being part of the data."""
    extra = {key: value for key, value in kwargs.items() if not key.startswith("__")}
    log.info("event %s: %r", tag, {**(data if isinstance(data, dict) else {"data": data}), **extra})
    return True


def fire(data: Any, tag: str, timeout: float | None = None) -> bool:
    """Log an event."""
    log.info("event %s: %r", tag, data)
    return True


def fire_master(data: Any, tag: str, preload: Any = None) -> bool:
    """Log an event."""
    return fire(data, tag)
