"""The ``event`` execution module. Events go to the log of this run, as there is no event bus to another machine."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from asyncstate.dunders import __grains__, __opts__, __pillar__

from ._environ_overlay import effective_environ as _effective_environ

log = logging.getLogger(__name__)


def send(
    tag: str,
    data: Any = None,
    preload: Any = None,
    with_env: bool | list[str] = False,
    with_grains: bool | list[str] = False,
    with_pillar: bool | list[str] = False,
    with_env_opts: bool = False,
    **kwargs: Any,
) -> bool:
    """Log an event. The ``with_…`` add environment variables, grains or pillar (or some of them) to its data."""
    payload: dict[str, Any] = {}
    for name, wanted, source in (
        ("environ", with_env, _effective_environ),
        ("grains", with_grains, lambda: dict(__grains__)),
        ("pillar", with_pillar, lambda: dict(__pillar__)),
    ):
        if wanted:
            everything = source()
            payload[name] = {key: everything.get(key) for key in wanted} if isinstance(wanted, list) else everything
    if with_env_opts:
        payload["saltenv"] = __opts__.get("saltenv") or "base"
        payload["pillarenv"] = __opts__.get("pillarenv")
    payload.update({key: value for key, value in kwargs.items() if not key.startswith("__")})
    if isinstance(data, Mapping):
        payload.update(data)
    return fire(payload, tag)


def fire(data: Any, tag: str, timeout: float | None = None) -> bool:
    """Log an event."""
    log.info("event %s: %r", tag, data)
    return True


def fire_master(data: Any, tag: str, preload: Any = None) -> bool:
    """Log an event."""
    return fire(data, tag)
