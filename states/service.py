"""The ``service`` states: whether services run, now and from boot on, with Salt 3008's arguments and rows.

The execution module ``service`` of the init system does the work. The row says what an init system cannot do (masking,
not waiting).
"""

from __future__ import annotations

import inspect
import time
from typing import TYPE_CHECKING, Any

from asyncstate import filesystem
from asyncstate.dunders import (
    Row,
    __salt__,
    changed,
    check_cancelled,
    failed,
    is_dry_run,
    make_row,
    unchanged,
    would_change,
)
from asyncstate.errors import CommandExecutionError

from . import _resources

if TYPE_CHECKING:
    from collections.abc import Callable

_SYSTEMD_ONLY = ("no_block", "unmask", "unmask_runtime")
_UNITS = ("/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system")
_UNIT_TYPES = (".service", ".socket", ".timer", ".path", ".mount", ".target")
_DESIRED = "is in the desired state"


def __virtual__() -> Any:
    if "service.start" in __salt__:
        return "service"
    return False, "No service execution module loaded: check support for service management on this machine"


def running(
    name: str, enable: Any = None, sig: str | None = None, init_delay: float | None = None, **kwargs: Any
) -> Row:
    """The service runs, and with ``enable`` it is (or, if False, is not) started at boot.

    With ``sig``, the service runs if a command line matches it. ``init_delay`` is how many seconds it needs to start.
    A watched change restarts it, or reloads it with ``reload`` (``force``: reload or restart), or uses the
    ``full_restart`` of the init system. ``unmask``, ``unmask_runtime`` and ``no_block`` are for systemd.
    """
    problem = _not_usable(name, kwargs, "started")
    if problem is not None:
        return problem
    row = unchanged(name) | _unsupported(kwargs)
    try:
        return _running(row, _switch(enable), sig, init_delay, **kwargs)
    except CommandExecutionError as error:
        return _fail(row, error.strerror)


def dead(name: str, enable: Any = None, sig: str | None = None, init_delay: float | None = None, **kwargs: Any) -> Row:
    """The service does not run, and with ``enable`` it is (or, if False, is not) started at boot.

    A service that does not exist is dead. ``init_delay`` is how many seconds it needs to stop.
    ``unmask``, ``unmask_runtime`` and ``no_block`` are for systemd.
    """
    problem = _not_usable(name, kwargs, "stopped")
    if problem is not None:
        return problem
    row = unchanged(name) | _unsupported(kwargs)
    try:
        return _dead(row, _switch(enable), sig, init_delay, **kwargs)
    except CommandExecutionError as error:
        return _fail(row, error.strerror)


def enabled(name: str, **kwargs: Any) -> Row:
    """The service is started at boot. ``unmask``, ``unmask_runtime``, ``no_block`` and ``root`` are for systemd."""
    try:
        if not _available(name):
            if is_dry_run() and not filesystem.foretells():
                comment = f"Service {name} not present; if created in this state run, it would have been enabled"
                return would_change(name, comment)
            return failed(name, f"The named service {name} is not available")
        return unchanged(name) | _at_boot(name, None, wanted=True, **kwargs)
    except CommandExecutionError as error:
        return failed(name, error.strerror)


def disabled(name: str, **kwargs: Any) -> Row:
    """The service is not started at boot. ``no_block`` and ``root`` are for systemd."""
    try:
        if not _available(name):
            return unchanged(name, f"The named service {name} is not available")
        return unchanged(name) | _at_boot(name, None, wanted=False, **kwargs)
    except CommandExecutionError as error:
        return failed(name, error.strerror)


def masked(name: str, runtime: bool = False) -> Row:
    """The service cannot be started at all, permanently or (``runtime``) until the next boot."""
    kind = "runtime masked" if runtime else "masked"
    return _mask(name, runtime, wanted=True, already=f"is already {kind}", done=kind, verb="mask")


def unmasked(name: str, runtime: bool = False) -> Row:
    """The service can be started."""
    kind = "runtime unmasked" if runtime else "unmasked"
    return _mask(name, runtime, wanted=False, already=f"was already {kind}", done=kind, verb="unmask")


def mod_watch(
    name: str,
    sfun: str | None = None,
    sig: str | None = None,
    reload: bool = False,
    full_restart: bool = False,
    init_delay: float | None = None,
    force: bool = False,
    **kwargs: Any,
) -> Row:
    """Restart a service that should run, or ``reload`` it (``force``: reload or restart); stop one that should not.

    ``full_restart`` uses that function of the init system if it has one. A service that does not run is started.
    """
    if sfun not in {"dead", "running"}:
        return failed(name, f"Unable to trigger watch for service.{sfun}")
    notes = _unsupported(kwargs)
    try:
        alive = __salt__["service.status"](name, sig, **_systemd_arguments("service.status", kwargs))
        if sfun == "dead":
            if not alive:
                return unchanged(name, "Service is already stopped") | notes
            verb, past, function = "stop", "stopped", "service.stop"
        else:
            verb, function = _how_to_refresh(alive=alive, reload=reload, full_restart=full_restart, force=force)
            past = f"{verb}ed"
        if is_dry_run():
            return would_change(name, f"Service is set to be {past}") | notes
        if verb == "start":
            __salt__["service.stop"](name)
        done = __salt__[function](name, **_systemd_arguments(function, kwargs))
    except CommandExecutionError as error:
        return failed(name, error.strerror) | notes
    _wait(init_delay)
    comment = f"Service {past}" if done else f"Failed to {verb} the service"
    return make_row(name, comment, {name: done}, result=done) | notes


_ENDING = frozenset({"dead", "running"})
"""Functions that end processes: a watched service restarts."""


def mod_footprint(low: dict[str, Any]) -> dict[str, list[str]]:
    """Return the footprint of a service state: its service, and the paths where its definition may be.

    Other reads and writes of the daemon are not known.
    """
    name = str(low.get("name", ""))
    bare = name.removesuffix(".service")
    template, at, _ = bare.partition("@")
    units = [name if name.endswith(_UNIT_TYPES) else f"{name}.service", *([f"{template}@.service"] if at else [])]
    reads = [f"path:{folder}/{unit}{tree}" for folder in _UNITS for unit in units for tree in ("", ".d/**")]
    writes = [f"service:{name}", *([f"{_resources.PROCESSES}#{bare}"] if low.get("fun") in _ENDING else [])]
    if low.get("fun") in {"masked", "unmasked"} or low.get("unmask") or low.get("unmask_runtime"):
        runtime = low.get("runtime") or low.get("unmask_runtime")
        folder = "/run" if runtime else "/etc"
        writes.append(f"path:{folder}/systemd/system/{units[0]}")  # a mask is a link to /dev/null
    return {"reads": [*(each for each in reads if each not in writes), f"path:/etc/init.d/{bare}"], "writes": writes}


def _running(row: Row, enable: bool | None, sig: str | None, init_delay: float | None, **kwargs: Any) -> Row:
    name = row["name"]
    asking = _systemd_arguments("service.status", kwargs)
    before = __salt__["service.status"](name, sig, **asking)
    boot_before = __salt__["service.enabled"](name)
    unmasking = unmasked(name, kwargs.get("unmask_runtime", False))["comment"] if kwargs.get("unmask") else ""
    if before:
        row["comment"] = "\n".join(filter(None, [f"The service {name} is already running", unmasking]))
        return _with_boot(row, enable, None, boot_before, **kwargs)
    if is_dry_run():
        row["result"] = None
        row["comment"] = "\n".join(filter(None, [f"Service {name} is set to start", unmasking]))
        return row
    if not __salt__["service.start"](name, **_systemd_arguments("service.start", kwargs)):
        _fail(row, f"Service {name} failed to start")
        return row if enable is None else {**row, **_at_boot(name, False, wanted=enable, result=False, **kwargs)}
    _wait(init_delay)
    after = __salt__["service.status"](name, sig, **asking)
    if (before, boot_before) != (after, __salt__["service.enabled"](name)):
        row["changes"][name] = after
    row["comment"] = f"Started service {name}"
    if not after:
        _fail(row, f"Service {name} failed to start")
    if enable is not None:
        row = _merged(row, _at_boot(name, bool(after), wanted=enable, result=bool(after), **kwargs))
    if init_delay:
        row["comment"] = f"{row['comment']}\nDelayed return for {init_delay} seconds"
    if kwargs.get("unmask"):
        row["comment"] = f"{row['comment']}\n{unmasking}"
    return row


def _dead(row: Row, enable: bool | None, sig: str | None, init_delay: float | None, **kwargs: Any) -> Row:
    name = row["name"]
    asking = _systemd_arguments("service.status", kwargs)
    before = __salt__["service.status"](name, sig, **asking)
    boot_before = __salt__["service.enabled"](name)
    if not before:
        row["comment"] = f"The service {name} is already dead"
        return _with_boot(row, enable, None, boot_before, **kwargs)
    if is_dry_run():
        row["result"] = None
        row["comment"] = f"Service {name} is set to be killed"
        return row
    if not __salt__["service.stop"](name, **_systemd_arguments("service.stop", kwargs)):
        _fail(row, f"Service {name} failed to die")
        return row if enable is None else {**row, **_at_boot(name, True, wanted=enable, result=False, **kwargs)}
    _wait(init_delay)
    after = __salt__["service.status"](name, sig, **asking)
    if (before, boot_before) != (after, __salt__["service.enabled"](name)):
        row["changes"][name] = after
    row["comment"] = f"Service {name} was killed"
    if after:
        _fail(row, f"Service {name} failed to die")
    if enable is not None:
        row = _merged(row, _at_boot(name, bool(after), wanted=enable, result=not after, **kwargs))
    return row


def _with_boot(row: Row, enable: bool | None, started: bool | None, boot_before: bool, **kwargs: Any) -> Row:
    """Enable or disable a service at boot that needs no other change; return its row."""
    if enable is None or enable == bool(boot_before):
        return row
    return {**row, **_at_boot(row["name"], started, wanted=enable, **kwargs)}


def _at_boot(name: str, started: bool | None, *, wanted: bool, result: bool = True, **kwargs: Any) -> Row:
    """Enable or disable a service. ``started`` is whether it runs now, None if that does not matter.

    Returns the fields of the row; ``result`` is the one for a service that needs no change or was changed.
    """
    word = "enabled" if wanted else "disabled"
    ask = f"service.{word}"
    ending = {True: "is running", False: "is dead", None: _DESIRED}[started]
    before = __salt__[ask](name)
    if before:
        return {"result": result, "comment": f"Service {name} is already {word}, and {ending}"}
    if is_dry_run():
        return {"result": None, "comment": f"Service {name} set to be {word}"}
    function = f"service.{word[:-1]}"
    problem = ""
    try:
        if __salt__[function](name, **_known_to(function, kwargs)):
            changes = {name: True} if __salt__[ask](name) != before else {}
            return {"result": result, "comment": f"Service {name} has been {word}, and {ending}", "changes": changes}
    except CommandExecutionError as error:
        problem = f". Additional information follows:\n\n{error.strerror}"
    to_do = "start at boot" if wanted else "not start at boot"
    now = {
        True: "but the service is running" if wanted else "and is running",
        False: "and the service is dead",
        None: "but the service was already running",
    }[started]
    return {"result": False, "comment": f"Failed when setting service {name} to {to_do}, {now}{problem}"}


def _merged(row: Row, boot: Row) -> Row:
    """Merge the fields about boot into a row, and keep the change that the service was started or stopped."""
    return {**row, **boot, "changes": boot.get("changes") or row["changes"]}


def _mask(name: str, runtime: bool, *, wanted: bool, already: str, done: str, verb: str) -> Row:
    if "service.masked" not in __salt__:
        return failed(name, "Service masking not available on this minion")
    kind = "runtime masked" if runtime else "masked"
    changes = {kind: {"old": not wanted, "new": wanted}}
    try:
        if bool(__salt__["service.masked"](name, runtime)) == wanted:
            return unchanged(name, f"Service {name} {already}")
        if is_dry_run():
            return would_change(name, f"Service {name} would be {done}", changes)
        __salt__[f"service.{verb}"](name, runtime)
        if bool(__salt__["service.masked"](name, runtime)) == wanted:
            return changed(name, f"Service {name} was {done}", changes)
        return failed(name, f"Failed to {verb} service {name}")
    except CommandExecutionError as error:
        return failed(name, error.strerror)


def _how_to_refresh(*, alive: bool, reload: bool, full_restart: bool, force: bool) -> tuple[str, str]:
    if not alive:
        return "start", "service.start"
    if reload and "service.reload" in __salt__:
        if force and "service.force_reload" in __salt__:
            return "forcefully reload", "service.force_reload"
        return "reload", "service.reload"
    if full_restart and "service.full_restart" in __salt__:
        return "fully restart", "service.full_restart"
    return "restart", "service.restart"


def _not_usable(name: str, kwargs: dict[str, Any], done: str) -> Row | None:
    """Return the row of an unusable service: it does not exist, or an argument is wrong."""
    if "enabled" in kwargs:
        return failed(
            name, f'Service {name} uses non-existent option "enabled".  Perhaps "enable" option was intended?'
        )
    if "service.offline" in __salt__ and __salt__["service.offline"]():
        return unchanged(name, "Running in OFFLINE mode. Nothing to do")
    try:
        if _available(name):
            return None
    except CommandExecutionError as error:
        return failed(name, error.strerror)
    if is_dry_run() and not filesystem.foretells():
        comment = f"Service {name} not present; if created in this state run, it would have been {done}"
        return would_change(name, comment)
    if done == "stopped":
        return unchanged(name, f"The named service {name} is not available")
    return failed(name, f"The named service {name} is not available")


def _available(name: str) -> bool:
    return bool(__salt__["service.available"](name))


def _unsupported(kwargs: dict[str, Any]) -> Row:
    """Return the warnings of a row about arguments for systemd that this init system does not support."""
    if "service.masked" in __salt__:
        return {}
    warnings = [f"The '{key}' argument is not supported by this platform" for key in _SYSTEMD_ONLY if key in kwargs]
    return {"warnings": warnings} if warnings else {}


def _systemd_arguments(function: str, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the given arguments for systemd that ``function`` takes; none for another init system."""
    return _known_to(function, kwargs) if "service.masked" in __salt__ else {}


def _known_to(function: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments for systemd that ``function`` accepts."""
    parameters = _parameters(__salt__[function])
    return {key: value for key, value in arguments.items() if key in _SYSTEMD_ONLY and key in parameters}


def _parameters(function: Callable[..., Any]) -> frozenset[str]:
    try:
        return frozenset(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return frozenset()


def _switch(enable: Any) -> bool | None:
    if isinstance(enable, str):
        return enable.strip().lower() in {"true", "yes", "on", "1"}
    return None if enable is None else bool(enable)


def _wait(seconds: float | None) -> None:
    if seconds:
        end = time.monotonic() + float(seconds)
        while (left := end - time.monotonic()) > 0:
            check_cancelled()
            time.sleep(min(left, 0.5))


def _fail(row: Row, comment: str) -> Row:
    """Make the row a failure. It keeps its changes and its warnings about arguments."""
    row["result"] = False
    row["comment"] = comment
    return row
