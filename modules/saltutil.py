"""The ``saltutil`` execution module: in Salt it keeps a minion up to date, which is not necessary here.

Plugins are loaded from the file roots, so every ``sync_…`` has nothing to do. `cmd` and `runner` reach the hosts of
a fleet, in ``asyncstate fleet orchestrate``.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, NoReturn

from asyncstate import dunders
from asyncstate.dunders import __salt__
from asyncstate.errors import CommandExecutionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

log = logging.getLogger(__name__)

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
sync_thorium = sync_tops = sync_resources = sync_wrapper = sync_modules


def list_extmods() -> dict[str, list[str]]:
    """Return {}: plugins are loaded directly from the file roots."""
    return {}


def clear_cache(days: int = -1) -> bool:
    """Return True: what is in the cache is used only while it is right."""
    return True


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


async def cmd(
    tgt: Any,
    fun: str,
    arg: Sequence[Any] = (),
    timeout: float | None = None,  # noqa: ASYNC109 - Salt's name: the seconds that a host has to answer
    tgt_type: str = "glob",
    ret: str = "",
    kwarg: Mapping[str, Any] | None = None,
    ssh: bool = False,
    **kwargs: Any,
) -> dict[str, dict[str, Any]]:
    """Call a function on the hosts of a fleet, in an orchestration; elsewhere raise CommandExecutionError.

    Further keywords are ``expect_minions``, ``batch``, ``subset`` and ``failhard``, as in the states ``salt.…``.
    """
    if ssh:
        raise CommandExecutionError("hosts without an agent are no part of an orchestration: leave out ssh")
    known = {key: kwargs[key] for key in ("expect_minions", "batch", "subset", "failhard") if key in kwargs}
    return (
        await dunders.runtime_services()
        .orchestra()
        .command(tgt, fun, arg, kwarg, kind=tgt_type, deadline=timeout, **known)
    )


async def cmd_iter(
    tgt: Any,
    fun: str,
    arg: Sequence[Any] = (),
    timeout: float | None = None,  # noqa: ASYNC109 - as above
    tgt_type: str = "glob",
    ret: str = "",
    kwarg: Mapping[str, Any] | None = None,
    ssh: bool = False,
    **kwargs: Any,
) -> list[dict[str, dict[str, Any]]]:
    """Do the same as `cmd`, and return the answer of each host by itself."""
    answers = await cmd(tgt, fun, arg, timeout, tgt_type, ret, kwarg, ssh, **kwargs)
    return [{host: answer} for host, answer in answers.items()]


def mmodule(saltenv: str, fun: str, *args: Any, **kwargs: Any) -> Any:
    """Call an execution function: those of all environments are loaded."""
    return __salt__[fun](*args, **kwargs)


def update(version: str | None = None) -> dict[str, str]:
    """Return, under ``_error``, that asyncstate does not replace itself."""
    return {"_error": "asyncstate does not update itself: what installed it, such as pip, does"}


async def runner(
    name: str,
    arg: Sequence[Any] | None = None,
    kwarg: Mapping[str, Any] | None = None,
    full_return: bool = False,
    saltenv: str = "base",
    jid: str | None = None,
    asynchronous: bool = False,
    **kwargs: Any,
) -> Any:
    """Call a runner in an orchestration; elsewhere raise CommandExecutionError.

    With ``full_return`` the answer is ``{"return": …, "success": …}``.
    """
    given = {key: value for key, value in kwargs.items() if not key.startswith("__")}
    value = await dunders.runtime_services().orchestra().runner(name, arg or (), {**given, **(kwarg or {})})
    if not full_return:
        return value
    return {"return": value, "success": not (isinstance(value, dict) and value.get("retcode"))}


def wheel(name: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise CommandExecutionError: wheel functions work on a Salt master."""
    raise CommandExecutionError(f"The wheel function {name!r} needs a Salt master; asyncstate has none")


def signal_job(jid: str, sig: int = 0) -> str:
    """Return "": a run is not a job. A signal to its process ends it."""
    return ""


kill_job = term_job = signal_job


def kill_all_jobs() -> list[str]:
    """Return []: a run is not a job. A signal to its process ends it."""
    return []


term_all_jobs = kill_all_jobs


def find_cached_job(jid: str) -> dict[str, Any]:
    """Return {}: a run is not a job. ``asyncstate runs show`` shows past runs."""
    return {}


def clear_job_cache(hours: int = 24) -> bool:
    """Return True: there are no jobs."""
    return True


def refresh_beacons() -> bool:
    """Return True: there is nothing to refresh."""
    return True


refresh_matchers = refresh_resources = refresh_beacons


def regen_keys() -> bool:
    """Return True, and log that it has no effect: there is no Salt master that would know the keys."""
    log.warning("There is no Salt master, and so no key: nothing was done.")
    return True


revoke_auth = regen_keys
