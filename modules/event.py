"""The ``event`` execution module. Events go to the log of this run, and to the operators of the fleet that runs it.

``asyncstate fleet orchestrate`` waits for them (``salt.wait_for_event``). Without a fleet nobody else hears of them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from asyncstate.dunders import __grains__, __opts__, __pillar__, runtime_services

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
    """Fire an event. The ``with_…`` add environment variables, grains or pillar (or some of them) to its data."""
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
    return fire_master(payload, tag, preload)


def fire(data: Any, tag: str, timeout: float | None = None) -> bool:
    """Log an event."""
    log.info("event %s: %r", tag, data)
    return True


def fire_master(data: Any, tag: str, preload: Any = None) -> bool:
    """Fire an event: log it, and send it to the operators of the fleet. Returns once it is kept there.

    What ``preload`` has is part of the data. A name that ``data`` has, too, is that of ``data``.
    """
    fire(data, tag)
    payload = data if isinstance(data, Mapping) else {"data": data}
    runtime_services().fire(tag, {**(preload if isinstance(preload, Mapping) else {}), **payload})
    return True
