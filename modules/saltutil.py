"""The ``saltutil`` execution module: in Salt it keeps a minion up to date, which is not necessary here.

Plugins are loaded from the file roots, so every ``sync_…`` has nothing to do. Functions that need a Salt master raise.
"""

from __future__ import annotations

from typing import Any, NoReturn

from asyncstate import dunders
from asyncstate.errors import CommandExecutionError

_KINDS = (
    "beacons clouds engines executors grains log_handlers matchers modules output pillar proxymodules renderers "
    "returners sdb serializers states thorium tops utils"
).split()


def sync_all(*args: Any, **kwargs: Any) -> dict[str, list[str]]:
    """Return that nothing had to be synchronised."""
    return {kind: [] for kind in _KINDS}


def sync_modules(*args: Any, **kwargs: Any) -> list[str]:
    """Return []."""
    return []


sync_states = sync_grains = sync_utils = sync_renderers = sync_returners = sync_modules
sync_serializers = sync_matchers = sync_sdb = sync_pillar = sync_output = sync_outputters = sync_modules
sync_beacons = sync_clouds = sync_engines = sync_executors = sync_log_handlers = sync_proxymodules = sync_modules
sync_thorium = sync_tops = sync_modules


def list_extmods() -> dict[str, list[str]]:
    """Return {}: plugins are loaded directly from the file roots."""
    return {}


def refresh_modules(async_: bool = True, **kwargs: Any) -> bool:
    """Load the plugins again."""
    dunders.runtime_services().reload()
    return True


def refresh_grains(**kwargs: Any) -> bool:
    """Gather the grains again."""
    dunders.runtime_services().refresh(grains=True, pillar=False)
    return True


def refresh_pillar(**kwargs: Any) -> bool:
    """Render the pillar again."""
    dunders.runtime_services().refresh(grains=False, pillar=True)
    return True


pillar_refresh = refresh_pillar


def is_running(fun: str) -> list[Any]:
    """Return []: a run is not a job."""
    return []


def running() -> list[Any]:
    """Return []: a run is not a job."""
    return []


def find_job(jid: str) -> dict[str, Any]:
    """Return {}: a run is not a job."""
    return {}


def runner(name: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise CommandExecutionError: runners work on a Salt master."""
    raise CommandExecutionError(f"The runner {name!r} needs a Salt master; asyncstate has none")


def wheel(name: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise CommandExecutionError: wheel functions work on a Salt master."""
    raise CommandExecutionError(f"The wheel function {name!r} needs a Salt master; asyncstate has none")


def cmd(tgt: str, fun: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise CommandExecutionError: only a Salt master reaches other minions."""
    raise CommandExecutionError(f"saltutil.cmd of {fun!r} on {tgt!r} needs a Salt master; asyncstate has none")
